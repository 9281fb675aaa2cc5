# Repairs a Windows node in place. It asks the API server by curl.exe, which Windows has since 1803, since
# Invoke-RestMethod of PowerShell 5.1 takes no CA of its own.
param([switch]$Once)
$ErrorActionPreference = 'Continue'
$ProgressPreference = 'SilentlyContinue'
if (Test-Path C:\k\debug\hns.psm1) { Import-Module C:\k\debug\hns.psm1 }

$name = $env:NODE_NAME
$api = "https://$($env:KUBERNETES_SERVICE_HOST):$($env:KUBERNETES_SERVICE_PORT)"
$account = "$($env:CONTAINER_SANDBOX_MOUNT_POINT)/var/run/secrets/kubernetes.io/serviceaccount" -replace '\\', '/'
$folder = 'C:\ProgramData\casement\repair'
$interval = if ($env:INTERVAL_SECONDS) { [int]$env:INTERVAL_SECONDS } else { 30 }
$hold = if ($env:HOLD_SECONDS) { [int]$env:HOLD_SECONDS } else { 60 }
$youth = if ($env:YOUTH_SECONDS) { [int]$env:YOUTH_SECONDS } else { 900 }
$drainTime = if ($env:DRAIN_SECONDS) { [int]$env:DRAIN_SECONDS } else { 300 }
$lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
$null = New-Item -ItemType Directory -Force -Path $folder

$repairs = @(
<#= range .Repairs #>  @{
    name = <#= quote .Name #>; fault = <#= quote .Fault #>; does = <#= quote .Does #>
    problem = <#= quote .Problem #>; times = <#= .Times #>; minutes = <#= .Minutes #>; breaks = $<#= .Breaks #>
    look = <#= body .Look #>
    step = <#= body .Step #>
  }
<#= end #>)

function Get-Now { [int64]([datetime]::UtcNow - [datetime]'1970-01-01').TotalSeconds }

# Invoke-API asks the API server and returns the answer; $script:status is its HTTP status, 0 without an answer. The token
# goes through curl's standard input, where no list of processes shows it.
function Invoke-API([string]$method, [string]$path, $body, [string]$type = 'application/json') {
  $answer = "$folder\answer.json"
  $arguments = @('-s', '-K', '-', '--max-time', '20', '--ssl-no-revoke', '--cacert', "$account/ca.crt", '-o', $answer, '-w', '%{http_code}',
    '-X', $method)
  if ($null -ne $body) {
    [IO.File]::WriteAllText("$folder\body.json", (ConvertTo-Json $body -Depth 10 -Compress))
    $arguments += @('-H', "Content-Type: $type", '--data-binary', "@$folder\body.json")
  }
  Remove-Item $answer -ErrorAction SilentlyContinue
  $token = Get-Content "$account/token" -Raw
  $code = "header = ""Authorization: Bearer $($token.Trim())""" | & curl.exe @arguments "$api$path"
  $script:status = [int]"0$code"
  if ($script:status -ge 200 -and $script:status -lt 300 -and (Test-Path $answer)) { Get-Content $answer -Raw | ConvertFrom-Json }
}

function Get-Stamp { (Get-Date).ToUniversalTime().ToString('yyyy-MM-ddTHH:mm:ssZ') }

function Get-Age([string]$stamp) { (Get-Now) - [int64]([datetime]::Parse($stamp).ToUniversalTime() - [datetime]'1970-01-01').TotalSeconds }

# Test-Overdue tells whether a pod is still there although its time to end is over.
function Test-Overdue($pod) { $pod.metadata.deletionTimestamp -and (Get-Age $pod.metadata.deletionTimestamp) -gt 120 }

function Get-Number([string]$address) {
  $n = [double]0
  foreach ($part in $address.Split('.')) { $n = $n * 256 + [double]$part }
  $n
}

# Test-Within tells whether an IPv4 address is in a range.
function Test-Within([string]$address, [string]$range) {
  $base, $bits = $range.Split('/')
  $size = [math]::Pow(2, 32 - [int]$bits)
  [math]::Floor((Get-Number $address) / $size) -eq [math]::Floor((Get-Number $base) / $size)
}

function Write-NodeEvent([string]$kind, [string]$reason, [string]$message) {
  Write-Output "$(Get-Stamp) $reason $message"
  $stamp = Get-Stamp
  $null = Invoke-API 'POST' '/api/v1/namespaces/default/events' @{
    metadata = @{ generateName = "$name-repair-"; namespace = 'default' }; type = $kind; reason = $reason; message = $message
    involvedObject = @{ kind = 'Node'; name = $name; uid = $name; apiVersion = 'v1' }
    source = @{ component = 'windows-node-repair'; host = $name }; firstTimestamp = $stamp; lastTimestamp = $stamp; count = 1
  }
}

function Set-Condition([string]$status, [string]$reason, [string]$message) {
  $old = @($node.status.conditions | Where-Object type -EQ '<#= .Condition #>')[0]
  if ($old -and $old.status -eq $status -and $old.reason -eq $reason -and $old.message -eq $message) { return }
  $changed = if ($old -and $old.status -eq $status) { $old.lastTransitionTime } else { Get-Stamp }
  $null = Invoke-API 'PATCH' "/api/v1/nodes/$name/status" @{ status = @{ conditions = @(@{
    type = '<#= .Condition #>'; status = $status; reason = $reason; message = $message
    lastHeartbeatTime = Get-Stamp; lastTransitionTime = $changed
  }) } } 'application/strategic-merge-patch+json'
}

# Get-Runs returns how often a repair was run in its time. The file outlives the container.
function Get-Runs($repair) {
  $since = (Get-Now) - 60 * $repair.minutes
  @(Get-Content "$folder\runs.txt" -ErrorAction SilentlyContinue | Where-Object {
    $row = $_.Split(' ')
    $row[0] -eq $repair.name -and [int64]$row[1] -gt $since
  }).Count
}

# Enter-Lease takes the right to drain, which one node of the cluster has at a time.
function Enter-Lease {
  $held = Invoke-API 'GET' "$lease/windows-node-repair"
  $spec = @{ holderIdentity = $name; leaseDurationSeconds = 2 * $drainTime; renewTime = (Get-Stamp) -replace 'Z', '.000000Z' }
  if (-not $held) {
    $null = Invoke-API 'POST' $lease @{ metadata = @{ name = 'windows-node-repair' }; spec = $spec }
  } elseif (-not $held.spec.holderIdentity -or $held.spec.holderIdentity -eq $name -or
    (Get-Age $held.spec.renewTime) -gt $held.spec.leaseDurationSeconds) {
    $null = Invoke-API 'PUT' "$lease/windows-node-repair" @{
      metadata = @{ name = 'windows-node-repair'; resourceVersion = $held.metadata.resourceVersion }; spec = $spec
    }
  } else { return $false }
  $script:status -ge 200 -and $script:status -lt 300
}

function Exit-Lease {
  $held = Invoke-API 'GET' "$lease/windows-node-repair"
  if ($held.spec.holderIdentity -ne $name) { return }
  $null = Invoke-API 'PATCH' "$lease/windows-node-repair" @{ spec = @{ holderIdentity = '' } } 'application/merge-patch+json'
}

function Get-Pods { @((Invoke-API 'GET' "/api/v1/pods?fieldSelector=spec.nodeName=$name").items) }

# Test-Drained tells whether a pod stays while the node is drained: one of a DaemonSet, of a file, or one that has ended.
function Test-Stays($pod) {
  $pod.metadata.annotations.'kubernetes.io/config.mirror' -or @('Succeeded', 'Failed') -contains $pod.status.phase -or
    @($pod.metadata.ownerReferences | Where-Object kind -EQ 'DaemonSet').Count -gt 0
}

# Clear-Node cordons the node and evicts its pods, which waits for their disruption budgets; $false where they do not go in time. A pod
# that comes after the cordon, as it tolerates it, stays: it would come again and again.
function Clear-Node {
  if (-not $node.spec.unschedulable) {
    $null = Invoke-API 'PATCH' "/api/v1/nodes/$name" @{
      spec = @{ unschedulable = $true }; metadata = @{ annotations = @{ '<#= .Annotation #>' = Get-Stamp } }
    } 'application/merge-patch+json'
  }
  $until = (Get-Now) + $drainTime
  $there = @(Get-Pods | ForEach-Object { $_.metadata.uid })
  if ($script:status -ne 200) { return $false }
  do {
    $left = @(Get-Pods | Where-Object { $_ -and $there -contains $_.metadata.uid -and -not (Test-Stays $_) })
    if ($script:status -ne 200) { return $false }
    if ($left.Count -eq 0) { return $true }
    foreach ($pod in @($left | Where-Object { -not $_.metadata.deletionTimestamp })) {
      $null = Invoke-API 'POST' "/api/v1/namespaces/$($pod.metadata.namespace)/pods/$($pod.metadata.name)/eviction" @{
        apiVersion = 'policy/v1'; kind = 'Eviction'; metadata = @{ name = $pod.metadata.name; namespace = $pod.metadata.namespace }
      }
    }
    Start-Sleep -Seconds 2
  } while ((Get-Now) -lt $until)
  $false
}

# Restore-Node undoes the cordon that Clear-Node made.
function Restore-Node {
  if (-not $node.metadata.annotations.'<#= .Annotation #>') { return }
  $null = Invoke-API 'PATCH' "/api/v1/nodes/$name" @{
    spec = @{ unschedulable = $null }; metadata = @{ annotations = @{ '<#= .Annotation #>' = $null } }
  } 'application/merge-patch+json'
  Exit-Lease
}

# Get-PodRange returns the cluster's range of pods, as the addon or kubeadm knows it.
function Get-PodRange {
  $text = $env:POD_CIDR
  if (-not $text) {
    $config = Invoke-API 'GET' '/api/v1/namespaces/kube-system/configmaps/kubeadm-config'
    if ("$($config.data.ClusterConfiguration)" -match 'podSubnet:\s*"?([0-9a-fA-F.:/,]+)') { $text = $Matches[1] }
  }
  if ($text) { @($text.Split(',') | Where-Object { $_ -notlike '*:*' }) }
}

$seen = @{}
$cluster = @()
do {
  $node = Invoke-API 'GET' "/api/v1/nodes/$name"
  $known = $null -ne $node
  $pods = @()
  if ($known) { $pods = @(Get-Pods | Where-Object { $_ }) }
  $addresses = @($pods | ForEach-Object { $_.status.podIP } | Where-Object { $_ })
  if ($known -and $cluster.Count -eq 0) { $cluster = @(Get-PodRange) }
  $ranges = $cluster
  if ($node.metadata.annotations.'flannel.alpha.coreos.com/backend-data') { $ranges = @($node.spec.podCIDRs) }
  # A node that boots is left alone, and one that is on its way out.
  $young = $known -and ((Get-Age $node.metadata.creationTimestamp) -lt $youth -or $node.metadata.deletionTimestamp)
  $failed = $null
  $busy = $false
  foreach ($repair in $repairs) {
    if ($young) { break }
    $evidence = "$(@(& $repair.look) -join '; ')"
    $problem = @($node.status.conditions | Where-Object { $repair.problem -and $_.type -eq $repair.problem -and $_.status -eq 'True' })[0]
    if (-not $evidence -and $problem) { $evidence = "$($problem.type): $($problem.message)" }
    if (-not $evidence) { $seen.Remove($repair.name); continue }
    if (-not $seen.ContainsKey($repair.name)) { $seen[$repair.name] = Get-Now }
    $busy = $true
    if ((Get-Now) - $seen[$repair.name] -lt $hold) { continue }
    $runs = Get-Runs $repair
    if ($runs -ge $repair.times) {
      $failed = $repair
      $failure = "$evidence; $($repair.does): $runs times in $($repair.minutes) minutes, and no more"
      continue
    }
    if ($repair.breaks -and -not (Enter-Lease)) { continue }
    Add-Content "$folder\runs.txt" "$($repair.name) $(Get-Now)"
    if ($repair.breaks -and -not (Clear-Node)) {
      Write-NodeEvent 'Warning' 'RepairNotDrained' "$($repair.name): $evidence; its pods do not leave in $drainTime seconds, so nothing was done"
      Exit-Lease
      continue
    }
    Write-NodeEvent 'Warning' $repair.name "$evidence; $($repair.does), $($runs + 1) of $($repair.times) in $($repair.minutes) minutes"
    & $repair.step
    $seen.Remove($repair.name)
    break
  }
  if ($known) {
    if ($failed) {
      $before = @($node.status.conditions | Where-Object { $_.type -eq '<#= .Condition #>' -and $_.status -eq 'True' })
      Set-Condition 'True' $failed.name $failure
      if ($before.Count -eq 0) { Write-NodeEvent 'Warning' 'RepairGaveUp' "$($failed.name): $failure" }
    } elseif ($busy) {
      Set-Condition 'False' 'Repairing' 'a fault is being watched or repaired; the events of the node say which'
    } else {
      Set-Condition 'False' 'NothingToRepair' 'no fault that is repaired in place was found'
      if (-not $young) { Restore-Node }
    }
  }
  if (-not $Once) { Start-Sleep -Seconds $interval }
} while (-not $Once)

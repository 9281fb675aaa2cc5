# Functions that the scripts of an image build share. Each may run twice: what is as it
# should be stays. They need Windows PowerShell 5.1 and administrator's rights.
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'

# Invoke-Native runs a program and throws where its exit code is not 0.
function Invoke-Native {
  param([string]$Program, [string[]]$With)
  & $Program @With | Out-Null
  if ($LASTEXITCODE -ne 0) { throw "$Program ended with exit code $LASTEXITCODE" }
}

function New-Folder {
  param([string]$Path)
  if (-not (Test-Path -Path $Path)) { New-Item -ItemType Directory -Force -Path $Path | Out-Null }
}

# Add-Trust adds a certificate to the machine's roots.
function Add-Trust {
  param([string]$Name, [string]$Pem)
  New-Folder -Path 'C:\ProgramData\casement\trust'
  $file = "C:\ProgramData\casement\trust\$Name.crt"
  Set-Content -Path $file -Value $Pem
  Invoke-Native -Program 'certutil.exe' -With @('-addstore', '-f', 'Root', $file)
}

# Set-BuildProxy sets the proxy for all programs of the machine.
function Set-BuildProxy {
  param([string]$Http, [string]$Https, [string]$NoProxy)
  foreach ($pair in @(@('HTTP_PROXY', $Http), @('HTTPS_PROXY', $Https), @('NO_PROXY', $NoProxy))) {
    if ($pair[1] -ne '') { [Environment]::SetEnvironmentVariable($pair[0], $pair[1], 'Machine') }
  }
}

# Get-Verified downloads a file, unless it is there, and throws where its SHA-256 is another.
function Get-Verified {
  param([string]$Url, [string]$Checksum, [string]$File)
  if (Test-Path -Path $File) {
    if ((Get-FileHash -Path $File -Algorithm SHA256).Hash -eq $Checksum) { return }
    Remove-Item -Force -Path $File
  }
  $last = ''
  foreach ($try in 1..3) {
    try {
      Invoke-WebRequest -UseBasicParsing -Uri $Url -OutFile $File
      $last = ''
      break
    } catch {
      $last = $_.Exception.Message
      Start-Sleep -Seconds 5
    }
  }
  if ($last -ne '') { throw "download of $Url failed: $last" }
  $found = (Get-FileHash -Path $File -Algorithm SHA256).Hash.ToLower()
  if ($found -ne $Checksum) {
    Remove-Item -Force -Path $File
    throw "the SHA-256 of $Url is $found, not $Checksum"
  }
}

# Install-Component downloads a component and puts it in its place.
function Install-Component {
  param([string]$Url, [string]$Checksum, [string]$Path, [string]$As, [string]$Signer)
  New-Folder -Path 'C:\ProgramData\casement\downloads'
  $file = 'C:\ProgramData\casement\downloads\' + $Url.Split('/')[-1]
  Get-Verified -Url $Url -Checksum $Checksum -File $file
  if ($Signer -ne '') {
    $signature = Get-AuthenticodeSignature -FilePath $file
    if ($signature.Status -ne 'Valid') { throw "$Url has no valid signature: $($signature.Status)" }
    if ($signature.SignerCertificate.Subject -ne $Signer) { throw "$Url is signed by $($signature.SignerCertificate.Subject), not $Signer" }
  }
  if ($As -eq 'file') {
    New-Folder -Path (Split-Path -Parent $Path)
    Copy-Item -Force -Path $file -Destination $Path
  } elseif ($As -eq 'tar') {
    New-Folder -Path $Path
    Invoke-Native -Program 'tar.exe' -With @('-xf', $file, '-C', $Path)
  } elseif ($As -eq 'msi') {
    Invoke-Native -Program 'msiexec.exe' -With @('/i', $file, '/qn', '/norestart', 'RUN_SERVICE_AS_LOCAL_SYSTEM=1')
  }
  Remove-Item -Force -Path $file
}

# Initialize-Node makes the directories of a node, lets programs be found in them and opens its
# ports. A missing Containers feature is installed, which needs a restart.
function Initialize-Node {
  foreach ($folder in @('C:\k', 'C:\etc\kubernetes\manifests', 'C:\etc\kubernetes\pki', 'C:\etc\cni\net.d', 'C:\opt\cni\bin', 'C:\var\log\kubelet', 'C:\var\lib\kubelet', 'C:\ProgramData\containerd\root', 'C:\ProgramData\containerd\state')) {
    New-Folder -Path $folder
  }
  $path = [Environment]::GetEnvironmentVariable('Path', 'Machine')
  foreach ($folder in @('C:\k', 'C:\Program Files\containerd')) {
    if ($path.Split(';') -notcontains $folder) { $path = "$path;$folder" }
  }
  [Environment]::SetEnvironmentVariable('Path', $path, 'Machine')
  foreach ($rule in @(@('kubelet', 10250), @('sshd', 22))) {
    if (-not (Get-NetFirewallRule -Name $rule[0] -ErrorAction SilentlyContinue)) {
      New-NetFirewallRule -Name $rule[0] -DisplayName $rule[0] -Direction Inbound -Action Allow -Protocol TCP -LocalPort $rule[1] | Out-Null
    }
  }
  $feature = Get-WindowsFeature -Name Containers
  if (-not $feature.Installed) {
    Install-WindowsFeature -Name Containers | Out-Null
    exit 3010
  }
}

# Register-Containerd lays containerd's files where its service expects them.
function Register-Containerd {
  $dir = 'C:\Program Files\containerd'
  if (Test-Path -Path "$dir\bin") {
    Copy-Item -Force -Path "$dir\bin\*" -Destination $dir
    Remove-Item -Recurse -Force -Path "$dir\bin"
  }
  Set-Content -Path "$dir\config.toml" -Value @'
version = 2
root = 'C:\ProgramData\containerd\root'
state = 'C:\ProgramData\containerd\state'
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = 'C:\opt\cni\bin'
  conf_dir = 'C:\etc\cni\net.d'
'@
  if (-not (Get-Service -Name containerd -ErrorAction SilentlyContinue)) {
    New-Service -Name containerd -DisplayName containerd -StartupType Automatic -BinaryPathName "`"$dir\containerd.exe`" --run-service --config `"$dir\config.toml`"" | Out-Null
  }
  Set-Recovery -Name containerd
  Start-Service -Name containerd
}

function Get-ContainerImage {
  param([string]$Reference)
  Invoke-Native -Program 'C:\Program Files\containerd\ctr.exe' -With @('-n', 'k8s.io', 'images', 'pull', $Reference)
}

# Register-Kubelet makes the kubelet service. As a Windows service of its own, kubelet ignores
# kubeadm-flags.env: RestartKubelet.ps1 makes it anew with those flags. LogFlags are those by which
# kube-log-runner rotates kubelet's log; nssm rotates it by itself.
function Register-Kubelet {
  param([string]$Mode, [string]$LogFlags)
  $runner = "C:\k\kube-log-runner.exe --log-file=C:\var\log\kubelet\kubelet.log $LogFlags".Trim()
  $arguments = '--cert-dir=C:\var\lib\kubelet\pki --config=C:\var\lib\kubelet\config.yaml --bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf --kubeconfig=C:\etc\kubernetes\kubelet.conf'
  $there = Get-Service -Name kubelet -ErrorAction SilentlyContinue
  if ($Mode -eq 'nssm') {
    Set-Content -Path 'C:\k\StartKubelet.ps1' -Value @"
`$flags = (Get-Content -Path C:\var\lib\kubelet\kubeadm-flags.env) -replace '^KUBELET_KUBEADM_ARGS="', '' -replace '"`$', ''
Invoke-Expression "C:\k\kubelet.exe `$flags $arguments"
"@
    if (-not $there) {
      Invoke-Native -Program 'C:\k\nssm.exe' -With @('install', 'kubelet', 'C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe', '-ExecutionPolicy', 'Bypass', '-NoProfile', '-File', 'C:\k\StartKubelet.ps1')
    }
    foreach ($pair in @(@('AppStdout', 'C:\var\log\kubelet\kubelet.log'), @('AppStderr', 'C:\var\log\kubelet\kubelet.log'), @('AppRotateFiles', '1'), @('AppRotateOnline', '1'), @('AppRotateBytes', '104857600'))) {
      Invoke-Native -Program 'C:\k\nssm.exe' -With @('set', 'kubelet', $pair[0], $pair[1])
    }
    return # nssm starts again what ends
  }
  Set-Content -Path 'C:\k\RestartKubelet.ps1' -Value @"
`$flags = (Get-Content -Path C:\var\lib\kubelet\kubeadm-flags.env) -replace '^KUBELET_KUBEADM_ARGS="', '' -replace '"`$', ''
Stop-Service -Name kubelet -ErrorAction SilentlyContinue
sc.exe config kubelet binPath= "$runner C:\k\kubelet.exe --windows-service `$flags $arguments"
Start-Service -Name kubelet
"@
  if (-not $there) {
    New-Service -Name kubelet -DisplayName kubelet -StartupType Automatic -DependsOn containerd -BinaryPathName "$runner C:\k\kubelet.exe --windows-service $arguments" | Out-Null
  }
  Set-Recovery -Name kubelet
}

# Set-Recovery starts a service again whenever its process has ended by itself.
function Set-Recovery {
  param([string]$Name)
  Invoke-Native -Program 'sc.exe' -With @('failure', $Name, 'reset=', '86400', 'actions=', 'restart/5000')
}

# Register-CsiProxy makes csi-proxy a service, for CSI drivers whose pods cannot reach the host
# themselves.
function Register-CsiProxy {
  if (-not (Get-Service -Name csi-proxy -ErrorAction SilentlyContinue)) {
    New-Service -Name csi-proxy -DisplayName csi-proxy -StartupType Automatic -BinaryPathName 'C:\k\csi-proxy.exe -windows-service' | Out-Null
  }
  Set-Recovery -Name csi-proxy
  Start-Service -Name csi-proxy
}

# Set-CloudbaseConfig writes the plug-ins that bootstrap data needs. The agent's service runs
# at the next boot: that of the machine which is made from the image.
function Set-CloudbaseConfig {
  $conf = 'C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf'
  if (-not (Test-Path -Path $conf)) { throw "cloudbase-init is not installed: $conf is missing" }
  Set-Content -Path "$conf\cloudbase-init.conf" -Value @'
[DEFAULT]
username=capi
groups=Administrators
inject_user_password=true
first_logon_behaviour=no
metadata_services=cloudbaseinit.metadata.services.azureservice.AzureService
plugins=cloudbaseinit.plugins.windows.createuser.CreateUserPlugin,cloudbaseinit.plugins.common.setuserpassword.SetUserPasswordPlugin,cloudbaseinit.plugins.windows.extendvolumes.ExtendVolumesPlugin,cloudbaseinit.plugins.common.userdata.UserDataPlugin,cloudbaseinit.plugins.common.ephemeraldisk.EphemeralDiskPlugin,cloudbaseinit.plugins.windows.azureguestagent.AzureGuestAgentPlugin,cloudbaseinit.plugins.common.sethostname.SetHostNamePlugin
allow_reboot=true
stop_service_on_exit=false
check_latest_version=false
'@
  Set-Service -Name cloudbase-init -StartupType Automatic
}

function Enable-OpenSSH {
  if (-not (Get-Service -Name sshd -ErrorAction SilentlyContinue)) {
    Invoke-Native -Program 'dism.exe' -With @('/Online', '/Add-Capability', '/CapabilityName:OpenSSH.Server~~~~0.0.1.0', '/NoRestart')
  }
  Set-Service -Name sshd -StartupType Automatic
}

# Install-Updates installs what Windows Update offers and asks for a restart where an update
# needs one; it runs again after that, until nothing is offered.
function Install-Updates {
  param([string]$Which)
  $session = New-Object -ComObject Microsoft.Update.Session
  $found = $session.CreateUpdateSearcher().Search("IsInstalled=0 and Type='Software' and IsHidden=0").Updates
  $chosen = New-Object -ComObject Microsoft.Update.UpdateColl
  foreach ($update in $found) {
    $security = $false
    foreach ($category in $update.Categories) {
      if ($category.CategoryID -eq '0fa1201d-4330-4fa8-8ae9-b877473b6441') { $security = $true }
    }
    if ($Which -eq 'all' -or $security) { $chosen.Add($update) | Out-Null }
  }
  if ($chosen.Count -eq 0) { return }
  $downloader = $session.CreateUpdateDownloader()
  $downloader.Updates = $chosen
  $downloader.Download() | Out-Null
  $installer = $session.CreateUpdateInstaller()
  $installer.Updates = $chosen
  $result = $installer.Install()
  if ($result.ResultCode -gt 3) { throw "Windows Update ended with result $($result.ResultCode)" }
  if ($result.RebootRequired) { exit 3010 }
}

# Add-Feature installs a feature of Windows. One that needs a restart asks for it, and is there
# when the script runs again.
function Add-Feature {
  param([string]$Name)
  $feature = Get-WindowsFeature -Name $Name
  if (-not $feature) { throw "Windows has no feature $Name" }
  if ($feature.Installed) { return }
  $result = Install-WindowsFeature -Name $Name
  if ("$($result.RestartNeeded)" -eq 'Yes') { exit 3010 }
}

# Set-ServiceStart sets how a service of Windows starts, and ends one that is disabled.
function Set-ServiceStart {
  param([string]$Name, [string]$Start)
  if (-not (Get-Service -Name $Name -ErrorAction SilentlyContinue)) { throw "there is no service $Name" }
  Set-Service -Name $Name -StartupType $Start
  if ($Start -eq 'Disabled') { Stop-Service -Name $Name -Force -ErrorAction SilentlyContinue }
}

# Add-FirewallRule lets a port in, unless a rule of its name is there.
function Add-FirewallRule {
  param([string]$Name, [string]$Protocol, [string]$Port)
  if (Get-NetFirewallRule -Name $Name -ErrorAction SilentlyContinue) { return }
  New-NetFirewallRule -Name $Name -DisplayName $Name -Direction Inbound -Action Allow -Protocol $Protocol -LocalPort $Port | Out-Null
}

# Set-RegistryNumber sets a number in the registry, and makes the key.
function Set-RegistryNumber {
  param([string]$Key, [string]$Name, [int]$Number)
  if (-not (Test-Path -Path $Key)) { New-Item -Path $Key -Force | Out-Null }
  New-ItemProperty -Path $Key -Name $Name -Value $Number -PropertyType DWORD -Force | Out-Null
}

# Set-Hardening turns a switch of the machine. Sources: learn.microsoft.com, how to detect, enable
# and disable SMBv1; TLS registry settings; LLMNR of the DNS client's policies.
function Set-Hardening {
  param([string]$What)
  if ($What -eq 'no-smb1') {
    Set-RegistryNumber -Key 'HKLM:\SYSTEM\CurrentControlSet\Services\LanmanServer\Parameters' -Name 'SMB1' -Number 0
  } elseif ($What -eq 'no-old-tls') {
    foreach ($version in @('SSL 3.0', 'TLS 1.0', 'TLS 1.1')) {
      foreach ($side in @('Client', 'Server')) {
        $key = "HKLM:\SYSTEM\CurrentControlSet\Control\SecurityProviders\SCHANNEL\Protocols\$version\$side"
        Set-RegistryNumber -Key $key -Name 'Enabled' -Number 0
        Set-RegistryNumber -Key $key -Name 'DisabledByDefault' -Number 1
      }
    }
  } elseif ($What -eq 'no-llmnr') {
    Set-RegistryNumber -Key 'HKLM:\SOFTWARE\Policies\Microsoft\Windows NT\DNSClient' -Name 'EnableMulticast' -Number 0
  } elseif ($What -eq 'strong-crypto') {
    foreach ($key in @('HKLM:\SOFTWARE\Microsoft\.NETFramework\v4.0.30319', 'HKLM:\SOFTWARE\Wow6432Node\Microsoft\.NETFramework\v4.0.30319')) {
      Set-RegistryNumber -Key $key -Name 'SchUseStrongCrypto' -Number 1
    }
  } else {
    throw "there is no switch $What"
  }
}

# Test-Rotation throws where nothing bounds the size of kubelet's log.
function Test-Rotation {
  param([string]$Mode, [string]$LogFlags)
  if ($Mode -eq 'nssm') {
    if ("$(& 'C:\k\nssm.exe' get kubelet AppRotateFiles)" -notmatch '1') { throw 'nssm does not rotate the log of kubelet: AppRotateFiles is not 1' }
  } elseif ($LogFlags -ne '') {
    $runs = (Get-CimInstance -ClassName Win32_Service -Filter "Name='kubelet'").PathName
    if (-not $runs.Contains($LogFlags)) { throw "the service kubelet does not rotate its log: it runs without $LogFlags" }
    if (-not (Get-Content -Raw -Path 'C:\k\RestartKubelet.ps1').Contains($LogFlags)) { throw "C:\k\RestartKubelet.ps1 makes a service that does not rotate its log: it has no $LogFlags" }
  }
}

# Test-Node checks services and files, and prints a line "holds PROGRAM VERSION" for each
# program. Also names a service that the image has besides.
function Test-Node {
  param([string]$Mode, [string]$LogFlags, [string]$Also)
  foreach ($name in @('containerd', 'kubelet', 'cloudbase-init', 'sshd', $Also)) {
    if ($name -eq '') { continue }
    if (-not (Get-Service -Name $name -ErrorAction SilentlyContinue)) { throw "the service $name is missing" }
  }
  $state = (Get-Service -Name containerd).Status
  if ("$state" -ne 'Running') { throw "the service containerd is $state" }
  $restart = 'C:\k\RestartKubelet.ps1'
  if ($Mode -eq 'nssm') { $restart = 'C:\k\StartKubelet.ps1' }
  foreach ($file in @('C:\k\kubelet.exe', 'C:\k\kubeadm.exe', 'C:\k\kubectl.exe', $restart, 'C:\Program Files\containerd\containerd.exe', 'C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf\cloudbase-init.conf')) {
    if (-not (Test-Path -Path $file)) { throw "$file is missing" }
  }
  Test-Rotation -Mode $Mode -LogFlags $LogFlags
  $text = & 'C:\k\kubelet.exe' --version
  Write-Output "holds kubelet $("$text".Split(' ')[-1])"
  $text = & 'C:\k\kubeadm.exe' version -o short
  Write-Output "holds kubeadm $text"
  $text = & 'C:\k\kubectl.exe' version --client
  Write-Output "holds kubectl $("$text".Split(' ')[2])"
  $text = & 'C:\Program Files\containerd\containerd.exe' --version
  Write-Output "holds containerd $("$text".Split(' ')[2])"
  Write-Output "holds windows $([Environment]::OSVersion.Version)"
}

# Invoke-Sysprep generalizes Windows and waits until it has, or has ended without.
function Invoke-Sysprep {
  $sysprep = 'C:\Windows\System32\Sysprep'
  $done = "$sysprep\Sysprep_succeeded.tag"
  $log = "$sysprep\Panther\setuperr.log"
  foreach ($file in @($done, $log)) {
    if (Test-Path -Path $file) { Remove-Item -Force -Path $file }
  }
  Stop-Service -Name cloudbase-init -ErrorAction SilentlyContinue
  & "$sysprep\sysprep.exe" /oobe /generalize /mode:vm /quiet /quit
  foreach ($try in 1..120) {
    if (Test-Path -Path $done) { return }
    Start-Sleep -Seconds 5
    if (-not (Get-Process -Name sysprep -ErrorAction SilentlyContinue) -and (Test-Path -Path $log)) { break }
  }
  if (Test-Path -Path $done) { return }
  $said = "$done is missing"
  if (Test-Path -Path $log) { $said = (Get-Content -Path $log | Select-Object -Last 2) -join ' ' }
  throw "sysprep did not succeed: $said"
}

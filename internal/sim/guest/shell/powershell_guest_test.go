package shell_test

// guestScripts change the guest, with the idioms of images, bootstrap data and the addons' own scripts.
var guestScripts = []script{
	{"replace in a file", "Set-Content C:\\k\\f.txt 'a=1'; (Get-Content C:\\k\\f.txt) -replace 'a','b' | " +
		"Set-Content C:\\k\\f.txt; Get-Content C:\\k\\f.txt", "b=1\n", 0},
	{"the hosts file", "Add-Content -Path 'C:\\Windows\\System32\\drivers\\etc\\hosts' -Value '40.0.0.100 " +
		"api.example'; (Get-Content " +
		"C:\\Windows\\System32\\drivers\\etc\\hosts)[-1]", "40.0.0.100 api.example\n", 0},
	{"here-string to a file", "@\"\n{\n  \"name\": \"$env:COMPUTERNAME\"\n}\n" +
		"\"@ | Out-File C:\\k\\c.json -Encoding ascii\n" +
		"(Get-Content C:\\k\\c.json -Raw | ConvertFrom-Json).name", "NODE-1\n", 0},
	{"redirection writes UTF-16",
		"'a' > C:\\k\\u.txt; [System.IO.File]::ReadAllBytes('C:\\k\\u.txt') -join ' '; Get-Content C:\\k\\u.txt",
		"255 254 97 0 13 0 10 0\na\n", 0},
	{"utf8 has a mark",
		"Set-Content C:\\k\\u.txt 'a' -Encoding UTF8; (Get-Content C:\\k\\u.txt -Encoding Byte) -join ' '",
		"239 187 191 97 13 10\n", 0},
	{"ascii by default", "Set-Content C:\\k\\u.txt 'a' -NoNewline; [IO.File]::ReadAllBytes('C:\\k\\u.txt').Length", "1\n", 0},
	{"write all text", "[System.IO.File]::WriteAllText('C:\\k\\w.txt', \"x`n\"); " +
		"[IO.File]::ReadAllText('C:\\k\\w.txt').Length; [IO.File]::Exists('C:\\k\\w.txt')", "2\nTrue\n", 0},
	{"append", "Add-Content C:\\k\\a.txt 'one'; 'two' | Add-Content C:\\k\\a.txt; 'three' | Out-File " +
		"C:\\k\\a.txt -Append -Encoding ascii; (Get-Content C:\\k\\a.txt) -join ','", "one,two,three\n", 0},
	{"tail and head", "1..5 | Set-Content C:\\k\\n.txt; (Get-Content C:\\k\\n.txt -Tail 2) -join ','; " +
		"Get-Content C:\\k\\n.txt -TotalCount 1; (Get-Content C:\\k\\n.txt | Measure-Object " +
		"-Line).Lines", "4,5\n1\n5\n", 0},
	{"no such folder", "Set-Content C:\\no\\f.txt x", "Set-Content : Could not find a part of the path 'C:\\no\\f.txt'.\nAt line:1 " +
		"char:1\n    + CategoryInfo  " +
		"        : ObjectNotFound: (:) [Set-Content], DirectoryNotFoundException\n    + FullyQualifiedErrorId " +
		": GetContentWriterDirectoryNotFoundError,Microsoft.PowerShell.Commands.SetContentCommand\n", 0},
	{"folders", "New-Item -ItemType Directory -Force -Path C:\\a\\b | Out-Null; mkdir C:\\a\\c | Out-Null; " +
		"(Get-ChildItem C:\\a).Name -join ','; Test-Path C:\\a\\b -PathType Container", "b,c\nTrue\n", 0},
	{"a folder that is there",
		"mkdir C:\\k -ErrorAction SilentlyContinue; $?; New-Item -ItemType Directory C:\\k -Force | Out-Null; $?",
		"False\nTrue\n", 0},
	{"copy and move", "Set-Content C:\\k\\1.txt x; Copy-Item C:\\k\\1.txt C:\\k\\2.txt; Move-Item C:\\k\\2.txt " +
		"C:\\k\\3.txt; Rename-Item C:\\k\\3.txt 4.txt; (Get-ChildItem C:\\k\\*.txt).Name -join " +
		"','", "1.txt,4.txt\n", 0},
	{"copy a tree", "mkdir C:\\s\\d | Out-Null; Set-Content C:\\s\\d\\f.txt x; Copy-Item -Recurse C:\\s C:\\t; " +
		"Get-Content C:\\t\\d\\f.txt", "x\n", 0},
	{"remove", "mkdir C:\\r\\s | Out-Null; Remove-Item -Recurse -Force C:\\r; Test-Path C:\\r; Remove-Item " +
		"C:\\none -ErrorAction Ignore; 'on'", "False\non\n", 0},
	{"list files", "mkdir C:\\l\\m | Out-Null; 'x' | Set-Content C:\\l\\m\\a.log; 'y' | Set-Content " +
		"C:\\l\\b.txt; Get-ChildItem C:\\l -Recurse -Filter *.log | ForEach-Object { $_.FullName }; (gci C:\\l " +
		"-File).Name; (gci C:\\l -Directory).Name", "C:\\l\\m\\a.log\nb.txt\nm\n", 0},
	{"paths", "Join-Path C:\\k 'f.txt'; Split-Path C:\\k\\f.txt; Split-Path C:\\k\\f.txt -Leaf; " +
		"[IO.Path]::GetExtension('a.tar.gz'); " +
		"[IO.Path]::GetFileNameWithoutExtension('C:\\k\\x.exe')", "C:\\k\\f.txt\nC:\\k\nf.txt\n.gz\nx\n", 0},
	{"location", "Push-Location C:\\k; (Get-Location).Path; Pop-Location; $PWD.Path; cd C:\\none",
		"C:\\k\nC:\\Windows\\System32\nSet-Location : Cannot find path 'C:\\none' because it does not exist.\nAt " +
			"line:1 char:67\n    + CategoryInfo          : ObjectNotFound: (C:\\none:String) [Set-Location], " +
			"ItemNotFoundException\n    + FullyQualifiedErrorId : " +
			"PathNotFound,Microsoft.PowerShell.Commands.SetLocationCommand\n", 0},
	{"file hash", "Set-Content C:\\k\\h.txt 'a' -NoNewline; (Get-FileHash C:\\k\\h.txt).Hash.Substring(0,8)", "CA978112\n", 0},
	{"select-string", "'a=1','FLANNEL_SUBNET=10.1.2.1/24' | Set-Content C:\\k\\s.env; $c = (Get-Content " +
		"C:\\k\\s.env | Select-String FLANNEL_SUBNET).Line.Split('=')[1]; $c.Substring(0, $c.LastIndexOf('.')) " +
		"+ '.0'", "10.1.2.0\n", 0},
	{"select-string on files", "Set-Content C:\\k\\s.log \"ok`r`nERROR bad\"; (Select-String -Path C:\\k\\s.log " +
		"-Pattern 'error').LineNumber; Select-String -Path C:\\k\\s.log -Pattern nope " +
		"-Quiet", "2\nFalse\n", 0},
	{"services", "Stop-Service kubelet; (Get-Service kubelet).Status; Start-Service kubelet; (Get-Service " +
		"kubelet).Status; Set-Service kubelet -StartupType Manual; (Get-Service " +
		"kubelet).StartType", "Stopped\nRunning\nManual\n", 0},
	{"a service in a condition", "if ((Get-Service -Name sshd -ErrorAction SilentlyContinue).Status -eq " +
		"'Running') { 'up' }; if (-not (Get-Service nope -ErrorAction SilentlyContinue)) { 'none' " +
		"}", "up\nnone\n", 0},
	{"a new service", "New-Service -Name agent -BinaryPathName 'C:\\k\\agent.exe' -StartupType Automatic | " +
		"Out-Null; (Get-Service agent).StartType; sc.exe delete agent | Out-Null; Get-Service agent " +
		"-ErrorAction SilentlyContinue; $?", "Automatic\nFalse\n", 0},
	{"a service without its program", "New-Service agent -BinaryPathName 'C:\\no\\agent.exe --x' | Out-Null; sc.exe start agent; " +
		"(Get-Service agent).Status; $LASTEXITCODE",
		"[SC] StartService FAILED 2:\n\nService agent: C:\\no\\agent.exe: the system cannot find the file specified.\n\nStopped\n2\n", 0},
	{"a killed kubelet", "Stop-Process -Name kubelet -Force; (Get-Service kubelet).Status", "Running\n", 0},
	{"a killed service", "Stop-Process -Name sshd; (Get-Service sshd).Status; Start-Service sshd; " +
		"sc.exe failure sshd reset= 60 actions= restart/0 | Out-Null; Stop-Process -Name sshd; (Get-Service sshd).Status",
		"Stopped\nRunning\n", 0},
	{"what recovers a service", "sc.exe failure sshd reset= 60 actions= restart/1000/run/2000 command= x.cmd | Out-Null; sc.exe qfailure sshd",
		"[SC] QueryServiceConfig2 SUCCESS\n\nSERVICE_NAME: sshd\n        RESET_PERIOD (in seconds)    : 60\n" +
			"        REBOOT_MESSAGE               : \n        COMMAND_LINE                 : x.cmd\n" +
			"        FAILURE_ACTIONS              : RESTART -- Delay = 1000 milliseconds.\n" +
			"                                       RUN PROCESS -- Delay = 2000 milliseconds.\n", 0},
	{"services that need another", "New-Service b -BinaryPathName C:\\Windows\\b.exe -DependsOn sshd | Out-Null; Stop-Service sshd; " +
		"Start-Service b; " +
		"(Get-Service sshd).Status; sc.exe stop sshd 2>&1 | Out-Null; $LASTEXITCODE; Stop-Service sshd -Force; (Get-Service b).Status",
		"Running\n1051\nStopped\n", 0},
	{"sc is an alias", "sc C:\\k\\sc.txt x; Get-Content C:\\k\\sc.txt; sc.exe qc kubelet | Out-Null; $LASTEXITCODE", "x\n0\n", 0},
	{"services by a pipeline", "Get-Service kubelet,sshd | Where-Object { $_.Status -eq 'Running' } | " +
		"Sort-Object Name -Descending | Select-Object -ExpandProperty Name", "sshd\nkubelet\n", 0},
	{"wait for a service", "$s = Get-Service kubelet; $s.WaitForStatus('Running', [TimeSpan]::FromSeconds(30)); 'up'", "up\n", 0},
	{"restart in a loop",
		"foreach ($n in 'kubelet','sshd') { Restart-Service $n -Force }; (Get-Service kubelet,sshd).Status -join ','",
		"Running,Running\n", 0},
	{"nssm", "nssm set kubelet start SERVICE_DEMAND_START | Out-Null; $LASTEXITCODE; (Get-Service kubelet).StartType", "0\nManual\n", 0},
	{"registry", "New-Item -Path HKLM:\\SOFTWARE\\Test -Force | Out-Null; New-ItemProperty -Path " +
		"HKLM:\\SOFTWARE\\Test -Name V -Value 5 -PropertyType DWORD | Out-Null; Set-ItemProperty " +
		"HKLM:\\SOFTWARE\\Test V 6; (Get-ItemProperty HKLM:\\SOFTWARE\\Test).V; Get-ItemPropertyValue " +
		"HKLM:\\SOFTWARE\\Test -Name V; Test-Path HKLM:\\SOFTWARE\\Test", "6\n6\nTrue\n", 0},
	{"registry by reg.exe", "reg add HKLM\\SOFTWARE\\R /v A /t REG_SZ /d x /f | Out-Null; (Get-ItemProperty " +
		"'HKLM:\\SOFTWARE\\R').A; Remove-ItemProperty HKLM:\\SOFTWARE\\R A; (Get-ItemProperty " +
		"HKLM:\\SOFTWARE\\R).A -eq $null", "x\nTrue\n", 0},
	{"no such key", "Set-ItemProperty HKLM:\\SOFTWARE\\None -Name A -Value 1",
		"Set-ItemProperty : Cannot find path 'HKEY_LOCAL_MACHINE\\SOFTWARE\\None' because it does not " +
			"exist.\nAt line:1 char:1\n    + CategoryInfo          : ObjectNotFound: " +
			"(HKEY_LOCAL_MACHINE\\SOFTWARE\\None:String) [Set-ItemProperty], ItemNotFoundException\n    + " +
			"FullyQualifiedErrorId : PathNotFound,Microsoft.PowerShell.Commands.SetItemPropertyCommand\n", 0},
	{"the build", "(Get-ItemProperty 'HKLM:\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion').ProductName; " +
		"[Environment]::OSVersion.Version.Major", "Image\n6\n", 0},
	{"environment", "$env:MY_VAR = 'v'; $env:my_var; cmd /c echo %MY_VAR%; Test-Path Env:MY_VAR; Remove-Item " +
		"Env:MY_VAR; $env:MY_VAR -eq $null", "v\nv\nTrue\nTrue\n", 0},
	{"machine environment", "[Environment]::SetEnvironmentVariable('K', 'v', " +
		"[EnvironmentVariableTarget]::Machine); [Environment]::GetEnvironmentVariable('K', 'Machine'); " +
		"[Environment]::GetEnvironmentVariable('K') -eq $null", "v\nTrue\n", 0},
	{"path of the machine", "$p = [Environment]::GetEnvironmentVariable('Path', 'Machine'); " +
		"[Environment]::SetEnvironmentVariable('Path', \"$p;C:\\tools\", 'Machine'); " +
		"[Environment]::GetEnvironmentVariable('Path','Machine').EndsWith('C:\\tools')", "True\n", 0},
	{"host name", "[System.Net.Dns]::GetHostName(); $env:COMPUTERNAME; hostname", "node-1\nNODE-1\nnode-1\n", 0},
	{"address", "(Get-NetIPAddress -AddressFamily IPv4 -InterfaceAlias Ethernet).IPAddress; " +
		"(Get-NetIPConfiguration).IPv4DefaultGateway.NextHop", "10.1.0.4\n10.1.0.1\n", 0},
	{"adapter", "(Get-NetAdapter | Where-Object Status -eq 'Up').Name; Get-NetAdapter -Name nope",
		"Ethernet\nGet-NetAdapter : No MSFT_NetAdapter objects found with property 'Name' equal to 'nope'.  " +
			"Verify the value of the property and retry.\nAt line:1 char:55\n    + CategoryInfo          : " +
			"NotSpecified: (:) [Get-NetAdapter], CimJobException\n    + FullyQualifiedErrorId : " +
			"CmdletizationQuery_NotFound_Name,Get-NetAdapter\n", 0},
	{"DNS servers", "Set-DnsClientServerAddress -InterfaceAlias Ethernet -ServerAddresses " +
		"'10.0.0.10','10.0.0.11'; (Get-DnsClientServerAddress -AddressFamily IPv4).ServerAddresses -join " +
		"','", "10.0.0.10,10.0.0.11\n", 0},
	{"the metadata service", "(Test-NetConnection 169.254.169.254 -Port 80).TcpTestSucceeded; " +
		"Test-NetConnection 169.254.169.254 -Port 80 -InformationLevel Quiet", "True\nTrue\n", 0},
	{"nothing as json", "Get-HnsNetwork | Select-Object Name | ConvertTo-Json -Compress; " +
		"(Get-HnsEndpoint).Count; netsh int ipv4 show dynamicport tcp | Select-String " +
		"Number", "0\nNumber of Ports : 16384\n", 0},
	{"HNS network", "ipmo C:\\k\\debug\\hns.psm1; New-HnsNetwork -Type Overlay -AddressPrefix " +
		"\"192.168.255.0/30\" -Gateway \"192.168.255.1\" -Name \"External\" -AdapterName \"Ethernet 2\" " +
		"-SubnetPolicies @(@{Type = \"VSID\"; VSID = 9999; }) | Out-Null; " +
		"(Get-HnsNetwork).Name", "External\n", 0},
	{"HNS network is there", "if (!(Get-HnsNetwork | ? Name -EQ \"External\")) { New-HnsNetwork -Type Overlay " +
		"-Name External | Out-Null }; (Get-HnsNetwork | Measure-Object).Count", "1\n", 0},
	{"HNS network of a subnet", "New-HnsNetwork -Type Overlay -Name outer -AddressPrefix 192.168.250.0/30 -Gateway 192.168.250.1 " +
		"-SubnetPolicies @(@{Type='VSID'; VSID=9998}) | Out-Null; $s = (Get-HnsNetwork outer).Subnets; " +
		"\"$($s.AddressPrefix) $($s.GatewayAddress) $($s.Policies.VSID)\"", "192.168.250.0/30 192.168.250.1 9998\n", 0},
	{"firewall rule", "New-NetFirewallRule -Name kubelet -DisplayName 'kubelet' -Enabled True -Direction " +
		"Inbound -Protocol TCP -Action Allow -LocalPort 10250 | Out-Null; (Get-NetFirewallRule -Name kubelet)." +
		"DisplayName", "New-NetFirewallRule: simulated: no effect (the rule is kept and no packet is filtered)\nkubelet\n", 0},
	{"what has no effect",
		"Set-MpPreference -DisableRealtimeMonitoring $true; Set-NetFirewallProfile -All -Enabled False; 'on'",
		"Set-MpPreference: simulated: no effect (no antivirus is simulated)\n" +
			"Set-NetFirewallProfile: simulated: no effect (no packet is filtered)\non\n",
		0},
	{"no effect gives no value", "$x = Add-MpPreference -ExclusionPath C:\\k; $x -eq $null",
		"Add-MpPreference: simulated: no effect (no antivirus is simulated)\nTrue\n", 0},
	{"features", "(Get-WindowsFeature Containers).Installed; (Install-WindowsFeature -Name Telnet-Client)." +
		"RestartNeeded; (Get-WindowsFeature Telnet-Client)." +
		"InstallState", "True\n" +
		"Install-WindowsFeature: simulated: no effect (the feature is recorded and nothing of it runs)\n" +
		"Yes\nInstalled\n", 0},
	{"domain join fails", "$p = ConvertTo-SecureString 'p' -AsPlainText -Force; try { Add-Computer -DomainName " +
		"corp.local -Credential (New-Object PSCredential 'u', $p) -ErrorAction Stop } catch { 'failed'; exit 7 }", "failed\n", 7},
	{"users", "New-LocalUser -Name ops -Password (ConvertTo-SecureString 'P@ss1' -AsPlainText -Force) | " +
		"Out-Null; (Get-LocalUser ops).Name", "ops\n", 0},
	{"members of groups are refused before anything runs", "'x' > C:\\k\\x.txt; Add-LocalGroupMember -Group Administrators -Member ops",
		"casement does not simulate the cmdlet Add-LocalGroupMember, if the image has one of that name; nothing of the script was run\n" +
			"At line:1 char:19\n", 1},
	{"no such user", "Get-LocalUser nobody2 -ErrorAction SilentlyContinue; $?", "False\n", 0},
	{"scheduled task", "$a = New-ScheduledTaskAction -Execute powershell.exe -Argument '-File C:\\k\\x.ps1'; $t " +
		"= New-ScheduledTaskTrigger -AtStartup; Register-ScheduledTask -TaskName Boot -Action $a -Trigger $t -" +
		"User SYSTEM | Out-Null; (Get-ScheduledTask -TaskName Boot)." +
		"State", "Register-ScheduledTask: simulated: no effect (the task is kept and nothing runs it)\nReady\n", 0},
	{"json", "@{ a = 1 } | ConvertTo-Json -Compress; [ordered]@{ x = 'y'; l = @(1,2) } | ConvertTo-Json",
		"{\"a\":1}\n{\n    \"x\":  \"y\",\n    \"l\":  [\n              1,\n              2\n          ]\n}\n", 0},
	{"json in depth", "@{ a = @{ b = @{ c = @{ d = 1 } } } } | ConvertTo-Json -Compress; (ConvertFrom-Json " +
		"'{\"a\":{\"b\":[1,2]}}').a.b[1]", "{\"a\":{\"b\":{\"c\":\"System.Collections.Hashtable\"}}}\n2\n", 0},
	{"bad json", "try { 'x{' | ConvertFrom-Json } catch { 'bad' }", "bad\n", 0},
	{"edit a json file", "'{\"v\":1,\"k\":\"x\"}' | Set-Content C:\\k\\j.json; $j = Get-Content C:\\k\\j.json " +
		"-Raw | ConvertFrom-Json; $j.v = 2; $j | Add-Member -NotePropertyName n -NotePropertyValue 'new'; $j | " +
		"ConvertTo-Json -Compress", "{\"v\":2,\"k\":\"x\",\"n\":\"new\"}\n", 0},
	{"string data", "(ConvertFrom-StringData \"a=1`nb = two\").b", "two\n", 0},
	{"where and select", "Get-Service | Where-Object { $_.Name -like 'kube*' } | Select-Object Name, @{ Name = " +
		"'Up'; Expression = { $_.Status -eq 'Running' } } | ForEach-Object { \"$($_.Name) $($_.Up)\" " +
		"}", "kubelet True\n", 0},
	{"first ends a pipeline", "1..100000 | Select-Object -First 2; 'on'", "1\n2\non\n", 0},
	{"sort and unique", "3,1,2,3 | Sort-Object -Unique; 'b','A' | sort; 1,2,3 | Measure-Object -Sum | % Sum", "1\n2\n3\nA\nb\n6\n", 0},
	{"group",
		"'a','b','a' | Group-Object | Sort-Object Count -Descending | ForEach-Object { \"$($_.Name)=$($_.Count)\" }",
		"a=2\nb=1\n", 0},
	{"tee", "'x','y' | Tee-Object -Variable t | Out-Null; $t.Count; 'z' | Tee-Object -FilePath C:\\k\\t.txt; " +
		"Get-Content C:\\k\\t.txt", "2\nz\nz\n", 0},
	{"foreach with begin and end", "1..3 | ForEach-Object -Begin { $s = 0 } -Process { $s += $_ } -End { $s }", "6\n", 0},
	{"out-string", "('a','b' | Out-String).Trim().Length", "4\n", 0},
	{"compare", "(Compare-Object @('a','b') @('b','c')).SideIndicator -join ''", "=><=\n", 0},
	{"no network", "try { Invoke-WebRequest -UseBasicParsing https://example.com -OutFile C:\\k\\never.txt } " +
		"catch { 'down' }; Test-Path C:\\k\\never.txt", "down\nFalse\n", 0},
	{"retry loop", "$n = 0; do { try { $n++; Invoke-RestMethod http://x; $ok = $true } catch { Start-Sleep " +
		"-Seconds 10 } } until ($ok -or $n -ge 3); $n", "3\n", 0},
	{"deadline in guest time",
		"$end = (Get-Date).AddSeconds(30); $n = 0; while ((Get-Date) -lt $end) { Start-Sleep -Seconds 10; $n++ }; $n",
		"3\n", 0},
	{"stopwatch", "$w = [Diagnostics.Stopwatch]::StartNew(); Start-Sleep 5; $w.Elapsed.TotalSeconds -ge 4.9", "True\n", 0},
	{"wait for a file", "for ($i = 0; $i -lt 3; $i++) { if (Test-Path C:\\k\\kubeadm.exe) { exit 0 }; " +
		"Start-Sleep -Seconds 5 }\nexit -2", "", 0},
	{"wait in vain", "for ($i = 0; $i -lt 3; $i++) { if (Test-Path C:\\none) { exit 0 } else { Start-Sleep " +
		"-Seconds 5 } }\nexit -2", "", -2},
	{"get-command", "if (Get-Command nssm -ErrorAction SilentlyContinue) { 'nssm' }; if (-not (Get-Command " +
		"docker.exe -ErrorAction SilentlyContinue)) { 'no docker' }; (Get-Command " +
		"cmd.exe).Source", "nssm\nno docker\nC:\\Windows\\System32\\cmd.exe\n", 0},
	{"program arguments", "cmd /c \"echo a b\" ; $a = 'x y'; cmd /c echo $a", "a b\nx y\n", 0},
	{"program output", "$l = cmd /c \"echo one& echo two\"; $l.Count; $l[1]", "2\ntwo\n", 0},
	{"errors of programs stop",
		"$ErrorActionPreference = 'Stop'; try { cmd /c \"echo bad 1>&2\" 2>&1 | Out-Null } catch { 'stopped' }",
		"stopped\n", 0},
	{"start-process", "$p = Start-Process cmd.exe -ArgumentList '/c exit 4' -Wait -PassThru -NoNewWindow; " +
		"$p.ExitCode; $LASTEXITCODE -eq $null", "4\nTrue\n", 0},
	{"no such program", "Start-Process C:\\none.exe", "Start-Process : This command cannot be run due to the error: The system " +
		"cannot find the file " +
		"specified.\nAt line:1 char:1\n    + CategoryInfo          : NotSpecified: (:) [Start-Process], " +
		"InvalidOperationException\n    + FullyQualifiedErrorId : " +
		"InvalidOperationException,Microsoft.PowerShell.Commands.StartProcessCommand\n", 0},
	{"script files", "Set-Content C:\\k\\in.ps1 'param($n) \"got $n in $PSScriptRoot\"; exit 4'; C:\\k\\in.ps1 " +
		"5; $LASTEXITCODE; & C:\\k\\in.ps1 -n 6", "got 5 in C:\\k\n4\ngot 6 in C:\\k\n", 0},
	{"dot-sourced file", "Set-Content C:\\k\\lib.ps1 'function Helper { \"helped\" }'; . C:\\k\\lib.ps1; Helper", "helped\n", 0},
	{"a file that is not there", "C:\\k\\none.ps1", "C:\\k\\none.ps1 : The term 'C:\\k\\none.ps1' is not recognized as the name of " +
		"a cmdlet, function, " +
		"script file, or operable program. Check the spelling of the name, or if a path was included, verify " +
		"that the path is correct and try again.\nAt line:1 char:1\n    + CategoryInfo          : " +
		"ObjectNotFound: (:) [], CommandNotFoundException\n    + FullyQualifiedErrorId : CommandNotFoundException\n", 0},
	{"powershell -Command", "powershell -NoProfile -NonInteractive -Command \"exit 6\"; $LASTEXITCODE; " +
		"powershell -Command \"Get-Item C:\\none -ErrorAction SilentlyContinue\"; $LASTEXITCODE", "6\n1\n", 0},
	{"powershell -File", "Set-Content C:\\k\\f.ps1 \"throw 'x'\"; powershell -ExecutionPolicy Bypass -File " +
		"C:\\k\\f.ps1 2>$null; $LASTEXITCODE; powershell -File C:\\none.ps1 2>$null; " +
		"$LASTEXITCODE", "1\n-196608\n", 0},
	{"encoded command",
		"$e = [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes(\"'hi'\")); powershell -EncodedCommand $e",
		"hi\n", 0},
	{"parameters of Run Command", "& {\nparam([string]$who, $n)\n\"$who $n\"; exit 3\n} -who 'it''s' -n 'a b'", "it's a b\n", 3},
	{"named arguments of a file", "Set-Content C:\\k\\p.ps1 'param([string]$Name, [switch]$On) \"$Name $On\"'; " +
		"powershell -File C:\\k\\p.ps1 -Name a -On", "a True\n", 0},
	{"batch file", "Set-Content C:\\k\\b.cmd '@exit /b 3'; C:\\k\\b.cmd; $LASTEXITCODE", "3\n", 0},
	{"computer info", "(Get-CimInstance Win32_OperatingSystem).Caption; (Get-CimInstance -ClassName " +
		"Win32_ComputerSystem).PartOfDomain; (Get-WmiObject Win32_Service -Filter " +
		"\"Name='kubelet'\").StartMode", "Microsoft Image\nFalse\nAuto\n", 0},
	{"disk", "[math]::Round((Get-Volume -DriveLetter C).Size / 1GB); (Get-PSDrive C).Free -gt 1GB", "127\nTrue\n", 0},
	{"processes", "(Get-Process kubelet).ProcessName; Get-Process nope -ErrorAction SilentlyContinue; $?", "kubelet\nFalse\n", 0},
	{"web client", "try { (New-Object Net.WebClient).DownloadFile('https://x/y', 'C:\\k\\never.txt') } catch { 'down' }", "down\n", 0},
	{"tls", "[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12; " +
		"[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor 3072; " +
		"'set'", "set\n", 0},
	{"uri", "([uri]'https://h.example:8443/a/b?c=d').Host; ([uri]'https://h/a').Port", "h.example\n443\n", 0},
	{"random", "(Get-Random -Minimum 5 -Maximum 6); (1..3 | Get-Random) -in 1..3", "5\nTrue\n", 0},
	{"whoami", "(whoami) -match 'cloudbase|system|admin|\\\\'", "True\n", 0},
	{"format-list", "[pscustomobject]@{ Name = 'a'; Value = 1 } | Format-List", "\nName  : a\nValue : 1\n\n", 0},
	{"format-table", "[pscustomobject]@{ Name = 'a'; N = 10 } | Format-Table -AutoSize", "\nName  N\n----  -\na    10\n\n", 0},
	{"objects are a table", "[pscustomobject]@{ A = 'x'; B = 'y' }", "\nA B\n- -\nx y\n\n", 0},
	{"csv", "'a,b','1,2' | ConvertFrom-Csv | ForEach-Object { $_.b }", "2\n", 0},
	{"secure strings have no text", "$s = ConvertTo-SecureString 'secret' -AsPlainText -Force; \"$s\"; " +
		"(New-Object PSCredential 'u', " +
		"$s).GetNetworkCredential().Password", "System.Security.SecureString\nsecret\n", 0},
	{"read-only files", "Set-Content C:\\k\\ro.txt a; Set-ItemProperty C:\\k\\ro.txt IsReadOnly $true; " +
		"Set-Content C:\\k\\ro.txt b -ErrorAction SilentlyContinue; Get-Content C:\\k\\ro.txt", "a\n", 0},
	{"unblock", "Unblock-File C:\\k\\kubeadm.exe; $?", "Unblock-File: simulated: no effect\nTrue\n", 0},
	{"rename the computer", "Rename-Computer -NewName other -Force 3>$null; hostname", "other\n", 0},
	{"calico's exclusions",
		"$files = 'calico.exe','calico-ipam.exe'; foreach ($f in $files) { Add-MpPreference -ExclusionProcess \"C:/opt/cni/bin/$f\" }",
		"Add-MpPreference: simulated: no effect (no antivirus is simulated)\n" +
			"Add-MpPreference: simulated: no effect (no antivirus is simulated)\n",
		0},
}

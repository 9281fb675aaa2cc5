package powershell

import "strings"

// cmdlets is the table, by names in lower case.
var cmdlets = map[string]*cmdlet{}

func init() { //nolint:gochecknoinits // the functions of the tables call what looks into them
	for _, table := range [][]cmdlet{
		outputCmdlets, pipeCmdlets, objectCmdlets, languageCmdlets, moduleCmdlets, archiveCmdlets, memberCmdlets, pathCmdlets, fileCmdlets,
		contentCmdlets,
		registryCmdlets, serviceCmdlets, networkCmdlets, systemCmdlets, domainCmdlets, webCmdlets, userCmdlets, taskCmdlets,
		jobCmdlets, transcriptCmdlets,
	} {
		for i := range table {
			c := &table[i]
			c.specs = specsOf(c.parameters)
			cmdlets[strings.ToLower(c.name)] = c
		}
	}
}

// aliases are the command aliases of Windows PowerShell 5.1.
var aliases = map[string]string{
	"%": "ForEach-Object", "foreach": "ForEach-Object", "?": "Where-Object", "where": "Where-Object",
	"ac": "Add-Content", "cat": "Get-Content", "gc": "Get-Content", "type": "Get-Content", "cd": "Set-Location",
	"chdir": "Set-Location", "sl": "Set-Location",
	"clc": "Clear-Content", "compare": "Compare-Object", "diff": "Compare-Object", "copy": "Copy-Item",
	"cp": "Copy-Item", "cpi": "Copy-Item", "curl": "Invoke-WebRequest", "iwr": "Invoke-WebRequest",
	"wget": "Invoke-WebRequest", "irm": "Invoke-RestMethod",
	"del": "Remove-Item", "erase": "Remove-Item", "rd": "Remove-Item", "ri": "Remove-Item", "rm": "Remove-Item",
	"rmdir": "Remove-Item", "dir": "Get-ChildItem", "gci": "Get-ChildItem", "ls": "Get-ChildItem",
	"echo": "Write-Output", "write": "Write-Output",
	"epcsv": "Export-Csv", "ipcsv": "Import-Csv", "fl": "Format-List", "ft": "Format-Table", "gcm": "Get-Command",
	"gi": "Get-Item", "gl": "Get-Location",
	"pwd": "Get-Location", "gp": "Get-ItemProperty", "gpv": "Get-ItemPropertyValue", "gps": "Get-Process",
	"ps": "Get-Process", "group": "Group-Object", "gsv": "Get-Service",
	"gu": "Get-Unique", "gv": "Get-Variable", "gwmi": "Get-WmiObject", "icm": "Invoke-Command",
	"iex": "Invoke-Expression", "ipmo": "Import-Module", "kill": "Stop-Process", "spps": "Stop-Process",
	"measure": "Measure-Object", "mi": "Move-Item", "move": "Move-Item", "mv": "Move-Item",
	"ni": "New-Item", "nv": "New-Variable", "oh": "Out-Host", "popd": "Pop-Location", "pushd": "Push-Location",
	"ren": "Rename-Item", "rni": "Rename-Item", "rnp": "Rename-ItemProperty", "rp": "Remove-ItemProperty",
	"rv": "Remove-Variable", "rvpa": "Resolve-Path", "sal": "Set-Alias", "nal": "New-Alias",
	"saps": "Start-Process", "start": "Start-Process", "sasv": "Start-Service", "sc": "Set-Content",
	"select": "Select-Object", "set": "Set-Variable", "si": "Set-Item", "sleep": "Start-Sleep",
	"sls": "Select-String", "sort": "Sort-Object", "sp": "Set-ItemProperty", "spsv": "Stop-Service",
	"sv": "Set-Variable", "tee": "Tee-Object",
	"tnc": "Test-NetConnection", "gal": "Get-Alias", "gmo": "Get-Module", "rmo": "Remove-Module",
	"gm": "Get-Member", "h": "Get-History", "history": "Get-History", "sajb": "Start-Job",
	"gcim": "Get-CimInstance", "gin": "Get-ComputerInfo", "md": "mkdir", "cls": "Clear-Host",
	"clear": "Clear-Host", "asnp": "Add-PSSnapin", "cfs": "ConvertFrom-String", "cli": "Clear-Item", "clhy": "Clear-History",
	"clp": "Clear-ItemProperty", "clv": "Clear-Variable", "cpp": "Copy-ItemProperty", "cvpa": "Convert-Path",
	"dbp": "Disable-PSBreakpoint", "dnsn": "Disconnect-PSSession", "ebp": "Enable-PSBreakpoint", "epal": "Export-Alias",
	"epsn": "Export-PSSession", "etsn": "Enter-PSSession", "exsn": "Exit-PSSession", "fc": "Format-Custom", "fhx": "Format-Hex",
	"fw": "Format-Wide", "gbp": "Get-PSBreakpoint", "gcb": "Get-Clipboard", "gcs": "Get-PSCallStack", "gdr": "Get-PSDrive",
	"ghy": "Get-History", "gjb": "Get-Job", "gsn": "Get-PSSession", "gsnp": "Get-PSSnapin", "gtz": "Get-TimeZone",
	"ihy": "Invoke-History", "ii": "Invoke-Item", "ipal": "Import-Alias", "ipsn": "Import-PSSession", "iwmi": "Invoke-WmiMethod",
	"lp": "Out-Printer", "mount": "New-PSDrive", "mp": "Move-ItemProperty", "ndr": "New-PSDrive", "nmo": "New-Module",
	"nsn": "New-PSSession", "ogv": "Out-GridView", "pumo": "Publish-Module", "r": "Invoke-History", "rbp": "Remove-PSBreakpoint",
	"rcjb": "Receive-Job", "rcsn": "Receive-PSSession", "rdr": "Remove-PSDrive", "rjb": "Remove-Job", "rsn": "Remove-PSSession",
	"rsnp": "Remove-PSSnapin", "rujb": "Resume-Job", "rwmi": "Remove-WmiObject", "sbp": "Set-PSBreakpoint", "scb": "Set-Clipboard",
	"shcm": "Show-Command", "spjb": "Stop-Job", "sujb": "Suspend-Job", "stz": "Set-TimeZone", "swmi": "Set-WmiInstance",
	"trcm": "Trace-Command", "wjb": "Wait-Job",
}

// noEffect are cmdlets of real boots whose effect the simulated machine does not need. Each
// call writes a mark to the console; none returns a value.
var noEffect = map[string]string{
	"set-psrepository": "",
	"add-mppreference": "no antivirus is simulated", "set-mppreference": "no antivirus is simulated",
	"remove-mppreference": "no antivirus is simulated",
	"set-executionpolicy": "", "unblock-file": "", "clear-host": "", "new-netroute": "", "set-netadapter": "",
	"set-netadapteradvancedproperty": "", "disable-netadapterbinding": "", "enable-netadapterbinding": "",
	"disable-netadapterchecksumoffload": "", "disable-netadapterrsc": "", "disable-netadapterlso": "", "set-nettcpsetting": "",
	"clear-dnsclientcache": "", "enable-psremoting": "", "set-smbserverconfiguration": "", "disable-scheduledtask": "",
	"enable-scheduledtask":   "",
	"set-netfirewallprofile": "no packet is filtered", "set-netfirewallrule": "no packet is filtered",
	"enable-netfirewallrule": "no packet is filtered", "disable-netfirewallrule": "no packet is filtered",
	"remove-netfirewallrule":  "no packet is filtered",
	"set-timezone":            "the machine's zone is UTC",
	"install-packageprovider": "nothing is downloaded",
	"write-eventlog":          "no event log is kept", "new-eventlog": "no event log is kept",
}

// unsimulatedCommands are aliases and names without a verb that PowerShell has.
var unsimulatedCommands = map[string]string{
	"more": "more", "help": "help", "man": "help", "ise": "the ISE", "oss": "oss", "prompt": "prompt",
}

// verbs are the approved ones, and a few that cmdlets have.
var verbs = func() map[string]bool {
	out := map[string]bool{}
	for v := range strings.FieldsSeq(
		`add clear close copy enter exit find format get hide join lock move new open optimize push pop redo remove
		rename reset resize search select set show skip split step switch undo unlock watch
		backup checkpoint compare compress convert convertfrom convertto dismount edit expand export group import
		initialize limit merge mount out publish restore save sync unpublish update
		approve assert build complete confirm deny deploy disable enable install invoke register request restart
		resume start stop submit suspend uninstall unregister wait
		debug measure ping repair resolve test trace connect disconnect read receive send write block grant protect
		revoke unblock unprotect use foreach where sort tee`) {
		out[v] = true
	}
	return out
}()

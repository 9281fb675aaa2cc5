package powershell

import "strings"

// cmdlets are the simulated cmdlets, by name in lower case.
var cmdlets = map[string]*cmdlet{}

func init() { // the tables cannot be initial values, because their functions refer to cmdlets
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

// noEffect are cmdlets that real bootstrap scripts call and whose effect the simulated machine does not need,
// with a note. A call writes a mark to the console and outputs nothing.
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

// unsimulatedCommands are commands without a verb that PowerShell has and casement does not simulate, with the
// names that errors show.
var unsimulatedCommands = map[string]string{
	"more": "more", "help": "help", "man": "help", "ise": "the ISE", "oss": "oss", "prompt": "prompt",
}

// verbs are PowerShell's approved verbs, and a few other verbs that cmdlets use.
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

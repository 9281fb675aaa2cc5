package powershell

import (
	"strings"
	"time"
)

const kindCommand = "System.Management.Automation.CommandInfo"

var languageCmdlets = []cmdlet{
	{name: "Set-Variable", parameters: "Name:0 Value:1 Scope Option Force?~ PassThru? Description~ Visibility~", run: setVariable},
	{name: "New-Variable", parameters: "Name:0 Value:1 Scope Option Force?~ PassThru? Description~", run: setVariable},
	{name: "Get-Variable", parameters: "Name:0 ValueOnly? Scope", run: getVariable},
	{name: "Remove-Variable", parameters: "Name:0 Scope~ Force?~", run: removeVariable},
	{name: "Clear-Variable", parameters: "Name:0", run: func(c *call) error { return c.set(strings.ToLower(c.textOf("name")), nil) }},
	{name: "Set-StrictMode", parameters: "Version Off?", run: setStrictMode},
	{name: "Set-Alias", parameters: "Name:0 Value:1 Force?~ Scope~ Option~", run: setAlias},
	{name: "New-Alias", parameters: "Name:0 Value:1 Force?~ Scope~ Option~", run: setAlias},
	{name: "Get-Alias", parameters: "Name:0", run: getAlias},
	{name: "Invoke-Expression", parameters: "Command:0", run: invokeExpression},
	{name: "Invoke-Command",
		parameters: "ScriptBlock:0 ArgumentList|Args NoNewScope? ComputerName|Cn Session Credential InputObject",
		run:        invokeCommand},
	{name: "Get-Command", parameters: "Name:0 CommandType|Type All?~", run: getCommand},
	{name: "Measure-Command", parameters: "Expression:0", run: measureCommand},
	{name: "Start-Sleep", parameters: "Seconds:0 Milliseconds", run: startSleep},
	{name: "Import-Module", parameters: "Name:0 Force?~ DisableNameChecking?~ Global?~ PassThru? " +
		"MinimumVersion~ RequiredVersion~ Scope~ Prefix SkipEditionCheck?~ UseWindowsPowerShell?~ " +
		"WarningAction~", run: importModule},
	{name: "Get-Module", parameters: "Name:0 ListAvailable?~ All?~ Refresh?~", run: getModule},
	{name: "Start-Process", parameters: "FilePath:0 ArgumentList|Args:1 Wait? NoNewWindow?~ PassThru? " +
		"WorkingDirectory WindowStyle~ RedirectStandardOutput RedirectStandardError RedirectStandardInput Verb " +
		"Credential LoadUserProfile?~", run: startProcess},
	{name: "Get-Host", parameters: "", run: func(c *call) error { v, _ := c.lookup("host"); return c.emit(v) }},
	{name: "Get-PSCallStack", parameters: "", run: func(*call) error { return lacking("Get-PSCallStack") }},
	{name: "Export-ModuleMember", parameters: "Function:0~ Variable~ Alias~ Cmdlet~", run: func(*call) error { return nil }},
	{name: "Wait-Process", parameters: "Name:0 Id Timeout~ InputObject~",
		run: func(*call) error { return lacking("Wait-Process; no process of the guest runs on") }},
}

func setVariable(c *call) error {
	if c.is("passthru") {
		return lacking("-PassThru of Set-Variable")
	}
	v := c.given["value"]
	if c.piped && !c.has("value") {
		v = single(c.input)
	}
	for _, n := range c.textsOf("name") {
		name := strings.ToLower(n)
		switch scope := strings.ToLower(c.textOf("scope")); scope {
		case "global", "script", "local", "private":
			name = scope + ":" + name
		case "", "0":
		case "1":
			if c.scope.parent != nil {
				c.scope.parent.vars[name] = &cell{value: v}
				continue
			}
		default:
			return lacking("-Scope %s of Set-Variable", scope)
		}
		if err := c.set(name, v); err != nil {
			return err
		}
		if option := strings.ToLower(c.textOf("option")); option == "readonly" || option == "constant" {
			if cell := c.find(strings.ToLower(n)); cell != nil {
				cell.fixed = true
			}
		}
	}
	return nil
}

func getVariable(c *call) error {
	if !c.has("name") {
		return lacking("Get-Variable without -Name")
	}
	for _, n := range c.textsOf("name") {
		v, ok := c.lookup(strings.ToLower(n))
		if !ok {
			if err := c.fault(broken("ItemNotFoundException",
				"VariableNotFound,Microsoft.PowerShell.Commands.GetVariableCommand",
				"Cannot find a variable with the name '%s'.", n)); err != nil {
				return err
			}
			continue
		}
		if c.is("valueonly") {
			if err := each(v, c.emit); err != nil {
				return err
			}
			continue
		}
		if err := c.emit(system("System.Management.Automation.PSVariable", []string{"Name", "Value"}, "Name", n,
			"Value", plain(v))); err != nil {
			return err
		}
	}
	return nil
}

func removeVariable(c *call) error {
	for _, n := range c.textsOf("name") {
		low := strings.ToLower(n)
		found := false
		for s := c.scope; s != nil && !found; s = s.parent {
			if _, ok := s.vars[low]; ok {
				delete(s.vars, low)
				found = true
			}
		}
		if !found {
			if err := c.fault(broken("ItemNotFoundException",
				"VariableNotFound,Microsoft.PowerShell.Commands.RemoveVariableCommand",
				"Cannot find a variable with the name '%s'.", n)); err != nil {
				return err
			}
		}
	}
	return nil
}

func setStrictMode(c *call) error {
	c.scope.vars["casement:strict"] = &cell{value: !c.is("off")}
	return nil
}

func setAlias(c *call) error {
	if c.scope.aliases == nil {
		c.scope.aliases = map[string]string{}
	}
	if strings.EqualFold(c.textOf("name"), c.textOf("value")) {
		return lacking("an alias of itself")
	}
	c.scope.aliases[strings.ToLower(c.textOf("name"))] = c.textOf("value")
	return nil
}

func getAlias(c *call) error {
	if !c.has("name") {
		return lacking("Get-Alias without a name")
	}
	for _, n := range c.textsOf("name") {
		to, ok := c.alias(strings.ToLower(n))
		if !ok {
			if err := c.fault(broken("ItemNotFoundException",
				"ItemNotFoundException,Microsoft.PowerShell.Commands.GetAliasCommand",
				"This command cannot find a matching alias because an alias with the name '%s' does not exist.",
				n)); err != nil {
				return err
			}
			continue
		}
		if err := c.emit(system("System.Management.Automation.AliasInfo",
			[]string{"CommandType", "Name", "Definition"}, "CommandType", "Alias", "Name", n, "Definition",
			to)); err != nil {
			return err
		}
	}
	return nil
}

func invokeExpression(c *call) error {
	texts := append(append([]any(nil), c.input...), list(c.given["command"])...)
	for _, v := range texts {
		script := text(v)
		ctx, leave, err := c.host.Enter(c.ctx, script)
		if err != nil {
			leave()
			return &LimitError{"runs Invoke-Expression within itself too deep"}
		}
		if c.calls++; c.calls > maxCalls {
			leave()
			return &LimitError{"runs Invoke-Expression within itself too deep"}
		}
		f, err := c.blockOf(script)
		if err == nil {
			outer := c.ctx
			c.ctx = ctx
			block, _ := f.(function)
			block.source = script
			stage := &functionStage{r: c.run, f: block, out: c.emit, dot: true}
			err = stage.end()
			c.ctx = outer
		}
		c.calls--
		leave()
		if err != nil {
			return err
		}
	}
	return nil
}

func invokeCommand(c *call) error {
	for _, remote := range []string{"computername", "session", "credential"} {
		if c.has(remote) {
			return lacking("remoting (Invoke-Command -%s)", remote)
		}
	}
	f, ok := c.given["scriptblock"].(function)
	if !ok {
		return c.need("scriptblock")
	}
	var args []argumentValue
	for _, v := range list(c.given["argumentlist"]) {
		args = append(args, argumentValue{value: v, has: true})
	}
	var input []any
	if c.piped {
		input = append([]any{}, c.input...)
	}
	return c.callFunction(f, args, input, c.emit)
}

// getCommand finds functions, aliases, cmdlets of the table and programs.
func getCommand(c *call) error {
	if !c.has("name") {
		return lacking("Get-Command without a name")
	}
	for _, name := range c.textsOf("name") {
		if strings.ContainsAny(name, "*?") {
			return lacking("Get-Command with a pattern")
		}
		o := c.commandObject(name)
		if o == nil {
			f := broken("CommandNotFoundException", "CommandNotFoundException,Microsoft.PowerShell.Commands.GetCommandCommand", "The "+
				"term '%s' is not recognized as the name of a cmdlet, function, script file, or operable "+
				"program. Check the spelling of the name, or if a path was included, verify that the path is "+
				"correct and try again.", name)
			f.command, f.target = "Get-Command", name
			if verb, _, ok := strings.Cut(strings.ToLower(name), "-"); ok && verbs[verb] &&
				c.action != "silentlycontinue" && c.action != "ignore" {
				return lacking("the cmdlet %s, if the image has one of that name", name)
			}
			if err := c.fault(f); err != nil {
				return err
			}
			continue
		}
		if err := c.emit(o); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) commandObject(name string) *object {
	low := strings.ToLower(name)
	shown := []string{"CommandType", "Name", "Version", "Source"}
	made := func(kind, name, source string) *object {
		return system(kindCommand, shown, "CommandType", kind, "Name", name, "Version", "", "Source", source,
			"Path", source, "Definition", source)
	}
	if to, ok := r.alias(low); ok {
		return made("Alias", name, to)
	}
	if f, ok := r.function(low); ok {
		o := made("Function", name, "")
		o.set("ScriptBlock", f)
		o.set("Definition", f.text)
		return o
	}
	if c := cmdlets[low]; c != nil {
		return made("Cmdlet", c.name, "Microsoft.PowerShell (simulated by casement)")
	}
	if _, ok := noEffect[low]; ok {
		return made("Cmdlet", name, "simulated by casement: no effect")
	}
	if at, ok := r.host.Has(name); ok {
		return made("Application", base(at), at)
	}
	return nil
}

func measureCommand(c *call) error {
	f, ok := c.given["expression"].(function)
	if !ok {
		return c.need("expression")
	}
	from := c.now()
	if err := c.item1(f, nil, func(any) error { return nil }); err != nil {
		return err
	}
	return c.emit(c.now().Sub(from))
}

func startSleep(c *call) error {
	d := time.Duration(0)
	if c.has("milliseconds") {
		n, err := c.integerOf("milliseconds", 0)
		if err != nil {
			return err
		}
		d = time.Duration(n) * time.Millisecond
	} else {
		if err := c.needInput("seconds"); err != nil {
			return err
		}
		v, err := c.convert("double", c.given["seconds"])
		if err != nil {
			return err
		}
		f, _ := v.(float64)
		d = time.Duration(f * float64(time.Second))
	}
	if d < 0 {
		return broken("ParameterBindingValidationException",
			"ParameterArgumentValidationError,Microsoft.PowerShell.Commands.StartSleepCommand",
			"Cannot validate argument on parameter 'Seconds'.")
	}
	skipped, err := c.host.Sleep(c.ctx, d)
	c.skipped += skipped
	return err
}

// needInput binds a parameter to the pipeline's objects unless the command line sets it.
func (c *call) needInput(name string) error {
	if !c.has(name) && len(c.input) > 0 {
		c.given[name] = single(c.input)
	}
	return c.need(name)
}

// knownModules are the modules of the Windows image of which the simulation has some cmdlets.
var knownModules = map[string]bool{
	"microsoft.powershell.management": true, "microsoft.powershell.utility": true,
	"microsoft.powershell.security": true, "microsoft.powershell.localaccounts": true, "netadapter": true,
	"nettcpip": true, "netsecurity": true,
	"dnsclient": true, "servermanager": true, "scheduledtasks": true, "storage": true,
	"hostnetworkingservice": true, "hns": true, "dism": true, "bitstransfer": true, "defender": true,
	"smbshare": true, "cimcmdlets": true, "hyper-v": false, "netnat": true, "containers": true,
	"webadministration": false,
}

func importModule(c *call) error {
	if c.is("passthru") || c.has("prefix") {
		return lacking("-PassThru and -Prefix of Import-Module")
	}
	for _, name := range append(c.textsOf("name"), inputTexts(c.input)...) {
		low := strings.ToLower(name)
		plainName := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(base(name)), ".psm1"), ".psd1")
		if c.modules == nil {
			c.modules = map[string]bool{}
		}
		isPath := strings.ContainsAny(name, `\/`) || strings.HasSuffix(low, ".psm1") || strings.HasSuffix(low, ".ps1")
		if !isPath && knownModules[plainName] {
			c.modules[plainName] = true
			continue
		}
		file := c.path(name)
		data, err := c.m.Root.ReadFile(file)
		if err != nil || !isPath {
			if known, listed := knownModules[plainName]; listed && !known {
				return lacking("the module %s", name)
			}
			if err := c.fault(broken("System.IO.FileNotFoundException",
				"Modules_ModuleNotFound,Microsoft.PowerShell.Commands.ImportModuleCommand",
				"The specified module '%s' was not loaded because no valid module file was found in any module directory.",
				name)); err != nil {
				return err
			}
			continue
		}
		c.modules[plainName] = true
		if strings.HasSuffix(low, ".psd1") {
			return lacking("module manifests")
		}
		stage := &fileStage{r: c.run, file: file, content: decode(data), out: c.emit, dot: true}
		if err := stage.end(); err != nil {
			return err
		}
	}
	return nil
}

func inputTexts(in []any) []string {
	var out []string
	for _, v := range in {
		out = append(out, text(v))
	}
	return out
}

func getModule(c *call) error {
	for _, name := range c.textsOf("name") {
		plainName := strings.ToLower(name)
		if strings.ContainsAny(name, "*?") {
			return lacking("Get-Module with a pattern")
		}
		loaded := c.modules[plainName] || c.is("listavailable") && knownModules[plainName]
		if !loaded {
			continue // a module that is not there is no error
		}
		if err := c.emit(system("System.Management.Automation.PSModuleInfo", []string{"ModuleType", "Name"},
			"ModuleType", "Manifest", "Name", name)); err != nil {
			return err
		}
	}
	if !c.has("name") {
		return lacking("Get-Module without a name")
	}
	return nil
}

func startProcess(c *call) error {
	if c.has("credential") || c.has("redirectstandardinput") {
		return lacking("-Credential and -RedirectStandardInput of Start-Process")
	}
	name := c.textOf("filepath")
	if _, ok := c.host.Has(name); !ok && !(isBatch(strings.ToLower(name)) && c.m.Root.Exists(c.path(name))) {
		return broken("System.InvalidOperationException",
			"InvalidOperationException,Microsoft.PowerShell.Commands.StartProcessCommand",
			"This command cannot be run due to the error: The system cannot find the file specified.")
	}
	var args []argumentValue
	for _, a := range c.textsOf("argumentlist") {
		for _, word := range split(a) {
			args = append(args, argumentValue{value: word, has: true})
		}
	}
	if strings.TrimSuffix(strings.ToLower(base(name)), ".exe") == "cmd" {
		args = nil // it reads its line itself
		for word := range strings.FieldsSeq(strings.Join(c.textsOf("argumentlist"), " ")) {
			args = append(args, argumentValue{value: word, has: true})
		}
	}
	outer, dir, last := c.redirected, c.dir, c.lastExit
	out := func(v any) error { c.print(c.session.Stdout, text(v)+"\r\n"); return nil }
	for parameter, stream := range map[string]int{"redirectstandardoutput": 1, "redirectstandarderror": 2} {
		if !c.has(parameter) {
			continue
		}
		file := c.textOf(parameter)
		if err := c.writeFile(file, nil, false); err != nil {
			return err
		}
		s := func(v any) error { return c.writeFile(file, []byte(text(v)+"\r\n"), true) }
		if stream == 1 {
			out = s
		} else {
			c.redirected[2] = s
		}
	}
	if c.has("workingdirectory") {
		c.dir = c.path(c.textOf("workingdirectory"))
	}
	stage := &programStage{r: c.run, name: name, args: args, out: out}
	err := stage.end()
	code := c.lastExit
	c.redirected, c.dir, c.lastExit, c.ok = outer, dir, last, true
	if err != nil {
		return err
	}
	if c.is("passthru") {
		return c.emit(system(kindProcess, []string{"Id", "ProcessName"}, "Id", int64(4300), "ProcessName",
			strings.TrimSuffix(base(name), ".exe"), "ExitCode", code, "HasExited", true, "text",
			"System.Diagnostics.Process ("+strings.TrimSuffix(base(name), ".exe")+")"))
	}
	return nil
}

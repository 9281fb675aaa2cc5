package powershell

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const kindCommand = "System.Management.Automation.CommandInfo"

var languageCmdlets = []cmdlet{
	{name: "Set-Variable", ending: true,
		parameters: "Name%!:0 Value:1 Scope Option Force? PassThru? Description~ Visibility~", run: setVariable,
		should: true},
	{name: "New-Variable", parameters: "Name%!:0 Value:1 Scope Option Force? PassThru? Description~", run: setVariable, should: true},
	{name: "Get-Variable", parameters: "Name%+:0 ValueOnly? Scope", run: getVariable},
	{name: "Remove-Variable", byProperty: true, parameters: "Name%!:0 Scope Force?", run: removeVariable},
	{name: "Clear-Variable", byProperty: true, parameters: "Name%!:0 Scope Force?~", run: clearVariable},
	{name: "Set-StrictMode", byProperty: true, parameters: "Version Off?", run: setStrictMode},
	{name: "Set-Alias", parameters: "Name%:0 Value:1 Force?~ Scope~ Option~", run: setAlias},
	{name: "New-Alias", parameters: "Name%:0 Value:1 Force?~ Scope~ Option~", run: setAlias},
	{name: "Get-Alias", parameters: "Name%+:0", run: getAlias},
	{name: "Invoke-Expression", parameters: "Command&!:0", run: invokeExpression},
	{name: "Invoke-Command",
		parameters: "ScriptBlock:0 ArgumentList|Args NoNewScope? ComputerName|Cn Session Credential InputObject",
		run:        invokeCommand},
	{name: "Get-Command", parameters: "Name%+:0 CommandType|Type Module All?~", run: getCommand},
	{name: "Measure-Command", parameters: "Expression:0", run: measureCommand},
	{name: "Start-Sleep", parameters: "Seconds+:0 Milliseconds+", run: startSleep},
	{name: "Start-Process", byProperty: true, parameters: "FilePath%!:0 ArgumentList|Args:1 Wait? NoNewWindow?~ PassThru? " +
		"WorkingDirectory WindowStyle~ RedirectStandardOutput RedirectStandardError Verb LoadUserProfile?~", run: startProcess},
	{name: "Get-Host", byProperty: true, parameters: "", run: func(c *call) error { v, _ := c.lookup("host"); return c.emit(v) }},
}

// variableScope returns the scope that -Scope names: by name, or by the number of scopes from the current
// scope outwards. It is nil without -Scope.
func (c *call) variableScope() (*scope, error) {
	name := strings.ToLower(c.textOf("scope"))
	if n, err := strconv.Atoi(name); err == nil && n >= 0 {
		s := c.scope
		for ; n > 0 && s != nil; n-- {
			s = s.parent
		}
		if s == nil {
			return nil, broken("PSArgumentOutOfRangeException", "ArgumentOutOfRange,"+c.cmd.class(),
				"The scope number '%s' exceeds the number of active scopes.", name)
		}
		return s, nil
	}
	switch name {
	case "global", "script", "local", "private":
		s, _, _ := c.scopeOf(name + ":x")
		return s, nil
	case "":
		return nil, nil
	}
	return nil, broken("PSArgumentException", "Argument,"+c.cmd.class(),
		"Cannot process argument because the value of argument \"scope\" is not valid.")
}

func setVariable(c *call) error {
	v := c.given["value"]
	if c.piped && !c.has("value") {
		v = plain(single(c.input))
	}
	s, err := c.variableScope()
	if err != nil {
		return err
	}
	creates := strings.EqualFold(c.cmd.name, "New-Variable")
	return every(c, c.textsOf("name"), func(shown string) error {
		at, rest, _ := c.scopeOf(strings.ToLower(shown))
		at = cmp.Or(at, s, c.scope)
		old := at.vars[rest]
		if yes, err := c.should("Set variable", "Name: "+shown+" Value: "+text(v)); err != nil || !yes {
			return err
		}
		switch {
		case creates && old != nil && (!c.is("force") || old.fixed == "constant"):
			f := broken("SessionStateException", "VariableAlreadyExists", "A variable with name '%s' already exists.", shown)
			f.category, f.target = "ResourceExists", shown
			return f
		case old != nil && old.fixed != "" && !(c.is("force") && old.fixed == "readonly"):
			f := notWritable(shown)
			f.target = shown
			return f
		case old != nil && (creates || c.is("force")):
			old.fixed = ""
		}
		inner := c.scope
		c.scope = at
		err := c.set(rest, v)
		c.scope = inner
		cell := at.vars[rest]
		if err != nil || cell == nil {
			return err
		}
		switch option := strings.ToLower(c.textOf("option")); option {
		case "readonly", "constant":
			cell.fixed = option
		case "private":
			cell.private = true
		case "", "none", "allscope":
		default:
			return lacking("-Option %s of %s", option, c.cmd.name)
		}
		if c.is("passthru") {
			return c.emit(variableObject(shown, v))
		}
		return nil
	})
}

func variableObject(name string, v any) *object {
	return tabled("System.Management.Automation.PSVariable", 2, "Name", name, "Value", plain(v))
}

// variables returns the cells of the variables that match a pattern, by name in lower case: in the scope only,
// or in all scopes if only is nil.
func (c *call) variables(name string, only *scope) (map[string]*cell, error) {
	cells := map[string]*cell{}
	at, low, _ := c.scopeOf(strings.ToLower(name))
	only = cmp.Or(at, only)
	for s := cmp.Or(only, c.scope); s != nil; s = s.parent {
		for key, v := range s.vars {
			if cells[key] != nil || strings.Contains(key, ":") || v.private && s != c.scope {
				continue
			}
			if yes, err := like(key, low, false); err != nil {
				return nil, err
			} else if yes || key == low {
				cells[key] = v
			}
		}
		if only != nil {
			break
		}
	}
	return cells, nil
}

// eachVariable calls f for each variable that the call names, in order. key is the variable's name in lower case.
func (c *call) eachVariable(f func(shown, key string, v *cell) error) error {
	only, err := c.variableScope()
	if err != nil {
		return err
	}
	wanted := c.textsOf("name")
	if !c.has("name") && !c.piped {
		wanted = []string{"*"}
	}
	return every(c, wanted, func(name string) error {
		cells, err := c.variables(name, only)
		if err != nil {
			return err
		}
		if len(cells) == 0 && !strings.ContainsAny(name, "*?[") {
			v, err := c.get(variable{name: strings.ToLower(name)})
			if err != nil || v == nil {
				f := broken("ItemNotFoundException", "VariableNotFound", "Cannot find a variable with the name '%s'.", name)
				f.target = name
				return f
			}
			cells[strings.ToLower(name)] = &cell{value: v}
		}
		return every(c, slices.Sorted(maps.Keys(cells)), func(key string) error {
			if len(cells) == 1 && strings.EqualFold(name, key) {
				return f(name, key, cells[key])
			}
			return f(key, key, cells[key])
		})
	})
}

func getVariable(c *call) error {
	return c.eachVariable(func(shown, _ string, v *cell) error {
		if c.is("valueonly") {
			return each(v.value, c.emit)
		}
		return c.emit(variableObject(shown, v.value))
	})
}

func removeVariable(c *call) error {
	return c.eachVariable(func(shown, key string, v *cell) error {
		if v.fixed == "constant" || v.fixed != "" && !c.is("force") {
			f := broken("SessionStateUnauthorizedAccessException", "VariableNotRemovable", "Cannot remove variable %s because it is "+
				"constant or read-only. If the variable is read-only, try the operation again specifying the Force option.", shown)
			f.target = shown
			return f
		}
		for at := c.scope; at != nil; at = at.parent {
			if at.vars[key] == v {
				delete(at.vars, key)
				break
			}
		}
		return nil
	})
}

func clearVariable(c *call) error {
	return c.eachVariable(func(_, _ string, v *cell) error {
		v.value = nil
		return nil
	})
}

func setStrictMode(c *call) error {
	version := int64(3)
	if c.is("off") {
		version = 0
	} else if f, ok := float(c.given["version"]); ok {
		version = int64(f)
	}
	c.scope.vars["casement:strict"] = &cell{value: version}
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
	return every(c, c.textsOf("name"), func(n string) error {
		to, ok := c.alias(strings.ToLower(n))
		if !ok {
			return broken("ItemNotFoundException", "ItemNotFoundException",
				"This command cannot find a matching alias because an alias with the name '%s' does not exist.", n)
		}
		return c.emit(aliasObject(n, to))
	})
}

func aliasObject(name, to string) *object {
	if c := cmdlets[strings.ToLower(to)]; c != nil {
		to = c.name
	}
	return tabled("System.Management.Automation.AliasInfo", 3, "CommandType", "Alias", "Name", name, "Definition", to,
		"ResolvedCommandName", to, "ReferencedCommand", system(kindCommand, nil, "Name", to, "text", to), "text", name)
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
			err = (&functionStage{r: c.run, f: block, out: c.emit, dot: true}).runAll(nil)
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
	if c.has("scriptblock") && c.given["scriptblock"] == nil {
		return invalid("ScriptBlock", argumentNull)
	}
	if !ok {
		return c.need("scriptblock")
	}
	var input []any
	if c.piped {
		input = append([]any{}, c.input...)
	}
	return c.callFunction(f, unnamed(list(c.given["argumentlist"])...), input, c.emit)
}

// getCommand emits functions, aliases, cmdlets and programs.
func getCommand(c *call) error {
	if c.has("module") {
		m := c.modules[strings.ToLower(c.textOf("module"))]
		if m == nil || m.scope == nil || c.has("name") {
			return lacking("Get-Command -Module but for all that a script module has")
		}
		return every(c, append(slices.Clone(m.aliases), m.functions...), func(key string) error {
			o := c.commandObject(key)
			kind := text(o.read("CommandType")) // aliases come only if -CommandType names them
			if c.has("commandtype") && !strings.EqualFold(kind, c.textOf("commandtype")) || !c.has("commandtype") && kind == "Alias" {
				return nil
			}
			return c.emit(o)
		})
	}
	if !c.has("name") {
		return lacking("Get-Command without a name")
	}
	return every(c, c.textsOf("name"), func(name string) error {
		if strings.ContainsAny(name, "*?") {
			return lacking("Get-Command with a pattern")
		}
		if o := c.commandObject(name); o != nil {
			return c.emit(o)
		}
		if verb, _, ok := strings.Cut(strings.ToLower(name), "-"); ok && verbs[verb] && c.action != "silentlycontinue" && c.action != "ignore" {
			return lacking("the cmdlet %s, if the image has one of that name", name)
		}
		f := noCommand(name)
		f.id, f.command, f.target = f.id+","+c.cmd.class(), "Get-Command", name
		return f
	})
}

// commandObject returns the object of Get-Command for a command with a name, or nil.
func (r *run) commandObject(name string) *object {
	low := strings.ToLower(name)
	shown := []string{"CommandType", "Name", "Version", "Source"}
	made := func(kind, name, source string) *object {
		return system(kindCommand, shown, "CommandType", kind, "Name", name, "Version", "", "Source", source,
			"Path", source, "Definition", source, "ModuleName", map[bool]string{true: source, false: ""}[kind == "Cmdlet" || kind == "Function"])
	}
	if to, ok := r.alias(low); ok {
		return aliasObject(name, to)
	}
	if f, ok := r.function(low); ok {
		o := made(map[bool]string{true: "Filter", false: "Function"}[f.filter], f.name, r.moduleOf(f))
		o.set("ScriptBlock", f)
		o.set("Definition", f.text)
		return o
	}
	if c := cmdlets[low]; c != nil {
		return made("Cmdlet", c.name, moduleOf(c.name))
	}
	if _, ok := noEffect[low]; ok {
		return made("Cmdlet", name, "simulated by casement: no effect")
	}
	if strings.HasSuffix(low, ".ps1") && r.m.Root.Exists(r.path(name)) {
		return made("ExternalScript", base(name), r.path(name))
	}
	if at, ok := r.host.Has(name); ok {
		return made("Application", base(at), at)
	}
	return nil
}

// commandParameters returns the parameters of a function or cmdlet as Get-Command shows them, by name.
func commandParameters(o *object) (any, bool, error) {
	name, _ := o.get("Name")
	var names []string
	f, isFunction := o.read("ScriptBlock").(function)
	_, known, ok := strings.Cut("\n"+parameterNames, "\n"+text(name)+" ")
	known, _, _ = strings.Cut(known, "\n")
	switch {
	case isFunction && f.body.parameters != nil:
		for _, p := range f.body.parameters.list {
			names = append(names, p.shown)
		}
	case ok && !isFunction:
		names = strings.Fields(known)
	case !isFunction:
		return nil, false, nil
	}
	if !isFunction || f.body.parameters != nil && f.body.parameters.binding {
		for _, n := range slices.Sorted(maps.Values(commonShown)) {
			if n != "WhatIf" && n != "Confirm" || isFunction && f.body.parameters.should || !isFunction && changes(text(name)) {
				names = append(names, n)
			}
		}
	}
	out := newHash()
	out.kind = "System.Collections.Generic.Dictionary`2"
	for _, n := range names {
		out.set(n, tabled("System.Management.Automation.ParameterMetadata", 1, "Name", n, "text", n))
	}
	return out, true, nil
}

func measureCommand(c *call) error {
	f, ok := c.given["expression"].(function)
	if !ok {
		return c.need("expression")
	}
	from := c.now()
	if err := c.runItem(f, nil, func(any) error { return nil }); err != nil {
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
		v, err := c.typedParameter("double", "Seconds", c.given["seconds"])
		if err != nil {
			return err
		}
		f, _ := v.(float64)
		d = time.Duration(f * float64(time.Second))
	}
	if d < 0 {
		return invalid("Seconds", "")
	}
	skipped, err := c.host.Sleep(c.ctx, d)
	c.skipped += skipped
	c.slept += d
	return err
}

// needInput binds the pipeline's objects to a parameter that has no argument. It returns an error if there are none.
func (c *call) needInput(name string) error {
	if !c.has(name) && len(c.input) > 0 {
		c.given[name] = single(c.input)
	}
	return c.need(name)
}

// inputTexts returns values as the texts to which a parameter converts them.
func inputTexts(in []any) []string {
	var out []string
	for _, v := range in {
		if t, ok := v.(time.Time); ok { // the binding converts a date by the culture
			v = cellText(t)
		}
		out = append(out, text(v))
	}
	return out
}

func startProcess(c *call) error {
	name := c.textOf("filepath")
	if _, ok := c.host.Has(name); !ok && !(isBatch(strings.ToLower(name)) && c.m.Root.Exists(c.path(name))) {
		return c.fault(broken("System.InvalidOperationException", "InvalidOperationException",
			"This command cannot be run due to the error: The system cannot find the file specified."))
	}
	take := split
	if strings.TrimSuffix(strings.ToLower(base(name)), ".exe") == "cmd" {
		take = strings.Fields // cmd splits its command line itself
	}
	var args []argumentValue
	for _, a := range c.textsOf("argumentlist") {
		for _, word := range take(a) {
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
		return c.emit(tabled(kindProcess, 2, "Id", int64(4300), "ProcessName", strings.TrimSuffix(base(name), ".exe"), "ExitCode", code,
			"HasExited", true, "text", "System.Diagnostics.Process ("+strings.TrimSuffix(base(name), ".exe")+")"))
	}
	return nil
}

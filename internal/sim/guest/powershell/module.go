package powershell

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// module is an imported script module (about_Modules). Its functions have a scope of their own, and some of them are exported.
type module struct {
	name, file string
	scope      *scope
	// exported are the patterns of Export-ModuleMember by kind: function, variable and alias. The map is nil before the first call.
	exported map[string][]string
	// functions, variables and aliases are the keys of the exported members in the scope that imported them; to is that scope.
	functions, variables, aliases []string
	to                            *scope
}

var moduleCmdlets = []cmdlet{
	{name: "Import-Module", parameters: "Name!:0 Force? DisableNameChecking?~ Global? PassThru? MinimumVersion~ RequiredVersion~ Scope~ " +
		"Prefix Function Variable ArgumentList|Args SkipEditionCheck?~ UseWindowsPowerShell?~", run: importModule},
	{name: "New-Module", parameters: "Name:0 ScriptBlock:1 ArgumentList|Args", run: newModule},
	{name: "Get-Module", parameters: "Name:0 ListAvailable? All?~ Refresh?~", run: getModule},
	{name: "Remove-Module", parameters: "Name!:0 Force?~", run: removeModule},
	{name: "Export-ModuleMember", parameters: "Function:0 Variable Alias Cmdlet~", run: exportModuleMember},
}

// knownModules are modules of Windows. The value is true for those that the image has and of which some cmdlets are simulated.
var knownModules = map[string]bool{
	"microsoft.powershell.management": true, "microsoft.powershell.utility": true,
	"microsoft.powershell.security": true, "microsoft.powershell.localaccounts": true, "netadapter": true,
	"nettcpip": true, "netsecurity": true,
	"dnsclient": true, "servermanager": true, "scheduledtasks": true, "storage": true,
	"hostnetworkingservice": true, "hns": true, "dism": true, "bitstransfer": true, "defender": true,
	"smbshare": true, "cimcmdlets": true, "hyper-v": false, "netnat": true, "containers": true,
	"webadministration": false,
}

func exportModuleMember(c *call) error {
	m := c.loading
	if m == nil || m.scope != c.scope.home {
		return broken("InvalidOperationException", "Modules_CanOnlyExecuteExportModuleMemberInsideAModule",
			"The Export-ModuleMember cmdlet can only be called from inside a module.")
	}
	if m.exported == nil {
		m.exported = map[string][]string{}
	}
	for _, kind := range []string{"function", "variable", "alias"} {
		m.exported[kind] = append(m.exported[kind], c.textsOf(kind)...)
	}
	return nil
}

func importModule(c *call) error {
	if c.has("function") || c.has("variable") {
		return lacking("-Function and -Variable of Import-Module")
	}
	if c.modules == nil {
		c.modules = map[string]*module{}
	}
	for _, one := range append(list(c.given["name"]), c.input...) {
		m, err := moduleIn(one), error(nil)
		if m == nil {
			m, err = c.imported(text(one))
		} else {
			c.modules[strings.ToLower(m.name)] = m
		}
		if err != nil {
			if failed(err) == nil {
				return err
			}
			if err := c.fault(err); err != nil {
				return err
			}
			continue
		}
		if c.is("passthru") {
			if err := c.emit(m.object()); err != nil {
				return err
			}
		}
	}
	return nil
}

// imported imports a module of the image or of a file.
func (c *call) imported(name string) (*module, error) {
	low := strings.ToLower(name)
	plainName := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(base(name)), ".psm1"), ".psd1")
	isPath := strings.ContainsAny(name, `\/`) || strings.HasSuffix(low, ".psm1") || strings.HasSuffix(low, ".ps1") ||
		strings.HasSuffix(low, ".psd1")
	if !isPath && knownModules[plainName] {
		m := &module{name: base(name)}
		c.modules[plainName] = m
		return m, nil
	}
	if known, listed := knownModules[plainName]; listed && !known && !isPath {
		return nil, lacking("the module %s", name)
	}
	file := c.path(name)
	if isPath && c.m.Root.IsDir(file) {
		for _, extension := range []string{".psd1", ".psm1"} {
			if inner := combine(file, base(file)+extension); c.m.Root.Exists(inner) {
				file = inner
				break
			}
		}
	} else if isPath && !c.m.Root.Exists(file) && c.m.Root.Exists(file+".psm1") {
		file += ".psm1"
	}
	switch strings.ToLower(extension(file)) {
	case ".psm1", ".psd1", ".ps1":
	default:
		if isPath && c.m.Root.Exists(file) && !c.m.Root.IsDir(file) {
			return nil, broken("PSInvalidOperationException", "Modules_InvalidModuleExtension", "The extension '%s' is not a valid module "+
				"extension. The supported module extensions are '.dll', '.ps1', '.psm1', '.psd1', '.cdxml' and '.xaml'. Correct the extension "+
				"and then try adding the file '%s' again.", extension(file), file)
		}
	}
	data, err := c.m.Root.ReadFile(file)
	if err != nil || !isPath {
		f := broken("System.IO.FileNotFoundException", "Modules_ModuleNotFound",
			"The specified module '%s' was not loaded because no valid module file was found in any module directory.", name)
		f.category, f.target = "ResourceUnavailable", name
		return nil, f
	}
	if strings.HasSuffix(strings.ToLower(file), ".psd1") {
		return nil, lacking("module manifests")
	}
	short := base(file)
	m := c.newModule(short[:len(short)-len(extension(short))], file)
	if old := c.modules[plainName]; old != nil && old.scope != nil {
		if !c.is("force") && strings.EqualFold(old.file, m.file) {
			return old, nil
		}
		old.unload()
		delete(c.modules, plainName)
	}
	args := unnamed(list(c.given["argumentlist"])...)
	err = c.runIn(m, (&fileStage{r: c.run, file: file, content: decode(data), args: args, out: c.emit, dot: true}).end)
	if err != nil {
		return nil, err
	}
	m.publish(c.textOf("prefix"))
	c.modules[plainName] = m
	return m, nil
}

// newModule returns a module with a new scope, without exports.
func (c *call) newModule(name, file string) *module {
	m := &module{name: name, file: file, scope: newScope(c.global), to: c.scope.home}
	m.scope.home, m.scope.script, m.scope.caller = m.scope, true, c.scope
	if m.to == nil || c.is("global") {
		m.to = c.global
	}
	return m
}

// runIn calls f, which fills a module, in the module's scope.
func (c *call) runIn(m *module, f func() error) error {
	scope, loading := c.scope, c.loading
	defer func() { c.scope, c.loading = scope, loading }()
	c.scope, c.loading = m.scope, m
	return f()
}

// newModule is New-Module: it makes a module from a script block.
func newModule(c *call) error {
	if c.given["scriptblock"] == nil {
		c.given["scriptblock"] = c.given["name"]
		delete(c.given, "name")
	}
	f, ok := c.given["scriptblock"].(function)
	if !ok {
		return lackingMandatory("ScriptBlock")
	}
	m := c.newModule(cmp.Or(c.textOf("name"), "__DynamicModule_"+text(newGUID())), "")
	f.home = m.scope
	args := unnamed(list(c.given["argumentlist"])...)
	drop := func(any) error { return nil }
	err := c.runIn(m, func() error {
		return (&functionStage{r: c.run, f: f, args: args, out: drop, at: m.scope}).runAll(nil)
	})
	if err != nil {
		return err
	}
	m.publish("")
	return c.emit(m.object())
}

// moduleIn returns the module of a module object, or nil.
func moduleIn(v any) *module {
	if o, ok := v.(*object); ok && o.kind == kindModule {
		m, _ := o.read("module").(*module)
		return m
	}
	return nil
}

// moduleOf returns the name of the module in which a function is written, or "".
func (r *run) moduleOf(f function) string {
	for _, m := range r.modules {
		if m.scope != nil && m.scope == f.home {
			return m.name
		}
	}
	return ""
}

// exports reports whether a module exports a name.
func (m *module) exports(kind, name string) bool {
	if m.exported == nil {
		return kind != "variable"
	}
	return likeAny(name, m.exported[kind])
}

// publish copies the exported members of a module to the scope that imports it.
func (m *module) publish(prefix string) {
	for key, f := range m.scope.functions {
		if !m.exports("function", key) {
			continue
		}
		if prefix != "" {
			if verb, noun, ok := strings.Cut(f.name, "-"); ok {
				f.name = verb + "-" + prefix + noun
				key = strings.ToLower(f.name)
			}
		}
		m.to.functions[key] = f
		m.functions = append(m.functions, key)
	}
	for key, c := range m.scope.vars {
		if m.exports("variable", key) {
			m.to.vars[key] = c
			m.variables = append(m.variables, key)
		}
	}
	for key, to := range m.scope.aliases {
		if m.exports("alias", key) {
			if m.to.aliases == nil {
				m.to.aliases = map[string]string{}
			}
			m.to.aliases[key] = to
			m.aliases = append(m.aliases, key)
		}
	}
	slices.Sort(m.functions)
}

// unload removes the exported members from the scope that imported them.
func (m *module) unload() {
	for _, key := range m.functions {
		delete(m.to.functions, key)
	}
	for _, key := range m.variables {
		delete(m.to.vars, key)
	}
	for _, key := range m.aliases {
		delete(m.to.aliases, key)
	}
}

const kindModule = "System.Management.Automation.PSModuleInfo"

// object returns the PSModuleInfo of a module.
func (m *module) object() *object {
	functions, commands := newHash(), newHash()
	for _, key := range m.functions {
		name := m.to.functions[key].name
		command := tabled(kindCommand, 2, "CommandType", "Function", "Name", name, "text", name)
		functions.set(name, command)
		commands.set(name, command)
	}
	for _, key := range m.aliases {
		commands.set(key, aliasObject(key, m.to.aliases[key]))
	}
	kind := "Script"
	if m.scope == nil {
		kind = "Manifest"
	}
	return tabled(kindModule, 3, "ModuleType", kind, "Version", version("0.0"), "Name", m.name, "Path", m.file, "ModuleBase",
		parent(m.file), "ExportedFunctions", functions, "ExportedCommands", commands, "text", m.name, "module", m)
}

func getModule(c *call) error {
	wanted := c.textsOf("name")
	if !c.has("name") {
		wanted = []string{"*"}
	}
	return every(c, wanted, func(name string) error {
		if c.is("listavailable") && strings.ContainsAny(name, "*?") {
			return lacking("Get-Module -ListAvailable with a pattern")
		}
		if c.is("listavailable") {
			if knownModules[strings.ToLower(name)] {
				return c.emit((&module{name: name}).object())
			}
			return nil
		}
		return every(c, slices.Sorted(maps.Keys(c.modules)), func(key string) error {
			if yes, err := like(c.modules[key].name, name, false); err != nil || !yes {
				return err
			}
			return c.emit(c.modules[key].object())
		})
	})
}

func removeModule(c *call) error {
	return every(c, append(c.textsOf("name"), inputTexts(c.input)...), func(name string) error {
		found := strings.ContainsAny(name, "*?")
		for key, m := range c.modules {
			yes, err := like(m.name, name, false)
			if err != nil {
				return err
			}
			if yes {
				m.unload()
				delete(c.modules, key)
				found = true
			}
		}
		if found {
			return nil
		}
		f := broken("System.InvalidOperationException", "Modules_NoModulesRemoved", "No modules were removed. Verify that the specification "+
			"of modules to remove is correct and those modules exist in the runspace.")
		f.category, f.target = "ResourceUnavailable", name
		return f
	})
}

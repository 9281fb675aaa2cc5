package powershell

import (
	"io/fs"
	"slices"
	"strings"
)

var fileCmdlets = []cmdlet{
	{name: "Get-Item", flat: true, parameters: "Path%&!:0 LiteralPath|PSPath%! Force?~ Stream Include Exclude Filter", run: getItem},
	{name: "Get-ChildItem", flat: true,
		parameters: "Path%:0 Filter:1 LiteralPath|PSPath% Recurse|s? File? Directory? Force?~ Name? Include Exclude Depth# Hidden?",
		run:        getChildItem},
	{name: "New-Item", parameters: "Path%!:0 Name% ItemType|Type Value|Target Force?", run: newItem, should: true},
	{name: "mkdir", parameters: "Path%!:0 Name% Force?", should: true,
		run: func(c *call) error { c.given["itemtype"] = "Directory"; return newItem(c) }},
	{name: "Remove-Item", flat: true,
		parameters: "Path%&!:0 LiteralPath|PSPath%! Recurse? Force? Include Exclude Filter", run: removeItem, should: true},
	{name: "Copy-Item", flat: true, parameters: "Path%&!:0 Destination%:1 LiteralPath|PSPath%! Recurse? Force? PassThru? Container?~ " +
		"Include Exclude Filter ToSession FromSession", run: copyItem, should: true},
	{name: "Move-Item", flat: true,
		parameters: "Path%&!:0 Destination%:1 LiteralPath|PSPath%! Force? PassThru? Include Exclude Filter", run: moveItem,
		should: true},
	{name: "Rename-Item", flat: true,
		parameters: "Path%&!:0 NewName%!:1 LiteralPath|PSPath%! Force? PassThru?", run: renameItem, should: true},
	{name: "Set-Item", parameters: "Path%!:0 Value:1 Force?~", run: setItem},
	{name: "Get-FileHash", flat: true, parameters: "Path%&!:0 Algorithm:1 LiteralPath|PSPath%!", run: getFileHash},
	{name: "Get-AuthenticodeSignature", parameters: "FilePath%:0", run: getAuthenticodeSignature},
}

// fileObject describes a file or folder.
func (r *run) fileObject(at string) (*object, error) {
	info, err := r.m.Root.Stat(at)
	if err != nil {
		return nil, r.notFound(at)
	}
	return describe(at, info), nil
}

func describe(at string, info fs.FileInfo) *object {
	shown := []string{"Mode", "LastWriteTime", "Length", "Name"}
	kind, mode, length := kindFile, "-a----", any(info.Size())
	if info.IsDir() {
		kind, mode, length = kindDirectory, "d-----", nil
	} else if info.Mode()&0o200 == 0 {
		mode = "-ar---"
	}
	name := base(at)
	o := system(kind, shown, "Mode", mode, "LastWriteTime", info.ModTime().UTC(), "Length", length, "Name", name,
		"FullName", at, "PSPath", "Microsoft.PowerShell.Core\\FileSystem::"+at, "PSIsContainer", info.IsDir(),
		"BaseName", strings.TrimSuffix(name, extension(name)), "Extension", extension(name), "CreationTime",
		info.ModTime().UTC(), "LastWriteTimeUtc", info.ModTime().UTC(), "Exists", true, "PSChildName", name,
		"PSParentPath", "Microsoft.PowerShell.Core\\FileSystem::"+parent(at),
		"IsReadOnly", info.Mode()&0o200 == 0)
	if info.IsDir() {
		o.set("BaseName", name)
		o.remove("Length")
	} else {
		o.set("DirectoryName", parent(at))
	}
	return o
}

func (r *run) fileProperty(o *object, low string) (any, bool, error) {
	at, _ := o.get("FullName")
	switch low {
	case "directory", "parent":
		dir, err := r.fileObject(parent(text(at)))
		if err != nil {
			return nil, true, nil // the root has none
		}
		return dir, true, nil
	case "length":
		return nil, o.kind == kindDirectory, nil
	case "attributes":
		hidden, _ := o.get("IsReadOnly")
		words := map[bool]string{true: "Directory", false: "Archive"}[o.kind == kindDirectory]
		if hidden == true {
			words = "ReadOnly, " + words
		}
		v, err := toEnumeration("io.fileattributes", words)
		return v, true, err
	case "versioninfo":
		return nil, true, lacking("the versions of files")
	}
	return nil, false, nil
}

func (r *run) fileCall(o *object, name, low string) (any, error) {
	at, _ := o.get("FullName")
	switch low {
	case "delete":
		return void{}, r.fileError(r.m.Root.Remove(text(at)), text(at))
	case "refresh":
		return void{}, nil
	}
	return nil, r.noMethod(o, name)
}

// isPattern reports a path with wildcards, for which it is no error that nothing matches.
func (c *call) isPattern(name string) bool {
	return !c.literals[name] && strings.ContainsAny(name, "*?[") && c.noDrive(name) == ""
}

// glob resolves the wildcards of a path, unless it is a literal one, and applies -Include, -Exclude
// and -Filter.
func (c *call) glob(name string) []string {
	var found []string
	if c.literals[name] || c.has("literalpath") && !c.has("path") {
		if at := c.path(name); c.m.Root.Exists(at) {
			found = []string{at}
		}
	} else {
		found = c.run.glob(name)
	}
	if c.cmd.name == "Get-ChildItem" {
		return found
	}
	return slices.DeleteFunc(found, func(at string) bool { return !c.passes(base(at)) })
}

// passes reports whether -Filter, -Include and -Exclude let a name pass.
func (c *call) passes(name string) bool {
	matches := func(parameter string) bool {
		return slices.ContainsFunc(c.textsOf(parameter), func(p string) bool {
			yes, err := like(name, p, false)
			if parameter == "filter" && err == nil && !yes { // as the file system matches: ?* also means nothing
				yes, err = like(name, strings.ReplaceAll(p, "?*", "*"), false)
			}
			return err == nil && yes
		})
	}
	return (!c.has("filter") || matches("filter")) && (!c.has("include") || matches("include")) && !matches("exclude")
}

// names returns the paths that a cmdlet is given: by name, or from the pipeline.
func (c *call) names() []string {
	c.literals = map[string]bool{}
	out := append(c.textsOf("path"), c.textsOf("literalpath")...)
	for _, name := range c.textsOf("literalpath") {
		c.literals[name] = true
	}
	if len(out) == 0 {
		for _, v := range c.input {
			if o, ok := v.(*object); ok {
				for _, name := range []string{"Path", "LiteralPath", "PSPath"} {
					if at, has := o.get(name); has {
						v = strings.TrimPrefix(text(at), `Microsoft.PowerShell.Core\FileSystem::`)
						c.literals[text(v)] = name != "Path"
						break
					}
				}
			}
			out = append(out, inputTexts([]any{v})...)
		}
	}
	for i, name := range out {
		out[i] = strings.TrimPrefix(strings.TrimPrefix(name, `Microsoft.PowerShell.Core\FileSystem::`), `FileSystem::`)
	}
	return out
}

// driveItem returns what a drive of the session has under a name, or nothing.
func (c *call) driveItem(drive, name string) *object {
	low := strings.ToLower(name)
	switch drive {
	case "env":
		if v, ok := c.env(name); ok {
			return system(kindEntry, []string{"Name", "Value"}, "Name", name, "Value", v, "Key", name)
		}
	case "function":
		if _, ok := c.function(low); ok {
			return c.commandObject(name)
		}
	case "alias":
		if to, ok := c.alias(low); ok {
			return aliasObject(name, to)
		}
	case "variable":
		if v, ok := c.lookup(low); ok {
			return variableObject(name, v)
		}
	}
	return nil
}

func getItem(c *call) error {
	for _, name := range c.names() {
		switch provider, rest := drive(name); provider {
		case "registry":
			if err := c.emitKey(rest); err != nil {
				return err
			}
			continue
		case "env", "function", "alias", "variable":
			if o := c.driveItem(provider, rest); o == nil {
				if err := c.fault(missingItem(map[string]string{"env": "Env", "function": "Function", "alias": "Alias",
					"variable": "Variable"}[provider] + `:\` + rest)); err != nil {
					return err
				}
			} else if err := c.emit(o); err != nil {
				return err
			}
			continue
		case "":
		default:
			return lacking("the drive %s:", provider)
		}
		found := c.glob(name)
		if len(found) == 0 && !c.isPattern(name) {
			if err := c.fault(c.notFound(c.path(name))); err != nil {
				return err
			}
		}
		for _, at := range found {
			o, err := c.fileObject(at)
			if err != nil {
				return err
			}
			if err := c.emit(o); err != nil {
				return err
			}
		}
	}
	return nil
}

func getChildItem(c *call) error {
	if c.is("hidden") {
		return nil // no file of the image is hidden
	}
	names := c.names()
	if len(names) == 0 {
		names = []string{"."}
	}
	depth, err := c.integerOf("depth", 100)
	if err != nil {
		return err
	}
	if !c.is("recurse") && !c.has("depth") {
		depth = 0
	}
	for _, name := range names {
		switch provider, rest := drive(name); provider {
		case "registry":
			if err := c.childKeys(rest); err != nil {
				return err
			}
			continue
		case "env":
			if rest == "" {
				rest = "*"
			}
			for _, k := range sortedKeys(c.session.Env) {
				if yes, err := like(k, rest, false); err != nil {
					return err
				} else if !yes {
					continue
				}
				if err := c.emit(system(kindEntry, []string{"Name", "Value"}, "Name", k,
					"Value", c.session.Env[k], "Key", k)); err != nil {
					return err
				}
			}
			continue
		case "":
		default:
			return lacking("the drive %s:", provider)
		}
		found := c.glob(name)
		if len(found) == 0 && !c.isPattern(name) {
			if err := c.fault(c.notFound(c.path(name))); err != nil {
				return err
			}
		}
		pattern := !c.literals[name] && strings.ContainsAny(base(strings.ReplaceAll(name, "/", `\`)), "*?[")
		if c.has("include") && !c.is("recurse") && !pattern {
			continue // -Include is for the last part of the path
		}
		for _, at := range found {
			open := !pattern || len(found) == 1
			if c.root = at; !open || !c.m.Root.IsDir(at) {
				c.root = parent(at)
			}
			if err := c.below(at, depth, open); err != nil {
				return err
			}
		}
	}
	return nil
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// below lists the content of a folder; the matches of a pattern are listed themselves.
func (c *call) below(at string, depth int, open bool) error {
	if err := c.step(); err != nil {
		return err
	}
	if !open || !c.m.Root.IsDir(at) {
		if err := c.child(at); err != nil || !c.m.Root.IsDir(at) || depth == 0 {
			return err
		}
	}
	entries, err := c.m.Root.ReadDir(at)
	if err != nil {
		return c.fault(diskError(err, at))
	}
	var dirs []string
	for _, dir := range []bool{true, false} { // folders come first
		for _, e := range entries {
			if e.IsDir() != dir {
				continue
			}
			inner := combine(at, e.Name())
			if err := c.child(inner); err != nil {
				return err
			}
			if dir {
				dirs = append(dirs, inner)
			}
		}
	}
	if depth == 0 {
		return nil
	}
	for _, dir := range dirs {
		entries, err := c.m.Root.ReadDir(dir)
		if err != nil || len(entries) == 0 {
			continue
		}
		if err := c.below(dir, depth-1, true); err != nil {
			return err
		}
	}
	return nil
}

// child emits one entry if the filters let it pass.
func (c *call) child(at string) error {
	info, err := c.m.Root.Stat(at)
	if err != nil {
		return nil // a link to nowhere
	}
	if c.is("file") && info.IsDir() || c.is("directory") && !info.IsDir() {
		return nil
	}
	if !c.passes(base(at)) {
		return nil
	}
	if c.is("name") {
		return c.emit(strings.TrimLeft(strings.TrimPrefix(at, c.root), `\`))
	}
	return c.emit(describe(at, info))
}

func newItem(c *call) error {
	names := append(c.textsOf("path"), inputTexts(c.input)...)
	if len(names) == 0 {
		names = []string{"."}
		if !c.has("name") {
			return c.need("path")
		}
	}
	for _, name := range names {
		if c.has("name") {
			name = combine(name, c.textOf("name"))
		}
		if provider, rest := drive(name); provider == "registry" {
			if err := c.newKey(rest); err != nil {
				return err
			}
			continue
		} else if provider == "env" {
			if err := c.setEnv(rest, c.given["value"]); err != nil {
				return err
			}
			continue
		} else if f, ok := c.given["value"].(function); ok && provider == "function" {
			if err := c.set("function:"+rest, f); err != nil {
				return err
			}
			if err := c.emit(c.commandObject(rest)); err != nil {
				return err
			}
			continue
		} else if provider != "" {
			return lacking("New-Item on the drive %s:", provider)
		}
		if err := c.newFile(c.path(name)); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) newFile(at string) error {
	kind := strings.ToLower(c.textOf("itemtype"))
	operation := "Create File"
	if kind != "" && strings.HasPrefix("directory", kind) || kind == "container" {
		operation = "Create Directory"
	}
	if yes, err := c.should(operation, "Destination: "+at); err != nil || !yes {
		return err
	}
	switch {
	case kind != "" && strings.HasPrefix("directory", kind), kind == "container":
		if c.m.Root.Exists(at) && !c.is("force") {
			f := broken("System.IO.IOException", "DirectoryExist", "An item with the specified name %s already exists.", at)
			f.category, f.target = "ResourceExists", at
			return c.fault(f)
		}
		if err := c.m.Root.MkdirAll(at); err != nil {
			return c.fault(diskError(err, at))
		}
	case kind == "", strings.HasPrefix("file", kind), kind == "leaf":
		if c.m.Root.Exists(at) && !c.is("force") {
			f := broken("System.IO.IOException", "NewItemIOError", "The file '%s' already exists.", at)
			f.category, f.target = "WriteError", at
			return c.fault(f)
		}
		if c.is("force") {
			if err := c.m.Root.MkdirAll(parent(at)); err != nil {
				return c.fault(diskError(err, at))
			}
		}
		if err := c.m.Root.WriteFile(at, []byte(c.textOf("value")), 0o644); err != nil {
			err = diskError(err, at)
			if f := failed(err); f != nil && f.id == "GetContentWriterDirectoryNotFoundError" {
				f.id, f.category = "NewItemIOError", "WriteError"
			}
			return c.fault(err)
		}
	case kind == "symboliclink" || kind == "junction":
		if err := c.m.Root.Symlink(strings.ReplaceAll(c.path(c.textOf("value")), `\`, "/")[2:], at); err != nil {
			return c.fault(diskError(err, at))
		}
	default:
		return lacking("New-Item of the type %s", kind)
	}
	o, err := c.fileObject(at)
	if err != nil {
		return nil // a link that leads nowhere yet
	}
	return c.emit(o)
}

func removeItem(c *call) error {
	for _, name := range c.names() {
		switch provider, rest := drive(name); provider {
		case "registry":
			if yes, err := c.should("Remove Key", "Item: "+rest); err != nil || !yes {
				return err
			}
			if err := c.fault(keyError(c.m.Registry().Delete(rest), rest)); err != nil {
				return err
			}
			continue
		case "env":
			if _, ok := c.env(rest); !ok {
				if err := c.fault(missingItem(`Env:\` + rest)); err != nil {
					return err
				}
				continue
			}
			if err := c.setEnv(rest, nil); err != nil {
				return err
			}
			continue
		case "variable":
			c.given["name"] = rest
			if err := removeVariable(c); err != nil {
				return err
			}
			continue
		case "function":
			if _, ok := c.function(strings.ToLower(rest)); !ok {
				if err := c.fault(missingItem(`Function:\` + rest)); err != nil {
					return err
				}
				continue
			}
			delete(c.scope.functions, strings.ToLower(rest))
			continue
		case "":
		default:
			return lacking("Remove-Item on the drive %s:", provider)
		}
		found := c.glob(name)
		if len(found) == 0 && !c.isPattern(name) {
			if err := c.fault(c.notFound(c.path(name))); err != nil {
				return err
			}
		}
		for _, at := range found {
			if err := c.fault(c.removeFile(at)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *call) removeFile(at string) error {
	info, err := c.m.Root.Lstat(at)
	if err != nil {
		return c.notFound(at)
	}
	if strings.HasPrefix(strings.ToLower(c.dir)+`\`, strings.ToLower(at)+`\`) && info.IsDir() {
		return broken("PSInvalidOperationException", "InvalidOperation", "Cannot remove the item at '%s' because it is in use.", at)
	}
	if yes, err := c.should(map[bool]string{true: "Remove Directory", false: "Remove File"}[info.IsDir()], at); err != nil || !yes {
		return err
	}
	if info.IsDir() && !c.is("recurse") {
		if entries, err := c.m.Root.ReadDir(at); err == nil && len(entries) > 0 {
			// Windows asks for confirmation on a console; a script without a console gets an
			// error.
			return broken("PSInvalidOperationException", "RemoveItemNonInteractive", "Windows PowerShell is in "+
				"NonInteractive mode. Read and Prompt functionality is not available. The item at %s has "+
				"children and the Recurse parameter was not specified.", at)
		}
	}
	if info.Mode()&0o200 == 0 && !info.IsDir() && !c.is("force") {
		return broken("System.IO.IOException",
			"RemoveFileSystemItemUnAuthorizedAccess,Microsoft.PowerShell.Commands.RemoveItemCommand",
			"Cannot remove item %s: You do not have sufficient access rights to perform this operation.", at)
	}
	if info.IsDir() {
		return diskError(c.m.Root.RemoveAll(at), at)
	}
	return diskError(c.m.Root.Remove(at), at)
}

package powershell

import (
	"cmp"
	"io/fs"
	"maps"
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
		"Include Exclude Filter", run: copyItem, should: true},
	{name: "Move-Item", flat: true,
		parameters: "Path%&!:0 Destination%:1 LiteralPath|PSPath%! Force? PassThru? Include Exclude Filter", run: moveItem,
		should: true},
	{name: "Rename-Item", flat: true,
		parameters: "Path%&!:0 NewName%!:1 LiteralPath|PSPath%! Force? PassThru?", run: renameItem, should: true},
	{name: "Set-Item", parameters: "Path%!:0 Value:1 Force?~", run: setItem},
	{name: "Get-FileHash", flat: true, parameters: "Path%&!:0 Algorithm:1 LiteralPath|PSPath%!", run: getFileHash},
	{name: "Get-AuthenticodeSignature", parameters: "FilePath%:0", run: getAuthenticodeSignature},
}

// fileObject returns the object for a file or folder.
func (r *run) fileObject(at string) (*object, error) {
	info, err := r.m.Root.Stat(at)
	if err != nil {
		return nil, r.notFound(at)
	}
	return describe(at, info), nil
}

// describe returns the object for a file or folder with known properties.
func describe(at string, info fs.FileInfo) *object {
	shown := []string{"Mode", "LastWriteTime", "Length", "Name"}
	kind, mode, length := kindFile, "-a----", any(info.Size())
	if info.IsDir() {
		kind, mode, length = kindDirectory, "d-----", nil
	} else if info.Mode()&0o200 == 0 {
		mode = "-ar---"
	}
	name := base(at)
	written := info.ModTime().In(localZone)
	o := system(kind, shown, "Mode", mode, "LastWriteTime", written, "Length", length, "Name", name,
		"FullName", at, "PSPath", "Microsoft.PowerShell.Core\\FileSystem::"+at, "PSIsContainer", info.IsDir(),
		"BaseName", strings.TrimSuffix(name, extension(name)), "Extension", extension(name), "CreationTime",
		written, "LastWriteTimeUtc", written.In(utcZone), "PSChildName", name,
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

// fileProperty returns a computed property of a file or folder; the result is false for other names.
func (r *run) fileProperty(o *object, low string) (any, bool, error) {
	switch low {
	case "directory", "parent":
		dir, err := r.fileObject(parent(text(o.read("FullName"))))
		if err != nil {
			return nil, true, nil // the root folder has no parent
		}
		return dir, true, nil
	case "exists":
		return r.m.Root.Exists(text(o.read("FullName"))), true, nil
	case "length":
		return nil, o.kind == kindDirectory, nil
	case "attributes":
		words := map[bool]string{true: "Directory", false: "Archive"}[o.kind == kindDirectory]
		if o.read("IsReadOnly") == true {
			words = "ReadOnly, " + words
		}
		v, err := toEnumeration("io.fileattributes", words)
		return v, true, err
	case "versioninfo":
		return nil, true, lacking("the versions of files")
	}
	return nil, false, nil
}

// fileCall runs a method of a file or folder.
func (r *run) fileCall(o *object, name, low string, args []any) (any, error) {
	at := text(o.read("FullName"))
	switch {
	case low == "delete" && o.kind == kindDirectory:
		return void{}, r.removeFolder(at, truth(firstOf(args)))
	case low == "delete":
		return void{}, r.removeFile(at)
	case low == "refresh":
		if now, err := r.fileObject(at); err == nil {
			o.fields = now.fields
		}
		return void{}, nil
	case (low == "getfiles" || low == "getdirectories") && o.kind == kindDirectory:
		found, err := statics["io.directory::"+low](r, append([]any{at}, args...))
		out := newArray()
		for _, name := range list(found) {
			if one, err := r.fileObject(text(name)); err == nil {
				out.items = append(out.items, one)
			}
		}
		return out, err
	}
	return nil, r.noMethod(o, name)
}

// isPattern reports whether a path has wildcards, so that it may match nothing without an error.
func (c *call) isPattern(name string) bool {
	return !c.literals[name] && strings.ContainsAny(name, "*?[") && c.noDrive(name) == ""
}

// glob returns the files that match a path and that -Include, -Exclude and -Filter let pass. The path may be
// literal. For Get-ChildItem the filters do not apply here.
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
	return slices.DeleteFunc(found, func(at string) bool { return !c.passesFilters(base(at)) })
}

// passesFilters reports whether -Filter, -Include and -Exclude let a name pass.
func (c *call) passesFilters(name string) bool {
	matches := func(parameter string) bool {
		return slices.ContainsFunc(c.textsOf(parameter), func(p string) bool {
			yes, err := like(name, p, false)
			if parameter == "filter" && err == nil && !yes { // the file system's own patterns apply: ?* also matches an empty text
				yes, err = like(name, strings.ReplaceAll(p, "?*", "*"), false)
			}
			return err == nil && yes
		})
	}
	return (!c.has("filter") || matches("filter")) && (!c.has("include") || matches("include")) && !matches("exclude")
}

// names returns the paths of a call: its arguments, or its pipeline input.
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

// driveItem returns the item of a drive such as env: with a name, or nil.
func (c *call) driveItem(drive, name string) *object {
	low := strings.ToLower(name)
	switch drive {
	case "env":
		if v, ok := c.env(name); ok {
			return tabled(kindEntry, 2, "Name", name, "Value", v, "Key", name)
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
	return every(c, c.names(), func(name string) error {
		provider, rest := drive(name)
		switch provider {
		case "registry":
			return c.emitKey(rest)
		case "env", "function", "alias", "variable":
			if o := c.driveItem(provider, rest); o != nil {
				return c.emit(o)
			}
			return missingItem(strings.ToUpper(provider[:1]) + provider[1:] + `:\` + rest)
		case "":
			return c.files(name, c.emitFile)
		}
		return lacking("the drive %s:", provider)
	})
}

func getChildItem(c *call) error {
	if c.is("hidden") {
		return nil // the image has no hidden files
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
	return every(c, names, func(name string) error {
		switch provider, rest := drive(name); provider {
		case "registry":
			return c.childKeys(rest)
		case "env":
			return every(c, slices.Sorted(maps.Keys(c.session.Env)), func(k string) error {
				if yes, err := like(k, cmp.Or(rest, "*"), false); err != nil || !yes {
					return err
				}
				return c.emit(c.driveItem("env", k))
			})
		case "":
		default:
			return lacking("the drive %s:", provider)
		}
		pattern := !c.literals[name] && strings.ContainsAny(base(strings.ReplaceAll(name, "/", `\`)), "*?[")
		only := pattern && len(c.glob(name)) != 1
		return c.files(name, func(at string) error {
			if c.has("include") && !c.is("recurse") && !pattern {
				return nil // -Include applies to the last part of the path
			}
			if c.root = at; only || !c.m.Root.IsDir(at) {
				c.root = parent(at)
			}
			return c.listFolder(at, depth, !only)
		})
	})
}

// listFolder emits the content of a folder, and of its folders down to depth more levels. Without open it also emits the folder itself.
func (c *call) listFolder(at string, depth int, open bool) error {
	if err := c.step(); err != nil {
		return err
	}
	if !open || !c.m.Root.IsDir(at) {
		if err := c.emitEntry(at); err != nil || !c.m.Root.IsDir(at) || depth == 0 {
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
			if err := c.emitEntry(inner); err != nil {
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
		if err := c.listFolder(dir, depth-1, true); err != nil {
			return err
		}
	}
	return nil
}

// emitEntry emits an entry if the filters let it pass.
func (c *call) emitEntry(at string) error {
	info, err := c.m.Root.Stat(at)
	if err != nil {
		return nil // the entry is a link without a target
	}
	if c.is("file") && info.IsDir() || c.is("directory") && !info.IsDir() {
		return nil
	}
	if !c.passesFilters(base(at)) {
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
	return every(c, names, func(name string) error {
		if c.has("name") {
			name = combine(name, c.textOf("name"))
		}
		provider, rest := drive(name)
		f, isBlock := c.given["value"].(function)
		switch {
		case provider == "registry":
			return c.newKey(rest)
		case provider == "env":
			return c.setEnv(rest, c.given["value"])
		case provider == "function" && isBlock:
			if err := c.set("function:"+rest, f); err != nil {
				return err
			}
			return c.emit(c.commandObject(rest))
		case provider != "":
			return lacking("New-Item on the drive %s:", provider)
		}
		return c.newFile(c.path(name))
	})
}

// newFile creates the file, folder or link of New-Item.
func (c *call) newFile(at string) error {
	kind := strings.ToLower(c.textOf("itemtype"))
	folder := kind != "" && strings.HasPrefix("directory", kind) || kind == "container"
	operation := map[bool]string{true: "Create Directory", false: "Create File"}[folder]
	if yes, err := c.should(operation, "Destination: "+at); err != nil || !yes {
		return err
	}
	there := c.m.Root.Exists(at) && !c.is("force")
	switch {
	case folder && there:
		f := broken("System.IO.IOException", "DirectoryExist", "An item with the specified name %s already exists.", at)
		f.category, f.target = "ResourceExists", at
		return f
	case folder:
		if err := c.m.Root.MkdirAll(at); err != nil {
			return diskError(err, at)
		}
	case kind == "", strings.HasPrefix("file", kind), kind == "leaf":
		if there {
			f := broken("System.IO.IOException", "NewItemIOError", "The file '%s' already exists.", at)
			f.category, f.target = "WriteError", at
			return f
		}
		if c.is("force") {
			if err := c.m.Root.MkdirAll(parent(at)); err != nil {
				return diskError(err, at)
			}
		}
		err := diskError(c.m.Root.WriteFile(at, []byte(c.textOf("value")), 0o644), at)
		if f := failed(err); f != nil && f.id == "GetContentWriterDirectoryNotFoundError" {
			f.id, f.category = "NewItemIOError", "WriteError"
		}
		if err != nil {
			return err
		}
	case kind == "symboliclink" || kind == "junction":
		if err := c.m.Root.Symlink(strings.ReplaceAll(c.path(c.textOf("value")), `\`, "/")[2:], at); err != nil {
			return diskError(err, at)
		}
	default:
		return lacking("New-Item of the type %s", kind)
	}
	o, err := c.fileObject(at)
	if err != nil {
		return nil // the entry is a link without a target
	}
	return c.emit(o)
}

func removeItem(c *call) error {
	if c.has("include") && c.is("recurse") {
		return lacking("-Include of Remove-Item with -Recurse; pipe Get-ChildItem to it")
	}
	return every(c, c.names(), func(name string) error {
		provider, rest := drive(name)
		switch {
		case provider == "registry":
			if yes, err := c.should("Remove Key", "Item: "+rest); err != nil || !yes {
				return err
			}
			return keyError(c.m.Registry().Delete(rest), rest)
		case provider == "variable":
			c.given["name"] = rest
			return removeVariable(c)
		case provider == "":
			return c.files(name, c.removeFile)
		case provider != "env" && provider != "function":
			return lacking("Remove-Item on the drive %s:", provider)
		case c.driveItem(provider, rest) == nil:
			return missingItem(strings.ToUpper(provider[:1]) + provider[1:] + `:\` + rest)
		case provider == "env":
			return c.setEnv(rest, nil)
		}
		delete(c.scope.functions, strings.ToLower(rest))
		return nil
	})
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
			// Windows asks for confirmation on a console; a script without a console gets an error.
			return broken("PSInvalidOperationException", "RemoveItemNonInteractive", "Windows PowerShell is in "+
				"NonInteractive mode. Read and Prompt functionality is not available. The item at %s has "+
				"children and the Recurse parameter was not specified.", at)
		}
	}
	if info.Mode()&0o200 == 0 && !info.IsDir() && !c.is("force") {
		return broken("System.IO.IOException", "RemoveFileSystemItemUnAuthorizedAccess",
			"Cannot remove item %s: You do not have sufficient access rights to perform this operation.", at)
	}
	if info.IsDir() && c.has("exclude") {
		_, err := c.removeTree(at)
		return err
	}
	return diskError(c.m.Root.RemoveAll(at), at)
}

// removeTree removes the content of a folder except for the entries that -Exclude names, then the folder if it
// is empty. left reports whether entries remain.
func (c *call) removeTree(at string) (left bool, err error) {
	entries, err := c.m.Root.ReadDir(at)
	for _, e := range entries {
		inner, stays := combine(at, e.Name()), likeAny(e.Name(), c.textsOf("exclude"))
		if !stays && e.IsDir() && err == nil {
			stays, err = c.removeTree(inner)
		} else if !stays && err == nil {
			err = diskError(c.m.Root.Remove(inner), inner)
		}
		left = left || stays
	}
	if left || err != nil {
		return left, err
	}
	return false, diskError(c.m.Root.RemoveAll(at), at)
}

// files calls f for each file that a path matches. The path, or its folder before the first wildcard, must exist.
func (c *call) files(name string, f func(at string) error) error {
	found := c.glob(name)
	at := c.path(name)
	if len(found) == 0 && c.isPattern(name) { // the folder before the first wildcard must exist
		at = parent(at[:strings.IndexAny(at, "*?[")] + "x")
	}
	if len(found) == 0 && !c.m.Root.Exists(at) {
		return c.notFound(at)
	}
	return every(c, found, f)
}

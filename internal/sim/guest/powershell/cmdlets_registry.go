package powershell

import (
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

var registryCmdlets = []cmdlet{
	{name: "Get-ItemProperty", flat: true, parameters: "Path%&!:0 Name%:1 LiteralPath|PSPath%!", run: getItemProperty},
	{name: "Get-ItemPropertyValue", parameters: "Path%!:0 Name%:1 LiteralPath|PSPath%!", run: getItemPropertyValue},
	{name: "Set-ItemProperty", parameters: "Path%!:0 Name%:1 Value:2 LiteralPath|PSPath%! Type|PropertyType Force?~ PassThru?~",
		run: func(c *call) error { return putProperty(c, true) }},
	{name: "New-ItemProperty", parameters: "Path%!:0 Name%:1 Value PropertyType|Type LiteralPath|PSPath%! Force?",
		run: func(c *call) error { return putProperty(c, false) }},
	{name: "Remove-ItemProperty", parameters: "Path%!:0 Name%:1 LiteralPath|PSPath%! Force?~", run: removeProperty},
}

// valueText returns a registry value as a value of PowerShell.
func valueText(v machine.Value) any {
	switch v.Kind {
	case "DWord", "QWord":
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if err == nil {
			return n
		}
	case "MultiString":
		out := newArray()
		out.kind = "String[]"
		for _, s := range v.List {
			out.items = append(out.items, s)
		}
		return out
	case "Binary":
		return []byte(v.Text)
	}
	return v.Text
}

// long returns a key's path with the full name of its root.
func long(path string) string {
	head, rest, nested := strings.Cut(machine.CleanKey(path), `\`)
	full := map[string]string{
		"HKLM": "HKEY_LOCAL_MACHINE", "HKCU": "HKEY_CURRENT_USER", "HKCR": "HKEY_CLASSES_ROOT", "HKU": "HKEY_USERS",
	}[head]
	if full == "" {
		full = head
	}
	if nested {
		return full + `\` + rest
	}
	return full
}

func keyError(err error, path string) error {
	if err == nil {
		return nil
	}
	return missingItem(long(path))
}

func (c *call) keyObject(path string) (*object, bool) {
	k, ok := c.m.Registry().Key(path)
	if !ok {
		return nil, false
	}
	o := system(kindKey, []string{"Name", "Property"}, "Name", long(path), "PSChildName", base(k.Path), "PSPath",
		`Microsoft.PowerShell.Core\Registry::`+long(path), "PSParentPath",
		`Microsoft.PowerShell.Core\Registry::`+parent(long(path)), "PSProvider",
		`Microsoft.PowerShell.Core\Registry`)
	names := newArray()
	for _, n := range valueNames(k) {
		names.items = append(names.items, n)
	}
	o.set("Property", names)
	o.set("ValueCount", int64(len(names.items)))
	return o, true
}

func valueNames(k machine.Key) []string {
	out := make([]string, 0, len(k.Values))
	for n := range k.Values {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func (c *call) emitKey(path string) error {
	o, ok := c.keyObject(path)
	if !ok {
		return c.fault(missingItem(long(path)))
	}
	return c.emit(o)
}

func (c *call) childKeys(path string) error {
	path = strings.TrimSuffix(strings.TrimSuffix(path, `\*`), "/*")
	if strings.ContainsAny(path, "*?") {
		return lacking("wildcards in keys of the registry")
	}
	if _, ok := c.m.Registry().Key(path); !ok {
		return c.fault(missingItem(long(path)))
	}
	for _, name := range c.m.Registry().Children(path) {
		if err := c.emitKey(path + `\` + name); err != nil {
			return err
		}
		if c.is("recurse") {
			if err := c.childKeys(path + `\` + name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *call) newKey(path string) error {
	registry := c.m.Registry()
	if _, ok := registry.Key(path); ok {
		if !c.is("force") {
			return c.fault(broken("System.IO.IOException",
				"ResourceExists,Microsoft.PowerShell.Commands.NewItemCommand",
				"A key in this path already exists."))
		}
		if err := registry.Delete(path); err != nil { // with -Force the key is made new
			return c.fault(keyError(err, path))
		}
	} else if _, ok := registry.Key(parent(path)); !ok && !c.is("force") {
		return c.fault(broken("System.IO.IOException",
			"System.IO.IOException,Microsoft.PowerShell.Commands.NewItemCommand",
			"The registry key at the specified path does not exist."))
	}
	if err := registry.Create(path); err != nil {
		return diskError(err, path)
	}
	if c.has("value") {
		if err := registry.Set(path, "(default)", machine.Value{Kind: "String", Text: c.textOf("value")}); err != nil {
			return diskError(err, path)
		}
	}
	return c.emitKey(path)
}

// keyPaths returns the keys that a cmdlet is given.
func (c *call) keyPaths() ([]string, error) {
	var out []string
	for _, name := range c.names() {
		provider, rest := drive(name)
		switch provider {
		case "registry":
			out = append(out, rest)
		case "":
			out = append(out, "")
		default:
			return nil, lacking("%s on the drive %s:", c.cmd.name, provider)
		}
	}
	return out, nil
}

func getItemProperty(c *call) error {
	paths, err := c.keyPaths()
	if err != nil {
		return err
	}
	for i, path := range paths {
		if path == "" {
			file, err := c.fileObject(c.path(c.names()[i]))
			if err := c.fault(err); err != nil || file == nil {
				return err
			}
			return c.emit(file)
		}
		path = strings.TrimSuffix(path, `\*`)
		if strings.ContainsAny(path, "*?") {
			return lacking("wildcards in keys of the registry")
		}
		k, ok := c.m.Registry().Key(path)
		if !ok {
			if err := c.fault(missingItem(long(path))); err != nil {
				return err
			}
			continue
		}
		o := custom()
		for _, n := range valueNames(k) {
			if c.has("name") && !slices.ContainsFunc(c.textsOf("name"),
				func(want string) bool { yes, err := like(n, want, false); return err == nil && yes }) {
				continue
			}
			o.set(n, valueText(k.Values[n]))
		}
		if c.has("name") && len(o.fields) == 0 {
			f := broken("PSArgumentException",
				"System.Management.Automation.PSArgumentException,Microsoft.PowerShell.Commands.GetItemPropertyCommand",
				"Property %s does not exist at path %s.", c.textOf("name"), long(path))
			if err := c.fault(f); err != nil {
				return err
			}
			continue
		}
		o.set("PSPath", `Microsoft.PowerShell.Core\Registry::`+long(path))
		o.set("PSChildName", base(path))
		if err := c.emit(o); err != nil {
			return err
		}
	}
	return nil
}

func getItemPropertyValue(c *call) error {
	paths, err := c.keyPaths()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if path == "" {
			return lacking("Get-ItemPropertyValue of files")
		}
		if _, ok := c.m.Registry().Key(path); !ok {
			return c.fault(missingItem(long(path)))
		}
		for _, name := range c.textsOf("name") {
			v, ok := c.m.Registry().Value(path, name)
			if !ok {
				f := broken("PSArgumentException", "System.Management.Automation.PSArgumentException,Microsoft."+
					"PowerShell.Commands."+
					"GetItemPropertyValueCommand", "Property %s does not exist at path %s.", name, long(path))
				if err := c.fault(f); err != nil {
					return err
				}
				continue
			}
			if err := c.emit(valueText(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

func putProperty(c *call, existing bool) error {
	paths, err := c.keyPaths()
	if err != nil {
		return err
	}
	for i, path := range paths {
		if path == "" {
			if err := c.fileAttribute(c.path(c.names()[i])); err != nil {
				return err
			}
			continue
		}
		registry := c.m.Registry()
		if _, ok := registry.Key(path); !ok {
			if err := c.fault(missingItem(long(path))); err != nil {
				return err
			}
			continue
		}
		old, there := registry.Value(path, c.textOf("name"))
		if there && !existing && !c.is("force") {
			if err := c.fault(broken("System.IO.IOException",
				"System.IO.IOException,Microsoft.PowerShell.Commands.NewItemPropertyCommand",
				"The property already exists.")); err != nil {
				return err
			}
			continue
		}
		v, err := c.registryValue(old, there)
		if err != nil {
			return err
		}
		if err := registry.Set(path, c.textOf("name"), v); err != nil {
			return diskError(err, path)
		}
		if !existing {
			o := custom(field{c.textOf("name"), valueText(v)},
				field{"PSPath", `Microsoft.PowerShell.Core\Registry::` + long(path)},
				field{"PSChildName", base(path)})
			if err := c.emit(o); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileAttribute sets the one property of files that the guest keeps.
func (c *call) fileAttribute(file string) error {
	if !strings.EqualFold(c.textOf("name"), "IsReadOnly") {
		return lacking("the property %s of files in Set-ItemProperty", c.textOf("name"))
	}
	mode := map[bool]uint32{true: 0o444, false: 0o644}[c.is("value")]
	return c.fault(diskError(c.m.Root.Chmod(file, fileMode(mode)), file))
}

// registryValue returns the value that a cmdlet writes, in the type it names or the value's
// own.
func (c *call) registryValue(old machine.Value, there bool) (machine.Value, error) {
	given := c.given["value"]
	kind := c.textOf("type") + c.textOf("propertytype")
	if kind == "" && there {
		kind = old.Kind
	}
	if kind == "" {
		switch given.(type) {
		case int64, sized:
			kind = "DWord"
		case *array:
			kind = "MultiString"
		case []byte:
			kind = "Binary"
		default:
			kind = "String"
		}
	}
	for _, known := range []string{"String", "ExpandString", "DWord", "QWord", "MultiString", "Binary"} {
		if strings.EqualFold(kind, known) {
			kind = known
		}
	}
	v := machine.Value{Kind: kind}
	switch kind {
	case "DWord", "QWord":
		n, err := c.integer(given)
		if err != nil {
			return v, named(c.cmd.name, broken("PSInvalidCastException", "System.InvalidCastException",
				"Cannot convert value \"%s\" to type \"System.Int32\".", text(given)))
		}
		v.Text = strconv.FormatInt(n, 10)
	case "MultiString":
		for _, item := range list(given) {
			v.List = append(v.List, text(item))
		}
	case "Binary":
		b, err := bytesOf(given)
		if err != nil {
			return v, err
		}
		v.Text = string(b)
	case "String", "ExpandString":
		v.Text = text(given)
	default:
		return v, broken("ParameterBindingException", "CannotConvertArgument", "Cannot bind parameter "+
			"'PropertyType'. Unable to match the identifier name %s to a valid enumerator name.", kind)
	}
	return v, c.take(len(v.Text))
}

func removeProperty(c *call) error {
	paths, err := c.keyPaths()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if path == "" {
			return lacking("Remove-ItemProperty of files")
		}
		for _, name := range c.textsOf("name") {
			if _, ok := c.m.Registry().Value(path, name); !ok {
				f := broken("PSArgumentException", "System.Management.Automation.PSArgumentException,Microsoft."+
					"PowerShell.Commands."+
					"RemoveItemPropertyCommand", "Property %s does not exist at path %s.", name, long(path))
				if err := c.fault(f); err != nil {
					return err
				}
				continue
			}
			if err := c.m.Registry().Unset(path, name); err != nil {
				return diskError(err, path)
			}
		}
	}
	return nil
}

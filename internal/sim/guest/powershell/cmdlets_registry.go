package powershell

import (
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

var registryCmdlets = []cmdlet{
	{name: "Get-ItemProperty", flat: true, parameters: "Path%&!:0 Name%:1 LiteralPath|PSPath%!", run: getItemProperty},
	{name: "Get-ItemPropertyValue", parameters: "Path%!:0 Name%:1 LiteralPath|PSPath%!", run: getItemPropertyValue},
	{name: "Set-ItemProperty", parameters: "Path%!:0 Name%:1 Value:2 LiteralPath|PSPath%! Type|PropertyType Force?~",
		run: func(c *call) error { return putProperty(c, true) }},
	{name: "New-ItemProperty", parameters: "Path%!:0 Name%:1 Value PropertyType|Type LiteralPath|PSPath%! Force?",
		run: func(c *call) error { return putProperty(c, false) }},
	{name: "Remove-ItemProperty", parameters: "Path%!:0 Name%:1 LiteralPath|PSPath%! Force?~", run: removeProperty},
}

// valueText returns the value of a registry value in PowerShell's type for it.
func valueText(v machine.Value) any {
	switch v.Kind {
	case "DWord", "QWord":
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if err == nil {
			return n
		}
	case "MultiString":
		return textArray(v.List)
	case "Binary":
		return []byte(v.Text)
	}
	return v.Text
}

// fullKey returns a key's path with the full name of its root, such as HKEY_LOCAL_MACHINE.
func fullKey(path string) string {
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
	return missingItem(fullKey(path))
}

// keyObject returns the object of a registry key; the result is false if the key does not exist.
func (c *call) keyObject(path string) (*object, bool) {
	k, ok := c.m.Registry().Key(path)
	if !ok {
		return nil, false
	}
	o := system(kindKey, []string{"Name", "Property"}, "Name", fullKey(path), "PSChildName", base(k.Path), "PSPath",
		`Microsoft.PowerShell.Core\Registry::`+fullKey(path), "PSParentPath",
		`Microsoft.PowerShell.Core\Registry::`+parent(fullKey(path)), "PSProvider",
		`Microsoft.PowerShell.Core\Registry`)
	o.set("Property", textArray(valueNames(k)))
	o.set("ValueCount", int64(len(k.Values)))
	return o, true
}

func valueNames(k machine.Key) []string { return slices.Sorted(maps.Keys(k.Values)) }

func (c *call) emitKey(path string) error {
	o, ok := c.keyObject(path)
	if !ok {
		return missingItem(fullKey(path))
	}
	return c.emit(o)
}

// childKeys emits the keys below a registry key.
func (c *call) childKeys(path string) error {
	path = strings.TrimSuffix(strings.TrimSuffix(path, `\*`), "/*")
	if strings.ContainsAny(path, "*?") {
		return lacking("wildcards in keys of the registry")
	}
	if _, ok := c.m.Registry().Key(path); !ok {
		return missingItem(fullKey(path))
	}
	return every(c, c.m.Registry().Children(path), func(name string) error {
		err := c.emitKey(path + `\` + name)
		if err == nil && c.is("recurse") {
			err = c.childKeys(path + `\` + name)
		}
		return err
	})
}

// newKey creates a registry key and emits it.
func (c *call) newKey(path string) error {
	registry := c.m.Registry()
	if _, ok := registry.Key(path); ok {
		if !c.is("force") {
			return broken("System.IO.IOException", "ResourceExists", "A key in this path already exists.")
		}
		if err := registry.Delete(path); err != nil { // with -Force the key is created again
			return keyError(err, path)
		}
	} else if _, ok := registry.Key(parent(path)); !ok && !c.is("force") {
		return broken("System.IO.IOException", "System.IO.IOException", "The registry key at the specified path does not exist.")
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

// eachKey calls key for each registry key that a call names, and file for each file. A nil file refuses files.
func (c *call) eachKey(key, file func(path string) error) error {
	return every(c, c.names(), func(name string) error {
		provider, path := drive(name)
		switch {
		case provider == "" && file != nil:
			return file(c.path(name))
		case provider == "":
			return lacking("%s of files", c.cmd.name)
		case provider != "registry":
			return lacking("%s on the drive %s:", c.cmd.name, provider)
		}
		path = strings.TrimSuffix(path, `\*`)
		if strings.ContainsAny(path, "*?") {
			return lacking("wildcards in keys of the registry")
		}
		if _, ok := c.m.Registry().Key(path); !ok {
			return missingItem(fullKey(path))
		}
		return key(path)
	})
}

// noValue returns the failure for a value that a key does not have.
func noValue(path, name string) error {
	return broken("PSArgumentException", "System.Management.Automation.PSArgumentException", "Property %s does not exist at path %s.", name,
		fullKey(path))
}

func getItemProperty(c *call) error {
	return c.eachKey(func(path string) error {
		k, _ := c.m.Registry().Key(path)
		o := custom()
		for _, n := range valueNames(k) {
			if !c.has("name") || likeAny(n, c.textsOf("name")) {
				o.set(n, valueText(k.Values[n]))
			}
		}
		if c.has("name") && len(o.fields) == 0 {
			return noValue(path, c.textOf("name"))
		}
		o.set("PSPath", `Microsoft.PowerShell.Core\Registry::`+fullKey(path))
		o.set("PSChildName", base(path))
		return c.emit(o)
	}, c.emitFile)
}

func getItemPropertyValue(c *call) error {
	return c.eachKey(func(path string) error {
		return every(c, c.textsOf("name"), func(name string) error {
			v, ok := c.m.Registry().Value(path, name)
			if !ok {
				return noValue(path, name)
			}
			return c.emit(valueText(v))
		})
	}, nil)
}

// putProperty sets a value of a registry key or a property of a file. If existing is false, the value must be new or -Force given.
func putProperty(c *call, existing bool) error {
	return c.eachKey(func(path string) error {
		registry, name := c.m.Registry(), c.textOf("name")
		old, there := registry.Value(path, name)
		if there && !existing && !c.is("force") {
			return broken("System.IO.IOException", "System.IO.IOException", "The property already exists.")
		}
		v, err := c.registryValue(old, there)
		if err != nil {
			return err
		}
		if err := registry.Set(path, name, v); err != nil || existing {
			return diskError(err, path)
		}
		return c.emit(custom(field{name, valueText(v)}, field{"PSPath", `Microsoft.PowerShell.Core\Registry::` + fullKey(path)},
			field{"PSChildName", base(path)}))
	}, c.fileAttribute)
}

// fileAttribute sets a time or IsReadOnly of a file.
func (c *call) fileAttribute(file string) error {
	o, err := c.fileObject(file)
	if err != nil {
		return err
	}
	if done, err := c.putFileTime(o, c.textOf("name"), c.given["value"]); done {
		return err
	}
	if !strings.EqualFold(c.textOf("name"), "IsReadOnly") {
		return lacking("the property %s of files in Set-ItemProperty", c.textOf("name"))
	}
	mode := map[bool]fs.FileMode{true: 0o444, false: 0o644}[c.is("value")]
	return diskError(c.m.Root.Chmod(file, mode), file)
}

// registryValue returns the registry value that a cmdlet writes. Its kind is that of the parameter -Type or
// -PropertyType, of the old value, or of the given value's type.
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
			return v, withCommand(c.cmd.name, broken("PSInvalidCastException", "System.InvalidCastException",
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
	return c.eachKey(func(path string) error {
		return every(c, c.textsOf("name"), func(name string) error {
			if _, ok := c.m.Registry().Value(path, name); !ok {
				return noValue(path, name)
			}
			return diskError(c.m.Registry().Unset(path, name), path)
		})
	}, nil)
}

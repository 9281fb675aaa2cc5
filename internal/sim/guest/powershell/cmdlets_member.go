package powershell

import (
	"cmp"
	"slices"
	"strings"
)

var memberCmdlets = []cmdlet{
	{name: "Get-Member", ending: true, parameters: "Name%:0 MemberType|Type InputObject Force?~", run: getMember},
	{name: "Add-Type", byProperty: true,
		parameters: "TypeDefinition:0 AssemblyName|AN Path% LiteralPath% MemberDefinition Namespace Language Name% " +
			"ReferencedAssemblies PassThru? " +
			"IgnoreWarnings?~", run: addType},
	{name: "Get-Culture", parameters: "", run: func(c *call) error {
		v, err := cultureObject("en-US", "English (United States)")(c.run, nil)
		if err != nil {
			return err
		}
		return c.emit(v)
	}},
}

// simulatedAssemblies are the assemblies that Add-Type accepts. Some of their types are simulated.
const simulatedAssemblies = " system system.core system.io.compression system.io.compression.filesystem system.web " +
	"system.net.http system.security " +
	"system.serviceprocess system.xml mscorlib "

// addType accepts the simulated assemblies. Code in C# is refused by name.
func addType(c *call) error {
	if !c.has("assemblyname") {
		return lacking("compiled code (Add-Type)")
	}
	for _, name := range c.textsOf("assemblyname") {
		short, _, _ := strings.Cut(name, ",")
		if !strings.Contains(simulatedAssemblies, " "+strings.ToLower(strings.TrimSpace(short))+" ") {
			return lacking("the assembly %s (Add-Type -AssemblyName)", name)
		}
		c.web = c.web || strings.EqualFold(strings.TrimSpace(short), "System.Web")
	}
	return nil
}

// getMember emits the properties of values, and the methods of objects that a script made.
func getMember(c *call) error {
	kinds := strings.ToLower(strings.Join(c.textsOf("membertype"), " "))
	values := slices.DeleteFunc(slices.Clone(c.items()), func(v any) bool { return v == nil })
	methods := kinds == "" || strings.Contains(kinds, "all") || kinds == "method" || kinds == "methods"
	if (kinds != "" || !c.has("name")) && methods && slices.ContainsFunc(values, func(v any) bool { return !isCustom(v) }) {
		return lacking("the methods that Get-Member lists; name properties with -Name or -MemberType")
	}
	seen := map[string]bool{}
	if len(values) == 0 {
		f := broken("System.InvalidOperationException", "NoObjectInGetMember", "You must specify an object for the Get-Member cmdlet.")
		f.category = "CloseError"
		return c.fault(f)
	}
	for _, v := range values {
		kind := firstTypeName(v)
		if seen[kind] {
			continue
		}
		seen[kind] = true
		memberType := "NoteProperty"
		o, ok := v.(*object)
		if !ok || o.closed {
			memberType = "Property"
		}
		if !ok {
			o = propertiesOf(v)
		}
		fields := slices.Clone(o.members())
		if isCustom(v) {
			fields = append(fields, customMethods...)
		}
		kindOf := func(f field) string {
			if s, isScript := f.value.(scripted); isScript {
				return s.kind
			}
			return memberType
		}
		slices.SortStableFunc(fields, func(x, y field) int {
			return cmp.Or(strings.Compare(kindOf(x), kindOf(y)), strings.Compare(strings.ToLower(x.name), strings.ToLower(y.name)))
		})
		for _, f := range fields {
			own, definition := kindOf(f), definitionOf(f, memberType)
			if c.has("name") && !likeAny(f.name, c.textsOf("name")) {
				continue
			}
			plural := kinds == "properties" && strings.HasSuffix(own, "Property") || kinds == "methods" && strings.HasSuffix(own, "Method")
			if kinds != "" && kinds != "all" && !plural && !slices.Contains(strings.Fields(kinds), strings.ToLower(own)) {
				continue
			}
			if err := c.emit(tabled(kindMember, 3, "Name", f.name, "MemberType", own, "Definition", definition, "TypeName", kind,
				"text", definition)); err != nil {
				return err
			}
		}
	}
	return nil
}

// shortTypes are the types that the definitions of members name by their short names.
var shortTypes = map[string]string{"System.String": "string", "System.Int32": "int", "System.Int64": "long", "System.Boolean": "bool",
	"System.Double": "double", "System.Object[]": "Object[]", "System.DateTime": "datetime", "System.Char": "char",
	"System.Collections.Hashtable": "hashtable"}

// customMethods are the methods of an object that a script made.
var customMethods = []field{
	{"Equals", scripted{kind: "Method", alias: "bool Equals(System.Object obj)"}},
	{"GetHashCode", scripted{kind: "Method", alias: "int GetHashCode()"}},
	{"GetType", scripted{kind: "Method", alias: "type GetType()"}},
	{"ToString", scripted{kind: "Method", alias: "string ToString()"}},
}

// definitionOf returns the definition of a member as Get-Member shows it.
func definitionOf(f field, kind string) string {
	switch s, _ := f.value.(scripted); s.kind {
	case "Method":
		return s.alias
	case "AliasProperty":
		return f.name + " = " + s.alias
	case "ScriptMethod":
		return "System.Object " + f.name + "();"
	case "ScriptProperty":
		return "System.Object " + f.name + " {get=" + s.get.text + ";}"
	}
	name, ok := shortTypes[kindOfOrObject(f.value)]
	if !ok {
		name = kindOfOrObject(f.value)
	}
	if kind == "Property" {
		return name + " " + f.name + " {get;}"
	}
	shown := text(f.value)
	if isList(f.value) {
		shown = kindOf(f.value)
	}
	if f.value == nil {
		name, shown = "object", "null"
	}
	return name + " " + f.name + "=" + shown
}

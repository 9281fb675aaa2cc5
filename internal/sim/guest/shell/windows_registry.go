package shell

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// regKinds are the types of reg.exe, with the registry's own names for them.
var regKinds = map[string]string{"REG_SZ": "String", "REG_EXPAND_SZ": "ExpandString", "REG_DWORD": "DWord",
	"REG_DWORD_LITTLE_ENDIAN": "DWord", "REG_QWORD": "QWord", "REG_MULTI_SZ": "MultiString", "REG_BINARY": "Binary"}

// regHives are the roots of keys, by their short names.
var regHives = map[string]string{"HKLM": "HKEY_LOCAL_MACHINE", "HKCU": "HKEY_CURRENT_USER", "HKCR": "HKEY_CLASSES_ROOT",
	"HKU": "HKEY_USERS", "HKCC": "HKEY_CURRENT_CONFIG"}

// defaultValue is the name of a key's default value.
const defaultValue = "(default)"

// regSwitches are the switches of each verb.
var regSwitches = map[string]declaration{
	"add":    declare("- v: ve t: d: s: f reg:32 reg:64"),
	"delete": declare("- v: ve va f reg:32 reg:64"),
	"query":  declare("- v: ve reg:32 reg:64 s! f! k! d! c! e! t! z! se!"),
}

// regCall is a command line of reg.exe.
type regCall struct {
	p   *Process
	key string
	o   options
}

// reg implements reg.exe: add, delete and query, on the guest's registry.
func reg(_ context.Context, p *Process) int {
	verb := strings.ToLower(p.Arg(1))
	run := map[string]func(regCall) int{"add": regCall.add, "delete": regCall.remove, "query": regCall.query}[verb]
	switch {
	case run == nil && slices.Contains([]string{"copy", "export", "import", "save", "load", "unload", "restore", "compare", "flags"}, verb):
		return p.refuseAs(1, "reg %s", verb)
	case len(p.Args) == 3 && slices.Contains([]string{"/?", "/h", "-h", "-?"}, strings.ToLower(p.Args[2])):
		return p.refuseAs(1, "the help of reg")
	case run == nil || len(p.Args) < 3:
		return p.invalidReg()
	}
	c := regCall{p: p, key: p.Arg(2)}
	root, below, _ := strings.Cut(c.key, `\`)
	root = strings.ToUpper(root)
	for short, long := range regHives {
		if root == long {
			root = short
		}
	}
	switch {
	case strings.HasPrefix(c.key, "/"):
		return p.invalidReg()
	case strings.HasPrefix(c.key, `\\`):
		return p.refuseAs(1, "the registry of another machine")
	case regHives[root] == "" || strings.Contains(c.key, `\\`) || verb == "add" && below == "":
		return p.Fail(1, "ERROR: Invalid key name.\r\nType \"REG %s /?\" for usage.\r", strings.ToUpper(verb))
	}
	o, kind, wrong := regSwitches[verb].slashed(p.Args[3:])
	switch c.o = o; {
	case kind == '!':
		return p.refuseAs(1, "reg query %s", wrong)
	case kind != 0 || len(o.operands) > 0 || c.count("v", "ve", "va") > 1 || c.count("reg:32", "reg:64") > 1:
		return p.invalidReg()
	case o.has("reg:32"):
		return p.refuseAs(1, "reg /reg:32")
	}
	return run(c)
}

// invalidReg fails with reg.exe's message for a wrong command line.
func (p *Process) invalidReg() int {
	return p.Fail(1, "ERROR: Invalid syntax.\r\nType \"REG /?\" for usage.\r")
}

func (c regCall) count(names ...string) (n int) {
	for _, name := range names {
		if c.o.has(name) {
			n++
		}
	}
	return n
}

// name returns the name of the value in the command line; named is false if there is none.
func (c regCall) name() (name string, named bool) {
	return cmp.Or(c.o.value("v"), defaultValue), c.o.has("v", "ve")
}

func (c regCall) add() int {
	p, registry := c.p, c.p.Guest.Registry()
	name, named := c.name()
	if !named && !c.o.has("t", "d", "s") {
		if err := registry.Create(c.key); err != nil {
			return p.Fail(1, "ERROR: %v\r", err)
		}
		return c.done()
	}
	v, complaint := c.value()
	if complaint != "" {
		return p.Fail(1, "ERROR: %s\r\nType \"REG ADD /?\" for usage.\r", complaint)
	}
	if v.Kind == "" {
		return p.refuseAs(1, "reg add /t %s", c.o.value("t"))
	}
	if _, there := registry.Value(c.key, name); there && !c.o.has("f") {
		return p.refuseAs(1, "the question of reg add; give /f")
	}
	if err := registry.Set(c.key, name, v); err != nil {
		return p.Fail(1, "ERROR: %v\r", err)
	}
	return c.done()
}

// value returns the value that /t, /d and /s describe. A value without a kind is one that the guest cannot store.
func (c regCall) value() (v machine.Value, complaint string) {
	kind, data, given := "String", c.o.value("d"), c.o.has("d")
	if c.o.has("t") {
		t := strings.ToUpper(c.o.value("t"))
		if kind = regKinds[t]; kind == "" && (t == "REG_NONE" || t == "REG_DWORD_BIG_ENDIAN") {
			return v, ""
		}
		if kind == "" {
			return v, "Invalid syntax. Specify a valid type for '/t'."
		}
	}
	if c.o.has("s") && (len(c.o.value("s")) != 1 || kind != "MultiString") {
		return v, "Invalid syntax."
	}
	v = machine.Value{Kind: kind, Text: data}
	switch kind {
	case "DWord", "QWord":
		bits, base, digits := map[string]int{"DWord": 32, "QWord": 64}[kind], 10, data
		if len(data) > 1 && data[0] == '0' && (data[1] == 'x' || data[1] == 'X') {
			base, digits = 16, data[2:]
		}
		n, err := strconv.ParseUint(digits, base, bits)
		if kind == "QWord" && base == 10 && strings.HasPrefix(data, "-") { // Windows stores it as an unsigned number of 64 bits
			var signed int64
			signed, err = strconv.ParseInt(data, 10, 64)
			n = uint64(signed)
		}
		if kind == "QWord" && !given {
			n, err = 0, nil
		}
		if err != nil {
			return v, "Invalid syntax. Specify valid numeric value for '/d'."
		}
		v.Text = strconv.FormatUint(n, 10)
	case "Binary":
		if len(data)%2 == 1 {
			data = "0" + data
		}
		bytes, err := hex.DecodeString(data)
		if err != nil {
			return v, "Invalid syntax. Specify valid binary value for '/d'."
		}
		v.Text = string(bytes)
	case "MultiString":
		separator := cmp.Or(c.o.value("s"), `\0`)
		v.Text, v.List = "", strings.Split(strings.TrimSuffix(data, separator), separator)
		if data == "" || data == separator {
			v.List = nil
		}
		if slices.Contains(v.List, "") {
			return v, "Invalid syntax. Specify valid data for '/d'."
		}
	}
	return v, ""
}

func (c regCall) done() int {
	c.p.Printf("The operation completed successfully.\r\n")
	return 0
}

const noKey = "ERROR: The system was unable to find the specified registry key or value.\r"

// remove implements reg delete.
func (c regCall) remove() int {
	p, registry := c.p, c.p.Guest.Registry()
	k, there := registry.Key(c.key)
	if !there {
		return p.Fail(1, noKey)
	}
	if !c.o.has("f") {
		return p.refuseAs(1, "the question of reg delete; give /f")
	}
	name, named := c.name()
	names := []string{name}
	if c.o.has("va") {
		names, named = slices.Collect(maps.Keys(k.Values)), true
	} else if _, some := registry.Value(c.key, name); named && !some {
		return p.Fail(1, noKey)
	}
	if !named {
		if _, nested := strings.CutPrefix(machine.CleanKey(c.key), regRoot(c.key)+`\`); !nested {
			return p.refuseAs(1, "reg delete of a whole hive")
		}
		if err := registry.Delete(c.key); err != nil {
			return p.Fail(1, noKey)
		}
		return c.done()
	}
	for _, n := range names {
		if err := registry.Unset(c.key, n); err != nil {
			return p.Fail(1, "ERROR: %v\r", err)
		}
	}
	return c.done()
}

// regRoot returns the short name of a key's hive.
func regRoot(key string) string {
	root, _, _ := strings.Cut(machine.CleanKey(key), `\`)
	return root
}

func (c regCall) query() int {
	p, registry := c.p, c.p.Guest.Registry()
	k, ok := registry.Key(c.key)
	if !ok {
		return p.Fail(1, noKey)
	}
	root := regRoot(c.key)
	full := regHives[root] + strings.TrimPrefix(machine.CleanKey(c.key), root)
	name, one := c.name()
	var lines []string
	for _, n := range slices.Sorted(maps.Keys(k.Values)) {
		if one && !strings.EqualFold(name, n) {
			continue
		}
		shown := n
		if n == defaultValue {
			shown = "(Default)"
		}
		lines = append(lines, fmt.Sprintf("    %s    %s\r\n", shown, regText(k.Values[n])))
	}
	switch {
	case one && len(lines) == 0 && name != defaultValue:
		return p.Fail(1, noKey)
	case one && len(lines) == 0:
		lines = []string{"    (Default)    REG_SZ    (value not set)\r\n"}
	}
	p.Printf("\r\n")
	if len(lines) > 0 {
		p.Printf("%s\r\n%s\r\n", full, strings.Join(lines, ""))
	}
	for _, child := range registry.Children(c.key) {
		if !one {
			p.Printf("%s\\%s\r\n", full, child)
		}
	}
	return 0
}

func regText(v machine.Value) string {
	name := ""
	for long, kind := range regKinds {
		if kind == v.Kind && (name == "" || len(long) < len(name)) {
			name = long
		}
	}
	text := v.Text
	switch v.Kind {
	case "DWord", "QWord":
		n, err := strconv.ParseUint(v.Text, 10, 64)
		if err == nil {
			text = fmt.Sprintf("0x%x", n)
		}
	case "MultiString":
		text = strings.Join(v.List, `\0`)
	case "Binary":
		text = strings.ToUpper(hex.EncodeToString([]byte(v.Text)))
	}
	return name + "    " + text
}

// setx stores an environment variable for programs that start later; with /m for the machine.
func setx(_ context.Context, p *Process) int {
	o, kind, wrong := declare("m").slashed(p.Args[1:])
	args := o.operands
	switch {
	case kind != 0:
		return p.refuseAs(1, "setx %s", wrong)
	case len(args) != 2:
		return p.Fail(1, "ERROR: Invalid syntax. Default option is not allowed more than '2' time(s).\r")
	}
	key := map[bool]string{false: `HKCU\Environment`, true: `HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`}[o.has("m")]
	if err := p.Guest.Registry().Set(key, args[0], machine.Value{Kind: "String", Text: args[1]}); err != nil {
		return p.Fail(1, "ERROR: %v\r", err)
	}
	p.Printf("\r\nSUCCESS: Specified value was saved.\r\n")
	return 0
}

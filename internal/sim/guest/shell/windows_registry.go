package shell

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// regKinds are the types of reg.exe.
var regKinds = map[string]string{"REG_SZ": "String", "REG_EXPAND_SZ": "ExpandString", "REG_DWORD": "DWord",
	"REG_QWORD": "QWord", "REG_MULTI_SZ": "MultiString"}

// reg is reg.exe: add, delete and query, over the guest's registry.
func reg(_ context.Context, p *Process) int {
	verb, key := strings.ToLower(p.Arg(1)), p.Arg(2)
	options, ok := regOptions(p.Args[min(3, len(p.Args)):])
	if !ok || key == "" {
		return p.Fail(1, "ERROR: Invalid syntax.\r")
	}
	if long, _, _ := strings.Cut(machine.CleanKey(key), `\`); !slices.Contains([]string{"HKLM", "HKCU", "HKCR", "HKU", "HKCC"}, long) {
		return p.Fail(1, "ERROR: Invalid key name.\r")
	}
	switch verb {
	case "add":
		return p.regAdd(key, options)
	case "delete":
		return p.regDelete(key, options)
	case "query":
		return p.regQuery(key, options)
	}
	return p.Fail(1, "ERROR: casement does not simulate reg %s\r", verb)
}

func regOptions(args []string) (map[string]string, bool) {
	out := map[string]string{}
	for i := 0; i < len(args); i++ {
		switch low := strings.ToLower(args[i]); low {
		case "/v", "/t", "/d", "/s":
			if low == "/s" && (i+1 >= len(args) || strings.HasPrefix(args[i+1], "/")) {
				out[low] = ""
				continue
			}
			if i++; i >= len(args) {
				return nil, false
			}
			out[low] = args[i]
		case "/f", "/ve", "/va", "/reg:64":
			out[low] = ""
		default:
			return nil, false
		}
	}
	return out, true
}

func (p *Process) regAdd(key string, o map[string]string) int {
	registry := p.Guest.Registry()
	name, named := o["/v"]
	if _, standard := o["/ve"]; standard {
		name, named = "(default)", true
	}
	if !named {
		if err := registry.Create(key); err != nil {
			return p.Fail(1, "ERROR: %v\r", err)
		}
		p.Printf("The operation completed successfully.\r\n")
		return 0
	}
	kind, known := "String", true
	if t, ok := o["/t"]; ok {
		kind, known = regKinds[strings.ToUpper(t)]
	}
	if !known {
		return p.Fail(1, "ERROR: casement does not simulate the type %s\r", o["/t"])
	}
	v := machine.Value{Kind: kind, Text: o["/d"]}
	switch kind {
	case "DWord", "QWord":
		n, err := strconv.ParseUint(o["/d"], 0, 64)
		if err != nil {
			return p.Fail(1, "ERROR: Invalid syntax. Specify valid numeric value for '/d'.\r")
		}
		v.Text = strconv.FormatUint(n, 10)
	case "MultiString":
		v.Text, v.List = "", strings.Split(o["/d"], `\0`)
	}
	if err := registry.Set(key, name, v); err != nil {
		return p.Fail(1, "ERROR: %v\r", err)
	}
	p.Printf("The operation completed successfully.\r\n")
	return 0
}

const noKey = "ERROR: The system was unable to find the specified registry key or value.\r"

func (p *Process) regDelete(key string, o map[string]string) int {
	if _, forced := o["/f"]; !forced {
		return p.Fail(1, "ERROR: casement does not simulate the question of reg delete; give /f\r")
	}
	registry := p.Guest.Registry()
	if name, ok := o["/v"]; ok {
		if _, there := registry.Value(key, name); !there {
			return p.Fail(1, noKey)
		}
		if err := registry.Unset(key, name); err != nil {
			return p.Fail(1, "ERROR: %v\r", err)
		}
	} else if err := registry.Delete(key); err != nil {
		return p.Fail(1, noKey)
	}
	p.Printf("The operation completed successfully.\r\n")
	return 0
}

func (p *Process) regQuery(key string, o map[string]string) int {
	if _, below := o["/s"]; below {
		return p.Fail(1, "ERROR: casement does not simulate reg query /s\r")
	}
	registry := p.Guest.Registry()
	k, ok := registry.Key(key)
	if !ok {
		return p.Fail(1, noKey)
	}
	names := make([]string, 0, len(k.Values))
	for n := range k.Values {
		names = append(names, n)
	}
	slices.Sort(names)
	found := false
	p.Printf("\r\n%s\r\n", strings.Replace(machine.CleanKey(key), "HKLM", "HKEY_LOCAL_MACHINE", 1))
	for _, n := range names {
		if want, one := o["/v"]; one && !strings.EqualFold(want, n) {
			continue
		}
		found = true
		p.Printf("    %s    %s\r\n", n, regText(k.Values[n]))
	}
	p.Printf("\r\n")
	if _, one := o["/v"]; one && !found {
		return p.Fail(1, noKey)
	}
	return 0
}

func regText(v machine.Value) string {
	name := "REG_SZ"
	for long, kind := range regKinds {
		if kind == v.Kind {
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
	}
	return name + "    " + text
}

// setx keeps a variable of the environment for what starts later: /m for the machine.
func setx(_ context.Context, p *Process) int {
	var args []string
	key := `HKCU\Environment`
	for _, a := range p.Args[1:] {
		switch {
		case strings.EqualFold(a, "/m"):
			key = `HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`
		case strings.HasPrefix(a, "/"):
			return p.Fail(1, "ERROR: casement does not simulate setx %s\r", a)
		default:
			args = append(args, a)
		}
	}
	if len(args) != 2 {
		return p.Fail(1, "ERROR: Invalid syntax. Default option is not allowed more than '2' time(s).\r")
	}
	if err := p.Guest.Registry().Set(key, args[0], machine.Value{Kind: "String", Text: args[1]}); err != nil {
		return p.Fail(1, "ERROR: %v\r", err)
	}
	p.Printf("\r\nSUCCESS: Specified value was saved.\r\n")
	return 0
}

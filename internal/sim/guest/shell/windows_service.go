package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// The error codes of the service control manager.
const (
	errServiceMissing  = 1060
	errServiceDisabled = 1058
	errServiceExists   = 1073
)

func serviceCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, machine.ErrNoService):
		return errServiceMissing
	case errors.Is(err, machine.ErrServiceDisabled):
		return errServiceDisabled
	}
	return errServiceExists
}

func windowsState(s machine.Service) string {
	if s.Running {
		return "Running"
	}
	return "Stopped"
}

// startType folds the spellings of PowerShell, sc.exe and nssm.
func startType(s string) string {
	switch strings.ToLower(s) {
	case "auto", "automatic", "automaticdelayedstart", "delayed-auto", "service_auto_start", "service_delayed_auto_start":
		return machine.Automatic
	case "disabled", "service_disabled":
		return machine.Disabled
	}
	return machine.Manual
}

// nssm acts on services as the service manager of older images does.
func nssm(_ context.Context, p *Process) int {
	verb, name := strings.ToLower(p.Arg(1)), p.Arg(2)
	services := p.Guest.Services
	var err error
	switch verb {
	case "start":
		err = services.Start(name)
	case "stop":
		err = services.Stop(name)
	case "restart":
		err = services.Restart(name)
	case "status":
		row, ok := services.Get(name)
		if !ok {
			return p.Fail(3, "Can't open service!\r\nOpenService(): The specified service does not exist as an installed service.\r\n")
		}
		p.Printf("SERVICE_%s\r\n", strings.ToUpper(windowsState(row)))
	case "install":
		err = services.Create(machine.Service{Name: name, Start: machine.Automatic, Path: strings.Join(p.Args[min(3, len(p.Args)):], " ")})
	case "remove":
		err = services.Delete(name)
	case "set":
		param, value := p.Arg(3), strings.Join(p.Args[min(4, len(p.Args)):], " ")
		err = services.Edit(name, func(s *machine.Service) {
			if strings.EqualFold(param, "start") {
				s.Start = startType(value)
				return
			}
			if s.Settings == nil {
				s.Settings = map[string]string{}
			}
			s.Settings[param] = value
		})
		if err == nil {
			p.Printf("Set parameter \"%s\" for service \"%s\".\r\n", param, name)
		}
	case "get":
		row, ok := services.Get(name)
		if !ok {
			err = machine.ErrNoService
			break
		}
		value := row.Settings[p.Arg(3)]
		if strings.EqualFold(p.Arg(3), "start") {
			value = map[string]string{machine.Automatic: "SERVICE_AUTO_START",
				machine.Manual: "SERVICE_DEMAND_START", machine.Disabled: "SERVICE_DISABLED"}[row.Start]
		}
		p.Printf("%s\r\n", value)
	default:
		return p.Fail(1, "NSSM: the non-sucking service manager (simulated by casement)")
	}
	if err != nil {
		return p.Fail(3, "Can't open service!\r\n%v", err)
	}
	return 0
}

// The codes of sc.exe for a command line that it does not read, and for values that do not
// go together.
const (
	scUsage            = 1639
	scInvalidParameter = 87
)

// scExe is sc.exe, whose "sc" PowerShell takes for Set-Content.
func scExe(_ context.Context, p *Process) int {
	verb, name := strings.ToLower(p.Arg(1)), p.Arg(2)
	services := p.Guest.Services
	switch verb {
	case "query", "queryex", "qc", "start", "stop", "delete", "config", "create":
	case "failure", "failureflag", "description", "privs", "sdset", "sidtype":
	default:
		return p.refuseAs(1, "sc %s", verb)
	}
	switch {
	case name == "" && strings.HasPrefix(verb, "query"):
		return p.refuseAs(1, "sc query of all services")
	case name == "":
		return p.Fail(scUsage, "DESCRIPTION:\r\nUSAGE:\r\n        sc <server> %s [service name]\r", verb)
	}
	var change func(*machine.Service)
	if verb == "config" || verb == "create" {
		edit, code := scConfigure(p.Args[3:], verb == "create")
		switch code {
		case 0:
		case scInvalidParameter:
			return p.Fail(code, "[SC] %s FAILED 87:\r\n\r\nThe parameter is incorrect.\r\n\r", scCall[verb])
		default:
			return p.Fail(code, "USAGE:\r\n        sc <server> %s [service name] [binPath= ] <option1> <option2>...\r", verb)
		}
		change = edit
	}
	row, ok := services.Get(name)
	switch {
	case !ok && verb != "create":
		return p.Fail(errServiceMissing,
			"[SC] %s FAILED 1060:\r\n\r\nThe specified service does not exist as an installed service.\r\n\r",
			map[bool]string{true: "EnumQueryServicesStatus:OpenService", false: "OpenService"}[strings.HasPrefix(verb, "query")])
	case ok && verb == "create":
		return p.Fail(errServiceExists, "[SC] CreateService FAILED 1073:\r\n\r\nThe specified service already exists.\r\n\r")
	}
	var err error
	switch verb {
	case "query", "queryex":
		p.Printf("\r\nSERVICE_NAME: %s\r\n        STATE              : %s\r\n", row.Name, strings.ToUpper(windowsState(row)))
	case "qc":
		p.Printf("%s", scConfiguration(row))
	case "start":
		err = services.Start(name)
	case "stop":
		err = services.Stop(name)
	case "delete":
		if err = services.Delete(name); err == nil {
			p.Printf("[SC] DeleteService SUCCESS\r\n")
		}
	case "config", "create":
		if verb == "create" {
			row := machine.Service{Name: name, Start: machine.Manual}
			change(&row)
			err = services.Create(row)
		} else {
			err = services.Edit(name, change)
		}
		if err == nil {
			p.Printf("[SC] %s SUCCESS\r\n", scCall[verb])
		}
	default:
		p.Printf("[SC] ChangeServiceConfig2 SUCCESS\r\n")
	}
	if err != nil {
		return p.Fail(serviceCode(err), "[SC] %s FAILED %d: %v", verb, serviceCode(err), err)
	}
	return 0
}

// scCall are the calls that sc.exe reports.
var scCall = map[string]string{"config": "ChangeServiceConfig", "create": "CreateService"}

// scTypes and scStarts are the values of type= and start=, scErrors those of error=, as the
// service control manager numbers and prints them.
var (
	scTypes = map[string]string{"own": "10  WIN32_OWN_PROCESS", "share": "20  WIN32_SHARE_PROCESS",
		"kernel": "1  KERNEL_DRIVER", "filesys": "2  FILE_SYSTEM_DRIVER", "rec": "8  FS_RECOGNIZER_DRIVER"}
	scStarts = map[string]string{"auto": machine.Automatic, "delayed-auto": machine.Automatic, "demand": machine.Manual,
		"disabled": machine.Disabled}
	scErrors = map[string]string{"normal": "1   NORMAL", "severe": "2   SEVERE", "critical": "3   CRITICAL", "ignore": "0   IGNORE"}
)

// scOptions are the options of create and config, by the names of nssm's parameters that
// keep them.
var scOptions = map[string]string{"type=": "Type", "start=": "", "binpath=": "", "displayname=": "", "error=": "ErrorControl",
	"group=": "LoadOrderGroup", "depend=": "DependOnService", "obj=": "ObjectName", "password=": "", "tag=": ""}

// scConfigure reads "key= value" pairs, in which the value is a word of its own, and returns
// the change that they make, or the code that sc.exe ends with.
func scConfigure(args []string, create bool) (change func(*machine.Service), code int) {
	given := map[string]string{}
	for i := 0; i < len(args); i += 2 {
		name := strings.ToLower(args[i])
		if _, known := scOptions[name]; !known || i+1 == len(args) {
			return nil, scUsage
		}
		given[name] = args[i+1]
	}
	low := func(name string) string { return strings.ToLower(given[name]) }
	kind, start := cmp.Or(low("type="), "own"), low("start=")
	driver := kind == "kernel" || kind == "filesys" || kind == "rec"
	switch {
	case create && given["binpath="] == "", !create && len(given) == 0:
		return nil, scUsage
	case kind == "interact":
		return nil, scInvalidParameter
	case scTypes[kind] == "", given["error="] != "" && scErrors[low("error=")] == "":
		return nil, scUsage
	case start != "" && scStarts[start] == "" && start != "boot" && start != "system",
		given["tag="] != "" && low("tag=") != "yes" && low("tag=") != "no":
		return nil, scUsage
	case (start == "boot" || start == "system") || low("tag=") == "yes":
		if !driver {
			return nil, scInvalidParameter
		}
	}
	return func(s *machine.Service) {
		s.Start = cmp.Or(scStarts[start], s.Start)
		s.Path = cmp.Or(given["binpath="], s.Path)
		s.Display = cmp.Or(given["displayname="], s.Display)
		settings := maps.Clone(s.Settings)
		for option, setting := range scOptions {
			if value, some := given[option]; some && setting != "" {
				if settings == nil {
					settings = map[string]string{}
				}
				settings[setting] = value
			}
		}
		s.Settings = settings
	}, 0
}

// scConfiguration is what sc qc prints.
func scConfiguration(s machine.Service) string {
	setting := func(name, otherwise string) string { return cmp.Or(s.Settings[name], otherwise) }
	var b strings.Builder
	b.WriteString("[SC] QueryServiceConfig SUCCESS\r\n\r\nSERVICE_NAME: " + s.Name + "\r\n")
	for _, line := range [][2]string{
		{"TYPE", cmp.Or(scTypes[strings.ToLower(setting("Type", "own"))], scTypes["own"]) + " "},
		{"START_TYPE", scStart(s.Start)},
		{"ERROR_CONTROL", cmp.Or(scErrors[strings.ToLower(setting("ErrorControl", "normal"))], scErrors["normal"])},
		{"BINARY_PATH_NAME", s.Path},
		{"LOAD_ORDER_GROUP", setting("LoadOrderGroup", "")},
		{"TAG", "0"},
		{"DISPLAY_NAME", cmp.Or(s.Display, s.Name)},
		{"DEPENDENCIES", strings.ReplaceAll(setting("DependOnService", ""), "/", "\r\n                           : ")},
		{"SERVICE_START_NAME", setting("ObjectName", "LocalSystem")},
	} {
		fmt.Fprintf(&b, "        %-18s : %s\r\n", line[0], line[1])
	}
	return b.String()
}

// scStart returns a start type as sc.exe prints it.
func scStart(start string) string {
	return map[string]string{
		machine.Automatic: "2   AUTO_START", machine.Manual: "3   DEMAND_START", machine.Disabled: "4   DISABLED",
	}[start]
}

func net(ctx context.Context, p *Process) int {
	switch strings.ToLower(p.Arg(1)) {
	case "start", "stop":
		err := p.Guest.Services.Start(p.Arg(2))
		if strings.EqualFold(p.Arg(1), "stop") {
			err = p.Guest.Services.Stop(p.Arg(2))
		}
		if err != nil {
			return p.Fail(2, "%v", err)
		}
		return 0
	}
	if len(p.Args) < 4 { // it lists, or shows one
		return p.Refuse("net %s", p.Arg(1))
	}
	return p.NoEffect(ctx, "net %s", p.Arg(1))
}

// hnsdiag lists the networks of the Host Network Service.
func hnsdiag(_ context.Context, p *Process) int {
	if !strings.EqualFold(p.Arg(1), "list") {
		return p.Fail(1, "hnsdiag: simulated: only hnsdiag list networks")
	}
	if what := strings.ToLower(p.Arg(2)); what != "networks" && what != "all" {
		p.Printf("%s: none are kept in a simulated guest\r\n", what)
		return 0
	}
	p.Printf("Network  (simulated by casement)\r\n")
	for _, name := range p.Guest.HNSNetworks() {
		p.Printf("Name : %s\r\n", name)
	}
	return 0
}

package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// The error codes of the service control manager.
const (
	errFileMissing      = 2
	errServiceDependent = 1051
	errServiceMissing   = 1060
	errServiceActive    = 1056
	errServiceInactive  = 1062
	errServiceNeeds     = 1075
	errServiceDisabled  = 1058
	errServiceExists    = 1073
)

func serviceCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, machine.ErrNoService):
		return errServiceMissing
	case errors.Is(err, machine.ErrServiceDisabled):
		return errServiceDisabled
	case errors.Is(err, machine.ErrNoBinary):
		return errFileMissing
	case errors.Is(err, machine.ErrDependency):
		return errServiceNeeds
	}
	return errServiceExists
}

// startType returns a start type in one spelling for those of PowerShell, sc.exe and nssm.
func startType(s string) string {
	switch strings.ToLower(s) {
	case "auto", "automatic", "automaticdelayedstart", "delayed-auto", "service_auto_start", "service_delayed_auto_start":
		return machine.Automatic
	case "disabled", "service_disabled":
		return machine.Disabled
	}
	return machine.Manual
}

// nssm manages services as the service manager of older images does.
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
		p.Printf("SERVICE_%s\r\n", map[bool]string{true: "RUNNING", false: "STOPPED"}[row.Running])
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
	switch {
	case errors.Is(err, machine.ErrNoBinary), errors.Is(err, machine.ErrDependency):
		return p.Fail(1, "%s: %v", name, err)
	case err != nil:
		return p.Fail(3, "Can't open service!\r\n%v", err)
	}
	return 0
}

// The exit codes of sc.exe for a wrong command line, and for values that exclude each other.
const (
	scUsage            = 1639
	scInvalidParameter = 87
)

// scExe implements sc.exe. In PowerShell, sc is an alias of Set-Content.
func scExe(_ context.Context, p *Process) int {
	verb, name := strings.ToLower(p.Arg(1)), p.Arg(2)
	services := p.Guest.Services
	switch verb {
	case "query", "queryex", "qc", "start", "stop", "delete", "config", "create":
	case "failure", "qfailure", "failureflag", "qfailureflag":
	case "description", "privs", "sdset", "sidtype":
	default:
		return p.refuseAs(1, "sc %s", verb)
	}
	switch {
	case (name == "" || strings.HasSuffix(name, "=")) && strings.HasPrefix(verb, "query"):
		return p.refuseAs(1, "sc query of all services")
	case name == "":
		return p.Fail(scUsage, "DESCRIPTION:\r\nUSAGE:\r\n        sc <server> %s [service name]\r", verb)
	}
	var change func(*machine.Service)
	if verb == "config" || verb == "create" {
		edit, code := scConfigure(p.Args[3:], verb == "create")
		switch code {
		case refusedCode:
			return p.refuseAs(1, "sc start= boot and system")
		case 0:
		case scInvalidParameter:
			return p.Fail(code, "[SC] %s FAILED 87:\r\n\r\nThe parameter is incorrect.\r\n\r", scCall[verb])
		default:
			return p.Fail(code, "USAGE:\r\n        sc <server> %s [service name] [binPath= ] <option1> <option2>...\r", verb)
		}
		change = edit
	}
	row, ok := services.Get(name)
	made := machine.Service{Name: name, Start: machine.Manual}
	if verb == "create" {
		change(&made)
	}
	switch {
	case !ok && verb != "create":
		return p.Fail(errServiceMissing,
			"[SC] %s FAILED 1060:\r\n\r\nThe specified service does not exist as an installed service.\r\n\r",
			map[bool]string{true: "EnumQueryServicesStatus:OpenService", false: "OpenService"}[strings.HasPrefix(verb, "query")])
	case slices.ContainsFunc(strings.Split(made.Settings["DependOnService"], "/"), func(d string) bool { return strings.EqualFold(d, name) }):
		return p.Fail(1059, "[SC] CreateService FAILED 1059:\r\n\r\nCircular service dependency was specified.\r\n\r")
	case made.Display != "" && slices.ContainsFunc(services.List(), func(s machine.Service) bool {
		return !strings.EqualFold(s.Name, name) && (strings.EqualFold(s.Display, made.Display) || strings.EqualFold(s.Name, made.Display))
	}):
		return p.Fail(1078, "[SC] CreateService FAILED 1078:\r\n\r\nThe name is already in use as either a service name or a service "+
			"display name.\r\n\r")
	case ok && verb == "create":
		return p.Fail(errServiceExists, "[SC] CreateService FAILED 1073:\r\n\r\nThe specified service already exists.\r\n\r")
	}
	var err error
	switch verb {
	case "query", "queryex":
		p.Printf("%s", scState(row))
		if verb == "queryex" {
			pid := "0"
			for _, t := range p.tasks() {
				if t.service == row.Name {
					pid = t.row[1]
				}
			}
			p.Printf("        PID                : %s\r\n        FLAGS              : \r\n", pid)
		}
	case "qc":
		p.Printf("%s", scConfiguration(row))
	case "start", "stop":
		return scRun(p, row, verb == "start")
	case "delete":
		if err = services.Delete(name); err == nil {
			p.Printf("[SC] DeleteService SUCCESS\r\n")
		}
	case "failure":
		recovery, ok := scRecovery(row.Recovery, p.Args[3:])
		if !ok {
			return p.Fail(scUsage, "USAGE:\r\n        sc <server> failure [service name] <option1> <option2>...\r")
		}
		if err = services.Edit(name, func(s *machine.Service) { s.Recovery = recovery }); err == nil {
			p.Printf("[SC] ChangeServiceConfig2 SUCCESS\r\n")
		}
	case "failureflag":
		flag := p.Arg(3)
		if flag != "0" && flag != "1" {
			return p.Fail(scUsage, "USAGE:\r\n        sc <server> failureflag [service name] [flag]\r")
		}
		if err = services.Edit(name, func(s *machine.Service) { s.Recovery.NonCrashFails = flag == "1" }); err == nil {
			p.Printf("[SC] ChangeServiceConfig2 SUCCESS\r\n")
		}
	case "qfailure":
		p.Printf("%s", scFailure(row))
	case "qfailureflag":
		p.Printf("[SC] QueryServiceConfig2 SUCCESS\r\n\r\nSERVICE_NAME: %s\r\n        FAILURE_ACTIONS_ON_NONCRASH_FAILURES: %s\r\n",
			row.Name, strings.ToUpper(fmt.Sprint(row.Recovery.NonCrashFails)))
	case "config", "create":
		if verb == "create" {
			err = services.Create(made)
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

// scPairs parses pairs of "key=" and a value, in which the value is a separate word.
func scPairs(args []string, known ...string) (given map[string]string, ok bool) {
	given = map[string]string{}
	for pair := range slices.Chunk(args, 2) {
		name := strings.ToLower(pair[0])
		if len(pair) < 2 || !slices.Contains(known, name) {
			return nil, false
		}
		given[name] = pair[1]
	}
	return given, true
}

// scRun starts or stops a service and prints its state.
func scRun(p *Process, row machine.Service, start bool) int {
	fail := func(call string, code int, why string) int {
		return p.Fail(code, "[SC] %s FAILED %d:\r\n\r\n%s\r\n\r", call, code, why)
	}
	services := p.Guest.Services
	switch {
	case start && row.Running:
		return fail("StartService", errServiceActive, "An instance of the service is already running.")
	case !start && !row.Running:
		return fail("ControlService", errServiceInactive, "The service has not been started.")
	case !start && len(services.Dependents(row.Name)) > 0:
		return fail("ControlService", errServiceDependent, "A stop control has been sent to a service that other running services "+
			"are dependent on.")
	}
	change := services.Stop
	if start {
		change = services.Start
	}
	if err := change(row.Name); errors.Is(err, machine.ErrServiceDisabled) {
		return fail("StartService", errServiceDisabled, "The service cannot be started, either because it is disabled or because it has no "+
			"enabled devices associated with it.")
	} else if err != nil {
		return fail("StartService", serviceCode(err), strings.ToUpper(err.Error()[:1])+err.Error()[1:]+".")
	}
	row, _ = services.Get(row.Name)
	p.Printf("%s", scState(row))
	return 0
}

// scState returns the output of sc query for a service.
func scState(s machine.Service) string {
	state, controls, code := "1  STOPPED", "", "1077  (0x435)"
	if s.Running {
		state, controls, code = "4  RUNNING", "\r\n                                (STOPPABLE, NOT_PAUSABLE, ACCEPTS_SHUTDOWN)", "0  (0x0)"
	}
	kind := cmp.Or(scTypes[strings.ToLower(s.Settings["Type"])], scTypes["own"])
	return fmt.Sprintf("\r\nSERVICE_NAME: %s\r\n        TYPE               : %s\r\n        STATE              : %s%s\r\n"+
		"        WIN32_EXIT_CODE    : %s\r\n        SERVICE_EXIT_CODE  : 0  (0x0)\r\n        CHECKPOINT         : 0x0\r\n"+
		"        WAIT_HINT          : 0x0\r\n", s.Name, kind, state, controls, code)
}

// scRecovery parses the options of sc failure. Actions need a reset, and are alternating kinds and delays, separated
// by slashes.
func scRecovery(r machine.Recovery, args []string) (_ machine.Recovery, ok bool) {
	given, ok := scPairs(args, "reset=", "actions=", "reboot=", "command=")
	_, reset := given["reset="]
	actions, some := given["actions="]
	if !ok || len(given) == 0 || reset != some {
		return r, false
	}
	if reset {
		var err error
		if r.Reset, err = strconv.Atoi(given["reset="]); err != nil && !strings.EqualFold(given["reset="], "infinite") {
			return r, false
		}
		r.Actions = nil
		words := strings.Split(actions, "/")
		for i := 0; actions != "" && i < len(words); i += 2 {
			kind, delay := strings.ToLower(words[i]), 0
			if i+1 < len(words) && words[i+1] != "" {
				if delay, err = strconv.Atoi(words[i+1]); err != nil {
					return r, false
				}
			}
			if !slices.Contains([]string{"", "restart", "run", "reboot"}, kind) {
				return r, false
			}
			r.Actions = append(r.Actions, machine.RecoveryAction{Kind: kind, Delay: delay})
		}
	}
	if v, some := given["reboot="]; some {
		r.Reboot = v
	}
	if v, some := given["command="]; some {
		r.Command = v
	}
	return r, true
}

// scFailure returns the output of sc qfailure.
func scFailure(s machine.Service) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[SC] QueryServiceConfig2 SUCCESS\r\n\r\nSERVICE_NAME: %s\r\n        RESET_PERIOD (in seconds)    : %d\r\n"+
		"        REBOOT_MESSAGE               : %s\r\n        COMMAND_LINE                 : %s\r\n",
		s.Name, s.Recovery.Reset, s.Recovery.Reboot, s.Recovery.Command)
	words := map[string]string{"restart": "RESTART", "run": "RUN PROCESS", "reboot": "REBOOT"}
	head := "FAILURE_ACTIONS              : "
	for _, a := range s.Recovery.Actions {
		if word := words[a.Kind]; word != "" {
			fmt.Fprintf(&b, "        %s%s -- Delay = %d milliseconds.\r\n", head, word, a.Delay)
			head = strings.Repeat(" ", len(head))
		}
	}
	return b.String()
}

// scCall are the system calls that sc.exe reports.
var scCall = map[string]string{"config": "ChangeServiceConfig", "create": "CreateService"}

// scTypes and scStarts are the values of type= and start=, and scErrors those of error=, with the numbers and texts
// of the service control manager.
var (
	scTypes = map[string]string{"own": "10  WIN32_OWN_PROCESS", "share": "20  WIN32_SHARE_PROCESS",
		"kernel": "1  KERNEL_DRIVER", "filesys": "2  FILE_SYSTEM_DRIVER", "rec": "8  FS_RECOGNIZER_DRIVER"}
	scStarts = map[string]string{"auto": machine.Automatic, "delayed-auto": machine.Automatic, "demand": machine.Manual,
		"disabled": machine.Disabled}
	scErrors = map[string]string{"normal": "1   NORMAL", "severe": "2   SEVERE", "critical": "3   CRITICAL", "ignore": "0   IGNORE"}
)

// scOptions are the options of create and config, with the names of the nssm parameters that store them.
var scOptions = map[string]string{"type=": "Type", "start=": "", "binpath=": "", "displayname=": "", "error=": "ErrorControl",
	"group=": "LoadOrderGroup", "depend=": "DependOnService", "obj=": "ObjectName", "password=": "", "tag=": ""}

// scConfigure parses pairs of "key=" and a value, and returns the change that they describe, or sc.exe's exit code.
func scConfigure(args []string, create bool) (change func(*machine.Service), code int) {
	given, ok := scPairs(args, slices.Collect(maps.Keys(scOptions))...)
	low := func(name string) string { return strings.ToLower(given[name]) }
	kind, start := cmp.Or(low("type="), "own"), low("start=")
	driver := kind == "kernel" || kind == "filesys" || kind == "rec"
	switch {
	case !ok, create && given["binpath="] == "", !create && len(given) == 0:
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
		if start == "boot" || start == "system" {
			return nil, refusedCode
		}
	}
	return func(s *machine.Service) {
		s.Start = cmp.Or(scStarts[start], s.Start)
		s.Path = cmp.Or(given["binpath="], s.Path)
		s.Display = cmp.Or(given["displayname="], s.Display)
		settings := map[string]string{}
		maps.Copy(settings, s.Settings)
		if start != "" {
			delete(settings, "DelayedAutostart")
		}
		if start == "delayed-auto" {
			settings["DelayedAutostart"] = "1"
		}
		for option, setting := range scOptions {
			if value, some := given[option]; some && setting != "" {
				settings[setting] = value
			}
		}
		s.Settings = settings
	}, 0
}

// scConfiguration returns the output of sc qc.
func scConfiguration(s machine.Service) string {
	setting := func(name, otherwise string) string { return cmp.Or(s.Settings[name], otherwise) }
	var b strings.Builder
	b.WriteString("[SC] QueryServiceConfig SUCCESS\r\n\r\nSERVICE_NAME: " + s.Name + "\r\n")
	for _, line := range [][2]string{
		{"TYPE", cmp.Or(scTypes[strings.ToLower(setting("Type", "own"))], scTypes["own"]) + " "},
		{"START_TYPE", scStart(s.Start) + map[bool]string{true: "  (DELAYED)"}[s.Settings["DelayedAutostart"] != ""]},
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
		return netService(p, strings.EqualFold(p.Arg(1), "start"))
	case "user":
		if len(p.Args) == 5 && strings.EqualFold(p.Args[4], "/add") {
			return newNetUser(p, p.Args[2], p.Args[3])
		}
	}
	if len(p.Args) < 4 { // the call lists entries or shows one
		return p.Refuse("net %s", p.Arg(1))
	}
	return p.NoEffect(ctx, "net %s", p.Arg(1))
}

// netFail fails with a message of net.exe and the number of its help.
func (p *Process) netFail(help int, text string) int {
	return p.Fail(2, "%s\r\n\r\nMore help is available by typing NET HELPMSG %d.\r\n\r", text, help)
}

func newNetUser(p *Process, name, password string) int {
	if p.Guest.HasUser(name) {
		return p.netFail(2224, "The account already exists.")
	}
	_, err := p.Guest.AddUser(name, "", "")
	if err == nil {
		err = p.Guest.SetPassword(name, password)
	}
	if err != nil {
		return p.Fail(2, "%v\r", err)
	}
	p.Printf("The command completed successfully.\r\n\r\n")
	return 0
}

// netService starts or stops a service with the messages of net.exe.
func netService(p *Process, start bool) int {
	if len(p.Args) != 3 {
		return p.refuseAs(1, "net %s without one service", p.Arg(1))
	}
	row, there := p.Guest.Services.Get(p.Args[2])
	title := cmp.Or(row.Display, row.Name)
	verbs := map[bool][2]string{true: {"starting", "started"}, false: {"stopping", "stopped"}}[start]
	switch {
	case !there:
		return p.netFail(2185, "The service name is invalid.")
	case start && row.Running:
		return p.netFail(2182, "The requested service has already been started.")
	case !start && !row.Running:
		return p.netFail(3521, "The "+title+" service is not started.")
	case !start && len(p.Guest.Services.Dependents(row.Name)) > 0:
		return p.refuseAs(2, "the question of net stop about services that depend on %s", row.Name)
	}
	change := p.Guest.Services.Stop
	if start {
		change = p.Guest.Services.Start
	}
	p.Printf("The %s service is %s.\r\n", title, verbs[0])
	if err := change(row.Name); err != nil {
		p.Printf("The %s service could not be %s.\r\n", title, verbs[1])
		return p.Fail(2, "\r\n%v\r\n\r", err)
	}
	p.Printf("The %s service was %s successfully.\r\n\r\n", title, verbs[1])
	return 0
}

// hnsdiag lists the objects of the Host Network Service.
func hnsdiag(_ context.Context, p *Process) int {
	if !strings.EqualFold(p.Arg(1), "list") {
		return p.Refuse("hnsdiag %s", p.Arg(1))
	}
	what := strings.ToLower(p.Arg(2))
	all := what == "all"
	if !all && what != "networks" && what != "endpoints" && what != "loadbalancers" {
		return p.Refuse("hnsdiag list %s", what)
	}
	if all || what == "networks" {
		p.Printf("Network  (simulated by casement)\r\n")
		for _, n := range p.Guest.HNSNetworks() {
			p.Printf("Name : %s\r\nType : %s\r\n", n.Name, n.Type)
		}
	}
	if all || what == "endpoints" {
		p.Printf("Endpoint  (simulated by casement)\r\n")
		for _, e := range p.Guest.HNSEndpoints() {
			p.Printf("%s  %s  %s\r\n", machine.HNSID("endpoint", e.IP.String()), e.IP, e.Name)
		}
	}
	if all || what == "loadbalancers" {
		p.Printf("LoadBalancer  (simulated by casement)\r\n")
		for _, b := range p.Guest.HNSBalancers() {
			p.Printf("%v  %d  %v\r\n", b.VIPs, b.Port, b.Endpoints)
		}
	}
	return 0
}

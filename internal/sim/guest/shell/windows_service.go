package shell

import (
	"context"
	"errors"
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

// scExe is sc.exe, whose "sc" PowerShell takes for Set-Content.
func scExe(_ context.Context, p *Process) int {
	verb, name := strings.ToLower(p.Arg(1)), p.Arg(2)
	services := p.Guest.Services
	row, ok := services.Get(name)
	if !ok && verb != "create" {
		return p.Fail(errServiceMissing,
			"[SC] OpenService FAILED 1060:\r\n\r\nThe specified service does not exist as an installed service.\r\n")
	}
	var err error
	switch verb {
	case "query", "queryex":
		p.Printf("\r\nSERVICE_NAME: %s\r\n        STATE              : %s\r\n", row.Name, strings.ToUpper(windowsState(row)))
	case "qc":
		p.Printf("[SC] QueryServiceConfig SUCCESS\r\n\r\nSERVICE_NAME: %s\r\n        START_TYPE         : %s\r\n"+
			"        BINARY_PATH_NAME   : %s\r\n", row.Name, scStart(row.Start), row.Path)
	case "start":
		err = services.Start(name)
	case "stop":
		err = services.Stop(name)
	case "delete":
		err = services.Delete(name)
	case "config", "create":
		if verb == "create" {
			err = services.Create(machine.Service{Name: name, Start: machine.Manual})
		}
		if err == nil {
			err = services.Edit(name, func(s *machine.Service) { configure(s, p.Args[min(3, len(p.Args)):]) })
		}
		if err == nil {
			p.Printf("[SC] %s SUCCESS\r\n", map[string]string{"config": "ChangeServiceConfig", "create": "CreateService"}[verb])
		}
	case "failure", "failureflag", "description", "privs", "sdset", "sidtype":
		p.Printf("[SC] ChangeServiceConfig2 SUCCESS\r\n")
	default:
		return p.Fail(1, "sc: simulated: not executed: %s", verb)
	}
	if err != nil {
		return p.Fail(serviceCode(err), "[SC] %s FAILED %d: %v", verb, serviceCode(err), err)
	}
	return 0
}

// scStart returns a start type as sc.exe prints it.
func scStart(start string) string {
	return map[string]string{
		machine.Automatic: "2   AUTO_START", machine.Manual: "3   DEMAND_START", machine.Disabled: "4   DISABLED",
	}[start]
}

// configure reads sc.exe's "key= value" pairs.
func configure(s *machine.Service, args []string) {
	for i := 0; i+1 < len(args); i++ {
		switch strings.ToLower(args[i]) {
		case "start=":
			s.Start = startType(args[i+1])
		case "binpath=":
			s.Path = args[i+1]
		case "displayname=":
			s.Display = args[i+1]
		}
	}
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

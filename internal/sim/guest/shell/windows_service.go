package shell

import (
	"context"
	"errors"
	"slices"
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

func getService(_ context.Context, p *Process) int {
	rows := p.Guest.Services.List()
	if names := operand(p.Args[1:]); len(names) > 0 {
		rows = nil
		for _, n := range strings.Split(names[0], ",") {
			row, ok := p.Guest.Services.Get(n)
			if !ok {
				return p.Fail(1, "Get-Service : Cannot find any service with service name '%s'.", n)
			}
			rows = append(rows, row)
		}
	}
	p.Printf("\r\nStatus   Name               DisplayName\r\n------   ----               -----------\r\n")
	for _, r := range rows {
		p.Printf("%-8s %-18s %s\r\n", windowsState(r), r.Name, r.Display)
	}
	return 0
}

func serviceVerb(_ context.Context, p *Process) int {
	verb, _, _ := strings.Cut(strings.ToLower(p.Args[0]), "-")
	for _, n := range operand(p.Args[1:]) {
		var err error
		switch verb {
		case "start":
			err = p.Guest.Services.Start(n)
		case "stop":
			err = p.Guest.Services.Stop(n)
		default:
			err = p.Guest.Services.Restart(n)
		}
		if err != nil {
			return p.Fail(1, "%s : %v", p.Args[0], err)
		}
	}
	return 0
}

func setService(_ context.Context, p *Process) int {
	name, ok := option(p.Args, "-Name")
	if !ok && len(p.Args) > 1 {
		name = p.Args[1]
	}
	start, hasStart := option(p.Args, "-StartupType")
	err := p.Guest.Services.Edit(name, func(s *machine.Service) {
		if hasStart {
			s.Start = startType(start)
		}
	})
	if err != nil {
		return p.Fail(1, "Set-Service : %v", err)
	}
	return 0
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
			value = map[string]string{machine.Automatic: "SERVICE_AUTO_START", machine.Manual: "SERVICE_DEMAND_START", machine.Disabled: "SERVICE_DISABLED"}[row.Start]
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
		return p.Fail(errServiceMissing, "[SC] OpenService FAILED 1060:\r\n\r\nThe specified service does not exist as an installed service.\r\n")
	}
	var err error
	switch verb {
	case "query", "queryex":
		p.Printf("\r\nSERVICE_NAME: %s\r\n        STATE              : %s\r\n", row.Name, strings.ToUpper(windowsState(row)))
	case "qc":
		p.Printf("[SC] QueryServiceConfig SUCCESS\r\n\r\nSERVICE_NAME: %s\r\n        START_TYPE         : %s\r\n        BINARY_PATH_NAME   : %s\r\n", row.Name, scStart(row.Start), row.Path)
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

// scStart is a start type as sc.exe prints it.
func scStart(start string) string {
	return map[string]string{machine.Automatic: "2   AUTO_START", machine.Manual: "3   DEMAND_START", machine.Disabled: "4   DISABLED"}[start]
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

func net(_ context.Context, p *Process) int {
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
	return p.Fail(0, "net: simulated: no effect")
}

// hnsFile keeps the names of the guest's HNS networks, one a line.
const hnsFile = `C:\ProgramData\Microsoft\Windows\HNS\casement-networks.txt`

// hnsNetworks are the networks that were made by hand and those that the CNI
// makes: an external one, which carries the machine's own traffic, and its own.
func hnsNetworks(p *Process) []string {
	var out []string
	if data, err := p.Guest.Root.ReadFile(hnsFile); err == nil {
		out = strings.Fields(string(data))
	}
	const configs = `C:\etc\cni\net.d`
	entries, err := p.Guest.Root.ReadDir(configs)
	if err != nil {
		return out
	}
	for _, e := range entries {
		data, err := p.Guest.Root.ReadFile(configs + `\` + e.Name())
		switch {
		case err != nil || !strings.Contains(e.Name(), ".conf"):
		case strings.Contains(string(data), `"calico"`):
			out = append(out, "External", "Calico")
		case strings.Contains(string(data), `"azure-vnet"`):
			out = append(out, "azure")
		case strings.Contains(string(data), `"flannel"`):
			out = append(out, "External", "flannel.4096")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func getHNS(_ context.Context, p *Process) int {
	for _, name := range hnsNetworks(p) {
		p.Printf("Name : %s\r\n", name)
	}
	return 0
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
	for _, name := range hnsNetworks(p) {
		p.Printf("Name : %s\r\n", name)
	}
	return 0
}

func newHNS(_ context.Context, p *Process) int {
	name, _ := option(p.Args, "-Name")
	if name == "" {
		name, _ = option(p.Args, "-Type")
	}
	if data, err := p.Guest.Root.ReadFile(hnsFile); err == nil && slices.Contains(strings.Fields(string(data)), name) {
		return 0
	}
	if err := p.Guest.Root.MkdirAll(`C:\ProgramData\Microsoft\Windows\HNS`); err != nil {
		return p.Fail(1, "New-HnsNetwork : %s", windowsReason(err))
	}
	if err := p.Guest.Root.AppendFile(hnsFile, []byte(name+"\r\n"), 0o644); err != nil {
		return p.Fail(1, "New-HnsNetwork : %s", windowsReason(err))
	}
	p.Printf("Name : %s (simulated)\r\n", name)
	return 0
}

package powershell

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest/machine"
)

var serviceCmdlets = []cmdlet{
	{name: "Get-Service", parameters: "Name|ServiceName%:0 DisplayName DependentServices? RequiredServices? InputObject", run: getService},
	{name: "Start-Service", parameters: "Name|ServiceName%:0 InputObject PassThru? Force?", run: serviceVerb},
	{name: "Stop-Service", parameters: "Name|ServiceName%:0 InputObject PassThru? Force? NoWait?~", run: serviceVerb},
	{name: "Restart-Service", parameters: "Name|ServiceName%:0 InputObject PassThru? Force?", run: serviceVerb},
	{name: "Set-Service",
		parameters: "Name|ServiceName%:0 StartupType|StartMode DisplayName Description^ Status InputObject PassThru?",
		run:        setService},
	{name: "New-Service", parameters: "Name|ServiceName%:0 BinaryPathName|Path:1 DisplayName Description^ " +
		"StartupType DependsOn Credential^", run: newService},
	{name: "Get-Process", parameters: "Name|ProcessName%+:0 Id InputObject", run: getProcess},
	{name: "Stop-Process", parameters: "Id:0 Name|ProcessName% Force?~ InputObject", run: stopProcess},
}

// state returns the name of a service's state. Only Running and Stopped are simulated.
func state(s machine.Service) string {
	if s.Running {
		return "Running"
	}
	return "Stopped"
}

func serviceObject(s machine.Service) *object {
	return tabled(kindService, 3, "Status", state(s), "Name", s.Name, "DisplayName", s.Display, "StartType", s.Start, "ServiceName",
		s.Name, "BinaryPathName", s.Path, "CanStop", s.Running, "MachineName", ".")
}

// services returns the services that the patterns of the parameters or the pipeline's objects name.
func (c *call) services() ([]machine.Service, error) {
	names := c.textsOf("name")
	for _, v := range append(list(c.given["inputobject"]), c.input...) {
		if o, ok := v.(*object); ok {
			if n, has := o.get("Name"); has {
				v = n
			}
		}
		names = append(names, text(v))
	}
	var out []machine.Service
	for _, n := range names {
		if row, ok := c.m.Services.Get(n); ok {
			out = append(out, row)
			continue
		}
		found := false
		for _, row := range c.m.Services.List() {
			yes, err := like(row.Name, n, false)
			if err != nil {
				return nil, err
			}
			if yes {
				out, found = append(out, row), true
			}
		}
		if !found && !strings.ContainsAny(n, "*?[") {
			f := broken("Microsoft.PowerShell.Commands.ServiceCommandException", "NoServiceFoundForGivenName",
				"Cannot find any service with service name '%s'.", n)
			f.target = n
			if err := c.fault(f); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func getService(c *call) error {
	rows := c.m.Services.List()
	if c.has("name") || c.piped || c.has("inputobject") || c.is("dependentservices") || c.is("requiredservices") {
		var err error
		if rows, err = c.services(); err != nil {
			return err
		}
	}
	return every(c, rows, func(row machine.Service) error {
		names := []string{row.Name}
		switch {
		case c.is("dependentservices"):
			names = c.m.Services.Dependents(row.Name)
		case c.is("requiredservices"):
			names = row.DependsOn()
		case c.has("displayname"):
			if yes, err := like(row.Display, c.textOf("displayname"), false); err != nil || !yes {
				return err
			}
		}
		return every(c, names, func(name string) error {
			if other, ok := c.m.Services.Get(name); ok {
				return c.emit(serviceObject(other))
			}
			return nil
		})
	})
}

// serviceVerb starts, stops or restarts services, depending on the name of the cmdlet.
func serviceVerb(c *call) error {
	rows, err := c.services()
	if err != nil {
		return err
	}
	return every(c, rows, func(row machine.Service) error {
		var dependents []string
		if c.cmd.name != "Start-Service" {
			dependents = c.m.Services.Dependents(row.Name)
		}
		if len(dependents) > 0 && !c.is("force") {
			return broken("Microsoft.PowerShell.Commands.ServiceCommandException", "ServiceHasDependentServices",
				"Cannot stop service '%s (%s)' because it has dependent services. It can only be stopped if the Force flag is set.",
				row.Display, row.Name)
		}
		var err error
		for _, d := range dependents {
			err = errors.Join(err, c.m.Services.Stop(d))
		}
		verb := "started"
		switch c.cmd.name {
		case "Start-Service":
			err = c.m.Services.Start(row.Name)
		case "Stop-Service":
			verb, err = "stopped", errors.Join(err, c.m.Services.Stop(row.Name))
		default:
			err = errors.Join(err, c.m.Services.Restart(row.Name))
			for _, d := range dependents {
				err = errors.Join(err, c.m.Services.Start(d))
			}
		}
		if err != nil {
			return serviceFault(row, verb, err)
		}
		return c.passedService(row.Name)
	})
}

func serviceFault(row machine.Service, verb string, err error) error {
	id := map[string]string{"started": "Start", "stopped": "Stop", "configured": "Set"}[verb]
	return broken("Microsoft.PowerShell.Commands.ServiceCommandException", "CouldNot"+id+"Service",
		"Service '%s (%s)' cannot be %s due to the following error: %v", row.Display, row.Name, verb, err)
}

func setService(c *call) error {
	start, err := c.startType("")
	if err != nil {
		return err
	}
	rows, err := c.services()
	if err != nil {
		return err
	}
	return every(c, rows, func(row machine.Service) error {
		err := c.m.Services.Edit(row.Name, func(s *machine.Service) {
			s.Start = cmp.Or(start, s.Start)
			if c.has("displayname") {
				s.Display = c.textOf("displayname")
			}
		})
		switch strings.ToLower(c.textOf("status")) {
		case "running":
			err = errors.Join(err, c.m.Services.Start(row.Name))
		case "stopped":
			err = errors.Join(err, c.m.Services.Stop(row.Name))
		case "paused":
			return lacking("services that pause")
		}
		if err != nil {
			return serviceFault(row, "configured", err)
		}
		return c.passedService(row.Name)
	})
}

func newService(c *call) error {
	if err := c.need("name", "binarypathname"); err != nil {
		return err
	}
	start, err := c.startType(machine.Automatic)
	if err != nil {
		return err
	}
	row := machine.Service{Name: c.textOf("name"), Display: cmp.Or(c.textOf("displayname"), c.textOf("name")),
		Path: c.textOf("binarypathname"), Start: start}
	if needs := c.textsOf("dependson"); len(needs) > 0 {
		row.Settings = map[string]string{"DependOnService": strings.Join(needs, "/")}
	}
	if err := c.m.Services.Create(row); err != nil {
		return c.fault(broken("Microsoft.PowerShell.Commands.ServiceCommandException", "CouldNotNewService",
			"Service '%s (%s)' cannot be created due to the following error: The specified service already exists",
			row.Display, row.Name))
	}
	return c.emit(serviceObject(row))
}

// serviceCall runs a method of a service.
func (r *run) serviceCall(o *object, name, low string, args []any) (any, error) {
	id := text(o.read("Name"))
	var err error
	switch low {
	case "start":
		err = r.m.Services.Start(id)
	case "stop":
		err = r.m.Services.Stop(id)
	case "refresh":
	case "close", "dispose":
		return void{}, nil
	case "delete":
		return int64(0), r.m.Services.Delete(id)
	case "waitforstatus":
		row, _ := r.m.Services.Get(id)
		if strings.EqualFold(state(row), at(args, 0)) {
			return void{}, nil
		}
		if len(args) < 2 {
			return nil, lacking("WaitForStatus without a limit on a service that does not change")
		}
		d, _ := args[1].(time.Duration)
		r.skipped += d
		return nil, thrown("ServiceProcess.TimeoutException", "Time out has expired and the operation has not been completed.")
	default:
		return nil, r.noMethod(o, name)
	}
	if err != nil {
		return nil, thrown("InvalidOperationException", "Cannot %s service %s on computer '.'.", low, id)
	}
	row, _ := r.m.Services.Get(id)
	o.set("Status", state(row))
	o.set("StartType", row.Start)
	return void{}, nil
}

// processes returns the processes of services, of PowerShell itself and of pods.
func (r *run) processes() []*object {
	var out []*object
	add := func(id any, name, path string) {
		o := tabled(kindProcess, 2, "Id", id, "ProcessName", name, "Name", name, "HasExited", false, "text",
			"System.Diagnostics.Process ("+name+")")
		if out = append(out, o); path != "" {
			o.set("Path", path)
		}
	}
	id := int64(1000)
	for _, s := range r.m.Services.List() {
		if s.Running {
			add(id, s.Name, s.Path)
			id += 4
		}
	}
	if v, ok := r.lookup("pid"); ok { // PowerShell's own process
		add(v, "powershell", "")
	}
	for _, p := range r.m.PodProcesses() {
		add(p.ID, p.Name, "")
	}
	return out
}

// processesOf calls run for each process whose property by, an Id or ProcessName, is wanted. A process that is
// not found is an error.
func (c *call) processesOf(by string, wanted []any, run func(*object) error) error {
	for _, v := range wanted {
		found := by == "ProcessName" && strings.ContainsAny(text(v), "*?")
		for _, p := range c.processes() {
			own, _ := p.get(by)
			yes := equal(own, v, true)
			if by == "ProcessName" {
				var err error
				if yes, err = like(text(own), text(v), false); err != nil {
					return err
				}
			}
			if !yes {
				continue
			}
			found = true
			if err := run(p); err != nil {
				return err
			}
		}
		if found {
			continue
		}
		f := broken("Microsoft.PowerShell.Commands.ProcessCommandException", "NoProcessFoundForGivenName",
			"Cannot find a process with the name \"%s\". Verify the process name and call the cmdlet again.", text(v))
		if by == "Id" {
			f = broken("Microsoft.PowerShell.Commands.ProcessCommandException", "NoProcessFoundForGivenId",
				"Cannot find a process with the process identifier %s.", text(v))
		}
		if err := c.fault(f); err != nil {
			return err
		}
	}
	return nil
}

func getProcess(c *call) error {
	show := func(p *object) error { return c.emit(p) }
	names := list(c.given["name"])
	if len(names) == 0 && !c.has("id") {
		names = []any{"*"}
	}
	if err := c.processesOf("Id", list(c.given["id"]), show); err != nil {
		return err
	}
	return c.processesOf("ProcessName", names, show)
}

// stopProcess ends the processes of pods and services. A service stops, or starts again by its recovery actions.
func stopProcess(c *call) error {
	end := func(p *object) error {
		name, _ := p.get("ProcessName")
		id, _ := p.get("Id")
		for _, inner := range c.m.PodProcesses() {
			if equal(id, inner.ID, true) {
				inner.End()
				return nil
			}
		}
		if err := c.m.Services.Kill(text(name)); err != nil {
			return c.fault(broken("Microsoft.PowerShell.Commands.ProcessCommandException", "CouldNotStopProcess",
				"Cannot stop process \"%s\": %v", text(name), err))
		}
		return nil
	}
	ids := list(c.given["id"])
	for _, v := range append(list(c.given["inputobject"]), c.input...) {
		if o, ok := v.(*object); ok {
			v, _ = o.get("Id")
		}
		ids = append(ids, v)
	}
	if err := c.processesOf("Id", ids, end); err != nil {
		return err
	}
	return c.processesOf("ProcessName", list(c.given["name"]), end)
}

// passedService emits a service if -PassThru is given.
func (c *call) passedService(name string) error {
	if !c.is("passthru") {
		return nil
	}
	row, _ := c.m.Services.Get(name)
	return c.emit(serviceObject(row))
}

// startType returns the start type of -StartupType, or otherwise if the parameter is not given.
func (c *call) startType(otherwise string) (string, error) {
	switch given := c.textOf("startuptype"); strings.ToLower(given) {
	case "automatic", "auto", "automaticdelayedstart", "2":
		return machine.Automatic, nil
	case "manual", "demand", "3":
		return machine.Manual, nil
	case "disabled", "4":
		return machine.Disabled, nil
	default:
		if !c.has("startuptype") {
			return otherwise, nil
		}
		return "", unbindable("StartupType", "Cannot convert value \"%s\" to type \"System.ServiceProcess.ServiceStartMode\".", given)
	}
}

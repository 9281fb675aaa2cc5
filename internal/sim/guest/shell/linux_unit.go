package shell

import (
	"context"
	"path"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// systemctl changes and shows the service table. A unit file that the guest wrote counts as a service.
func systemctl(_ context.Context, p *Process, o options) int {
	args := o.operands
	if len(args) == 0 {
		args = []string{"list-units"}
	}
	verb, units := args[0], args[1:]
	switch verb {
	case "daemon-reload", "daemon-reexec", "reset-failed":
		return 0
	case "reboot", "poweroff":
		p.Guest.RequestReboot()
		return 0
	case "list-units", "list-unit-files":
		for _, s := range p.Guest.Services.List() {
			p.Printf("%-36s %s\n", s.Name+".service", state(s))
		}
		return 0
	case "is-system-running":
		p.Printf("running\n")
		return 0
	case "set-property", "edit", "link", "preset", "get-default", "set-default", "isolate", "show-environment",
		"set-environment", "import-environment", "list-timers", "list-dependencies":
		return p.Refuse("systemctl %s", verb)
	case "show":
		return p.Refuse("systemctl show")
	}
	if len(units) == 0 {
		return p.Fail(1, "Too few arguments.")
	}
	code, active := 0, false
	for _, u := range units {
		got := unit(p, verb, u, o)
		active = active || got == 0
		code = max(code, got)
	}
	if (verb == "is-active" || verb == "is-enabled") && active {
		return 0
	}
	return code
}

func state(s machine.Service) string {
	if s.Running {
		return "active"
	}
	return "inactive"
}

// unitFile returns the path of a systemd unit's file in the guest, or "".
func unitFile(p *Process, name string) string {
	if !strings.Contains(path.Base(name), ".") {
		name += ".service"
	}
	for _, dir := range []string{"/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		if file := path.Join(dir, name); p.Guest.Root.Exists(file) {
			return file
		}
	}
	return ""
}

// unit runs a verb of systemctl for one unit.
func unit(p *Process, verb, name string, o options) int {
	services, now := p.Guest.Services, o.has("now")
	name = strings.TrimSuffix(name, ".service")
	if _, ok := services.Get(name); !ok && unitFile(p, name) != "" {
		_ = services.Create(machine.Service{Name: name, Start: machine.Disabled}) // cannot fail: the service does not exist yet
	}
	say := func(format string, a ...any) {
		if !o.has("q") {
			p.Printf(format, a...)
		}
	}
	row, ok := services.Get(name)
	if !ok {
		full := name
		if !strings.Contains(name, ".") {
			full += ".service"
		}
		switch verb {
		case "is-active":
			say("inactive\n")
			return 4
		case "is-enabled":
			return p.Fail(4, "Failed to get unit file state for %s: No such file or directory", full)
		case "enable", "disable", "mask", "unmask":
			return p.Fail(1, "Failed to %s unit: Unit file %s does not exist.", verb, full)
		case "status":
			return p.Fail(4, "Unit %s could not be found.", full)
		case "try-restart":
			return 0
		}
		return p.Fail(5, "Failed to %s %s: Unit %s not found.", verb, full, full)
	}
	var err error
	switch verb {
	case "start", "restart", "reload-or-restart", "try-restart", "reload", "try-reload-or-restart":
		if row.Start == machine.Disabled { // a disabled unit can be started; a masked one could not
			err = services.Edit(name, func(s *machine.Service) { s.Start = machine.Manual })
		}
		if err == nil && verb == "start" {
			err = services.Start(name)
		} else if err == nil && !(strings.HasPrefix(verb, "try") && !row.Running) {
			err = services.Restart(name)
		}
	case "stop", "kill":
		err = services.Stop(name)
	case "enable", "unmask":
		err = services.Edit(name, func(s *machine.Service) { s.Start = machine.Automatic })
		if err == nil && now {
			err = services.Start(name)
		}
	case "disable", "mask":
		err = services.Edit(name, func(s *machine.Service) { s.Start = machine.Disabled })
		if err == nil && now {
			err = services.Stop(name)
		}
	case "is-active":
		say("%s\n", state(row))
		if !row.Running {
			return 3
		}
	case "is-failed":
		say("%s\n", state(row))
		return 1
	case "is-enabled":
		if row.Start != machine.Automatic {
			say("disabled\n")
			return 1
		}
		say("enabled\n")
	case "status":
		p.Printf("● %s.service (simulated by casement)\n     Active: %s\n", row.Name, state(row))
		if !row.Running {
			return 3
		}
	case "cat":
		data, err := p.Guest.Root.ReadFile(unitFile(p, name))
		if err != nil {
			return p.Refuse("systemctl cat of a unit of the image")
		}
		p.Printf("# %s\n%s", unitFile(p, name), data)
	default:
		return p.Fail(1, "Unknown command verb '%s'.", verb)
	}
	if err != nil {
		return p.Fail(1, "Failed to %s %s.service: %v", verb, name, err)
	}
	return 0
}

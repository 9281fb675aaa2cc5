package shell

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

func isErr(err, target error) bool { return errors.Is(err, target) }

func asPathError(err error) (*fs.PathError, bool) { return errors.AsType[*fs.PathError](err) }

func hostname(_ context.Context, p *Process) int {
	if p.Guest.IsWindows() || len(p.Args) == 1 || strings.HasPrefix(p.Args[1], "-") {
		if p.Arg(1) == "-I" || p.Arg(1) == "-i" {
			for _, a := range p.Guest.IPs {
				p.Printf("%s ", a)
			}
			p.Printf("\n")
			return 0
		}
		p.Printf("%s\n", p.Guest.Hostname())
		return 0
	}
	return setHostname(p, p.Args[1])
}

func setHostname(p *Process, name string) int {
	if err := p.Guest.SetHostname(name); err != nil {
		return p.failed("/etc/hostname", err)
	}
	return 0
}

func hostnamectl(_ context.Context, p *Process) int {
	if (p.Arg(1) == "set-hostname" || p.Arg(1) == "hostname") && len(p.Args) > 2 {
		return setHostname(p, p.Args[2])
	}
	p.Printf(" Static hostname: %s\nOperating System: %s (simulated by casement)\n          Kernel: Linux %s\n    Architecture: x86-64\n", p.Guest.Hostname(), p.Guest.Image.Name, p.Guest.Image.Build)
	return 0
}

func whoami(_ context.Context, p *Process) int {
	if p.Guest.IsWindows() {
		p.Printf("%s\\%s\n", strings.ToLower(p.Guest.ComputerName), p.Env["USERNAME"])
		return 0
	}
	p.Printf("%s\n", p.Env["USER"])
	return 0
}

func id(_ context.Context, p *Process) int {
	if p.Arg(1) == "-u" {
		p.Printf("%s\n", p.Env["UID"])
		return 0
	}
	p.Printf("uid=%s(%s) gid=%s(%s)\n", p.Env["UID"], p.Env["USER"], p.Env["UID"], p.Env["USER"])
	return 0
}

func uname(_ context.Context, p *Process) int {
	flags, _ := operands(p.Args[1:])
	switch {
	case strings.Contains(flags, "a"):
		p.Printf("Linux %s %s #casement-simulated x86_64 GNU/Linux\n", p.Guest.Hostname(), p.Guest.Image.Build)
	case strings.Contains(flags, "r"):
		p.Printf("%s\n", p.Guest.Image.Build)
	case strings.Contains(flags, "m"):
		p.Printf("x86_64\n")
	case strings.Contains(flags, "n"):
		p.Printf("%s\n", p.Guest.Hostname())
	default:
		p.Printf("Linux\n")
	}
	return 0
}

func date(_ context.Context, p *Process) int {
	now := p.Guest.Clock.Now().UTC()
	switch p.Arg(len(p.Args) - 1) {
	case "+%s":
		p.Printf("%d\n", now.Unix())
	case "-Is", "--iso-8601=seconds":
		p.Printf("%s\n", now.Format("2006-01-02T15:04:05-07:00"))
	default:
		p.Printf("%s\n", now.Format("Mon Jan _2 15:04:05 UTC 2006"))
	}
	return 0
}

// env prints the environment, or runs a command with more of it.
func env(ctx context.Context, p *Process) int {
	vars := maps.Clone(p.Env)
	args := p.Args[1:]
	for len(args) > 0 {
		k, v, ok := strings.Cut(args[0], "=")
		if !ok {
			c := *p
			c.Env = vars
			return p.shell.child(ctx, &c, args)
		}
		vars[k] = v
		args = args[1:]
	}
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		p.Printf("%s=%s\n", k, vars[k])
	}
	return 0
}

func uptime(_ context.Context, p *Process) int {
	p.Printf(" %s up 1 min,  1 user,  load average: 0.00, 0.00, 0.00\n", p.Guest.Clock.Now().UTC().Format("15:04:05"))
	return 0
}

func df(_ context.Context, p *Process) int {
	p.Printf("Filesystem     1K-blocks    Used Available Use%% Mounted on\n/dev/root      130046416 8000000 122046416   7%% /\n")
	return 0
}

func ps(_ context.Context, p *Process) int {
	p.Printf("    PID TTY          TIME CMD\n      1 ?        00:00:01 systemd\n")
	n := 100
	for _, s := range p.Guest.Services.List() {
		if s.Running {
			p.Printf("%7d ?        00:00:00 %s\n", n, s.Name)
			n++
		}
	}
	return 0
}

// systemctl acts on the service table. A unit file that the guest wrote counts
// as a service.
func systemctl(_ context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	now := slices.Contains(p.Args, "--now")
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
	}
	code := 0
	for _, u := range units {
		code = max(code, unit(p, verb, u, now))
	}
	return code
}

func state(s machine.Service) string {
	if s.Running {
		return "active"
	}
	return "inactive"
}

func unit(p *Process, verb, name string, now bool) int {
	services := p.Guest.Services
	if _, ok := services.Get(name); !ok && p.Guest.Root.Exists(path.Join("/etc/systemd/system", strings.TrimSuffix(name, ".service")+".service")) {
		_ = services.Create(machine.Service{Name: strings.TrimSuffix(name, ".service"), Start: machine.Disabled}) // it is not there
	}
	row, ok := services.Get(name)
	if !ok {
		if verb == "is-active" || verb == "is-enabled" {
			p.Printf("inactive\n")
			return 4
		}
		return p.Fail(5, "Failed to %s %s.service: Unit %s.service not found.", verb, strings.TrimSuffix(name, ".service"), strings.TrimSuffix(name, ".service"))
	}
	var err error
	switch verb {
	case "start", "restart", "reload-or-restart", "try-restart":
		if row.Start == machine.Disabled { // disabled units start on demand; masked ones would not
			err = services.Edit(name, func(s *machine.Service) { s.Start = machine.Manual })
		}
		if err == nil && verb == "start" {
			err = services.Start(name)
		} else if err == nil {
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
		p.Printf("%s\n", state(row))
		if !row.Running {
			return 3
		}
	case "is-enabled":
		if row.Start != machine.Automatic {
			p.Printf("disabled\n")
			return 1
		}
		p.Printf("enabled\n")
	case "status":
		p.Printf("● %s.service (simulated by casement)\n     Active: %s\n", row.Name, state(row))
		if !row.Running {
			return 3
		}
	case "show", "cat", "reload", "set-property", "edit":
	default:
		return p.Fail(1, "Unknown command verb '%s'.", verb)
	}
	if err != nil {
		return p.Fail(1, "Failed to %s %s.service: %v", verb, name, err)
	}
	return 0
}

// ip answers link and addr. With -o it prints one line per link, whose 17th
// field is the hardware address, as templates expect.
func ip(_ context.Context, p *Process) int {
	flags, args := operands(p.Args[1:])
	what := "addr"
	if len(args) > 0 {
		what = args[0]
	}
	oneLine := strings.Contains(flags, "o")
	mac, addr := p.Guest.MAC(), p.Guest.IP()
	brk := "\n    "
	if oneLine {
		brk = `\    `
	}
	switch {
	case strings.HasPrefix("link", what) && what != "":
		p.Printf("1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000%slink/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n", brk)
		p.Printf("2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000%slink/ether %s brd ff:ff:ff:ff:ff:ff\n", brk, mac)
	case strings.HasPrefix("address", what) && what != "":
		p.Printf("1: lo    inet 127.0.0.1/8 scope host lo\n2: eth0    inet %s/16 metric 100 scope global eth0\n", addr)
	case strings.HasPrefix("route", what):
		p.Printf("default via %s dev eth0 proto dhcp src %s metric 100\n", gateway(p.Guest), addr)
	default:
		return p.Fail(1, "Object \"%s\" is unknown, try \"ip help\".", what)
	}
	return 0
}

// gateway is the first address of the /24, near enough to Azure's x.x.x.1.
func gateway(m *machine.Machine) string {
	ip := m.IP()
	if !ip.Is4() {
		return "10.0.0.1"
	}
	b := ip.As4()
	b[3] = 1
	return netip.AddrFrom4(b).String()
}

func netplan(_ context.Context, p *Process) int {
	if p.Arg(1) == "" {
		return p.Fail(1, "usage: netplan {apply,generate,try}")
	}
	return p.Fail(0, "netplan: simulated: no effect")
}

func cloudInit(_ context.Context, p *Process) int {
	if p.Arg(1) == "status" {
		p.Printf("status: done\n")
		return 0
	}
	return p.Fail(0, "cloud-init: simulated: no effect")
}

// reboot asks for a restart when the agent has ended.
func reboot(_ context.Context, p *Process) int {
	if p.Args[0] == "shutdown" && !slices.Contains(p.Args, "-r") {
		return p.Fail(1, "shutdown: powering off a guest from within is not simulated")
	}
	p.Guest.RequestReboot()
	return p.Fail(0, "the guest restarts when its agent has ended")
}

package shell

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest/machine"
)

func systemCommands() Table {
	return Table{
		"hostname":    hostname,
		"hostnamectl": flagged("static pretty transient", hostnamectl),
		"whoami":      whoami,
		"id":          flagged("u|user g|group G|groups n|name r|real", id),
		"groups":      flagged("", groupsCommand),
		"uname":       flagged("a|all r|kernel-release m|machine n|nodename s|kernel-name p|processor i|hardware-platform o|operating-system v|kernel-version", uname),
		"arch":        flagged("", func(_ context.Context, p *Process, _ options) int { p.Printf("x86_64\n"); return 0 }),
		"nproc":       flagged("all ignore:", func(_ context.Context, p *Process, _ options) int { p.Printf("2\n"); return 0 }),
		"date":        flagged("u|utc|universal d|date: I|iso-8601=? R|rfc-email rfc-3339: r|reference:", date),
		"env":         flagged("+ i|ignore-environment u|unset: C|chdir: 0|null", env),
		"printenv":    flagged("0|null", printenv),
		"uptime":      flagged("p|pretty s|since", uptime),
		"df":          flagged("h|human-readable k T|print-type P|portability a|all", df),
		"ps":          ps,
		"systemctl":   flagged("q|quiet no-pager now f|force no-block t|type: state: a|all l|full p|property: value no-legend plain runtime wait failed n|lines: o|output:", systemctl),
		"ip":          flagged("- 4 6 o|oneline br|brief f|family: s|stats d|details c|color", ip),
		"netplan":     netplan,
		"cloud-init":  cloudInit,
		"reboot":      reboot,
		"shutdown":    reboot,
		"which":       flagged("a s", whichCommand),
		"lsb_release": flagged("a|all i|id r|release c|codename d|description s|short", lsbRelease),
		"getent":      getent,
		"sync":        func(context.Context, *Process) int { return 0 },
		"flock":       flagged("+ n|nonblock w|timeout: x|exclusive s|shared u|unlock o|close c|command: E|conflict-exit-code:", flock),
		"nohup":       func(ctx context.Context, p *Process) int { return p.shell.child(ctx, p, p.Args[1:]) },
	}
}

func isErr(err, target error) bool { return errors.Is(err, target) }

func asPathError(err error) (*fs.PathError, bool) { return errors.AsType[*fs.PathError](err) }

func hostname(_ context.Context, p *Process) int {
	switch a := p.Arg(1); {
	case p.Guest.IsWindows() || a == "":
		p.Printf("%s\n", p.Guest.Hostname())
	case a == "-s" || a == "--short":
		short, _, _ := strings.Cut(p.Guest.Hostname(), ".")
		p.Printf("%s\n", short)
	case a == "-f" || a == "--fqdn" || a == "--long" || a == "-A":
		p.Printf("%s\n", p.Guest.Hostname())
	case a == "-d":
		_, domain, _ := strings.Cut(p.Guest.Hostname(), ".")
		p.Printf("%s\n", domain)
	case a == "-I" || a == "-i" || a == "--all-ip-addresses" || a == "--ip-address":
		for _, a := range p.Guest.IPs {
			p.Printf("%s ", a)
		}
		p.Printf("\n")
	case strings.HasPrefix(a, "-"):
		return p.Refuse("hostname %s", a)
	default:
		return setHostname(p, a)
	}
	return 0
}

func setHostname(p *Process, name string) int {
	if err := p.Guest.SetHostname(name); err != nil {
		return p.failed("/etc/hostname", err)
	}
	return 0
}

func hostnamectl(_ context.Context, p *Process, o options) int {
	verb := ""
	if len(o.operands) > 0 {
		verb = o.operands[0]
	}
	switch {
	case (verb == "set-hostname" || verb == "hostname") && len(o.operands) > 1:
		return setHostname(p, o.operands[1])
	case verb == "hostname" || o.has("static", "transient"):
		p.Printf("%s\n", p.Guest.Hostname())
	case verb == "" || verb == "status":
		p.Printf(" Static hostname: %s\nOperating System: %s (simulated by casement)\n          Kernel: Linux %s\n    Architecture: x86-64\n", p.Guest.Hostname(), p.Guest.Image.Name, p.Guest.Image.Build)
	default:
		return p.Refuse("hostnamectl %s", verb)
	}
	return 0
}

func whoami(_ context.Context, p *Process) int {
	if p.Guest.IsWindows() {
		p.Printf("%s\\%s\n", strings.ToLower(p.Guest.ComputerName), p.Env["USERNAME"])
		return 0
	}
	p.Printf("%s\n", p.user())
	return 0
}

// user is who runs the process.
func (p *Process) user() string {
	if u := p.Env["USER"]; u != "" {
		return u
	}
	return "root"
}

func id(_ context.Context, p *Process, o options) int {
	name := p.user()
	if len(o.operands) > 0 {
		name = o.operands[0]
	}
	account, ok := p.Guest.Account(name)
	if !ok {
		return p.Fail(1, "id: '%s': no such user", name)
	}
	member := p.Guest.GroupsOf(name)
	switch {
	case o.has("u") && o.has("n"):
		p.Printf("%s\n", account.Name)
	case o.has("u"):
		p.Printf("%d\n", account.UID)
	case o.has("g") && o.has("n"):
		p.Printf("%s\n", member[0].Name)
	case o.has("g"):
		p.Printf("%d\n", account.GID)
	case o.has("G"):
		var words []string
		for _, g := range member {
			if o.has("n") {
				words = append(words, g.Name)
			} else {
				words = append(words, strconv.Itoa(g.GID))
			}
		}
		p.Printf("%s\n", strings.Join(words, " "))
	default:
		var words []string
		for _, g := range member {
			words = append(words, strconv.Itoa(g.GID)+"("+g.Name+")")
		}
		p.Printf("uid=%d(%s) gid=%s groups=%s\n", account.UID, account.Name, words[0], strings.Join(words, ","))
	}
	return 0
}

func groupsCommand(_ context.Context, p *Process, o options) int {
	name := p.user()
	if len(o.operands) > 0 {
		name = o.operands[0]
		p.Printf("%s : ", name)
	}
	var words []string
	for _, g := range p.Guest.GroupsOf(name) {
		words = append(words, g.Name)
	}
	p.Printf("%s\n", strings.Join(words, " "))
	return 0
}

func uname(_ context.Context, p *Process, o options) int {
	var words []string
	for _, part := range []struct{ flag, text string }{
		{"s", "Linux"}, {"n", p.Guest.Hostname()}, {"r", p.Guest.Image.Build}, {"v", "#casement-simulated"}, {"m", "x86_64"}, {"p", "x86_64"}, {"i", "x86_64"}, {"o", "GNU/Linux"},
	} {
		if o.has(part.flag) || o.has("a") && part.flag != "p" && part.flag != "i" || len(o.given) == 0 && part.flag == "s" {
			words = append(words, part.text)
		}
	}
	p.Printf("%s\n", strings.Join(words, " "))
	return 0
}

func date(_ context.Context, p *Process, o options) int {
	now := p.now().UTC()
	if o.has("r") {
		info, err := p.Guest.Root.Stat(p.Abs(o.value("r")))
		if err != nil {
			return p.Fail(1, "date: %s: %s", o.value("r"), reason(err))
		}
		now = info.ModTime().UTC()
	}
	if o.has("d") {
		at, ok := parseDate(o.value("d"), now)
		if !ok {
			return p.Refuse("date -d %q", o.value("d"))
		}
		now = at.UTC()
	}
	format := "%a %b %e %H:%M:%S UTC %Y"
	switch {
	case len(o.operands) > 0 && strings.HasPrefix(o.operands[0], "+"):
		format = o.operands[0][1:]
	case len(o.operands) > 0:
		return p.Refuse("date %s: a guest's clock cannot be set", o.operands[0])
	case o.has("I"):
		format = map[string]string{"": "%Y-%m-%d", "date": "%Y-%m-%d", "hours": "%Y-%m-%dT%H+00:00", "minutes": "%Y-%m-%dT%H:%M+00:00", "seconds": "%Y-%m-%dT%H:%M:%S+00:00", "s": "%Y-%m-%dT%H:%M:%S+00:00"}[o.value("I")]
	case o.has("R"):
		format = "%a, %d %b %Y %H:%M:%S +0000"
	case o.has("rfc-3339"):
		format = map[string]string{"date": "%Y-%m-%d", "seconds": "%Y-%m-%d %H:%M:%S+00:00"}[o.value("rfc-3339")]
	}
	text, unknown := dateText(format, now)
	if unknown != "" || format == "" {
		return p.Refuse("date with the format %s", unknown)
	}
	p.Printf("%s\n", text)
	return 0
}

// dateText formats a time as strftime does.
func dateText(format string, t time.Time) (text, unknown string) {
	layouts := map[byte]string{'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06", 'y': "06", 'I': "03", 'p': "PM",
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'e': "_2", 'R': "15:04", 'r': "03:04:05 PM", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05"}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		pad := byte(0)
		if (format[i] == '-' || format[i] == '_' || format[i] == '0') && i+1 < len(format) {
			pad = format[i]
			i++
		}
		digits := 9
		if format[i] >= '1' && format[i] <= '9' && i+1 < len(format) && format[i+1] == 'N' {
			digits = int(format[i] - '0')
			i++
		}
		part := ""
		switch c := format[i]; c {
		case '%':
			part = "%"
		case 'n':
			part = "\n"
		case 't':
			part = "\t"
		case 's':
			part = strconv.FormatInt(t.Unix(), 10)
		case 'N':
			part = t.Format(".000000000")[1 : 1+digits]
		case 'j':
			part = t.Format("002")
		case 'u':
			part = strconv.Itoa((int(t.Weekday())+6)%7 + 1)
		case 'w':
			part = strconv.Itoa(int(t.Weekday()))
		case 'Z':
			part = "UTC"
		case 'z':
			part = "+0000"
		default:
			layout, ok := layouts[c]
			if !ok {
				return "", "%" + string(rune(c))
			}
			part = t.Format(layout)
		}
		if pad == '-' {
			if part = strings.TrimLeft(part, "0 "); part == "" {
				part = "0"
			}
		}
		b.WriteString(part)
	}
	return b.String(), ""
}

// env prints the environment, or runs a command with another one.
func env(ctx context.Context, p *Process, o options) int {
	c := *p
	c.Env = maps.Clone(p.Env)
	if o.has("i") {
		c.Env = map[string]string{}
	}
	for _, name := range o.values("u") {
		delete(c.Env, name)
	}
	if o.has("C") {
		c.Dir = p.Abs(o.value("C"))
	}
	args := o.operands
	for len(args) > 0 {
		k, v, ok := strings.Cut(args[0], "=")
		if !ok {
			return p.shell.child(ctx, &c, args)
		}
		c.Env[k] = v
		args = args[1:]
	}
	for _, k := range slices.Sorted(maps.Keys(c.Env)) {
		if k != umaskName {
			p.Printf("%s=%s\n", k, c.Env[k])
		}
	}
	return 0
}

func printenv(ctx context.Context, p *Process, o options) int {
	if len(o.operands) == 0 {
		return env(ctx, p, options{})
	}
	code := 0
	for _, name := range o.operands {
		v, ok := p.Env[name]
		if !ok {
			code = 1
			continue
		}
		p.Printf("%s\n", v)
	}
	return code
}

func uptime(_ context.Context, p *Process, o options) int {
	switch {
	case o.has("p"):
		p.Printf("up 1 minute\n")
	case o.has("s"):
		p.Printf("%s\n", p.now().UTC().Add(-time.Minute).Format("2006-01-02 15:04:05"))
	default:
		p.Printf(" %s up 1 min,  1 user,  load average: 0.00, 0.00, 0.00\n", p.now().UTC().Format("15:04:05"))
	}
	return 0
}

func df(_ context.Context, p *Process, o options) int {
	if o.has("T") {
		return p.Refuse("df -T")
	}
	if o.has("h") {
		p.Printf("Filesystem      Size  Used Avail Use%% Mounted on\n/dev/root       125G  7.7G  117G   7%% /\n")
		return 0
	}
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
	case "set-property", "edit", "link", "preset", "get-default", "set-default", "isolate", "show-environment", "set-environment", "import-environment", "list-timers", "list-dependencies":
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

// unitFile is where the guest keeps the file of a unit, or "".
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

func unit(p *Process, verb, name string, o options) int {
	services, now := p.Guest.Services, o.has("now")
	name = strings.TrimSuffix(name, ".service")
	if _, ok := services.Get(name); !ok && unitFile(p, name) != "" {
		_ = services.Create(machine.Service{Name: name, Start: machine.Disabled}) // it is not there
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
		if row.Start == machine.Disabled { // disabled units start on demand; masked ones would not
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

// link of the guest, as ip prints it.
type netLink struct {
	index                         int
	name, flags, mac, kind, scope string
	address                       string
}

func links(p *Process) []netLink {
	brd := "brd ff:ff:ff:ff:ff:ff"
	out := []netLink{{1, "lo", "<LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN", "loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00", "", "host lo", "127.0.0.1/8"}}
	if p.Guest.IP().IsValid() {
		out = append(out, netLink{2, "eth0", "<BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP", "ether " + p.Guest.MAC() + " " + brd, "metric 100 ", "global eth0", p.Guest.IP().String() + "/16"})
	}
	return out
}

// ip answers link, addr and route. With -o it prints one line per link, whose 17th
// field is the hardware address, as templates expect.
func ip(_ context.Context, p *Process, o options) int {
	args := o.operands
	if len(args) == 0 {
		return p.Fail(255, "Usage: ip [ OPTIONS ] OBJECT { COMMAND | help }")
	}
	what, args := args[0], args[1:]
	verb := "show"
	if len(args) > 0 && (strings.HasPrefix("show", args[0]) || strings.HasPrefix("list", args[0]) || args[0] == "ls" || args[0] == "lst") {
		args = args[1:]
	} else if len(args) > 0 && args[0] != "dev" && !strings.HasPrefix("eth0", args[0]) && args[0] != "lo" && args[0] != "default" {
		verb = args[0]
	}
	if len(args) > 0 && args[0] == "dev" {
		args = args[1:]
	}
	name := ""
	if len(args) > 0 && verb == "show" {
		name = args[0]
	}
	if o.has("s", "d") || len(args) > 1 && verb == "show" {
		return p.Refuse("ip %s", strings.Join(p.Args[1:], " "))
	}
	switch {
	case strings.HasPrefix("route", what) && verb == "get":
		p.Printf("%s via %s dev eth0 src %s uid 0 \n    cache \n", args[len(args)-1], gateway(p.Guest), p.Guest.IP())
		return 0
	case verb != "show":
		p.Guest.NoEffect("ip " + what + " " + verb)
		return p.Fail(0, "ip %s %s: simulated: no effect", what, verb)
	case strings.HasPrefix("route", what):
		p.Printf("default via %s dev eth0 proto dhcp src %s metric 100 \n", gateway(p.Guest), p.Guest.IP())
		if name == "" {
			network := netip.PrefixFrom(p.Guest.IP(), 16).Masked()
			p.Printf("%s dev eth0 proto kernel scope link src %s metric 100 \n", network, p.Guest.IP())
		}
		return 0
	case strings.HasPrefix("link", what), strings.HasPrefix("address", what):
		return showLinks(p, o, what[0] == 'l', name)
	}
	return p.Fail(1, "Object \"%s\" is unknown, try \"ip help\".", what)
}

func showLinks(p *Process, o options, link bool, name string) int {
	shown, brk := 0, "\n    "
	if o.has("o") {
		brk = `\    `
	}
	for _, l := range links(p) {
		if name != "" && name != l.name {
			continue
		}
		shown++
		state := "UP"
		if l.name == "lo" {
			state = "UNKNOWN"
		}
		switch {
		case o.has("br") && link:
			p.Printf("%-16s %-14s %s %s \n", l.name, state, strings.Fields(l.mac)[1], strings.Fields(l.flags)[0])
		case o.has("br"):
			p.Printf("%-16s %-14s %s \n", l.name, state, l.address)
		case link:
			p.Printf("%d: %s: %s mode DEFAULT group default qlen 1000%slink/%s\n", l.index, l.name, l.flags, brk, l.mac)
		case o.has("6"):
		case o.has("o"):
			p.Printf("%d: %s    inet %s %sscope %s\\       valid_lft forever preferred_lft forever\n", l.index, l.name, l.address, l.kind, l.scope)
		default:
			p.Printf("%d: %s: %s group default qlen 1000\n", l.index, l.name, l.flags)
			if !o.has("4") {
				p.Printf("    link/%s\n", l.mac)
			}
			p.Printf("    inet %s %sscope %s\n       valid_lft forever preferred_lft forever\n", l.address, l.kind, l.scope)
		}
	}
	if shown == 0 {
		return p.Fail(1, "Device \"%s\" does not exist.", name)
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

func netplan(ctx context.Context, p *Process) int {
	switch p.Arg(1) {
	case "":
		return p.Fail(1, "usage: netplan {apply,generate,try}")
	case "apply", "generate", "try":
		return noEffect(ctx, p)
	}
	return p.Refuse("netplan %s", p.Arg(1))
}

func cloudInit(_ context.Context, p *Process) int {
	if p.Arg(1) == "status" {
		p.Printf("status: done\n")
		return 0
	}
	return p.Refuse("cloud-init %s", p.Arg(1))
}

// reboot asks for a restart when the agent has ended.
func reboot(_ context.Context, p *Process) int {
	if p.name() == "shutdown" && !slices.Contains(p.Args, "-r") {
		return p.Refuse("powering off a guest from within")
	}
	p.Guest.RequestReboot()
	return p.Fail(0, "the guest restarts when its agent has ended")
}

func lsbRelease(_ context.Context, p *Process, o options) int {
	codename := map[string]string{"20.04": "focal", "22.04": "jammy", "24.04": "noble", "26.04": "resolute"}[p.Guest.Image.Release]
	for _, row := range []struct{ flag, label, value string }{
		{"i", "Distributor ID", "Ubuntu"}, {"d", "Description", p.Guest.Image.Name}, {"r", "Release", p.Guest.Image.Release}, {"c", "Codename", codename},
	} {
		switch {
		case !o.has(row.flag) && !o.has("a"):
		case o.has("s"):
			p.Printf("%s\n", row.value)
		default:
			p.Printf("%s:\t%s\n", row.label, row.value)
		}
	}
	return 0
}

func getent(_ context.Context, p *Process) int {
	file := map[string]string{"passwd": "/etc/passwd", "group": "/etc/group"}[p.Arg(1)]
	switch {
	case p.Arg(1) == "hosts" && p.Arg(2) == "localhost":
		p.Printf("127.0.0.1       localhost\n")
		return 0
	case p.Arg(1) == "hosts" && p.Arg(2) == p.Guest.Hostname():
		p.Printf("%-15s %s\n", p.Guest.IP(), p.Guest.Hostname())
		return 0
	case file == "":
		return p.Refuse("getent %s", p.Arg(1))
	}
	data, err := p.Guest.Root.ReadFile(file)
	if err != nil {
		return 2
	}
	code := 2
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(line, ":")
		if p.Arg(2) == "" || fields[0] == p.Arg(2) || len(fields) > 2 && fields[2] == p.Arg(2) {
			p.Printf("%s", line)
			code = 0
		}
	}
	return code
}

// flock runs a command: two that lock the same file never run at one time here.
func flock(ctx context.Context, p *Process, o options) int {
	if len(o.operands) > 0 && strings.Trim(o.operands[0], "0123456789") == "" {
		return p.Refuse("flock of a file descriptor")
	}
	if o.has("c") {
		return p.shell.child(ctx, p, []string{"sh", "-c", o.value("c")})
	}
	args := o.operands
	if len(args) < 2 {
		return p.Fail(1, "flock: requires a file and a command")
	}
	if args[1] == "-c" {
		args = append([]string{args[0], "sh"}, args[1:]...)
	}
	return p.shell.child(ctx, p, args[1:])
}

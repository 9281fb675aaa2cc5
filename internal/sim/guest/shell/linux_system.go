package shell

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func systemCommands() Table {
	return Table{
		"hostname":    flagged("s|short f|fqdn|long|A d|domain I|all-ip-addresses i|ip-address", hostname),
		"hostnamectl": flagged("static pretty transient", hostnamectl),
		"whoami":      whoami,
		"id":          flagged("u|user g|group G|groups n|name r|real", id),
		"groups":      flagged("", groupsCommand),
		"uname": flagged("a|all r|kernel-release m|machine n|nodename s|kernel-name p|processor "+
			"i|hardware-platform o|operating-system v|kernel-version", uname),
		"arch":     flagged("", func(_ context.Context, p *Process, _ options) int { p.Printf("x86_64\n"); return 0 }),
		"nproc":    flagged("all ignore:", func(_ context.Context, p *Process, _ options) int { p.Printf("2\n"); return 0 }),
		"date":     flagged("u|utc|universal d|date: I|iso-8601=? R|rfc-email rfc-3339: r|reference:", date),
		"env":      flagged("+ i|ignore-environment u|unset:", env),
		"printenv": flagged("", printenv),
		"df":       flagged("h|human-readable k P|portability a|all", df),
		"systemctl": flagged("q|quiet no-pager now f|force no-block t|type: state: a|all l|full p|property: "+
			"value no-legend plain runtime wait failed n|lines: o|output:", systemctl),
		"ip":          flagged("- 4 6 o|oneline br|brief f|family: s|stats d|details c|color", ip),
		"netplan":     netplan,
		"cloud-init":  cloudInit,
		"reboot":      reboot,
		"shutdown":    reboot,
		"which":       flagged("a", whichCommand),
		"lsb_release": flagged("a|all i|id r|release c|codename d|description s|short", lsbRelease),
		"getent":      getent,
		"sync":        func(context.Context, *Process) int { return 0 },
		"flock":       flagged("+ n|nonblock w|timeout: x|exclusive s|shared u|unlock o|close c|command:", flock),
		"nohup":       func(ctx context.Context, p *Process) int { return p.shell.child(ctx, p, p.Args[1:]) },
	}
}

func hostname(_ context.Context, p *Process, o options) int {
	name := p.Guest.Hostname()
	short, domain, _ := strings.Cut(name, ".")
	switch {
	case len(o.operands) > 0:
		return setHostname(p, o.operands[0])
	case o.has("s"):
		name = short
	case o.has("d"):
		name = domain
	case o.has("I", "i"):
		name = strings.Join(texts(p.Guest.IPs), " ") + " "
	}
	p.Printf("%s\n", name)
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
		p.Printf(" Static hostname: %s\nOperating System: %s (simulated by casement)\n"+
			"          Kernel: Linux %s\n"+
			"    Architecture: x86-64\n", p.Guest.Hostname(), p.Guest.Image.Name, p.Guest.Image.Build)
	default:
		return p.Refuse("hostnamectl %s", verb)
	}
	return 0
}

func whoami(_ context.Context, p *Process) int {
	if p.Guest.IsWindows() {
		if len(p.Args) > 1 {
			return p.refuseAs(1, "whoami %s", p.Args[1])
		}
		p.Printf("%s\n", strings.ToLower(cmp.Or(p.Env["USERDOMAIN"], p.Guest.ComputerName)+`\`+p.Env["USERNAME"]))
		return 0
	}
	p.Printf("%s\n", p.user())
	return 0
}

// user returns the name of the user that runs the process.
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
		return p.Fail(1, "%s: '%s': no such user", p.name(), name)
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

func groupsCommand(ctx context.Context, p *Process, o options) int {
	if len(o.operands) > 0 && p.Guest.HasUser(o.operands[0]) {
		p.Printf("%s : ", o.operands[0])
	}
	o.given = []given{{name: "G"}, {name: "n"}}
	return id(ctx, p, o)
}

func uname(_ context.Context, p *Process, o options) int {
	var words []string
	for _, part := range []struct{ flag, text string }{
		{"s", "Linux"}, {"n", p.Guest.Hostname()}, {"r", p.Guest.Image.Build}, {"v", "#casement-simulated"},
		{"m", "x86_64"}, {"p", "x86_64"}, {"i", "x86_64"}, {"o", "GNU/Linux"},
	} {
		if o.has(part.flag) || o.has("a") && part.flag != "p" && part.flag != "i" || len(o.given) == 0 && part.flag == "s" {
			words = append(words, part.text)
		}
	}
	p.Printf("%s\n", strings.Join(words, " "))
	return 0
}

// env prints the environment, or runs a command with a changed environment.
func env(ctx context.Context, p *Process, o options) int {
	c := *p
	c.Env = maps.Clone(p.Env)
	if o.has("i") {
		c.Env = map[string]string{}
	}
	for _, name := range o.values("u") {
		delete(c.Env, name)
	}
	if args := c.assigned(o.operands); len(args) > 0 {
		return p.shell.child(ctx, &c, args)
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

func df(_ context.Context, p *Process, o options) int {
	for _, name := range o.operands {
		if !p.Guest.Root.Exists(p.Abs(name)) {
			return p.Fail(1, "df: %s: No such file or directory", name)
		}
	}
	if o.has("h") {
		p.Printf("Filesystem      Size  Used Avail Use%% Mounted on\n/dev/root       125G  7.7G  117G   7%% /\n")
		return 0
	}
	p.Printf("Filesystem     1K-blocks    Used Available Use%% Mounted on\n/dev/root      130046416 8000000 122046416   7%% /\n")
	return 0
}

func netplan(ctx context.Context, p *Process) int {
	switch p.Arg(1) {
	case "":
		return p.Fail(1, "usage: netplan {apply,generate,try}")
	case "apply", "try":
		return applyNetplan(ctx, p)
	case "generate":
		return noEffect(ctx, p)
	}
	return p.Refuse("netplan %s", p.Arg(1))
}

// applyNetplan sets the MTU of an interface from the files below /etc/netplan; the last file by name wins. Addresses
// and routes do not change, because the network sets them.
func applyNetplan(ctx context.Context, p *Process) int {
	const folder = "/etc/netplan"
	entries, err := p.Guest.Root.ReadDir(folder)
	if err != nil {
		return p.failed(folder, err)
	}
	mtu := 0
	for _, e := range entries {
		if path.Ext(e.Name()) != ".yaml" {
			continue
		}
		var plan struct {
			Network struct {
				Ethernets map[string]struct {
					MTU int `yaml:"mtu"`
				} `yaml:"ethernets"`
			} `yaml:"network"`
		}
		data, err := p.Guest.Root.ReadFile(folder + "/" + e.Name())
		if err != nil {
			return p.failed(folder+"/"+e.Name(), err)
		}
		if err := yaml.Unmarshal(data, &plan); err != nil {
			return p.Fail(1, "%s/%s: Invalid YAML: %v", folder, e.Name(), err)
		}
		for _, eth := range plan.Network.Ethernets {
			mtu = cmp.Or(eth.MTU, mtu)
		}
	}
	if mtu > 0 {
		return p.setMTU(mtu)
	}
	return noEffect(ctx, p)
}

func cloudInit(_ context.Context, p *Process) int {
	if p.Arg(1) == "status" {
		p.Printf("status: done\n")
		return 0
	}
	if p.Arg(1) == "clean" {
		for _, folder := range []string{"/var/lib/cloud", "/var/log/cloud-init.log", "/var/log/cloud-init-output.log"} {
			if err := p.Guest.Root.RemoveAll(folder); err != nil {
				return p.failed(folder, err)
			}
		}
		return 0
	}
	return p.Refuse("cloud-init %s", p.Arg(1))
}

// reboot requests a restart after the agent has ended.
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
		{"i", "Distributor ID", "Ubuntu"}, {"d", "Description", p.Guest.Image.Name},
		{"r", "Release", p.Guest.Image.Release}, {"c", "Codename", codename},
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
	case (p.Arg(1) == "hosts" || p.Arg(1) == "ahosts" || p.Arg(1) == "ahostsv4") && p.Arg(2) != "":
		found, err := p.Guest.Lookup(p.Arg(2))
		if err != nil {
			p.explain(err)
			return 2
		}
		for _, ip := range found.IPs {
			p.Printf("%-15s %s\n", ip, found.Name)
		}
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

// locked takes the lock of a path for an open file, and returns an exit code that is not 0 if that fails. The lock
// lasts until the file is closed.
func (p *Process) locked(o options, at string, f *shFile) (code int) {
	locks := &p.shell.locks
	for {
		holder, taken := locks.LoadOrStore(at, f)
		switch one, _ := holder.(*shFile); {
		case !taken || one == f:
			return 0
		case one.refs.Load() <= 0:
			locks.CompareAndDelete(at, one)
		case o.has("n", "w"):
			return 1
		default:
			return p.refuseAs(1, "flock that waits for another one")
		}
	}
}

// flock runs a command while it has the lock of a file, or locks a descriptor.
func flock(ctx context.Context, p *Process, o options) int {
	if len(o.operands) > 0 && strings.Trim(o.operands[0], "0123456789") == "" {
		n, _ := strconv.Atoi(o.operands[0])
		f := p.fds[n]
		switch {
		case f == nil:
			return p.Fail(65, "flock: %d: Bad file descriptor", n)
		case o.has("u"):
			p.shell.locks.CompareAndDelete(f.path, f)
			return 0
		}
		return p.locked(o, f.path, f)
	}
	if len(o.operands) > 0 {
		f := newFile(nil, nil, nil)
		defer f.release()
		if code := p.locked(o, p.Abs(o.operands[0]), f); code != 0 {
			return code
		}
		if !p.Guest.Root.Exists(p.Abs(o.operands[0])) {
			_ = p.Guest.Root.WriteFile(p.Abs(o.operands[0]), nil, p.newFileMode(0o666)) // without the file, the lock works too
		}
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

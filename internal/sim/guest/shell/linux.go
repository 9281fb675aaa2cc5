package shell

import (
	"cmp"
	"context"
	"maps"
	"path"
	"strconv"
	"strings"
	"time"
)

func linuxCommands() Table {
	t := Table{
		"sleep": flagged("+", sleep), "timeout": flagged("+ k|kill-after: s|signal: preserve-status foreground v|verbose", timeout),
		"sudo": flagged("+ E|preserve-env=? n|non-interactive H|set-home u|user: g|group: i|login s|shell S|stdin b|background", sudo),
		"sh":   runSh, "bash": runSh, "dash": runSh, "ash": runSh,
		"awk":  flagged("+ F|field-separator: v|assign: f|file:", awkCommand),
		"mawk": flagged("+ F: v: f:", awkCommand), "gawk": flagged("+ F: v: f:", awkCommand),
		"tail": flagged("# n|lines: c|bytes: f|follow=? F q|quiet v|verbose pid: s|sleep-interval:", tail),
		"journalctl": flagged("u|unit: n|lines: f|follow S|since: o|output: no-pager b|boot=? x|catalog "+
			"e|pager-end q|quiet a|all no-hostname", journalctl),
		"crictl": crictl, "ctr": ctr, "kubelet": versioned("kubelet"), "scp": scp,
		"wget": flagged("+ q|quiet O|output-document: T|timeout: t|tries: S|server-response spider no-check-certificate header: "+
			"no-verbose nv", wget), "apt-get": aptGet, "apt": aptGet,
		"ping": ping, "nslookup": nslookup, "nc": flagged("+ z v w: n", netcat),
	}
	for _, more := range []Table{textCommands(), fileCommands(), systemCommands(), dataCommands(), builtinCommands()} {
		maps.Copy(t, more)
	}
	for _, name := range onImage {
		t[name] = func(_ context.Context, p *Process) int { return p.Refuse("%s", p.name()) }
	}
	for _, name := range noEffectOnLinux {
		t[name] = noEffect
	}
	for _, name := range []string{"kubectl", "containerd", "runc"} {
		t[name] = versioned(name)
	}
	t["waagent"], t["unattended-upgrade"] = waagent, noEffect
	return t
}

// noEffectOnLinux are programs that real boots run and whose effect no simulated node depends on: they are accepted,
// and each call is marked.
var noEffectOnLinux = strings.Fields(`
	modprobe sysctl swapoff swapon mount umount iptables ip6tables iptables-save iptables-restore nft
	update-ca-certificates ufw setenforce apparmor_parser ldconfig logger
	udevadm timedatectl localectl passwd chpasswd usermod useradd adduser groupadd gpasswd userdel groupdel
	mkfs.ext4 mkfs.xfs fdisk parted blkid partprobe resize2fs
	growpart tune2fs e2label ethtool systemd-tmpfiles systemd-sysctl update-initramfs wall chage locale-gen
	dpkg-reconfigure apt-mark loadkeys kill`)

// nodeOnly refuses a program that only a real node can run; it only reports its version.
func nodeOnly(name string) Command {
	return func(_ context.Context, p *Process) int {
		if p.Arg(1) == "--version" || p.Arg(1) == "version" {
			p.Printf("%s simulated (Kubernetes %s, %s %s)\n", name, p.Guest.Image.KubernetesVersion,
				p.Guest.Image.Runtime, p.Guest.Image.RuntimeVersion)
			return 0
		}
		p.Guest.Refused(name)
		return p.Fail(1, "%s: this guest is simulated: there is no container runtime in it", name)
	}
}

// parseWait parses a duration of sleep and timeout: a number and s, m, h or d.
func parseWait(text string) (time.Duration, bool) {
	unit := time.Second
	if text != "" {
		if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[text[len(text)-1]]; ok {
			unit, text = u, text[:len(text)-1]
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	return time.Duration(min(n*float64(unit), 1e18)), err == nil && n >= 0
}

// sleep waits in the guest's time.
func sleep(ctx context.Context, p *Process, o options) int {
	if len(o.operands) == 0 {
		return p.missing("operand")
	}
	var all time.Duration
	for _, a := range o.operands {
		d, ok := parseWait(a)
		if a == "infinity" {
			d, ok = 1<<62, true
		}
		if !ok {
			return p.Fail(1, "sleep: invalid time interval '%s'", a)
		}
		all += d
	}
	return pause(ctx, p, all)
}

// timeout runs a command and ends it after a duration of the guest's time.
func timeout(ctx context.Context, p *Process, o options) int {
	if len(o.operands) < 2 {
		return p.missing("operand")
	}
	d, ok := parseWait(o.operands[0])
	if !ok {
		return p.Fail(125, "timeout: invalid time interval '%s'", o.operands[0])
	}
	if name, known := signal(cmp.Or(o.value("s"), "TERM")); !known || o.has("v") {
		return p.refuseAs(125, "timeout -s %s, or -v", name)
	}
	if d == 0 {
		return p.shell.child(ctx, p, o.operands[1:])
	}
	end, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.Guest.Wall.Go(nil, "timeout", func() {
		select {
		case <-p.Guest.Clock.After(p.shell.real(d)):
			cancel(errTimeout)
		case <-end.Done():
		}
	})
	code := p.shell.child(end, p, o.operands[1:])
	if context.Cause(end) != errTimeout {
		return code
	}
	if name, _ := signal(cmp.Or(o.value("s"), "TERM")); name == "KILL" || o.has("preserve-status") {
		return 128 + signalNumbers[name]
	}
	return 124
}

func sudo(ctx context.Context, p *Process, o options) int {
	args := o.operands
	c := *p
	c.Env = maps.Clone(p.Env)
	who := "root"
	if o.has("u") {
		who = strings.TrimPrefix(o.value("u"), "#0")
	}
	if who != "" && !p.Guest.HasUser(who) {
		return p.Fail(1, "sudo: unknown user %s", who)
	}
	c.Env["USER"], c.Env["LOGNAME"], c.Env["HOME"], c.Env["SUDO_USER"] = who, who, p.Guest.Home(who), p.user()
	if len(args) == 0 {
		if o.has("i", "s") {
			return p.Refuse("sudo with a shell of root's own: put sudo before each command")
		}
		return 0
	}
	if args = c.assigned(args); len(args) > 0 {
		return p.shell.child(ctx, &c, args)
	}
	return 0
}

// assigned sets the variables before a program's name in the environment, and returns the words after them.
func (p *Process) assigned(args []string) []string {
	for len(args) > 0 && strings.Contains(args[0], "=") {
		k, v, _ := strings.Cut(args[0], "=")
		p.Env[k], args = v, args[1:]
	}
	return args
}

// child runs args with p's streams and returns the exit code.
func (s *Shell) child(ctx context.Context, p *Process, args []string) int {
	if len(args) == 0 {
		return p.missing("operand")
	}
	c := *p
	c.Args = args
	code := s.launch(ctx, &c, p.name())
	p.lost = c.lost
	return code
}

// runSh implements sh, dash and bash with -c SCRIPT, a file, or standard input. The options before these are options
// of set.
func runSh(ctx context.Context, p *Process) int {
	o := Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir, Name: p.name(), Inherits: true}
	run := p.shell.Sh
	if path.Base(p.Args[0]) == "bash" {
		run = p.shell.Bash
	}
	args, sets, command, fromInput := p.Args[1:], "", false, false
	for len(args) > 0 && len(args[0]) > 1 && (args[0][0] == '-' || args[0][0] == '+') {
		flag := args[0]
		args = args[1:]
		if flag == "--" {
			break
		}
		if strings.HasPrefix(flag, "--") {
			if flag != "--login" && flag != "--norc" && flag != "--noprofile" && flag != "--posix" {
				return p.Refuse("%s %s", p.name(), flag)
			}
			continue
		}
		letters := strings.Map(func(r rune) rune {
			switch r {
			case 'c':
				command = true
				return -1
			case 's':
				fromInput = true
				return -1
			case 'l', 'i':
				return -1
			}
			return r
		}, flag[1:])
		if strings.HasSuffix(letters, "o") && len(args) > 0 {
			sets += "set " + flag[:1] + letters + " " + args[0] + "\n"
			args = args[1:]
		} else if letters != "" {
			sets += "set " + flag[:1] + letters + "\n"
		}
	}
	o.Options = sets
	switch {
	case command && len(args) == 0:
		return p.Fail(2, "%s: -c: option requires an argument", p.Args[0])
	case command:
		if len(args) > 1 {
			o.Name, o.Args = args[1], args[2:]
		}
		return run(ctx, args[0], o)
	case len(args) > 0 && !fromInput:
		if p.Guest.Root.IsDir(p.Abs(args[0])) {
			return p.Fail(126, "%s: %s: Is a directory", args[0], args[0])
		}
		data, err := p.Guest.Root.ReadAtMost(p.Abs(args[0]), maxScript)
		if err != nil {
			return p.Fail(127, "%s: %s: %s", p.Args[0], args[0], reason(err))
		}
		o.Name, o.Args = args[0], args[1:]
		return run(ctx, string(data), o)
	}
	data, err := p.read("-")
	if err != nil {
		return p.failed("-", err)
	}
	o.Stdin, o.Args = nil, args
	return run(ctx, string(data), o)
}

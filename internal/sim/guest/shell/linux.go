package shell

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"
)

// longestSleep bounds what sleeping costs: a guest's waits are for things that
// have happened already.
const longestSleep = 20 * time.Millisecond

func linuxCommands() Table {
	ok := func(context.Context, *Process) int { return 0 }
	t := Table{
		"cat": cat, "mkdir": mkdir, "rm": remove, "cp": copyFiles, "mv": move, "ln": link, "ls": list, "touch": touch, "sed": sed, "grep": grep, "tee": tee,
		"chmod": chmod, "chown": ok, "chgrp": ok, "sleep": sleep, "hostname": hostname, "hostnamectl": hostnamectl, "whoami": whoami, "id": id, "uname": uname,
		"date": date, "env": env, "which": which, "sudo": sudo, "sh": runSh, "bash": runSh, "dash": runSh, "timeout": timeout, "head": head, "tail": tail, "wc": wc,
		"seq": seq, "basename": basename, "dirname": dirname, "systemctl": systemctl, "journalctl": journalctl, "ip": ip, "netplan": netplan, "awk": awk, "cut": cut, "tr": tr,
		"sort": sortLines, "ps": ps, "uptime": uptime, "df": df, "find": find, "readlink": readlink, "cloud-init": cloudInit, "reboot": reboot, "shutdown": reboot, "mktemp": mktemp,
		"scp": scp, "crictl": crictl, "ctr": quiet("ctr"), "kubelet": quiet("kubelet"),
		"base64": base64Command, "gunzip": gunzip, "gzip": gunzip,
		"curl": curl, "wget": refuseNetwork(4), "apt-get": refuseNetwork(100), "apt": refuseNetwork(100), "ping": refuseNetwork(1), "nc": refuseNetwork(1),
	}
	for _, name := range []string{"sync", "modprobe", "sysctl", "swapoff", "swapon", "mount", "umount", "iptables", "ip6tables", "update-ca-certificates", "ufw", "setenforce", "apparmor_parser", "ldconfig", "logger", "udevadm", "timedatectl", "passwd", "chpasswd", "usermod", "mkfs.ext4", "fdisk", "parted", "blkid"} {
		t[name] = noEffect
	}
	return t
}

// noEffect accepts a command whose effect the guest has no use for, and says so.
func noEffect(_ context.Context, p *Process) int {
	return p.Fail(0, "%s: simulated: no effect", p.Args[0])
}

// quiet refuses a program that only a real node can answer for.
func quiet(name string) Command {
	return func(_ context.Context, p *Process) int {
		if p.Arg(1) == "--version" || p.Arg(1) == "version" {
			p.Printf("%s simulated (Kubernetes %s, %s %s)\n", name, p.Guest.Image.KubernetesVersion, p.Guest.Image.Runtime, p.Guest.Image.RuntimeVersion)
			return 0
		}
		return p.Fail(1, "%s: this guest is simulated: there is no container runtime in it", name)
	}
}

// refuseNetwork refuses a download with the code that the program has for it.
func refuseNetwork(code int) Command {
	return func(_ context.Context, p *Process) int {
		return p.Fail(code, "%s: this guest is simulated and downloads nothing", p.Args[0])
	}
}

// operands splits one-letter and long options from the rest.
func operands(args []string) (flags string, rest []string) {
	for i, a := range args {
		switch {
		case a == "--":
			return flags, append(rest, args[i+1:]...)
		case strings.HasPrefix(a, "--"):
			flags += " " + a
		case strings.HasPrefix(a, "-") && a != "-":
			flags += a[1:]
		default:
			rest = append(rest, a)
		}
	}
	return flags, rest
}

// sleep waits as long as asked for, but not long.
func sleep(ctx context.Context, p *Process) int {
	if len(p.Args) < 2 {
		return p.Fail(1, "sleep: missing operand")
	}
	d, err := time.ParseDuration(p.Args[1])
	if err != nil {
		if d, err = time.ParseDuration(p.Args[1] + "s"); err != nil {
			return p.Fail(1, "sleep: invalid time interval '%s'", p.Args[1])
		}
	}
	return pause(ctx, p, d)
}

func pause(ctx context.Context, p *Process, d time.Duration) int {
	select {
	case <-ctx.Done():
		return 143
	case <-p.Guest.Clock.After(min(d, longestSleep)):
		return 0
	}
}

func timeout(ctx context.Context, p *Process) int {
	_, args := operands(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(125, "timeout: missing operand")
	}
	return p.shell.child(ctx, p, args[1:])
}

func sudo(ctx context.Context, p *Process) int {
	flags, args := operands(p.Args[1:])
	if len(args) == 0 && strings.ContainsAny(flags, "is") {
		return p.Fail(1, "sudo: a shell of root's own is not simulated: put sudo before each command")
	}
	if len(args) == 0 {
		return 0
	}
	at := slices.Index(p.Args, args[0])
	return p.shell.child(ctx, p, p.Args[at:])
}

// child runs args with p's streams.
func (s *Shell) child(ctx context.Context, p *Process, args []string) int {
	c := *p
	c.Args = args
	return s.launch(ctx, &c, "sh: 1")
}

// runSh is sh, dash and bash: -c SCRIPT, a file, or standard input.
func runSh(ctx context.Context, p *Process) int {
	o := Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir, Name: p.Args[0]}
	run := p.shell.Sh
	if path.Base(p.Args[0]) == "bash" {
		run = p.shell.Bash
	}
	args := p.Args[1:]
	prefix := ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag := args[0]
		args = args[1:]
		if strings.Contains(flag, "e") && !strings.HasPrefix(flag, "--") {
			prefix += "set -e\n"
		}
		if strings.HasSuffix(flag, "c") && !strings.HasPrefix(flag, "--") {
			if len(args) == 0 {
				return p.Fail(2, "%s: -c: option requires an argument", p.Args[0])
			}
			if len(args) > 1 {
				o.Name, o.Args = args[1], args[2:]
			}
			return run(ctx, prefix+args[0], o)
		}
	}
	if len(args) > 0 {
		data, err := p.Guest.Root.ReadFile(p.Abs(args[0]))
		if err != nil {
			return p.Fail(127, "%s: %s: %s", p.Args[0], args[0], reason(err))
		}
		o.Name, o.Args = args[0], args[1:]
		return run(ctx, prefix+string(data), o)
	}
	data, err := p.read("-")
	if err != nil {
		return p.failed("-", err)
	}
	o.Stdin = nil
	return run(ctx, prefix+string(data), o)
}

func which(_ context.Context, p *Process) int {
	code := 0
	for _, n := range p.Args[1:] {
		if p.shell.find(n) == nil {
			code = 1
			continue
		}
		p.Printf("/usr/bin/%s\n", n)
	}
	return code
}

package shell

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/guest/machine"
)

// windowsCommands returns the programs of a Windows image. The internal commands of cmd.exe are in cmdInternals, and
// those of PowerShell in its package.
func windowsCommands(image machine.Image) Table {
	t := Table{
		"hostname": flagged("+", hostname), "whoami": whoami, "ipconfig": ipconfig, "systeminfo": systeminfo,
		"tasklist": tasklist, "attrib": attrib, "xcopy": xcopy, "robocopy": robocopy,
		"timeout": startSleep, "findstr": findstr, "find": findWindows, "where": whereCommand, "sc": scExe,
		"net": net, "net1": net, "reg": reg, "setx": setx, "hnsdiag": hnsdiag, "netsh": netsh,
		"powershell": runPowerShell, "pwsh": runPowerShell, "cmd": runCmd, "shutdown": rebootWindows,
		"scp": scp, "ctr": ctr, "crictl": crictl, "kubelet": versioned("kubelet"),
		"kubectl": versioned("kubectl"), "containerd": versioned("containerd"), "curl": curl,
		"ping": ping, "nslookup": nslookup, "icacls": icacls,
		"tar": tarCommand, "msiexec": msiexec, "dism": dism, "sysprep": sysprep, "nssm": nssm, "nltest": nltest,
		"choice": choice, "more": more, "sort": sortWindows, "fc": fc, "taskkill": taskkill, "schtasks": schtasks,
	}
	for _, name := range []string{"w32tm", "wevtutil", "fsutil", "route", "certutil",
		"wmic", "bcdedit", "takeown", "powercfg", "gpupdate", "auditpol", "winrm", "compact", "tzutil", "logman"} {
		t[name] = noEffect
	}
	for _, name := range []string{"cacls", "diskpart", "sconfig", "help", "comp", "ftp", "clip", "tree", "label", "eventcreate", "runas",
		"gpresult", "sfc", "vssadmin", "typeperf", "mountvol", "klist", "pnputil", "doskey", "waitfor", "secedit",
		"driverquery", "qprocess", "query", "quser", "getmac", "netstat", "tracert", "pathping", "arp", "openfiles", "cscript", "wscript",
		"format", "chkdsk", "bitsadmin", "cipher", "expand", "makecab", "forfiles", "regsvr32", "rundll32", "subst", "replace", "print"} {
		t[name] = func(_ context.Context, p *Process) int { return p.Refuse("%s", p.name()) }
	}
	if strings.HasPrefix(image.Runtime, "docker") {
		t["docker"] = noEffect
		t["wins"] = noEffect
	}
	return t
}

// cmdInternals are the internal commands of cmd.exe that use files and streams.
var cmdInternals = Table{
	"type": typeFile, "dir": dir, "mkdir": makeDir, "md": makeDir, "del": del, "erase": del, "rmdir": removeDir,
	"rd": removeDir, "copy": copyWindows, "move": moveWindows, "ren": renameWindows, "rename": renameWindows,
	"mklink": makeLink,
}

func windowsReason(err error) string {
	switch {
	case errors.Is(err, guestfs.ErrDrive):
		return "The system cannot find the drive specified."
	case errors.Is(err, guestfs.ErrName):
		return "The filename, directory name, or volume label syntax is incorrect."
	case errors.Is(err, fs.ErrNotExist):
		return "The system cannot find the path specified."
	case errors.Is(err, fs.ErrPermission):
		return "Access is denied."
	}
	return "The system cannot find the file specified."
}

func ipconfig(ctx context.Context, p *Process) int {
	switch one := strings.ToLower(p.Arg(1)); {
	case one == "/flushdns":
		p.Printf("\r\nWindows IP Configuration\r\n\r\nSuccessfully flushed the DNS Resolver Cache.\r\n")
		return 0
	case one == "/registerdns" || one == "/renew" || one == "/release":
		return p.NoEffect(ctx, "ipconfig %s", one)
	case one != "" && one != "/all":
		return p.refuseAs(1, "ipconfig %s", one)
	}
	const width = 34 // the width of a label with its dots
	all := strings.EqualFold(p.Arg(1), "/all")
	line := func(label, text string) {
		dots := strings.Repeat(" .", width/2+1)[1-len(label)&1:]
		p.Printf("   %s%s: %s\r\n", label, dots[:width-len(label)], text)
	}
	p.Printf("\r\nWindows IP Configuration\r\n\r\n")
	if all {
		line("Host Name", p.Guest.ComputerName)
		p.Printf("\r\n")
	}
	p.Printf("Ethernet adapter %s:\r\n\r\n", p.Guest.Adapter())
	suffix := ""
	if len(p.Guest.Search) > 0 {
		suffix = p.Guest.Search[0]
	}
	line("Connection-specific DNS Suffix ", suffix)
	if all {
		line("Physical Address", strings.ToUpper(strings.ReplaceAll(p.Guest.MAC(), ":", "-")))
	}
	line("IPv4 Address", p.Guest.IP().String())
	if s := p.Guest.Subnet(); s.IsValid() {
		line("Subnet Mask", netip.PrefixFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), s.Bits()).Masked().Addr().String())
	}
	line("Default Gateway", gateway(p.Guest))
	if all {
		for i, server := range p.Guest.DNSServers() {
			if i == 0 {
				line("DNS Servers", server)
			} else {
				p.Printf("%39s%s\r\n", "", server)
			}
		}
	}
	return 0
}

func ver(_ context.Context, p *Process) int {
	p.Printf("\r\nMicrosoft Windows [Version %s] (simulated by casement)\r\n", p.Guest.Image.Build)
	return 0
}

func systeminfo(_ context.Context, p *Process) int {
	if len(p.Args) > 1 {
		return p.refuseAs(1, "systeminfo %s", p.Args[1])
	}
	p.Printf("\r\nHost Name:                 %s\r\nOS Name:                   %s\r\nOS Version:                "+
		"%s\r\nSystem Model:              Virtual Machine (simulated by "+
		"casement)\r\n", strings.ToUpper(p.Guest.ComputerName), p.Guest.Image.Name, p.Guest.Image.Build)
	return 0
}

// startSleep implements timeout.exe: [/t] SECONDS [/nobreak].
func startSleep(ctx context.Context, p *Process) int {
	o, kind, wrong := declare("t: nobreak").slashed(p.Args[1:])
	seconds, err := strconv.Atoi(strings.Join(append(o.operands, o.values("t")...), " "))
	switch {
	case kind == '?':
		return p.refuseAs(1, "timeout %s", wrong)
	case kind != 0 || err != nil:
		return p.Fail(1, "ERROR: Invalid syntax. Timeout value is required\r")
	}
	return pause(ctx, p, time.Duration(max(seconds, 0))*time.Second)
}

// runCmd implements cmd.exe /c LINE.
func runCmd(ctx context.Context, p *Process) int {
	delayed := false
	for i, a := range p.Args[1:] {
		switch low := strings.TrimSpace(strings.ToLower(a)); {
		case low == "":
		case low == "/c", low == "/k", low == "/r":
			return p.shell.cmd(ctx, strings.Join(p.Args[i+2:], " "),
				Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir}, delayed)
		case low == "/v:on", low == "/v":
			delayed = true
		case low == "/q", low == "/d", low == "/s", low == "/a", low == "/u", low == "/e:on", low == "/v:off":
		default:
			return p.Fail(1, "cmd: casement does not simulate %s\r", a)
		}
	}
	data, err := p.read("-")
	if err != nil {
		return 1
	}
	return p.shell.Cmd(ctx, string(data), Session{Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir})
}

func rebootWindows(_ context.Context, p *Process) int {
	if p.Args[0] == "shutdown" {
		restart := false
		for _, a := range p.Args[1:] {
			restart = restart || strings.EqualFold(strings.TrimLeft(a, "/-"), "r")
		}
		if !restart {
			return p.Fail(1, "powering off a guest from within is not simulated")
		}
	}
	p.Guest.RequestReboot()
	return 0
}

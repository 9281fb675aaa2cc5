package shell

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest/machine"
)

func windowsCommands(image machine.Image) Table {
	ok := func(context.Context, *Process) int { return 0 }
	t := Table{
		"hostname": hostname, "whoami": whoami, "ipconfig": ipconfig, "ver": ver, "systeminfo": systeminfo, "tasklist": tasklist,
		"type": typeFile, "get-content": getContent, "gc": getContent, "cat": getContent, "dir": dir, "ls": dir, "get-childitem": dir, "gci": dir,
		"mkdir": makeDir, "md": makeDir, "new-item": newItem, "ni": newItem, "test-path": testPathCommand, "del": del, "erase": del, "rmdir": del, "rd": del, "remove-item": del, "rm": del,
		"copy": copyWindows, "copy-item": copyWindows, "cp": copyWindows, "xcopy": copyWindows, "robocopy": copyWindows, "move": move, "move-item": move, "ren": move,
		"set-content": setContent, "out-file": setContent, "add-content": addContent, "write-host": write, "write-output": write, "write-error": ok, "echo": write,
		"start-sleep": startSleep, "timeout": startSleep, "get-date": getDate, "date": getDate, "findstr": grep, "where": which, "get-command": which,
		"get-service": getService, "start-service": serviceVerb, "stop-service": serviceVerb, "restart-service": serviceVerb, "set-service": setService, "sc": scExe, "net": net,
		"get-hnsnetwork": getHNS, "hnsdiag": hnsdiag, "new-hnsnetwork": newHNS, "get-netipinterface": getInterface, "set-netipinterface": setInterface, "netsh": netsh,
		"test-netconnection": testConnection, "tnc": testConnection, "get-netadapter": getAdapter, "get-netipaddress": ipconfig, "get-process": tasklist,
		"powershell": runPowerShell, "pwsh": runPowerShell, "cmd": runCmd, "shutdown": rebootWindows, "restart-computer": rebootWindows,
		"scp": scp, "ctr": quiet("ctr"), "crictl": crictl, "kubelet": quiet("kubelet"), "kubectl": quiet("kubectl"), "get-windowsfeature": write0("Containers Installed (simulated)"),
		"invoke-webrequest": refuseNetwork(1), "iwr": refuseNetwork(1), "wget": refuseNetwork(1), "curl": refuseNetwork(6), "invoke-restmethod": refuseNetwork(1), "irm": refuseNetwork(1), "start-bitstransfer": refuseNetwork(1), "ping": refuseNetwork(1),
	}
	for _, name := range []string{"add-mppreference", "set-mppreference", "ipmo", "import-module", "icacls", "attrib", "reg", "set-itemproperty", "new-itemproperty", "new-netfirewallrule", "set-netfirewallprofile", "set-executionpolicy", "w32tm", "wevtutil", "fsutil", "route", "new-netroute", "dism", "enable-windowsoptionalfeature", "install-windowsfeature", "certutil", "schtasks", "wmic", "net1", "bcdedit", "sc.failure", "disable-netadapterchecksumoffload", "setx"} {
		t[name] = noEffect
	}
	if image.ServiceManager == machine.NSSM {
		t["nssm"] = nssm
	}
	if strings.HasPrefix(image.Runtime, "docker") {
		t["docker"] = noEffect
		t["wins"] = noEffect
	}
	return t
}

func write0(text string) Command {
	return func(_ context.Context, p *Process) int { p.Printf("%s\r\n", text); return 0 }
}

func windowsReason(err error) string {
	switch {
	case errors.Is(err, machine.ErrDrive):
		return "The system cannot find the drive specified."
	case errors.Is(err, machine.ErrName):
		return "The filename, directory name, or volume label syntax is incorrect."
	case errors.Is(err, fs.ErrNotExist):
		return "The system cannot find the path specified."
	case errors.Is(err, fs.ErrPermission):
		return "Access is denied."
	}
	return "The system cannot find the file specified."
}

// operand returns the arguments that are no options; values of -Path and its like
// count, those of other options do not.
func operand(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if strings.HasPrefix(a, "/") && len(a) <= 3 {
			continue
		}
		if !strings.HasPrefix(a, "-") {
			out = append(out, a)
			continue
		}
		switch strings.ToLower(a) {
		case "-path", "-literalpath", "-name", "-filepath", "-destination", "-value", "-force", "-recurse", "-passthru", "-append", "-verbose", "-nonewline":
		default:
			i++
		}
	}
	return out
}

// option returns the value of -Name.
func option(args []string, name string) (string, bool) {
	for i, a := range args {
		if strings.EqualFold(a, name) && i+1 < len(args) {
			return args[i+1], true
		}
	}
	return "", false
}

func ipconfig(_ context.Context, p *Process) int {
	p.Printf("\r\nWindows IP Configuration\r\n\r\nEthernet adapter Ethernet:\r\n\r\n   Physical Address. . . . . . . . . : %s\r\n   IPv4 Address. . . . . . . . . . . : %s\r\n   Default Gateway . . . . . . . . . : %s\r\n",
		strings.ToUpper(strings.ReplaceAll(p.Guest.MAC(), ":", "-")), p.Guest.IP(), gateway(p.Guest))
	return 0
}

func ver(_ context.Context, p *Process) int {
	p.Printf("\r\nMicrosoft Windows [Version %s] (simulated by casement)\r\n", p.Guest.Image.Build)
	return 0
}

func systeminfo(_ context.Context, p *Process) int {
	p.Printf("\r\nHost Name:                 %s\r\nOS Name:                   %s\r\nOS Version:                %s\r\nSystem Model:              Virtual Machine (simulated by casement)\r\n", strings.ToUpper(p.Guest.ComputerName), p.Guest.Image.Name, p.Guest.Image.Build)
	return 0
}

func tasklist(_ context.Context, p *Process) int {
	p.Printf("Image Name                     PID\r\n")
	n := 1000
	for _, s := range p.Guest.Services.List() {
		if s.Running {
			p.Printf("%-30s %d\r\n", s.Name+".exe", n)
			n += 4
		}
	}
	return 0
}

func typeFile(_ context.Context, p *Process) int {
	for _, f := range operand(p.Args[1:]) {
		data, err := p.Guest.Root.ReadFile(p.Abs(f))
		if err != nil {
			return p.Fail(1, "%s", windowsReason(err))
		}
		p.Stdout.Write(data)
	}
	return 0
}

func dir(_ context.Context, p *Process) int {
	names := operand(p.Args[1:])
	if len(names) == 0 {
		names = []string{p.Dir}
	}
	for _, n := range names {
		at := p.Abs(n)
		info, err := p.Guest.Root.Stat(at)
		if err != nil {
			return p.Fail(1, "File Not Found")
		}
		p.Printf("\r\n Directory of %s\r\n\r\n", at)
		infos := []fs.FileInfo{info}
		if info.IsDir() {
			infos = nil
			entries, err := p.Guest.Root.ReadDir(at)
			if err != nil {
				return p.Fail(1, "%s", windowsReason(err))
			}
			for _, e := range entries {
				if i, err := e.Info(); err == nil {
					infos = append(infos, i)
				}
			}
		}
		for _, i := range infos {
			kind := strconv.FormatInt(i.Size(), 10)
			if i.IsDir() {
				kind = "<DIR>"
			}
			p.Printf("%s  %14s %s\r\n", i.ModTime().UTC().Format("01/02/2006  03:04 PM"), kind, i.Name())
		}
	}
	return 0
}

// makeDir makes parents too. As cmd.exe does, it takes every argument for a
// directory, -p as well.
func makeDir(_ context.Context, p *Process) int {
	if len(p.Args) < 2 {
		return p.Fail(1, "The syntax of the command is incorrect.")
	}
	for _, d := range p.Args[1:] {
		// A forward slash starts an option, which mkdir has none of.
		if strings.HasPrefix(d, "/") || (strings.Contains(d, "/") && !strings.Contains(d, ":")) {
			return p.Fail(1, "The syntax of the command is incorrect.")
		}
		if p.Guest.Root.Exists(p.Abs(d)) {
			return p.Fail(1, "A subdirectory or file %s already exists.", d)
		}
		if err := p.Guest.Root.MkdirAll(p.Abs(d)); err != nil {
			return p.Fail(1, "%s", windowsReason(err))
		}
	}
	return 0
}

func newItem(_ context.Context, p *Process) int {
	name, ok := option(p.Args, "-Path")
	if base, has := option(p.Args, "-Name"); has {
		name, ok = name+`\`+base, true
	}
	if !ok {
		if ops := operand(p.Args[1:]); len(ops) > 0 {
			name, ok = ops[0], true
		}
	}
	if !ok {
		return p.Fail(1, "New-Item : a path is needed")
	}
	at := p.Abs(name)
	if kind, _ := option(p.Args, "-ItemType"); strings.HasPrefix(strings.ToLower(kind), "d") {
		if err := p.Guest.Root.MkdirAll(at); err != nil {
			return p.Fail(1, "New-Item : %s", windowsReason(err))
		}
		return 0
	}
	value, _ := option(p.Args, "-Value")
	if err := p.Guest.Root.WriteFile(at, []byte(value), 0o644); err != nil {
		return p.Fail(1, "New-Item : %s", windowsReason(err))
	}
	return 0
}

func testPathCommand(_ context.Context, p *Process) int {
	there := "False"
	for _, f := range operand(p.Args[1:]) {
		if p.Guest.Root.Exists(p.Abs(f)) {
			there = "True"
		}
	}
	p.Printf("%s\r\n", there)
	return 0
}

func del(_ context.Context, p *Process) int {
	for _, f := range operand(p.Args[1:]) {
		if !p.Guest.Root.Exists(p.Abs(f)) {
			return p.Fail(1, "Could Not Find %s", p.Abs(f))
		}
		if err := p.Guest.Root.RemoveAll(p.Abs(f)); err != nil {
			return p.Fail(1, "%s", windowsReason(err))
		}
	}
	return 0
}

func copyWindows(_ context.Context, p *Process) int {
	args := operand(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(1, "The syntax of the command is incorrect.")
	}
	from, to := p.Abs(args[0]), p.Abs(args[1])
	if p.Guest.Root.IsDir(to) && !p.Guest.Root.IsDir(from) {
		parts := strings.Split(from, `\`)
		to = p.Guest.Root.Abs(to, parts[len(parts)-1])
	}
	if err := copyTree(p, from, to); err != nil {
		return p.Fail(1, "%s", windowsReason(err))
	}
	p.Printf("        1 file(s) copied.\r\n")
	return 0
}

func setContent(_ context.Context, p *Process) int { return content(p, p.Guest.Root.WriteFile) }
func addContent(_ context.Context, p *Process) int { return content(p, p.Guest.Root.AppendFile) }

func content(p *Process, put func(string, []byte, fs.FileMode) error) int {
	args := operand(p.Args[1:])
	if len(args) < 2 {
		return p.Fail(1, "%s : a path and a value are needed; pipelines are not simulated", p.Args[0])
	}
	if err := put(p.Abs(args[0]), []byte(strings.Join(args[1:], " ")+"\r\n"), 0o644); err != nil {
		return p.Fail(1, "%s", windowsReason(err))
	}
	return 0
}

func write(_ context.Context, p *Process) int {
	p.Printf("%s\r\n", strings.Join(operand(p.Args[1:]), " "))
	return 0
}

func startSleep(ctx context.Context, p *Process) int {
	d := time.Second
	for _, a := range p.Args[1:] {
		if n, err := strconv.ParseFloat(a, 64); err == nil {
			d = time.Duration(n * float64(time.Second))
		}
	}
	return pause(ctx, p, d)
}

func getDate(_ context.Context, p *Process) int {
	p.Printf("%s\r\n", p.Guest.Clock.Now().UTC().Format("Monday, January 2, 2006 3:04:05 PM"))
	return 0
}

func getAdapter(_ context.Context, p *Process) int {
	p.Printf("Name       InterfaceDescription              Status  MacAddress\r\nEthernet   Microsoft Hyper-V Network Adapter  Up      %s\r\n", strings.ToUpper(strings.ReplaceAll(p.Guest.MAC(), ":", "-")))
	return 0
}

// runCmd is cmd.exe /c LINE.
func runCmd(ctx context.Context, p *Process) int {
	for i, a := range p.Args {
		if strings.EqualFold(a, "/c") || strings.EqualFold(a, "/k") {
			return p.shell.Cmd(ctx, strings.Join(p.Args[i+1:], " "), Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir})
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

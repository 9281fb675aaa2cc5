package shell

import (
	"context"
	"strings"
)

// runPowerShell is powershell.exe: FILE, -File FILE, -Command TEXT or
// -EncodedCommand BASE64 (UTF-16).
func runPowerShell(ctx context.Context, p *Process) int {
	o := Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir}
	args := p.Args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag := strings.ToLower(args[0][1:])
		args = args[1:]
		switch {
		case flag == "" || flag == "noprofile" || flag == "nop" || flag == "noninteractive" || flag == "nologo" || flag == "mta" || flag == "sta":
		case flag == "version" || flag == "v":
			p.Printf("5.1 (simulated by casement)\r\n")
			return 0
		case strings.HasPrefix("encodedcommand", flag) && flag != "e" || flag == "ec" || flag == "e" || flag == "enc":
			script, err := decodeCommand(strings.Join(args, ""))
			if err != nil {
				return p.Fail(1, "Cannot process the command because the value specified with -EncodedCommand is not properly encoded.")
			}
			return p.shell.PowerShell(ctx, script, o)
		case strings.HasPrefix("command", flag):
			return p.shell.PowerShell(ctx, strings.Join(args, " "), o)
		case strings.HasPrefix("file", flag):
			return runFile(ctx, p, args, o)
		default: // -ExecutionPolicy and its like take a value
			if len(args) > 0 {
				args = args[1:]
			}
		}
	}
	if len(args) == 0 {
		script, err := p.read("-")
		if err != nil {
			return 1
		}
		o.Stdin = nil
		return p.shell.PowerShell(ctx, string(script), o)
	}
	return p.shell.PowerShell(ctx, strings.Join(args, " "), o)
}

func runFile(ctx context.Context, p *Process, args []string, o Session) int {
	if len(args) == 0 || !p.Guest.Root.Exists(p.Abs(args[0])) {
		return p.Fail(-196608, "The argument '%s' to the -File parameter does not exist.", strings.Join(args, " "))
	}
	ps := &powershell{shell: p.shell, o: p.shell.complete(o)}
	ps.file(ctx, args)
	return ps.code
}

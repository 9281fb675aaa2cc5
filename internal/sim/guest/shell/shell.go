// Package shell runs scripts in a simulated guest: POSIX sh and bash on Linux, batch and PowerShell on Windows.
// Commands are Go functions in a table: no program is executed on the real machine, and only files of the guest's
// tree are used. A command that is not in the table fails as in the real shell. Only the packages below
// internal/sim/guest and the commands that a host registers import it.
package shell

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/guest/machine"
)

// Process is one run of a command.
type Process struct {
	// Args are the command's name and its arguments.
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    map[string]string
	// Dir is the current directory, a guest path.
	Dir   string
	Guest *machine.Machine

	shell *Shell
	// line is the command line from cmd.exe with its quotes; "" from other callers.
	line string
	// posix is set for a process of dash, whose builtins differ from bash's.
	posix bool
	// isSet reports whether the calling shell has a variable, and isOn whether an option of it is on.
	isSet, isOn func(name string) bool
	// fds are the descriptors of the calling shell, and where is the shell's name with the line, for errors.
	fds   map[int]*shFile
	where string
	// skipped is the time that waits of the run skipped.
	skipped *atomic.Int64
	// meter counts the resources that the run uses.
	meter *limit.Meter
	// cut is set if nothing reads the output of the process, and lost if the program does not exist.
	cut, lost bool
}

// bash reports whether the shell that runs the process is bash.
func (p *Process) bash() bool { return !p.posix }

// Abs returns a guest path as an absolute path, relative to the process's directory. On Linux, .. after a link is the
// parent of the link's target.
func (p *Process) Abs(name string) string {
	if strings.Contains(name, "..") && !p.Guest.IsWindows() {
		parts := strings.Split(name, "/")
		for n, part := range slices.Backward(parts) {
			if part == ".." {
				return path.Join(p.resolve(strings.Join(parts[:n+1], "/"), 0), strings.Join(parts[n+1:], "/"))
			}
		}
	}
	return p.Guest.Root.Abs(p.Dir, name)
}

// Arg returns Args[i], or "".
func (p *Process) Arg(i int) string {
	if i < len(p.Args) {
		return p.Args[i]
	}
	return ""
}

// Printf writes to standard output. A failed write is ignored, because it means that nothing reads the output.
func (p *Process) Printf(format string, a ...any) {
	p.meter.Step()
	fmt.Fprintf(p.Stdout, format, a...)
}

// Fail writes a line to standard error and returns code.
func (p *Process) Fail(code int, format string, a ...any) int {
	fmt.Fprintf(p.Stderr, format+"\n", a...)
	return code
}

// Command is a program of the guest. It returns the exit code.
type Command func(ctx context.Context, p *Process) int

// Table has commands by name, in lower case and without .exe.
type Table map[string]Command

// Session has the input, output and settings of a script. The zero value has no input, discards the output, and uses
// the agent's directory and environment.
type Session struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    map[string]string
	Dir    string
	// Name is the script's name in errors, and Args are its arguments.
	Name string
	Args []string
	// Options are shell commands that run before the script, such as set -e.
	Options string
	// User is the user that runs the script; empty means root or SYSTEM.
	User string
	// EchoOff starts a batch file with echo off.
	EchoOff bool
	// Inherits means that Env is the whole environment, inherited from a process.
	Inherits bool
	// Failed is called for each line of the script itself that fails outside a condition,
	// from the goroutine that runs the script. It may be nil.
	Failed func(Failure)
}

// Shell runs scripts in one guest. It is safe for use from several goroutines.
type Shell struct {
	guest    *machine.Machine
	commands Table
	web      http.RoundTripper
	// speed is the number of seconds of the guest's waits that pass in one real second.
	speed float64
	// locks are the files that descriptors have locked, by path.
	locks sync.Map
}

// New returns a shell with the commands of the guest's image; a command of host replaces the one of the same name.
// web sends the guest's HTTP requests; nil makes them fail.
func New(m *machine.Machine, host Table, web http.RoundTripper) *Shell {
	table := linuxCommands()
	if m.IsWindows() {
		table = windowsCommands(m.Image)
	}
	maps.Copy(table, host)
	return &Shell{guest: m, commands: table, web: web, speed: cmp.Or(m.Speed, defaultSpeed)}
}

// On returns the shell of a view of the machine, which sends its HTTP requests with web.
func (s *Shell) On(view *machine.Machine, web http.RoundTripper) *Shell {
	return &Shell{guest: view, commands: s.commands, web: web, speed: cmp.Or(view.Speed, defaultSpeed)}
}

// complete returns a session with defaults for the fields that are not set.
func (s *Shell) complete(o Session) Session {
	if o.Stdin == nil {
		o.Stdin = noInput{}
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	env := map[string]string{}
	if s.guest.IsWindows() {
		user := o.User
		if user == "" {
			user = "cloudbase-init"
		}
		if domain, name, has := strings.Cut(user, `\`); has {
			env["USERDOMAIN"], user = domain, name
		}
		maps.Copy(env, map[string]string{
			"COMPUTERNAME": strings.ToUpper(s.guest.ComputerName), "SYSTEMDRIVE": "C:", "SYSTEMROOT": `C:\Windows`, "WINDIR": `C:\Windows`,
			"TEMP": `C:\Windows\Temp`, "TMP": `C:\Windows\Temp`, "USERNAME": user, "USERPROFILE": `C:\Users\` + user,
			"PROGRAMFILES": `C:\Program Files`, "PROGRAMDATA": `C:\ProgramData`, "PATH": s.guest.SearchPath(), "OS": "Windows_NT",
			"COMSPEC": `C:\Windows\system32\cmd.exe`, "HOMEDRIVE": "C:", "PROCESSOR_ARCHITECTURE": "AMD64",
			"NUMBER_OF_PROCESSORS": "2", "PATHEXT": ".COM;.EXE;.BAT;.CMD;.VBS;.VBE;.JS;.JSE;.WSF;.WSH;.MSC", "PUBLIC": `C:\Users\Public`,
			"ALLUSERSPROFILE": `C:\ProgramData`, "HOMEPATH": `\Users\` + user, "APPDATA": `C:\Users\` + user + `\AppData\Roaming`,
			"LOCALAPPDATA": `C:\Users\` + user + `\AppData\Local`, "PROGRAMFILES(X86)": `C:\Program Files (x86)`,
			"PROGRAMW6432": `C:\Program Files`, "COMMONPROGRAMFILES": `C:\Program Files\Common Files`,
		})
		if o.Dir == "" {
			o.Dir = `C:\Windows\System32`
		}
	} else {
		user := o.User
		if user == "" {
			user = "root"
		}
		maps.Copy(env, map[string]string{
			"HOME": s.guest.Home(user), "USER": user, "LOGNAME": user, "HOSTNAME": s.guest.Hostname(),
			"SHELL": "/bin/bash", "LANG": "C.UTF-8",
			"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		})
		if o.Dir == "" {
			o.Dir = "/"
		}
	}
	if !o.Inherits {
		maps.Copy(env, o.Env)
		o.Env = env
	}
	return o
}

// Run runs a script in the default shell of the OS: bash on Linux, PowerShell on Windows. A Windows command line that
// begins with a shell (powershell.exe -Command ...) runs as from cmd.exe, so that its exit code does not change; scp
// does too, because its input and output are binary.
func (s *Shell) Run(ctx context.Context, script string, o Session) int {
	if !s.guest.IsWindows() {
		return s.Bash(ctx, script, o)
	}
	switch strings.TrimSuffix(strings.ToLower(firstWord(script)), ".exe") {
	case "powershell", "pwsh", "cmd", "scp":
		return s.Cmd(ctx, script, o)
	}
	return s.PowerShellCommand(ctx, script, o)
}

// Exec runs one program with its arguments, without a shell. found is false if the guest has no such program.
func (s *Shell) Exec(ctx context.Context, argv []string, o Session) (code int, found bool) {
	command := s.find(argv[0])
	if command == nil {
		return 0, false
	}
	o = s.complete(o)
	return s.start(ctx, command, &Process{Args: argv, Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Env: o.Env, Dir: o.Dir}), true
}

// find returns the command of a name or of the path of a program of the image, or nil.
func (s *Shell) find(name string) Command {
	if s.lacks(name) {
		return nil
	}
	if !s.guest.IsWindows() {
		if c := s.commands[name]; c != nil {
			return c
		}
		return s.commands[path.Base(name)]
	}
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	base = strings.TrimSuffix(base, ".exe")
	return s.commands[base]
}

// start runs a command of the table and returns its exit code.
func (s *Shell) start(ctx context.Context, c Command, p *Process) int {
	p.shell, p.Guest, p.skipped = s, s.guest, skippedTime(ctx)
	if ctx.Err() != nil { // a program that starts others cannot do so after the end
		return killedCode
	}
	if err := s.counted(ctx); err != nil {
		return p.Fail(137, "%s: %v", p.Args[0], err)
	}
	p.meter = s.guest.Usage.Meter(ctx)
	defer p.meter.Close()
	return s.contained(p.name(), p.Stderr, func() (code int) {
		if err := p.meter.Run(func() { code = c(ctx, p) }); err != nil {
			return p.Fail(killedCode, "%s: %v", p.name(), err)
		}
		if p.cut {
			return pipeCode
		}
		return code
	})
}

// killedCode is the exit code of a program that was killed: 128 and the number of SIGKILL.
const killedCode = 137

// contained runs a part of the guest and contains its panics, which it reports on stderr.
func (s *Shell) contained(name string, stderr io.Writer, run func() int) (code int) {
	if p := s.guest.Wall.Call(name, func() { code = run() }); p != nil {
		fmt.Fprintf(stderr, "%v\n", p)
		return contain.ExitCode
	}
	return code
}

// noInput is an empty standard input. It has no state, so that several programs may read it at the same time.
type noInput struct{}

// Read implements io.Reader.
func (noInput) Read([]byte) (int, error) { return 0, io.EOF }

package shell

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/powershell"
)

// PowerShell runs a script as powershell.exe -File does. It returns the code of exit, 1 if an error ended the script,
// or 0.
func (s *Shell) PowerShell(ctx context.Context, script string, o Session) int {
	return s.inPowerShell(ctx, script, o, (*powershell.Shell).File)
}

// PowerShellCommand runs a script as powershell.exe -Command does: it also returns 1 if the last statement failed.
func (s *Shell) PowerShellCommand(ctx context.Context, script string, o Session) int {
	return s.inPowerShell(ctx, script, o, (*powershell.Shell).Command)
}

func (s *Shell) inPowerShell(ctx context.Context, script string, o Session, run func(*powershell.Shell, context.Context, string) int) int {
	o = s.complete(o)
	return s.contained("powershell.exe", o.Stderr, func() int {
		ctx, leave, err := s.enter(ctx, script, o.Stderr)
		defer leave()
		if err != nil {
			return (&Process{Stderr: o.Stderr}).Fail(1, "%v\r", err)
		}
		ps := s.powershell(ctx, o)
		defer ps.Close()
		return run(ps, ctx, script)
	})
}

// powershell returns a PowerShell for a complete session.
func (s *Shell) powershell(ctx context.Context, o Session) *powershell.Shell {
	return powershell.New(s.guest, psHost{s}, powershell.Session{
		Stdin: o.Stdin, Stdout: s.writer(ctx, o.Stdout), Stderr: s.writer(ctx, o.Stderr), Env: o.Env, Dir: o.Dir,
		File: o.Name, Args: o.Args, User: o.User,
		Marks: marksOf(ctx, o.Stderr),
	})
}

// psHost gives PowerShell access to the guest's programs and network.
type psHost struct{ s *Shell }

// Start implements powershell.Host. A batch file runs in cmd.exe.
func (h psHost) Start(ctx context.Context, p *powershell.Program) (int, bool) {
	one := &Process{Args: p.Args, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir, Guest: h.s.guest, shell: h.s}
	if isBatchFile(strings.ToLower(p.Args[0])) {
		data, err := h.s.guest.Root.ReadFile(one.Abs(p.Args[0]))
		if err != nil {
			return 0, false
		}
		o := Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir, Name: one.Abs(p.Args[0]), Args: p.Args[1:]}
		return h.s.Batch(ctx, string(data), o), true
	}
	c := h.s.find(p.Args[0])
	if c == nil || !h.s.reachable(one) {
		return 0, false
	}
	return h.s.start(ctx, c, one), true
}

// Has implements powershell.Host.
func (h psHost) Has(name string) (string, bool) {
	if h.s.find(name) == nil || !h.s.reachable(&Process{Args: []string{name}, Dir: `C:\`, Guest: h.s.guest}) {
		return "", false
	}
	return programPath(h.s.guest, name), true
}

// Ask implements powershell.Host.
func (h psHost) Ask(ctx context.Context, r powershell.Request) (powershell.Answer, error) {
	if h.s.web == nil {
		return powershell.Answer{}, errNoNetwork
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return powershell.Answer{}, err
	}
	for k, v := range r.Headers {
		req.Header.Set(k, v)
	}
	resp, err := h.s.web.RoundTrip(req)
	if err != nil {
		return powershell.Answer{}, err
	}
	defer resp.Body.Close()
	a := powershell.Answer{Status: resp.StatusCode, Headers: map[string]string{}}
	for k := range resp.Header {
		a.Headers[k] = resp.Header.Get(k)
	}
	a.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return a, err
}

// Sleep implements powershell.Host.
func (h psHost) Sleep(ctx context.Context, d time.Duration) (time.Duration, error) {
	pause(ctx, &Process{Guest: h.s.guest, shell: h.s}, d)
	return d - h.s.real(d), ctx.Err()
}

// Enter implements powershell.Host.
func (h psHost) Enter(ctx context.Context, script string) (context.Context, func(), error) {
	return h.s.enter(ctx, script, io.Discard)
}

// Overrun implements powershell.Host.
func (h psHost) Overrun(reason string) { h.s.guest.Overrun(reason) }

// programPath returns the path of a program on the Windows image.
func programPath(m *machine.Machine, name string) string {
	plain := strings.TrimSuffix(strings.ToLower(name[strings.LastIndexAny(name, `\/`)+1:]), ".exe")
	if strings.ContainsAny(name, `\/`) {
		return m.Root.Abs(`C:\`, name)
	}
	switch plain {
	case "powershell":
		return `C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe`
	case "ssh", "scp", "sftp":
		return `C:\Windows\System32\OpenSSH\` + plain + ".exe"
	}
	if folder := nodeProgram(plain); folder != "" {
		return folder + `\` + plain + ".exe"
	}
	return `C:\Windows\System32\` + plain + ".exe"
}

// runPowerShell implements powershell.exe: FILE, -File FILE, -Command TEXT or -EncodedCommand BASE64 (UTF-16).
func runPowerShell(ctx context.Context, p *Process) int {
	o := Session{Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: p.Env, Dir: p.Dir}
	args := p.Args[1:]
	for len(args) > 0 && (strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "/")) {
		if args[0] == "-" {
			return p.readScript(ctx, o)
		}
		flag := strings.ToLower(args[0][1:])
		args = args[1:]
		switch {
		case flag == "?" || flag == "h" || flag == "help":
			return p.Fail(1, "powershell: casement does not simulate the help of powershell.exe\r")
		case isFlag(flag, "noprofile", 3), isFlag(flag, "noninteractive", 4), isFlag(flag, "nologo", 3),
			isFlag(flag, "noexit", 3), flag == "mta", flag == "sta":
		case isFlag(flag, "encodedcommand", 1) || flag == "ec":
			script, err := powershell.DecodeCommand(strings.Join(args[:min(1, len(args))], ""))
			if err != nil {
				return p.Fail(1, "Cannot process the command because the value specified with -EncodedCommand "+
					"is not properly encoded. The value must be Base64 encoded.\r")
			}
			return p.shell.PowerShellCommand(ctx, script, o)
		case isFlag(flag, "command", 1):
			if len(args) == 1 && args[0] == "-" {
				return p.readScript(ctx, o)
			}
			return p.shell.PowerShellCommand(ctx, strings.Join(args, " "), o)
		case isFlag(flag, "file", 1):
			return runFile(ctx, p, args, o)
		case isFlag(flag, "executionpolicy", 2), flag == "ep", isFlag(flag, "windowstyle", 1),
			isFlag(flag, "outputformat", 1), isFlag(flag, "inputformat", 1), isFlag(flag, "version", 1),
			isFlag(flag, "psconsolefile", 1), isFlag(flag, "workingdirectory", 2):
			if len(args) == 0 {
				return p.Fail(1, "Cannot process the command because of a missing parameter. A value must follow -%s.\r", flag)
			}
			args = args[1:]
		default: // an unknown word begins a command
			return p.shell.PowerShellCommand(ctx, strings.Join(append([]string{"-" + flag}, args...), " "), o)
		}
	}
	if len(args) == 0 {
		return p.readScript(ctx, o)
	}
	return p.shell.PowerShellCommand(ctx, strings.Join(args, " "), o)
}

// isFlag reports whether a flag is the name of a parameter or a prefix of at least least characters.
func isFlag(flag, name string, least int) bool {
	return len(flag) >= least && strings.HasPrefix(name, flag)
}

// readScript runs the script in standard input.
func (p *Process) readScript(ctx context.Context, o Session) int {
	script, err := p.read("-")
	if err != nil {
		return 1
	}
	o.Stdin = nil
	return p.shell.PowerShellCommand(ctx, string(script), o)
}

// runFile implements -File. For a missing file it returns the exit code of Windows.
func runFile(ctx context.Context, p *Process, args []string, o Session) int {
	if len(args) == 0 {
		return p.Fail(1, "The -File parameter requires a file path.\r")
	}
	o.Name, o.Args = p.Abs(args[0]), args[1:]
	data, err := p.Guest.Root.ReadAtMost(o.Name, maxScript)
	if err != nil {
		return p.Fail(-196608, "The argument '%s' to the -File parameter does not exist. Provide the path to an "+
			"existing '.ps1' file as an argument to the -File parameter.\r", args[0])
	}
	if !strings.EqualFold(o.Name[max(len(o.Name)-4, 0):], ".ps1") {
		return p.Fail(-196608, "Processing -File '%s' failed because the file does not have a '.ps1' extension. "+
			"Specify a valid Windows PowerShell script file name, and then try again.\r", args[0])
	}
	return p.shell.PowerShell(ctx, powershell.Text(data), o)
}

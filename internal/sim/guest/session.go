package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/sim/guest/shell"
)

// pipe copies between ch and conn in both directions until both have ended.
func (g *Guest) pipe(ctx context.Context, ch ssh.Channel, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { conn.Close(); ch.Close() })
	defer stop()
	var wg sync.WaitGroup
	g.m.Wall.Go(&wg, "sshd", func() {
		_, _ = io.Copy(conn, ch) // an error ends the copy as the end of the data does
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // the peer may be gone
		} else {
			conn.Close()
		}
	})
	_, _ = io.Copy(ch, conn)
	_ = ch.CloseWrite()
	wg.Wait()
}

// session is one channel of a logged-in user: a command, a shell or SFTP.
func (g *Guest) session(ctx context.Context, user string, nc ssh.NewChannel) {
	ch, requests, err := nc.Accept()
	if err != nil {
		return
	}
	defer ch.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // when the client is gone, its command ends
	var terminal *tty
	started := false
	run := func(f func() int) {
		started = true
		g.m.Wall.Go(&wg, "sshd", func() {
			code := contain.ExitCode
			g.m.Wall.Call("sshd", func() { code = f() })
			_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(code)})) // an error means that the client is gone
			ch.Close()
		})
	}
	for req := range requests {
		ok := true
		var program func() int
		switch {
		case req.Type == "pty-req" && !started:
			terminal = newTTY(ch, g.m.Wall)
			resize(terminal, req)
		case req.Type == "window-change":
			resize(terminal, req)
		case req.Type == "env":
		case started:
			ok = false
		case req.Type == "exec":
			var cmd struct{ Line string }
			if ok = ssh.Unmarshal(req.Payload, &cmd) == nil; ok {
				program = func() int { return g.command(ctx, user, cmd.Line, ch, terminal) }
			}
		case req.Type == "shell":
			program = func() int { return g.login(ctx, user, "", ch, terminal) }
		case req.Type == "subsystem" && strings.HasSuffix(string(req.Payload), "sftp"):
			program = func() int { return g.sftp(user, ch) }
		default:
			ok = false
		}
		if req.WantReply {
			_ = req.Reply(ok, nil) // an error means that the client is gone
		}
		if program != nil { // after the reply: the end of the program closes the channel
			run(program)
		}
	}
}

// resize sets the size of a terminal, if there is one, from a request of either kind (RFC
// 4254 sections 6.2 and 6.7).
func resize(terminal *tty, r *ssh.Request) {
	var pty struct {
		Kind                         string
		Columns, Rows, Width, Height uint32
		Modes                        string
	}
	var change struct{ Columns, Rows, Width, Height uint32 }
	if terminal == nil {
		return
	}
	if r.Type == "window-change" && ssh.Unmarshal(r.Payload, &change) == nil {
		pty.Columns, pty.Rows = change.Columns, change.Rows
	} else if ssh.Unmarshal(r.Payload, &pty) != nil {
		return
	}
	const most = 1000
	if pty.Columns > 0 && pty.Columns <= most && pty.Rows <= most {
		_ = terminal.SetSize(int(pty.Columns), int(pty.Rows)) // redraws; the client may be gone
	}
}

func (g *Guest) shellOf(user string) shell.Session {
	return shell.Session{User: user, Dir: g.m.Home(user)}
}

// command runs a command line of a session and returns its exit code. On a terminal, a shell without a command reads
// lines and edits them; any other program reads whole lines, and Ctrl-C ends it.
func (g *Guest) command(ctx context.Context, user, line string, ch ssh.Channel, terminal *tty) int {
	o := g.shellOf(user)
	o.Stdin, o.Stdout, o.Stderr = ch, ch, ch.Stderr()
	if terminal == nil {
		return g.sh.Run(ctx, line, o)
	}
	if program, ok := g.sh.TakesLines(strings.Fields(line)); ok {
		return g.login(ctx, user, program, ch, terminal)
	}
	o.Stdin, o.Stdout, o.Stderr = &typedLines{terminal: terminal}, terminal, terminal
	ctx, finish := terminal.keys.command(ctx)
	defer finish()
	return g.sh.Run(ctx, line, o)
}

// login runs a shell that reads lines, with line editing on a terminal. program is the name of the shell; empty means
// the default shell of the system.
func (g *Guest) login(ctx context.Context, user, program string, ch ssh.Channel, terminal *tty) int {
	return interact(ctx, g.sh, program, g.shellOf(user), ch, ch.Stderr(), terminal, g.m.Image.Name)
}

// interact runs a shell over a stream until the user leaves it. A nil terminal means lines without editing. what is
// the name of the guest that a terminal shows.
func interact(ctx context.Context, sh *shell.Shell, program string, o shell.Session, stream io.ReadWriter, errOut io.Writer,
	terminal *tty, what string) int {
	out := io.Writer(stream)
	readLine := plainLines(stream)
	if terminal != nil {
		out, errOut = terminal, terminal
		readLine = terminal.ReadLine
		fmt.Fprintf(out, "%s\n(simulated by casement: commands run on no real machine)\n", what)
	}
	o.Stdout, o.Stderr = out, errOut
	session, err := sh.Interactive(program, o)
	if err != nil {
		fmt.Fprintf(errOut, "%v\n", err)
		return 1
	}
	open := []*shell.Interactive{session} // the last shell reads the lines
	defer func() {
		for _, s := range open {
			s.Close()
		}
	}()
	code := 0
	for {
		at := open[len(open)-1]
		if terminal != nil {
			terminal.SetPrompt(at.Prompt())
		}
		line, err := readLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return code
		}
		if within, ok := at.Within(line); ok && len(open) < mostShells {
			open = append(open, within)
			continue
		}
		one, finish := ctx, func() {}
		if terminal != nil {
			one, finish = terminal.keys.command(ctx)
		}
		var done bool
		code, done = at.Line(one, line)
		finish()
		if done && len(open) == 1 {
			return code
		}
		if done {
			at.Close()
			open = open[:len(open)-1]
		}
	}
}

// mostShells bounds the nested shells of a session.
const mostShells = 16

// typedLines is a program's input from a terminal: whole lines.
type typedLines struct {
	terminal *tty
	rest     string
}

// Read implements io.Reader.
func (l *typedLines) Read(b []byte) (int, error) {
	if l.rest == "" {
		line, err := l.terminal.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return 0, err
		}
		l.rest = line + "\n"
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// plainLines returns a function that reads the next line of r and does not consume the bytes after it.
func plainLines(r io.Reader) func() (string, error) {
	return func() (string, error) {
		var line []byte
		var b [1]byte
		for {
			n, err := r.Read(b[:])
			if n == 1 && b[0] == '\n' {
				return strings.TrimSuffix(string(line), "\r"), nil
			}
			line = append(line, b[:n]...)
			if err != nil {
				if len(line) > 0 {
					return string(line), nil
				}
				return "", err
			}
		}
	}
}

func (g *Guest) sftp(user string, ch ssh.Channel) int {
	t := &tree{g.m}
	w := recoveringTree{t}
	server := sftp.NewRequestServer(open{ch}, sftp.Handlers{FileGet: w, FilePut: w, FileCmd: w, FileList: w},
		sftp.WithStartDirectory(t.wire(g.m.Home(user))))
	defer server.Close()
	if err := server.Serve(); err != nil && !errors.Is(err, io.EOF) {
		return 1
	}
	return 0
}

// open is a channel that the SFTP server cannot close: scp waits for the exit status after the last file.
type open struct{ ssh.Channel }

// Close does nothing; the session closes its channel.
func (open) Close() error { return nil }

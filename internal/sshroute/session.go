package sshroute

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
)

// Terminal describes the user's terminal to a session.
type Terminal struct {
	// Kind is the terminal's type, the value of TERM.
	Kind string
	Size
	// Resized receives new sizes; it may be nil.
	Resized <-chan Size
}

// Size is the size of a terminal, in characters.
type Size struct{ Width, Height int }

// Run runs command on the machine, or a shell if it is empty, and returns its exit code; it
// requests a terminal unless the last argument is nil.
func Run(ctx context.Context, c *ssh.Client, command string, terminal *Terminal, in io.Reader, out, errOut io.Writer) (int, error) {
	s, err := c.NewSession()
	if err != nil {
		return 0, fmt.Errorf("open a session: %w", err)
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	s.Stdout, s.Stderr = out, errOut
	// This pipe is used because a Session that reads Stdin itself would wait for the user's next line after the command has ended.
	stdin, err := s.StdinPipe()
	if err != nil {
		return 0, fmt.Errorf("open a session: %w", err)
	}
	if terminal != nil {
		if err := s.RequestPty(terminal.Kind, terminal.Height, terminal.Width, ssh.TerminalModes{}); err != nil {
			return 0, fmt.Errorf("ask for a terminal: %w", err)
		}
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			for {
				select {
				case size := <-terminal.Resized:
					_ = s.WindowChange(size.Height, size.Width) // a wrong size is no reason to end the session
				case <-ended:
					return
				}
			}
		}()
	}
	if command == "" {
		err = s.Shell()
	} else {
		err = s.Start(command)
	}
	if err != nil {
		return 0, fmt.Errorf("start %q: %w", command, err)
	}
	go func() {
		_, _ = io.Copy(stdin, in) // the command sees the end of its input in either case
		_ = stdin.Close()
	}()
	err = s.Wait()
	if exit, ok := errors.AsType[*ssh.ExitError](err); ok {
		return exit.ExitStatus(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("connection lost before the command ended: %w", errors.Join(err, ctx.Err()))
	}
	return 0, nil
}

// Output runs a command without input and returns its exit code. The end of ctx
// ends the command's session, not the login.
func Output(ctx context.Context, c *ssh.Client, command string, out, errOut io.Writer) (int, error) {
	s, err := c.NewSession()
	if err != nil {
		return 0, fmt.Errorf("open a session: %w", err)
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	s.Stdout, s.Stderr = out, errOut
	err = s.Run(command)
	if exit, ok := errors.AsType[*ssh.ExitError](err); ok {
		return exit.ExitStatus(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("run %q: %w", command, errors.Join(err, ctx.Err()))
	}
	return 0, nil
}

package ssh

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal runs the command lines from both forms of the Windows guide in a terminal, as a user
// types them.
func (s *site) terminal(t *testing.T) {
	for name, line := range map[string]string{"a login": guideSSH, "powershell.exe": guideSSH + " powershell.exe"} {
		t.Run(name, func(t *testing.T) { s.typed(t, line) })
	}
}

func (s *site) typed(t *testing.T, line string) {
	user, far := openTerminal(t)
	ctx, cancel := context.WithTimeout(t.Context(), sessionTimeout)
	defer cancel()
	c := s.command(ctx, line)
	c.Stdin, c.Stdout, c.Stderr = far, far, far
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	far.Close()
	screen := &screen{}
	screen.grown = sync.NewCond(&screen.mu)
	go screen.read(user)
	screen.await(t, `PS C:\Users\capi> `)
	for _, step := range []struct{ keys, want string }{
		{"cd C:\\k\r", `PS C:\k> `},
		{"hostnamex\x7f\r", s.windowsName}, // the terminal handles the backspace
		{"echo never run\x03", `PS C:\k> `},
		{"Set-Content C:\\k\\grows 'a line'; Get-Content C:\\k\\grows -Wait\r", "\na line"},
		{"\x03", `PS C:\k> `}, // without Ctrl-C the command would never end
		{"hostname\r", s.windowsName},
	} {
		if _, err := io.WriteString(user, step.keys); err != nil {
			t.Fatal(err)
		}
		screen.await(t, step.want)
	}
	if _, err := io.WriteString(user, "exit\r"); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("ssh: %v\n%s", err, screen.text())
	}
	if !strings.Contains(screen.text(), "simulated by casement") {
		t.Errorf("the shell does not say what it is:\n%s", screen.text())
	}
}

// openTerminal returns the two ends of a pseudo-terminal: the user's and the program's.
func openTerminal(t *testing.T) (user, far *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return user, far
}

// screen is the output on a terminal until now.
type screen struct {
	mu    sync.Mutex
	grown *sync.Cond
	shown []byte
	seen  int
	ended bool
}

func (s *screen) read(r io.Reader) {
	b := make([]byte, 1024)
	for {
		n, err := r.Read(b)
		s.mu.Lock()
		s.shown = append(s.shown, b[:n]...)
		s.ended = err != nil
		s.grown.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits until want is shown after the text of the last await.
func (s *screen) await(t *testing.T, want string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if i := strings.Index(string(s.shown[s.seen:]), want); i >= 0 {
			s.seen += i + len(want)
			return
		}
		if s.ended {
			t.Fatalf("the terminal never showed %q:\n%s", want, s.shown)
		}
		s.grown.Wait()
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.shown)
}

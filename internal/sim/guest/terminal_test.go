package guest_test

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/testing/golden"
)

// TestSSHTerminal types into sessions on a terminal, and compares the screen.
func TestSSHTerminal(t *testing.T) {
	key, line := identity(t)
	for _, c := range []struct {
		name, command string
		config        guest.Config
		// typed are pairs of a prompt to wait for and the line that is typed then.
		typed [][2]string
		code  int
	}{
		{"powershell", "powershell.exe", withKey(windows(t, nil), line), [][2]string{
			{`PS C:\Users\capi> `, "hostname"}, {`PS C:\Users\capi> `, "cd C:\\Windows"}, {`PS C:\Windows> `, "cmd.exe"},
			{`C:\Windows>`, "set X=1"}, {`C:\Windows>`, "if 1==1 ("}, {"More? ", "echo %X% )"}, {`C:\Windows>`, "exit"},
			{`PS C:\Windows> `, "exit 3"}}, 3},
		{"powershell-nologo", "powershell -NoLogo -NoProfile", withKey(windows(t, nil), line), [][2]string{
			{`PS C:\Users\capi> `, "1+1"}, {`PS C:\Users\capi> `, "exit"}}, 0},
		{"cmd", "cmd", withKey(windows(t, nil), line), [][2]string{
			{`C:\Users\capi>`, "cd ..\\.."}, {`C:\>`, "nothing-here"}, {`C:\>`, "echo %ERRORLEVEL%"}, {`C:\>`, "exit 4"}}, 4},
		{"a-command", `powershell -Command "hostname; exit 5"`, withKey(windows(t, nil), line), nil, 5},
		{"bash", "bash -l", withKey(linux(t, nil), line), [][2]string{
			{"~$ ", "cd /tmp; hostname"}, {"/tmp$ ", "sh"}, {"/tmp$ ", "exit"}, {"/tmp$ ", "exit"}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, _ := boot(t, c.config)
			s := session(t, g, key)
			if err := s.RequestPty("xterm", 24, 80, ssh.TerminalModes{}); err != nil {
				t.Fatal(err)
			}
			in, err := s.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Start(c.command); err != nil {
				t.Fatal(err)
			}
			var shown strings.Builder
			b := make([]byte, 1)
			for seen := 0; len(c.typed) > 0; {
				if _, err := out.Read(b); err != nil {
					t.Fatalf("the terminal never showed %q: %v\n%s", c.typed[0][0], err, shown.String())
				}
				shown.Write(b)
				if strings.HasSuffix(shown.String()[seen:], c.typed[0][0]) {
					seen = shown.Len()
					if _, err := io.WriteString(in, c.typed[0][1]+"\r"); err != nil {
						t.Fatal(err)
					}
					c.typed = c.typed[1:]
				}
			}
			rest, err := io.ReadAll(out)
			if err != nil {
				t.Fatal(err)
			}
			shown.Write(rest)
			code := 0
			if exit, ok := s.Wait().(*ssh.ExitError); ok {
				code = exit.ExitStatus()
			}
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			golden.Compare(t, "testdata/terminal/"+c.name+".txt", []byte(strings.ReplaceAll(shown.String(), "\r\n", "\n")))
		})
	}
}

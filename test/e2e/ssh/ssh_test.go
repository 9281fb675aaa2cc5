package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sessionTimeout limits one run of a program.
const sessionTimeout = time.Minute

// site contains the addresses of a cluster's network that are used from outside of it.
type site struct {
	t *testing.T
	// dir is the working directory of the programs. It contains the key .sshkey, as in the
	// documented lines, and the configuration below.
	dir string
	env []string
	// api is the control plane endpoint; windows and linux are private addresses of machines.
	api, windows, linux string
	// The hostnames of the three machines.
	apiName, windowsName, linuxName string
}

// newSite configures every ssh, scp and sftp, also inside a ProxyCommand: the endpoint's SSH port,
// the key for jump hosts, and a separate file for host keys.
func newSite(t *testing.T, api, port string, key []byte) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), api: api}
	s.write(".sshkey", string(key), 0o600)
	s.write("config", fmt.Sprintf("Host %s\n  Port %s\nHost *\n  StrictHostKeyChecking accept-new\n"+
		"  UserKnownHostsFile %s\n  IdentityFile %s\n  IdentitiesOnly yes\n  LogLevel ERROR\n",
		api, port, filepath.Join(s.dir, "known_hosts"), filepath.Join(s.dir, ".sshkey")), 0o600)
	if err := os.Mkdir(filepath.Join(s.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"ssh", "scp", "sftp"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatalf("%v; install the OpenSSH client", err)
		}
		s.write("bin/"+program, fmt.Sprintf("#!/bin/sh\nexec %s -F %s \"$@\"\n", path, filepath.Join(s.dir, "config")), 0o755)
	}
	s.env = append(os.Environ(), "PATH="+filepath.Join(s.dir, "bin")+":"+os.Getenv("PATH"), "SSH_AUTH_SOCK=")
	return s
}

func (s *site) write(name, data string, mode os.FileMode) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(data), mode); err != nil {
		s.t.Fatal(err)
	}
}

// fill replaces the placeholders of a line by the site's addresses.
func (s *site) fill(line string) string {
	return strings.NewReplacer("<api-server-ip>", s.api, "<windows-ip>", s.windows, "<linux-ip>", s.linux,
		"<windows-name>", s.windowsName, "<linux-name>", s.linuxName, "<api-name>", s.apiName).Replace(line)
}

// command returns the command that runs a line in the user's shell.
func (s *site) command(ctx context.Context, line string) *exec.Cmd {
	c := exec.CommandContext(ctx, "sh", "-c", "exec "+s.fill(line))
	c.Dir, c.Env, c.WaitDelay = s.dir, s.env, 5*time.Second
	return c
}

// run runs a line with input and returns its output and its exit code.
func (s *site) run(t *testing.T, line, in string) (out, errOut string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sessionTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	c := s.command(ctx, line)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(s.fill(in)), &stdout, &stderr
	err := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return stdout.String(), stderr.String(), code
}

// The lines of the guide, verbatim.
const (
	guideSSH = `ssh -t -i .sshkey -o 'ProxyCommand ssh -i .sshkey -W %h:%p capi@<api-server-ip>' capi@<windows-ip>`
	guideRDP = `ssh -L 5555:<windows-ip>:3389 capi@<api-server-ip>`
)

// session is one run of a program with the expected result.
type session struct {
	name, line, in string
	// out and errOut are texts that its output must contain.
	out, errOut []string
	code        int
}

var sessions = []session{
	{name: "a command on the control plane", line: `ssh capi@<api-server-ip> 'hostname; uname -s; exit 7'`,
		out: []string{"<api-name>\nLinux\n"}, code: 7},
	{name: "a shell on the control plane", line: `ssh capi@<api-server-ip>`,
		in:  "x=5\ncd /etc/kubernetes\nfor i in 1 2; do\n echo $i$x $PWD\ndone\nexit 3\n",
		out: []string{"15 /etc/kubernetes\n25 /etc/kubernetes\n"}, code: 3},
	{name: "the guide's shell", line: guideSSH, in: "hostname\nTest-Path C:\\k\nexit\n", out: []string{"<windows-name>", "True"}},
	{name: "the guide's command", line: guideSSH + ` 'Get-Service sshd; exit 4'`, out: []string{"Running  sshd"}, code: 4},
	{name: "a jump", line: `ssh -J capi@<api-server-ip> capi@<windows-ip> powershell -Command hostname`, out: []string{"<windows-name>"}},
	{name: "a jump to Linux",
		line: `ssh -J capi@<api-server-ip> capi@<linux-ip> 'cat > note && cat note && whoami && pwd'`,
		in:   "by hand\n", out: []string{"by hand\ncapi\n/home/capi\n"}},
	{name: "cmd.exe", line: `ssh -J capi@<api-server-ip> capi@<windows-ip> 'cmd /c "echo %COMPUTERNAME% & ver"'`,
		out: []string{"Version 10.0."}},
	{name: "standard error is apart", line: `ssh capi@<api-server-ip> 'echo out; nothing-here'`,
		out: []string{"out\n"}, errOut: []string{"nothing-here"}, code: 127},
	{name: "another user", line: `ssh root@<api-server-ip> hostname`, errOut: []string{"Permission denied (publickey)"}, code: 255},
	{name: "an address that is not there", line: `ssh -J capi@<api-server-ip> capi@10.99.0.1 hostname`,
		errOut: []string{"stdio forwarding failed"}, code: 255},
}

func (s *site) sessions(t *testing.T) {
	for _, c := range sessions {
		t.Run(c.name, func(t *testing.T) {
			out, errOut, code := s.run(t, c.line, c.in)
			for _, want := range c.out {
				if !strings.Contains(strings.ReplaceAll(out, "\r", ""), s.fill(want)) {
					t.Errorf("it printed no %q", s.fill(want))
				}
			}
			for _, want := range c.errOut {
				if !strings.Contains(errOut, want) {
					t.Errorf("standard error has no %q", want)
				}
			}
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if t.Failed() {
				t.Logf("%s\n%s%s", s.fill(c.line), out, errOut)
			}
		})
	}
	t.Run("a terminal", s.terminal)
	t.Run("copies", s.copies)
	t.Run("Remote Desktop", s.desktop)
}

// copies sends a tree with scp and reads it back with sftp, and the other way round.
func (s *site) copies(t *testing.T) {
	for _, c := range []struct{ name, host, there string }{
		{"windows", "<windows-ip>", "/C:/k/copied"},
		{"linux", "<linux-ip>", "/tmp/copied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			big := strings.Repeat("0123456789abcdef", 20_000)
			want := map[string]string{"a.txt": "one\r\ntwo\r\n", "sub/big": big}
			if err := os.MkdirAll(filepath.Join(s.dir, c.name, "tree/sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, data := range want {
				s.write(filepath.Join(c.name, "tree", name), data, 0o644)
			}
			for _, step := range []struct{ line, in string }{
				{"scp -r -J capi@<api-server-ip> " + c.name + "/tree capi@" + c.host + ":" + c.there, ""},
				{"sftp -b - -J capi@<api-server-ip> capi@" + c.host, "ls -l " + c.there + "\nget -r " + c.there +
					" " + c.name + "/by-sftp\nput " + c.name + "/tree/a.txt " + c.there + "/b.txt\nrename " +
					c.there + "/b.txt " + c.there + "/c.txt\nrm " + c.there + "/a.txt\n"},
				{"scp -r -J capi@<api-server-ip> capi@" + c.host + ":" + c.there + " " + c.name + "/by-scp", ""},
				// The protocol of OpenSSH before version 9.
				{"scp -O -r -J capi@<api-server-ip> capi@" + c.host + ":" + c.there + " " + c.name + "/by-old-scp", ""},
				{"scp -O -r -J capi@<api-server-ip> " + c.name + "/by-old-scp capi@" + c.host + ":" + c.there, ""},
				{"scp -r -J capi@<api-server-ip> capi@" + c.host + ":" + c.there + "/by-old-scp " + c.name + "/again", ""},
			} {
				if out, errOut, code := s.run(t, step.line, step.in); code != 0 {
					t.Fatalf("%s ended with %d\n%s%s", s.fill(step.line), code, out, errOut)
				}
			}
			for name, data := range map[string]string{"by-sftp/a.txt": want["a.txt"], "by-sftp/sub/big": big,
				"by-scp/c.txt": want["a.txt"], "by-scp/sub/big": big, "by-old-scp/c.txt": want["a.txt"],
				"by-old-scp/sub/big": big, "again/c.txt": want["a.txt"], "again/sub/big": big} {
				if got, err := os.ReadFile(filepath.Join(s.dir, c.name, name)); err != nil || string(got) != data {
					t.Errorf("%s has %d bytes, %v; want %d", name, len(got), err, len(data))
				}
			}
			if _, err := os.Stat(filepath.Join(s.dir, c.name, "by-scp/a.txt")); err == nil {
				t.Error("a.txt was deleted and came back")
			}
		})
	}
}

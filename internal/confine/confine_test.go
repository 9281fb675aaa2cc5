package confine

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestMain lets the test binary act as a program that is confined.
func TestMain(m *testing.M) {
	switch os.Getenv("CONFINE_TEST") {
	case "":
		os.Exit(m.Run())
	case "exec":
		if err := NoPrograms(); err != nil {
			os.Stdout.WriteString("error: " + err.Error())
			os.Exit(1)
		}
		for range 8 { // also from other threads
			done := make(chan error)
			go func() {
				runtime.LockOSThread()
				done <- exec.Command("/bin/true").Run()
			}()
			if err := <-done; !errors.Is(err, syscall.EACCES) {
				os.Stdout.WriteString("a program ran: " + errText(err))
				os.Exit(1)
			}
		}
	case "connect":
		allowed := netip.MustParseAddrPort(os.Getenv("CONFINE_ADDRESS"))
		if err := errors.Join(NoPrograms(), Connections(func(network string, to netip.AddrPort) error {
			if network != "tcp" || to != allowed {
				return errors.New("not that")
			}
			return nil
		})); err != nil {
			os.Stdout.WriteString("error: " + err.Error())
			os.Exit(1)
		}
		var group sync.WaitGroup
		for _, address := range strings.Fields(os.Getenv("CONFINE_ADDRESSES")) { // from many threads
			network, at, _ := strings.Cut(address, "/")
			for range 20 {
				group.Go(func() {
					conn, err := net.Dial(network, at)
					if err == nil {
						conn.Close()
					} else if !errors.Is(err, syscall.EACCES) {
						os.Stdout.WriteString(err.Error() + "\n")
					}
					os.Stdout.WriteString(address + map[bool]string{true: " reached\n", false: " refused\n"}[err == nil])
				})
			}
		}
		group.Wait()
	case "watch":
		err := NoWatchers()
		if err == nil {
			_, err = syscall.InotifyInit1(syscall.IN_CLOEXEC)
		}
		os.Stdout.WriteString(errText(err))
	case "write":
		for _, p := range strings.Split(os.Getenv("CONFINE_PATHS"), ":") {
			err := os.WriteFile(p, nil, 0o600)
			os.Stdout.WriteString(filepath.Base(p) + " " + map[bool]string{true: "written", false: "refused"}[err == nil] + "\n")
		}
		if err := os.Symlink("/etc", os.Getenv("CONFINE_LINK")); err == nil {
			os.Stdout.WriteString("link made\n")
		}
		if _, err := os.ReadFile(os.Getenv("CONFINE_SECRET")); err == nil {
			os.Stdout.WriteString("secret read\n")
		}
	}
}

func errText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

func TestNoPrograms(t *testing.T) {
	cmd := self(t)
	cmd.Env = append(os.Environ(), "CONFINE_TEST=exec")
	if out, err := cmd.CombinedOutput(); strings.Contains(string(out), ErrUnsupported.Error()) {
		t.Skip(string(out))
	} else if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestNoWatchers(t *testing.T) {
	cmd := self(t)
	cmd.Env = append(os.Environ(), "CONFINE_TEST=watch")
	if out, err := cmd.CombinedOutput(); strings.Contains(string(out), ErrUnsupported.Error()) {
		t.Skip(string(out))
	} else if err != nil || string(out) != syscall.ENOSYS.Error() {
		t.Errorf("%v: %s", err, out)
	}
}

// TestConnections: a process can connect to the permitted addresses and to no others, in any notation of
// the address.
func TestConnections(t *testing.T) {
	var all []string
	for _, at := range []string{"127.0.0.2:0", "127.0.0.3:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { l.Close() })
		all = append(all, l.Addr().String())
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	want := map[string]bool{
		"tcp/" + all[0]: true, "tcp/" + all[1]: false, "tcp/" + all[2]: false, "tcp/[::ffff:" + strings.Replace(all[0], ":", "]:", 1): true,
		"udp/" + all[0]: false, "tcp/198.51.100.1:80": false, "udp/198.51.100.1:53": false, "unix/" + socket: true,
	}
	cmd := self(t)
	cmd.Env = append(os.Environ(), "CONFINE_TEST=connect", "CONFINE_ADDRESS="+all[0],
		"CONFINE_ADDRESSES="+strings.Join(slices.Collect(maps.Keys(want)), " "))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if strings.Contains(string(out), ErrUnsupported.Error()) {
		t.Skip(string(out))
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for address, reached := range want {
		text := address + map[bool]string{true: " reached\n", false: " refused\n"}[reached]
		if n := strings.Count(string(out), text); n != 20 {
			t.Errorf("%d of 20 times %s", n, text)
		}
	}
	if n := strings.Count(said.String(), "198.51.100.1:80 is refused: not that"); n != 1 || t.Failed() {
		t.Errorf("said %d times, out %s\nsaid %s", n, out, said.String())
	}
}

// TestThread checks that a program that a confined thread starts can write and read the permitted paths, and no others.
func TestThread(t *testing.T) {
	inside, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(inside, "out")); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := self(t)
	cmd.Env = append(os.Environ(), "CONFINE_TEST=write", "CONFINE_SECRET="+secret, "CONFINE_LINK="+filepath.Join(inside, "new"),
		"CONFINE_PATHS="+strings.Join([]string{
			filepath.Join(inside, "own"), filepath.Join(outside, "beside"), filepath.Join(inside, "out", "linked"),
		}, ":"))
	type result struct {
		out []byte
		err error
	}
	got := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
		if err := (Folders{
			Write: []string{inside}, Read: append([]string{filepath.Dir(cmd.Path), "/nonexistent"}, System...),
		}).Thread(); err != nil {
			got <- result{nil, err}
			return
		}
		out, err := cmd.Output()
		got <- result{out, err}
	}()
	r := <-got
	if errors.Is(r.err, ErrUnsupported) {
		t.Skip(r.err)
	}
	if want := "own written\nbeside refused\nlinked refused\n"; r.err != nil || string(r.out) != want {
		t.Errorf("got %q, %v; want %q", r.out, r.err, want)
	}
	if err := os.WriteFile(filepath.Join(outside, "after"), nil, 0o600); err != nil {
		t.Errorf("the rest of the process is confined too: %v", err)
	}
}

func self(t *testing.T) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path)
}

package host

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/go-logr/logr/funcr"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/sim/guest"
)

const (
	killer    = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/killer"
	bystander = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/bystander"
)

// TestSupervisorThatDies is the process that replaces a supervisor in TestQuarantine.
func TestSupervisorThatDies(t *testing.T) {
	dir, how, boots := os.Getenv("QUARANTINE_DIR"), os.Getenv("QUARANTINE_HOW"), strings.Fields(os.Getenv("QUARANTINE_BOOTS"))
	if dir == "" {
		t.Skip("TestQuarantine runs this in a process of its own")
	}
	m := testHost(dir)
	for _, id := range boots {
		if how == "session" || how == "hoarder" || how == "start" {
			break
		}
		if _, err := m.beginBoot(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	switch how {
	case "session", "hoarder":
		body, err := guest.New(guest.Config{
			Machine: guest.Machine{ID: boots[0], Dir: t.TempDir(), OS: guest.Linux, ComputerName: "killer"},
			Commands: map[string]guest.Command{"die": func(context.Context, *guest.Process) int {
				if how == "hoarder" {
					hoard(t)
				}
				debug.SetMaxStack(1 << 20)
				return deep(1)
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		m.byID[machineKey(boots[0])] = &machine{guest: body}
		_, _, _, err = m.Run(t.Context(), boots[0], "x=$(true | die)")
		t.Fatal("it lives", err)
	case "start":
		m.config.Log = funcr.New(func(string, string) { // in the guest's goroutine
			debug.SetMaxStack(1 << 20)
			t.Log(deep(1))
		}, funcr.Options{})
		m.Open(Azure{}, func(string) {})
		m.Start(host.VM{ID: boots[0], Name: "killer"}) // without fields that a VM must have
		m.work.Wait()
	}
	if how == "kill" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	if how == "memory" {
		hoard(t)
	}
	debug.SetMaxStack(1 << 20)
	t.Log(deep(1))
}

// hoard allocates memory until none is left.
func hoard(t *testing.T) {
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: 1 << 30, Max: 1 << 30}); err != nil {
		t.Error(err)
		return
	}
	for all := [][]byte{}; len(all) < 1<<10; {
		all = append(all, bytes.Repeat([]byte("x"), 16<<20))
	}
}

// deep calls itself until the stack is full. last ends the recursion only for static checks.
//
//go:noinline
func deep(n int) int {
	if n == last {
		return n
	}
	return deep(n+1) + n
}

// last is a larger number of calls than any stack allows.
const last = 1 << 40

// TestQuarantine: a guest whose boot ended the supervisor is not booted again; a guest that booted
// at the same time is.
func TestQuarantine(t *testing.T) {
	for name, c := range map[string]struct {
		deaths      []string // how the supervisor died, and which guests were booting
		quarantined string   // the reason for the killer
	}{
		"its own fault, alone":          {[]string{"overflow killer"}, "booted"},
		"out of memory, alone":          {[]string{"memory killer"}, "booted"},
		"killed from outside, once":     {[]string{"kill killer"}, ""},
		"killed from outside, twice":    {[]string{"kill killer", "kill killer"}, ""},
		"killed from outside, often":    {[]string{"kill killer", "kill killer", "kill killer", "kill killer"}, ""},
		"another booted too":            {[]string{"overflow killer bystander"}, ""},
		"another booted the first time": {[]string{"overflow killer bystander", "overflow killer"}, "booted"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			names := map[string]string{"killer": killer, "bystander": bystander}
			for _, death := range c.deaths {
				words := strings.Fields(death)
				m := testHost(dir)
				var boots []string
				for id := range names {
					if err := os.MkdirAll(m.home(names[id]), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				for _, w := range words[1:] {
					boots = append(boots, names[w])
				}
				if len(words) == 2 { // the other guest has booted successfully meanwhile
					m.endQuarantine(bystander)
				}
				die(t, dir, words[0], boots)
			}
			m := testHost(dir)
			done, err := m.beginBoot(t.Context(), killer)
			if c.quarantined == "" {
				if err != nil {
					t.Fatalf("the guest is not booted: %v", err)
				}
				done()
				if _, some := m.readMark(killer); some {
					t.Error("a boot that has ended leaves its mark")
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.quarantined) || !strings.Contains(err.Error(), "delete the VM") {
				t.Fatalf("error %v does not name %q", err, c.quarantined)
			}
			if done, err := m.beginBoot(t.Context(), bystander); err != nil {
				t.Errorf("the bystander is not booted: %v", err)
			} else {
				done()
			}
			if _, err := testHost(dir).beginBoot(t.Context(), killer); err == nil {
				t.Error("the quarantine does not last")
			}
			m.endQuarantine(killer)
			if _, err := m.beginBoot(t.Context(), killer); err != nil {
				t.Errorf("a guest that is started through Azure is not booted: %v", err)
			}
		})
	}
}

// die runs a supervisor that ends while guests boot.
func die(t *testing.T, dir, how string, boots []string) {
	t.Helper()
	if raceDetector && (how == "memory" || how == "hoarder") {
		t.Skip("the race detector's own allocator ends a process without memory, and Go's runtime writes nothing")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestSupervisorThatDies$")
	cmd.Env = append(os.Environ(), "QUARANTINE_DIR="+dir, "QUARANTINE_HOW="+how, "QUARANTINE_BOOTS="+strings.Join(boots, " "))
	if err := cmd.Run(); err == nil {
		t.Fatal("the supervisor did not die")
	}
}

// TestDeathAfterBoot: a guest that ended the supervisor long after its boot, in a session or when a
// process started, is quarantined.
func TestDeathAfterBoot(t *testing.T) {
	for how, why := range map[string]string{"session": "stack overflow", "hoarder": "out of memory", "start": "stack overflow"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			m := testHost(dir)
			for _, id := range []string{killer, bystander} {
				if err := os.MkdirAll(m.home(id), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			die(t, dir, how, []string{killer})
			m = testHost(dir)
			if _, err := m.beginBoot(t.Context(), killer); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("the guest is booted again: %v", err)
			}
			done, err := m.beginBoot(t.Context(), bystander)
			if err != nil {
				t.Fatalf("the bystander is not booted: %v", err)
			}
			done()
			m.endQuarantine(killer)
			if _, err := testHost(dir).beginBoot(t.Context(), killer); err != nil {
				t.Errorf("a guest that was started again through Azure is accused again: %v", err)
			}
		})
	}
}

// TestDeathOfAnother: a guest that booted while another guest ended the supervisor is not
// quarantined.
func TestDeathOfAnother(t *testing.T) {
	dir := t.TempDir()
	for range maxDeaths + 1 {
		m := testHost(dir)
		m.endQuarantine(killer)
		if err := os.MkdirAll(m.home(bystander), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := m.beginBoot(t.Context(), bystander); err != nil {
			t.Fatalf("the bystander is not booted: %v", err)
		}
		text := "fatal error: concurrent map writes\n\ngoroutine 7 gp=0xc000 m=1 mp=0xc0 [running, locked to thread labels:{" +
			`"a": "b", "guest": "` + machineKey(killer) + "\"}]:\n"
		if err := os.WriteFile(m.crash, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		was := thisProcess
		thisProcess = was + "+"
		t.Cleanup(func() { thisProcess = was })
	}
}

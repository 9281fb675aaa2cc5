package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "run the short rehearsals, which take minutes and need make build")

// TestNothingIsLeft runs the program in its short form against a local Azure: to its end, beyond
// its deadline, and killed. Each time no resource group, no process and no folder of it remains.
func TestNothingIsLeft(t *testing.T) {
	if !*full {
		t.Skip("it takes minutes: -full runs it, as make e2e does")
	}
	casement, kit := plane.Binary(t, "casement"), built(t)
	short, err := os.MkdirTemp("", "cas") // the path must be short enough for Unix sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	azure, env, err := serve(t.Context(), casement, short)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(azure) })
	s, err := fromEnvironment(lookup(env), false)
	if err != nil {
		t.Fatal(err)
	}
	joining, err := simulatedDomain(t.Context(), casement, filepath.Join(short, "azure"), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		env  []string
		kill bool
		want string // a text of the report or of the guard's log
	}{
		{name: "to its end, with a domain", env: joining, want: "<b>24 passed, 0 failed, 3 not run</b>."},
		{name: "a fault, and no time", env: []string{"CASEMENT_E2E_HOURS=0.02"}, want: "the budget of 1m12s is over"},
		{name: "killed", kill: true, want: "nothing is left"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if strings.HasPrefix(test.name, "a fault") {
				fault(t, casement, short, "add", "quota", "--after", "2")
				defer fault(t, casement, short, "clear")
			}
			file := filepath.Join(t.TempDir(), "azure.yaml")
			homes, err := os.MkdirTemp("", "h") // this path must be short too
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(homes)
			cmd := exec.Command(kit, "-casement", casement, "-file", file, "-short")
			cmd.Env = append(append(env, "TMPDIR="+homes), test.env...)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			evidence := options{file: file}.report()
			if test.kill {
				eventually(t, "its resource groups", func() bool { return len(resourceGroups(t, s)) == len(clusters) })
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				evidence = file + ".guard.log"
			}
			ended := cmd.Wait()
			eventually(t, "the end of its folder", func() bool {
				entries, err := os.ReadDir(homes)
				return err == nil && len(entries) == 0
			})
			if left := resourceGroups(t, s); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if left := processes(t, homes); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			text, err := os.ReadFile(evidence)
			if err != nil || !strings.Contains(string(text), test.want) {
				t.Errorf("%s has no %q (%v, %v):\n%s\n%s", evidence, test.want, err, ended, said.String(), text)
			}
			if (ended == nil) != strings.HasPrefix(test.name, "to its end") {
				t.Errorf("it ended with %v:\n%s", ended, said.String())
			}
		})
	}
}

// TestKilledRehearsal kills a rehearsal while its clusters are created. Its local Azure, its run
// and the run's management cluster end, and their folders are deleted.
func TestKilledRehearsal(t *testing.T) {
	if !*full {
		t.Skip("it takes minutes: -full runs it, as make e2e does")
	}
	casement, kit := plane.Binary(t, "casement"), built(t)
	homes, err := os.MkdirTemp("", "h") // the path must be short enough for Unix sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(homes)
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd := exec.Command(kit, "-rehearse", "-short", "-casement", casement, "-file", filepath.Join(t.TempDir(), "azure.yaml"))
	cmd.Env = append(os.Environ(), "TMPDIR="+homes)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "management cluster", func() bool {
		text, err := os.ReadFile(said.Name())
		return err == nil && strings.Contains(string(text), "start the management cluster")
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the signal makes it fail
	eventually(t, "end of its folders and processes", func() bool {
		entries, err := os.ReadDir(homes)
		return err == nil && len(entries) == 0 && len(processes(t, homes)) == 0 && len(processes(t, kit)) == 0
	})
}

// built builds the program in a folder of the test and changes the working directory to the root of
// the module.
func built(t *testing.T) string {
	t.Helper()
	t.Chdir(plane.Root(t))
	kit := filepath.Join(t.TempDir(), "azure")
	if out, err := exec.Command("go", "build", "-o", kit, "./test/e2e/azure").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return kit
}

// fault changes the fault rules of the local Azure.
func fault(t *testing.T, casement, home string, args ...string) {
	t.Helper()
	args = append([]string{"--state", filepath.Join(home, "azure"), "azure", "faults"}, args...)
	out, err := exec.Command(casement, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("faults %v: %v: %s", args, err, out)
	}
}

// resourceGroups returns the existing resource groups of the test kit.
func resourceGroups(t *testing.T, s settings) (out []string) {
	t.Helper()
	g, err := openGroups(s)
	if err != nil {
		t.Fatal(err)
	}
	for pages := g.groups.NewListPager(nil); pages.More(); {
		page, err := pages.NextPage(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page.Value {
			if strings.HasPrefix(*one.Name, "casement-e2e-") {
				out = append(out, *one.Name)
			}
		}
	}
	return out
}

// processes returns the command lines that contain the name of a folder.
func processes(t *testing.T, folder string) (out []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(regexp.QuoteMeta(folder) + `\b`)
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && named.Match(line) { // the process has ended if the file cannot be read
			out = append(out, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 600 {
		if is() {
			return
		}
		<-time.After(time.Second)
	}
	t.Fatalf("no %s after ten minutes", what)
}

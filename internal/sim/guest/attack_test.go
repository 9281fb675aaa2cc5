package guest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest"
)

// TestBoundedBoot boots guests whose custom data would crash or exhaust the plane. Each boot fails with the name of
// the limit, and everything else continues.
func TestBoundedBoot(t *testing.T) {
	for name, c := range map[string]struct{ data, bound string }{
		"a macro in itself": {header + "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself too deep"},
		"a long text":       {header + "x: {{ 'a' * 2000000000 }}", "needs more than"},
		"a function":        {"#cloud-config\nruncmd:\n- f() { f; }; f\n", "call each other too deep"},
		"a loop":            {"#!/bin/sh\nwhile :; do :; done\n", "commands"},
	} {
		t.Run("Linux: "+name, func(t *testing.T) { t.Parallel(); bounded(t, linux(t, []byte(c.data)), c.bound) })
	}
	for name, c := range map[string]struct{ data, bound string }{
		"a macro in itself": {header + "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself too deep"},
		"doubling":          {"#ps1_sysnative\n$x = 'a'\nwhile ($true) { $x = $x + $x }\n", "a value of more than"},
		"a batch":           {"rem cmd\n:a\ngoto a\n", "lines"},
	} {
		t.Run("Windows: "+name, func(t *testing.T) { t.Parallel(); bounded(t, windows(t, []byte(c.data)), c.bound) })
	}
}

func bounded(t *testing.T, c guest.Config, bound string) {
	g, err := guest.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Boot(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := g.Status()
	if s.Phase != guest.PhaseFailed || s.Provisioned != guest.ProvisionedFailed || !strings.Contains(s.Message, bound) {
		t.Errorf("the guest is %s, %s: %q does not name %q", s.Phase, s.Provisioned, s.Message, bound)
	}
}

// TestNothingOutsideChanges makes guests write, link and move with paths that contain "..",
// in every way that bootstrap data allows, and checks that files beside the guests do not
// change.
func TestNothingOutsideChanges(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			for _, c := range []guest.Config{linux(t, []byte(climbingConfig(r))), windows(t, []byte(climbingConfig(r)))} {
				outer := t.TempDir()
				c.Machine.Dir = filepath.Join(outer, "vms", "g", "vm")
				c.Log = io.Discard
				if err := os.WriteFile(filepath.Join(outer, "secret"), []byte("secret"), 0o600); err != nil {
					t.Fatal(err)
				}
				g, err := guest.New(c)
				if err != nil {
					t.Fatal(err)
				}
				if err := g.Boot(t.Context()); err != nil {
					t.Fatal(err)
				}
				g.Exec(t.Context(), climbingScript(r, c.Machine.OS), nil, io.Discard, io.Discard)
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
				outside(t, outer, c.Machine.Dir)
			}
		})
	}
}

// outside fails the test for each file that does not belong to the guest.
func outside(t *testing.T, outer, dir string) {
	t.Helper()
	err := filepath.WalkDir(outer, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p == dir:
			return fs.SkipDir
		case e.IsDir() && strings.HasPrefix(dir, p), p == filepath.Join(outer, "secret"):
			return nil
		}
		t.Errorf("%s is beside the guest", p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(outer, "secret")); err != nil || string(data) != "secret" {
		t.Errorf("the file beside the guest holds %q, %v", data, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(" rootfs C D journal.json boot-ended services.json vitals.json hostname accounts.json ", " "+e.Name()+" ") {
			t.Errorf("%s is beside the guest's root", e.Name())
		}
	}
}

// climbing returns a random path that leads out of the guest, or to a file of the host.
func climbing(r *rand.Rand, windows bool) string {
	parts := []string{[]string{"", "/", "/a/", "a/", "/etc/kubernetes/"}[r.IntN(5)]}
	for range 1 + r.IntN(6) {
		parts = append(parts, []string{"..", "..", "a", "l", "secret"}[r.IntN(5)])
	}
	p := strings.TrimPrefix(strings.Join(parts, "/"), "//")
	if windows && r.IntN(2) == 0 {
		p = []string{`C:\`, `C:`, `\\?\C:\`, `D:\`}[r.IntN(4)] + strings.ReplaceAll(p, "/", `\`)
	}
	return p
}

func climbingConfig(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("#cloud-config\nwrite_files:\n")
	for range 6 {
		fmt.Fprintf(&b, "- path: '%s'\n  content: x\n  append: %v\n", climbing(r, r.IntN(2) == 0), r.IntN(2) == 0)
	}
	b.WriteString("runcmd:\n")
	for range 6 {
		fmt.Fprintf(&b, "- ln -s %s %s\n- mkdir -p %s\n- mv %s %s\n- sh -c 'echo x > %s'\n", climbing(r, false),
			climbing(r, false), climbing(r, false), climbing(r, false), climbing(r, false), climbing(r, false))
	}
	return b.String()
}

func climbingScript(r *rand.Rand, system string) string {
	var b strings.Builder
	for range 12 {
		a, c := climbing(r, system == guest.Windows), climbing(r, system == guest.Windows)
		if system == guest.Linux {
			fmt.Fprintf(&b,
				"ln -s %s %s; cp %s %s; mv %s %s; echo x > %s; rm -rf %s; tee %s < /etc/hostname; cd %s && touch b\n",
				a, c, c, a, a, c, c, a, c, a)
			continue
		}
		fmt.Fprintf(&b, "Set-Content %s x\nNew-Item -ItemType Directory %s\nMove-Item %s %s\n"+
			"Remove-Item -Recurse %s\ncmd /c \"echo x > %s\"\n"+
			"cmd /c \"mkdir %s & del %s\"\n", a, c, c, a, c, a, c, a)
	}
	return b.String()
}

// trigger calls a function when a log has a text.
type trigger struct {
	text string
	then func()
}

func (w trigger) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.then()
	}
	return len(p), nil
}

// TestLongListsEnd checks that the end of the machine also ends a long list of custom data, between two items, and
// that the next start does the rest of the list.
func TestLongListsEnd(t *testing.T) {
	list := func(format string) (out string) {
		for i := range 500 {
			out += fmt.Sprintf(format, i)
		}
		return out
	}
	for name, c := range map[string]struct{ data, first, last string }{
		"files":  {"#cloud-config\nwrite_files:\n" + list("- {path: /x/%d, content: x}\n"), "wrote /x/3 ", "/x/499"},
		"users":  {"#cloud-config\nusers:\n" + list("- {name: u%d, ssh_authorized_keys: [ssh-ed25519 AAAA]}\n"), "user u3:", "/home/u499"},
		"mounts": {"#cloud-config\nmounts:\n" + list("- [/dev/sdc, /x/%d]\n"), "mount point /x/3 ", "/x/499"},
	} {
		t.Run(name, func(t *testing.T) {
			c, first, last := linux(t, []byte(c.data)), c.first, c.last
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			c.Log = trigger{first, stop}
			g, err := guest.New(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Boot(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("the stopped boot ended with %v", err)
			}
			if g.Machine().Root.Exists(last) {
				t.Error("the list was done to its end")
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			c.Log = io.Discard
			if g, err = guest.New(c); err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if err := g.Boot(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !g.Machine().Root.Exists(last) {
				t.Error("the list was not done at the next start")
			}
		})
	}
}

package guestfs

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLinksStayInside: no link leads out of the tree, however it is created.
func TestLinksStayInside(t *testing.T) {
	dir := t.TempDir()
	r := linux(t, dir)
	for _, folder := range []string{"/a/b/c/d", "/etc/kubernetes"} {
		if err := r.MkdirAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ target, link, want string }{
		{"../../..", "/etc/kubernetes/out", "../.."},
		{"/etc", "/a/b/abs", "././../../etc"},
		{"/../../x", "/a/up", "././../x"},
		{"sub/../../../y", "/a/mixed", "../y"},
		{"d/file", "/a/b/c/plain", "d/file"},
		{"/a/b/c/d", "/s", "././a/b/c/d"},
		// The folder of this link is itself a link, so the linked folder's depth counts.
		{"../../../../../..", "/s/deep", "../../../.."},
		{"s/../../..", "/a/over", "s/../../.."},
	} {
		if err := r.Symlink(c.target, c.link); err != nil {
			t.Errorf("%s -> %s: %v", c.link, c.target, err)
			continue
		}
		host, err := r.Host(filepath.Dir(c.link))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.Readlink(filepath.Join(host, filepath.Base(c.link)))
		if c.link == "/a/over" {
			c.want = ".." // ".." after a name is resolved without following links
		}
		if err != nil || got != c.want {
			t.Errorf("%s -> %s became %q, want %q (%v)", c.link, c.target, got, c.want, err)
		}
	}
	for _, c := range []struct{ from, to string }{{"/a/b/c/d", "/d"}, {"/etc/kubernetes/out", "/out"}, {"/a/b/c/d/deep", "/a/deep"}} {
		if err := r.Rename(c.from, c.to); !errors.Is(err, ErrEscape) {
			t.Errorf("moving %s to %s, where it would lead out: %v", c.from, c.to, err)
		}
	}
	if err := r.Rename("/a/b/abs", "/a/b/c/abs"); err != nil {
		t.Errorf("moving a link down: %v", err)
	}
	if err := r.Rename("/a/b/c/plain", "/plain"); err != nil {
		t.Errorf("moving a link that does not climb: %v", err)
	}
	inside(t, dir)
}

// TestOldEscapes: a link that leads out is removed from an existing tree.
func TestOldEscapes(t *testing.T) {
	dir := t.TempDir()
	if err := linux(t, dir).MkdirAll("/etc"); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"etc/one": "../../..", "abs": "/etc", "good": "etc"} {
		if err := os.Symlink(target, filepath.Join(dir, "rootfs", name)); err != nil {
			t.Fatal(err)
		}
	}
	r := linux(t, dir)
	if err := r.DropEscapes(); err != nil {
		t.Fatal(err)
	}
	inside(t, dir)
	if !r.IsDir("/good") {
		t.Error("a link that stays inside is gone")
	}
}

// linux opens the tree of a Linux guest in a folder.
func linux(t *testing.T, dir string) *Root {
	t.Helper()
	folder := At(dir)
	if err := folder.Make(); err != nil {
		t.Fatal(err)
	}
	r, err := folder.Root(false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// inside fails the test for each link below a guest's directory that leads out of its root.
func inside(t *testing.T, dir string) {
	t.Helper()
	root := filepath.Join(dir, "rootfs")
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink == 0 {
			return err
		}
		target, err := os.Readlink(p)
		if err != nil {
			return err
		}
		if filepath.IsAbs(target) {
			t.Errorf("%s -> %s is absolute", p, target)
		}
		// In the same way as the kernel: each part of the target is resolved from the real folder.
		at, err := filepath.EvalSymlinks(filepath.Dir(p))
		if err != nil {
			return err
		}
		for part := range strings.SplitSeq(target, "/") {
			at = filepath.Join(at, part)
			if real, err := filepath.EvalSymlinks(at); err == nil {
				at = real
			}
			if at != root && !strings.HasPrefix(at, root+"/") {
				t.Errorf("%s -> %s leads to %s", p, target, at)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzLinks creates folders and links, moves them and writes through them in any order, and checks with the operating
// system's own resolution that nothing outside the tree changes.
func FuzzLinks(f *testing.F) {
	f.Add("m a/b/c\nl ../../.. a/b/c/x\nr a/b/c c\nw c/x/file")
	f.Add("m a/b\nl a/b s\nl ../../.. s/y\nr s/y y\nw y/z")
	f.Add("m a/b\nl b/../.. a/o\nr a/b q\nw a/o/z")
	f.Add("m a/b/c\nl ../../.. a/b/c/x\nh a/b/c/x x\nw x/file")
	f.Add("m d/e\nl .. d/e/p\nl p/p/p d/e/q\nr d/e e\nw e/q/f\nr e/q q\nw q/f")
	for seed := range uint64(50) {
		f.Add(randomLinks(rand.New(rand.NewPCG(seed, 0))))
	}
	f.Fuzz(func(t *testing.T, script string) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "vms", "g", "vm")
		root := linux(t, dir)
		lines := strings.Split(script, "\n")
		for _, line := range lines[:min(len(lines), 32)] {
			words := strings.Fields(line)
			if len(words) < 2 {
				continue
			}
			last := words[len(words)-1] // errors are allowed: only the resulting tree is checked
			switch words[0] {
			case "m":
				_ = root.MkdirAll(words[1])
			case "l":
				_ = root.Symlink(words[1], last)
			case "r":
				_ = root.Rename(words[1], last)
			case "h":
				_ = root.Link(words[1], last)
			case "w":
				if host, err := root.Host(words[1]); err == nil {
					_ = os.WriteFile(host, nil, 0o600) // like a program of the host
				}
			}
		}
		inside(t, dir)
		for _, folder := range []string{outer, filepath.Join(outer, "vms"), filepath.Join(outer, "vms", "g")} {
			entries, err := os.ReadDir(folder)
			if err != nil || len(entries) != 1 {
				t.Errorf("%s holds %v (%v)", folder, entries, err)
			}
		}
	})
}

// randomLinks returns a script for FuzzLinks with few names, so that paths coincide.
func randomLinks(r *rand.Rand) string {
	name := func() string {
		parts := make([]string, 1+r.IntN(4))
		for i := range parts {
			parts[i] = []string{"a", "b", "s", "d", ".."}[r.IntN(5)]
		}
		return strings.Join(parts, "/")
	}
	var b strings.Builder
	for range 32 {
		b.WriteString([]string{"m", "m", "l", "l", "l", "r", "r", "h", "w"}[r.IntN(9)] + " " + name() + " " + name() + "\n")
	}
	return b.String()
}

// TestDeepTrees: the depth of folders is limited, and the time of a walk through a deeper tree grows only with its files.
func TestDeepTrees(t *testing.T) {
	dir := t.TempDir()
	r := linux(t, dir)
	if err := r.MkdirAll(strings.Repeat("/a", 2000)); err != nil {
		t.Error(err)
	}
	if err := r.MkdirAll(strings.Repeat("/a", 2100)); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("4,200 bytes: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// A link that an earlier version permitted, because no path names it.
	at, err := os.OpenRoot(filepath.Join(dir, "rootfs"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		if err := at.Mkdir("b", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := at.OpenRoot("b")
		if err != nil {
			t.Fatal(err)
		}
		at.Close()
		at = next
	}
	defer at.Close()
	if err := at.Symlink("x/../../etc", "out"); err != nil {
		t.Fatal(err)
	}
	deepest, files := 0, 0
	again := linux(t, dir)
	_, root, _, err := again.onDrive("/")
	if err != nil {
		t.Fatal(err)
	}
	walk(root, ".", func(_ *os.Root, name, _ string, _ fs.DirEntry) bool {
		deepest, files = max(deepest, depth(name)), files+1
		return true
	})
	if deepest > rootEvery+1 || files != 5002 {
		t.Errorf("%d files were reached by names of up to %d parts", files, deepest)
	}
	if err := again.DropEscapes(); err != nil {
		t.Error(err)
	}
	if _, err := at.Lstat("out"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link that leads out: %v", err)
	}
}

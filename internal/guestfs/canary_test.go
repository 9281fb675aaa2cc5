package guestfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCanaries runs random operations of a guest, of a container in its tree and of an intruder that plants links,
// FIFOs and devices, and checks the invariants: no file outside of the tree is read or changed, written data is read
// back under each of its names, and no operation waits or reads without end.
func TestCanaries(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			outer := t.TempDir()
			canary := filepath.Join(outer, "a", "canary")
			if err := os.MkdirAll(filepath.Dir(canary), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(canary, []byte("canary"), 0o600); err != nil {
				t.Fatal(err)
			}
			home := filepath.Join(outer, "vms", "vm")
			w := &world{t: t, r: rand.New(rand.NewPCG(seed, 1)), outer: outer, dir: filepath.Join(home, "rootfs"), machine: linux(t, home)}
			for range 150 {
				w.step()
			}
			if data, err := os.ReadFile(canary); err != nil || string(data) != "canary" {
				t.Errorf("the canary is %q (%v)", data, err)
			}
			for folder, want := range map[string]string{outer: "[d a/ d vms/]", filepath.Dir(canary): "[- canary]", home: "[d rootfs/]"} {
				entries, err := os.ReadDir(folder)
				if got := fmt.Sprint(entries); err != nil || got != want {
					t.Errorf("%s holds %s, want %s (%v)", folder, got, want, err)
				}
			}
		})
	}
}

type world struct {
	t          *testing.T
	r          *rand.Rand
	outer, dir string
	machine    *Root
}

// name returns a path of a few names, so that paths coincide.
func (w *world) name() string {
	parts := make([]string, 1+w.r.IntN(4))
	for i := range parts {
		parts[i] = []string{"a", "b", "c", "rootfs", ".."}[w.r.IntN(5)]
	}
	return "/" + strings.Join(parts, "/")
}

// target returns a possible target of a link.
func (w *world) target() string {
	outside := []string{filepath.Join(w.outer, "a"), filepath.Join(w.outer, "a", "canary"), "/dev/zero", "/etc"}[w.r.IntN(4)]
	switch w.r.IntN(3) {
	case 0:
		return outside
	case 1:
		return strings.Repeat("../", 1+w.r.IntN(12)) + strings.TrimPrefix(outside, "/")
	}
	return w.name()
}

// root returns the machine's files, or the files of a container somewhere in them.
func (w *world) root() *Root {
	if w.r.IntN(4) > 0 {
		return w.machine
	}
	folder := w.machine.Folder(w.name())
	if err := folder.Make(); err != nil {
		return w.machine
	}
	root, err := folder.Root(false)
	if err != nil {
		return w.machine
	}
	w.t.Cleanup(func() { root.Close() })
	return root
}

func (w *world) step() {
	root, p, q := w.root(), w.name(), w.name()
	switch w.r.IntN(12) {
	case 0, 1:
		_ = root.MkdirAll(p) // a refusal is a valid result, here and below
	case 2:
		_ = root.Symlink(w.target(), p)
	case 3:
		_ = root.Rename(p, q)
	case 4:
		before, errBefore := root.ReadFile(p)
		info, err := root.Lstat(p)
		if root.Link(p, q) == nil && err == nil && info.Mode().IsRegular() && errBefore == nil {
			w.holds(root, q, before)
		}
	case 5:
		_ = root.Remove(p)
	case 6:
		_ = root.RemoveAll(p)
	case 7:
		// The link is planted directly, because the invariants must not depend on the refusals of other
		// operations.
		if at, err := root.Host(filepath.Dir(p)); err == nil && strings.HasPrefix(at+"/", w.dir+"/") {
			if real, err := filepath.EvalSymlinks(at); err == nil && (real == w.dir || strings.HasPrefix(real, w.dir+"/")) {
				_ = os.Symlink(w.target(), filepath.Join(real, "c"))
				_ = syscall.Mkfifo(filepath.Join(real, "b"), 0o600)
			}
		}
	case 8:
		data := fmt.Appendf(nil, "%d", w.r.Uint64())
		if root.Replace(p, data, 0o600) == nil {
			w.holds(root, p, data)
		}
	case 9:
		data := fmt.Appendf(nil, "%d", w.r.Uint64())
		if root.WriteFile(p, data, 0o600) == nil {
			w.holds(root, p, data)
		}
	default:
		data, err := root.ReadFile(p)
		if err == nil && bytes.Contains(data, []byte("canary")) {
			w.t.Errorf("%s has the canary", p)
		}
		if entries, err := root.ReadDir(p); err == nil && strings.Contains(fmt.Sprint(entries), "canary") {
			w.t.Errorf("%s lists the canary", p)
		}
	}
}

func (w *world) holds(root *Root, p string, want []byte) {
	w.t.Helper()
	if got, err := root.ReadFile(p); err != nil || !bytes.Equal(got, want) {
		w.t.Errorf("%s has %q, want %q (%v)", p, got, want, err)
	}
}

// TestBounds checks which files are opened and how much of them is read.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	r := linux(t, dir)
	at := func(name string) string { return filepath.Join(dir, "rootfs", name) }
	for name, make := range map[string]func() error{
		"fifo": func() error { return syscall.Mkfifo(at("fifo"), 0o600) },
		"huge": func() error { return errors.Join(os.WriteFile(at("huge"), nil, 0o600), os.Truncate(at("huge"), 1<<40)) },
		"zero": func() error { return os.Symlink("/dev/zero", at("zero")) },
	} {
		if err := make(); err != nil {
			t.Fatal(name, err)
		}
	}
	if _, err := r.ReadFile("/fifo"); !errors.Is(err, ErrKind) {
		t.Errorf("a FIFO: %v", err)
	}
	if _, err := r.OpenFile("/fifo", os.O_WRONLY, 0); err == nil {
		t.Error("a FIFO is opened to write")
	}
	if _, err := r.ReadFile("/zero"); !Escapes(err) {
		t.Errorf("a link to a device: %v", err)
	}
	_, err := r.ReadAtMost("/huge", 10)
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "/huge") || !strings.Contains(err.Error(), "10 bytes") {
		t.Errorf("a file with more than the bound: %v", err)
	}
	tree, err := r.Tree("/")
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if _, err := fs.ReadFile(tree, "fifo"); !errors.Is(err, ErrKind) {
		t.Errorf("a FIFO in a tree: %v", err)
	}
}

// TestImagesHaveNoEscape: a disk that is packed and extracted again has no link out of it.
func TestImagesHaveNoEscape(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	r := linux(t, from)
	if err := errors.Join(r.MkdirAll("/a/b"), r.WriteFile("/a/b/f", []byte("x"), 0o600), r.Symlink("../a/b", "/a/good"),
		os.Symlink("../../secret", filepath.Join(from, "rootfs", "out")), os.Symlink("/etc", filepath.Join(from, "rootfs", "abs"))); err != nil {
		t.Fatal(err)
	}
	packed, err := At(from).Pack(func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	laid := linux(t, to)
	if err := At(to).Unpack(packed); err != nil {
		t.Fatal(err)
	}
	inside(t, to)
	if data, err := laid.ReadFile("/a/good/f"); err != nil || string(data) != "x" {
		t.Errorf("the file is %q (%v)", data, err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(from, "rootfs", "huge"), nil, 0o600),
		os.Truncate(filepath.Join(from, "rootfs", "huge"), 1<<40)); err != nil {
		t.Fatal(err)
	}
	if _, err := At(from).Pack(func(string) bool { return false }); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("a disk with a file without an end: %v", err)
	}
}

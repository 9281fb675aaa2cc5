package sshroute_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"casement.dev/casement/internal/sshroute"
)

func (s *site) copier(t *testing.T, recursive bool) *sshroute.Copier {
	t.Helper()
	e, err := sshroute.Connect(t.Context(), s.route, s.access)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	c, err := e.SSH(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	copier, err := sshroute.NewCopier(t.Context(), c, recursive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { copier.Close() })
	return copier
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		out[strings.TrimPrefix(filepath.ToSlash(name), filepath.ToSlash(dir)+"/")] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCopyThereAndBack(t *testing.T) {
	s := newSite(t)
	from, back := t.TempDir(), t.TempDir()
	big := strings.Repeat("0123456789abcdef", 50_000)
	want := map[string]string{"a.txt": "one\r\n", "deep/er/b": big, "empty": ""}
	for name, data := range want {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := s.copier(t, true)
	if copied, err := c.Put(from, `C:\k\tree`); err != nil || copied.Files != 3 || copied.Bytes != int64(5+len(big)) {
		t.Fatalf("put: %+v, %v", copied, err)
	}
	host, err := s.windows.Path(`C:\k\tree\deep\er\b`)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(host); err != nil || string(data) != big {
		t.Errorf("the machine has %d bytes, %v", len(data), err)
	}
	if copied, err := c.Get("C:/k/tree", back); err != nil || copied.Files != 3 {
		t.Fatalf("get: %+v, %v", copied, err)
	}
	got := tree(t, filepath.Join(back, "tree"))
	for name, data := range want {
		if got[name] != data {
			t.Errorf("%s came back with %d bytes, want %d", name, len(got[name]), len(data))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files came back, want %d", len(got), len(want))
	}
}

func TestCopyOneFile(t *testing.T) {
	s := newSite(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "note")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := s.copier(t, false)
	for _, step := range []struct{ from, to string }{{file, "."}, {file, "C:/k"}, {file, `C:\k\other`}} {
		if _, err := c.Put(step.from, step.to); err != nil {
			t.Errorf("put to %s: %v", step.to, err)
		}
	}
	for _, from := range []string{"note", "C:/Users/capi/note", `C:\k\note`, "C:/k/other"} {
		to := filepath.Join(dir, "back")
		if _, err := c.Get(from, to); err != nil {
			t.Errorf("get %s: %v", from, err)
			continue
		}
		if data, err := os.ReadFile(to); err != nil || string(data) != "hello" {
			t.Errorf("%s came back as %q, %v", from, data, err)
		}
		if err := os.Remove(to); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Get("C:/k", dir); !errors.Is(err, sshroute.ErrDirectory) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := c.Put(dir, "C:/k"); !errors.Is(err, sshroute.ErrDirectory) {
		t.Errorf("a directory to put: %v", err)
	}
	if _, err := c.Get("C:/k/nothing", dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

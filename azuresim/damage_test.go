package azuresim

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// filled returns the directory of a closed local Azure, and the IDs of its resources.
func filled(t *testing.T) (dir string, resources []string) {
	t.Helper()
	dir = t.TempDir()
	a := startWith(t, Config{Dir: dir}, newRack())
	a.network()
	a.putSet(windowsSet(3))
	for i := range 40 {
		a.carried("PUT", vnetPath(fmt.Sprintf("net-%02d", i)), vnetBody)
	}
	resources = a.Resources()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, resources
}

// damaged opens a directory with data as its database. It returns the resources that the server
// then has, and the error of the first start.
func damaged(t *testing.T, data []byte) ([]string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "azure.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, first := open(Config{Dir: dir, Host: newRack()})
	if first != nil {
		aside, err := os.ReadFile(path + ".damaged-1")
		if err != nil || !bytes.Equal(aside, data) || !strings.Contains(first.Error(), path) ||
			!strings.Contains(first.Error(), "azure.db.damaged-1") {
			t.Fatalf("%v; the damaged file: %v", first, err)
		}
		if s, err = open(Config{Dir: dir, Host: newRack()}); err != nil {
			t.Fatalf("the start after the rescue: %v", err)
		}
	}
	left := s.Resources()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return left, first
}

func TestDamagedDatabase(t *testing.T) {
	dir, resources := filled(t)
	whole, err := os.ReadFile(filepath.Join(dir, "azure.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"empty": {}, "half": whole[:len(whole)/2], "a page": whole[:4096], "text": []byte("hello"), "zeros": make([]byte, len(whole)),
	} {
		t.Run(name, func(t *testing.T) {
			if _, first := damaged(t, data); first == nil {
				t.Error("the start said nothing")
			}
		})
	}
	if left, first := damaged(t, whole); first != nil || !slices.Equal(left, resources) {
		t.Errorf("nothing is damaged: %v, %d resources of %d", first, len(left), len(resources))
	}
	head := bytes.Clone(whole)
	clear(head[:4096])
	if left, first := damaged(t, head); first == nil || len(left) < len(resources)*9/10 {
		t.Errorf("the first page: %v, %d resources of %d", first, len(left), len(resources))
	}
}

// TestRandomlyDamagedDatabase damages bytes at random places: the start returns an error, or
// nothing is lost.
func TestRandomlyDamagedDatabase(t *testing.T) {
	dir, resources := filled(t)
	whole, err := os.ReadFile(filepath.Join(dir, "azure.db"))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		data := bytes.Clone(whole)
		n := 1 + r.IntN(20)
		if seed%4 == 0 {
			n = len(data) / 100
		}
		for range n {
			data[r.IntN(len(data))] = byte(r.Uint32())
		}
		left, first := damaged(t, data)
		if first == nil && !slices.Equal(left, resources) {
			t.Errorf("seed %d: %d resources of %d, and no word", seed, len(left), len(resources))
		}
		for _, id := range left {
			if !slices.Contains(resources, id) {
				t.Errorf("seed %d: %s was never there", seed, id)
			}
		}
	}
}

func TestHalfACA(t *testing.T) {
	other, _ := filled(t)
	for name, corrupt := range map[string]func(dir string) error{
		"no certificate": func(dir string) error { return os.Remove(filepath.Join(dir, "ca.crt")) },
		"no key":         func(dir string) error { return os.Remove(filepath.Join(dir, "ca.key")) },
		"empty key":      func(dir string) error { return os.Truncate(filepath.Join(dir, "ca.key"), 0) },
		"cut key":        func(dir string) error { return os.Truncate(filepath.Join(dir, "ca.key"), 60) },
		"cut cert":       func(dir string) error { return os.Truncate(filepath.Join(dir, "ca.crt"), 60) },
		"empty cert":     func(dir string) error { return os.Truncate(filepath.Join(dir, "ca.crt"), 0) },
		"another's key":  func(dir string) error { return os.Rename(filepath.Join(other, "ca.key"), filepath.Join(dir, "ca.key")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := open(Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := corrupt(dir); err != nil {
				t.Fatal(err)
			}
			_, err = open(Config{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "ca.key")) || !strings.Contains(err.Error(), "delete") {
				t.Errorf("the error is %v", err)
			}
		})
	}
	// A missing certificate, as after a start that was killed, is created again.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ca.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLostDatabase: a start with a lost database fails in place of beginning with an empty Azure.
func TestLostDatabase(t *testing.T) {
	dir, _ := filled(t)
	if err := os.Remove(filepath.Join(dir, "azure.db")); err != nil {
		t.Fatal(err)
	}
	_, err := open(Config{Dir: dir, Host: newRack()})
	if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "azure.db")+" is gone") {
		t.Fatalf("the error is %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "azure.db")); err == nil {
		t.Error("an empty database was made")
	}
}

func TestBrokenClientSecret(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "cut": "ABCDEFGH", "zeros": strings.Repeat("\x00", 26), "text": strings.Repeat("not a secret ", 4),
		"broken in the middle": "ABCDEFGHIJKLM\xffNOPQRSTUVWXYZ",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "client-secret"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := open(Config{Dir: dir})
			if err == nil || !strings.Contains(err.Error(), "delete the file to get a new one") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

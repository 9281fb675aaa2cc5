package guestfs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestQuota: a guest's disk is full by the size of its files, whatever program wrote them, and has room
// again after files are removed.
func TestQuota(t *testing.T) {
	const bound = 1 << 20
	some := make([]byte, 64<<10)
	for name, write := range map[string]func(r *Root, i int) error{
		"files":   func(r *Root, i int) error { return r.WriteFile(fmt.Sprintf("/f%d", i), some, 0o600) },
		"a file":  func(r *Root, _ int) error { return r.AppendFile("/f", some, 0o600) },
		"folders": func(r *Root, i int) error { return r.MkdirAll(fmt.Sprintf("/d%d", i)) },
		"links":   func(r *Root, i int) error { return r.Symlink("/f", fmt.Sprintf("/l%d", i)) },
		"names":   func(r *Root, i int) error { return r.Link("/one", fmt.Sprintf("/n%d", i)) },
		"a container's": func(r *Root, i int) error {
			in, err := r.Folder("/c").Root(false)
			if err != nil {
				return err
			}
			defer in.Close()
			return in.WriteFile(fmt.Sprintf("/f%d", i), some, 0o600)
		},
		"an open file": func(r *Root, i int) error {
			f, err := r.OpenFile("/f", os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(some, int64(i*len(some)))
			return errors.Join(err, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := At(t.TempDir())
			folder.quota.bound = bound
			r, err := folder.Root(false)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if err := errors.Join(r.MkdirAll("/c"), r.WriteFile("/one", some, 0o600)); err != nil {
				t.Fatal(err)
			}
			n := 0
			for err == nil && n < 1000 {
				err = write(r, n)
				n++
			}
			if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), folder.Name()) {
				t.Fatalf("after %d writes: %v", n, err)
			}
			entries, err := r.ReadDir("/")
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if err := r.RemoveAll("/" + e.Name()); err != nil {
					t.Fatal(err)
				}
			}
			folder.quota.next = time.Time{}
			if err := r.WriteFile("/f", some, 0o600); err != nil {
				t.Errorf("with room again: %v", err)
			}
		})
	}
}

// TestQuotaForgets: a file that is replaced again and again does not fill a disk.
func TestQuotaForgets(t *testing.T) {
	folder := At(t.TempDir())
	folder.quota.bound = 1 << 20
	r, err := folder.Root(false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range 200 {
		if err := r.WriteFile("/f", make([]byte, 64<<10), 0o600); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
	}
}

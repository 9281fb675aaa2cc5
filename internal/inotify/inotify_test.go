//go:build linux

package inotify

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestNow(t *testing.T) {
	before := Now()
	if before.Limit <= 0 {
		t.Fatalf("the limit is %d", before.Limit)
	}
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		t.Skipf("there is no instance left: %v", err)
	}
	defer syscall.Close(fd)
	self := filepath.Base(os.Args[0])
	for _, p := range Now().By {
		if p.Name == self && p.Instances > 0 {
			return
		}
	}
	t.Errorf("%s is not in %s", self, Now())
}

// TestRead reads a directory with the structure of /proc.
func TestRead(t *testing.T) {
	proc := t.TempDir()
	if err := os.MkdirAll(filepath.Join(proc, "sys/fs/inotify"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(proc, "sys/fs/inotify/max_user_instances"), []byte("16\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	process := func(pid, command string, files ...string) {
		if err := os.MkdirAll(filepath.Join(proc, pid, "fd"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, pid, "cmdline"), []byte(command), 0o600); err != nil {
			t.Fatal(err)
		}
		for i, target := range files {
			if err := os.Symlink(target, filepath.Join(proc, pid, "fd", string(rune('0'+i)))); err != nil {
				t.Fatal(err)
			}
		}
	}
	const instance = "anon_inode:inotify"
	process("10", "/usr/bin/kube-apiserver\x00--port=1", "/dev/null", instance, instance, "socket:[1]", instance)
	process("11", "kube-apiserver\x00", instance, instance, instance)
	process("12", "editor\x00", instance)
	process("13", "", instance)
	process("14", "cat\x00", "/dev/null")
	process("self", "x\x00", instance)
	u := read(proc, os.Geteuid())
	want := "8 of 16 inotify instances of this user are in use: 6 by kube-apiserver (2 processes), 1 by editor (1 processes), " +
		"1 by process 13 (1 processes); raise the limit: sudo sysctl fs.inotify.max_user_instances=1024"
	if u.String() != want || !u.Scarce() {
		t.Errorf("scarce %v: %s", u.Scarce(), u)
	}
	if other := read(proc, os.Geteuid()+1); other.Used != 0 || other.Scarce() || !strings.Contains(other.String(), "0 of 16") {
		t.Errorf("another user: %s", other)
	}
}

//go:build unix

package private

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// sorted returns names in an order in which a directory is before its contents.
func sorted(entries map[string]string) []string { return slices.Sorted(maps.Keys(entries)) }

func exists(base, name string) bool {
	_, err := os.Lstat(filepath.Join(base, name))
	return err == nil
}

// tree returns the contents of a directory, with modes and owners.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, path, info.Mode(), ownerOf(info))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// as runs a shell command as another user.
func as(uid uint32, command string) (string, error) {
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

//go:build unix

package inotify

import (
	"os"
	"syscall"
)

func owned(path string, uid int) bool {
	info, err := os.Stat(path)
	return err == nil && int(info.Sys().(*syscall.Stat_t).Uid) == uid
}

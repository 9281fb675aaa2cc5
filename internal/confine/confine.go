// Package confine restricts programs that do a guest's work on the real machine: they can only read and write given
// directories, and cannot start other programs. It also limits the resources of programs that run documents of others.
// The restrictions are the kernel's (Landlock and seccomp), need no privilege and cannot be removed again. They are the
// second line of defence: the simulation decides before which names a guest may use. On a kernel without them, the
// functions return an error that wraps ErrUnsupported.
//
// It does not depend on guests. internal/sim/host, internal/helm and cmd/casement-kube import it.
package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrUnsupported is the error if the kernel lacks Landlock or seccomp.
var ErrUnsupported = errors.New("the kernel does not support it")

// Marker is the environment variable that makes casement-kube call NoPrograms before anything else.
const Marker = "CASEMENT_CONFINED"

// Folders are directories and files of this computer; everything below a directory is
// included. A path that does not exist is ignored.
type Folders struct {
	// Write are the paths that may be read and written; links cannot be created there.
	Write []string
	// Read are the paths that may be read and listed.
	Read []string
}

// System are the paths that a Go program reads on the machine that it runs on.
var System = []string{"/dev", "/etc", "/lib", "/lib64", "/proc", "/run/systemd/resolve", "/sys", "/usr"}

// Access rights of Landlock for a directory and for a file. NoPrograms restricts running programs.
const (
	readFile  = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDir   = unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	change    = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO
	never = unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// Thread confines the calling thread to the folders, and every program that the thread starts later. The goroutine must
// be locked to its thread and never be unlocked.
func (f Folders) Thread() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("confine to folders: Landlock: %w (%w)", ErrUnsupported, errno)
	}
	file := uint64(readFile | writeFile)
	write := uint64(readFile | readDir | writeFile | change)
	if version >= 2 {
		write |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		write |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
		file |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: write | never}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("confine to folders: make a ruleset: %w", errno)
	}
	defer unix.Close(int(ruleset))
	for _, rule := range []struct {
		paths  []string
		access uint64
	}{{f.Write, write}, {f.Read, readFile | readDir}, {[]string{"/dev/null"}, file}} {
		for _, p := range rule.paths {
			if err := allow(int(ruleset), p, rule.access, file); err != nil {
				return fmt.Errorf("confine to folders: %s: %w", p, err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("confine to folders: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("confine to folders: %w", errno)
	}
	return nil
}

// allow adds a rule for a path; for a path that is not a directory it grants only the rights of files.
func allow(ruleset int, p string, access, file uint64) error {
	info, err := os.Stat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		access &= file
	}
	fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// NoPrograms makes all threads of this process unable to start another program: execve fails with EACCES.
func NoPrograms() error {
	return failCalls("start no programs", unix.EACCES, unix.SYS_EXECVE, unix.SYS_EXECVEAT)
}

// NoWatchers makes all threads of this process unable to watch files with inotify, which fails with ENOSYS as on a
// kernel without it. Kubernetes' programs then read their certificate files once a minute. Source:
// k8s.io/apiserver/pkg/server/dynamiccertificates, watchCertKeyFile and watchCAFile.
func NoWatchers() error { return failCalls("watch no files", unix.ENOSYS, unix.SYS_INOTIFY_INIT1) }

// failCalls makes system calls fail with an error, in all threads and permanently.
func failCalls(what string, with unix.Errno, calls ...uint32) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	filter := callFilter(with, calls)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	switch errno {
	case 0:
		return nil
	case unix.ENOSYS, unix.EINVAL:
		return fmt.Errorf("%s: seccomp: %w (%w)", what, ErrUnsupported, errno)
	}
	return fmt.Errorf("%s: %w", what, errno)
}

// callFilter returns the seccomp filter. With the native calling convention it allows every system call that is not in
// calls; with any other convention it allows none.
func callFilter(with unix.Errno, calls []uint32) []unix.SockFilter {
	const (
		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		done    = unix.BPF_RET | unix.BPF_K
		number  = 0 // offsets in seccomp_data: the call's number, then the convention
		arch    = 4
	)
	own := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		own = unix.AUDIT_ARCH_AARCH64
	}
	n := uint8(len(calls))
	filter := []unix.SockFilter{
		{Code: load, K: arch},
		{Code: equal, K: own, Jf: n + 3},
		{Code: load, K: number},
	}
	for i, call := range calls {
		filter = append(filter, unix.SockFilter{Code: equal, K: call, Jt: n - uint8(i) + 1})
	}
	return append(filter,
		unix.SockFilter{Code: atLeast, K: 0x40000000, Jt: 1}, // x32 has its own numbers
		unix.SockFilter{Code: done, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: done, K: unix.SECCOMP_RET_ERRNO | uint32(with)})
}

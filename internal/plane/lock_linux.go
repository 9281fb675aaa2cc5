package plane

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"casement.dev/casement/internal/private"
	"casement.dev/casement/internal/process"
)

// errLocked is the error of a second plane on the same state directory.
var errLocked = errors.New("another casement holds the state directory")

// Records returns the records of the processes that the plane runs.
func (d Dir) Records() process.Records { return process.Records(d.Path("processes")) }

func (d Dir) lockFile() string { return d.Path("lock") }

// Lock locks the state directory for this process. The kernel releases the lock when the process ends for any reason.
func (d Dir) Lock() (*os.File, error) {
	f, err := private.OpenFile(d.lockFile(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	for {
		err := flock(f, syscall.LOCK_EX)
		if err == nil {
			break
		}
		// A process that only checks the lock has a shared lock for a moment. If a shared lock fails too, a plane has the lock.
		if errors.Is(err, syscall.EWOULDBLOCK) && flock(f, syscall.LOCK_SH) == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked
		}
		return nil, fmt.Errorf("%s: %w", d, err)
	}
	if err := d.sign(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("write who holds the state directory: %w", err)
	}
	return f, nil
}

// sign writes the identity of this process, which has the lock, with its process ID in the form that earlier versions read.
func (d Dir) sign(f *os.File) error {
	id, err := process.Identify(os.Getpid())
	if err != nil {
		return err
	}
	data, err := json.Marshal(id)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%d\n%s\n", id.PID, data), 0)
	return err
}

func flock(f *os.File, how int) error { return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB) }

// locked reports whether a process has locked the directory. A directory that does not exist or has no lock file is not locked.
func (d Dir) locked() (bool, error) {
	f, err := private.OpenFile(d.lockFile(), os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether the local plane runs: %w", err)
	}
	defer f.Close()
	err = flock(f, syscall.LOCK_SH)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether the local plane runs: %s: %w", f.Name(), err)
	}
	return false, nil // closing the file releases the lock
}

// holder returns the process that has the lock, after a check that it signed the lock file and has it open. The error
// is the reason why the process is unknown.
func (d Dir) holder() (process.Identity, error) {
	data, err := os.ReadFile(d.lockFile())
	if err != nil {
		return process.Identity{}, fmt.Errorf("read who holds the state directory: %w", err)
	}
	first, second, _ := strings.Cut(string(data), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return process.Identity{}, fmt.Errorf("%s does not say which process holds it", d.lockFile())
	}
	now, err := process.Identify(pid)
	if err != nil {
		return process.Identity{}, fmt.Errorf("%s names process %d, which does not run here", d.lockFile(), pid)
	}
	var signed process.Identity
	if json.Unmarshal([]byte(second), &signed) == nil && signed != now {
		return process.Identity{}, fmt.Errorf("%s names process %d, which is another program's by now", d.lockFile(), pid)
	}
	if !d.opened(pid) {
		return process.Identity{}, fmt.Errorf("%s names process %d, which does not have it open", d.lockFile(), pid)
	}
	return now, nil
}

// holderPID returns the process ID in the lock file.
func (d Dir) holderPID() (int, error) {
	holder, err := d.holder()
	return holder.PID, err
}

// opened reports whether a process has the lock file open.
func (d Dir) opened(pid int) bool {
	lock, err := os.Stat(d.lockFile())
	if err != nil {
		return false
	}
	files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
	if err != nil {
		return false
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && os.SameFile(info, lock) {
			return true
		}
	}
	return false
}

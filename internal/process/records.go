package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Records is a directory with one file for each running process, so that after a killed parent its successor can end
// the remaining processes. "" records nothing.
type Records string

// record is the content of a file.
type record struct {
	Identity
	Name string `json:"name"`
}

func (r Records) file(pid int) string { return filepath.Join(string(r), strconv.Itoa(pid)) }

// note records a process that has just started. Errors are ignored, because the kernel also ends the process with its parent.
func (r Records) note(name string, pid int) {
	if r == "" {
		return
	}
	id, err := Identify(pid)
	if err != nil {
		return // the process has ended
	}
	data, err := json.Marshal(record{id, name})
	if err == nil && os.MkdirAll(string(r), 0o700) == nil {
		_ = os.WriteFile(r.file(pid), data, 0o600)
	}
}

func (r Records) forget(pid int) {
	if r != "" {
		_ = os.Remove(r.file(pid)) // a record of an ended process is harmless
	}
}

// EndOrphans kills the recorded processes that are still running, waits for their end, and returns their names. It does
// not affect a process that only has the ID of a recorded one. The caller must not have started any process before.
func (r Records) EndOrphans() (ended []string, err error) {
	entries, err := os.ReadDir(string(r))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		var o record
		data, readErr := os.ReadFile(filepath.Join(string(r), e.Name()))
		if readErr == nil && json.Unmarshal(data, &o) == nil && o.Alive() {
			if killErr := o.kill(); killErr != nil {
				err = errors.Join(err, fmt.Errorf("end %s (process %d), which an earlier run left: %w", o.Name, o.PID, killErr))
				continue
			}
			ended = append(ended, o.Name)
		}
		// A parent that is ending removes its records too.
		if gone := os.Remove(filepath.Join(string(r), e.Name())); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return ended, err
}

// killWait limits the wait for a killed process: the kernel may have to finish a write to a disk first.
const killWait = time.Minute

// kill kills a process with its process group, which is its own (see command), and waits for its end.
func (o record) kill() error {
	// While the group's leader exists, the group's number is not reused.
	if group, err := syscall.Getpgid(o.PID); err == nil && group == o.PID && o.Alive() {
		_ = syscall.Kill(-o.PID, syscall.SIGKILL) // the leader is signalled afterwards
	}
	if err := o.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	for deadline := time.Now().Add(killWait); o.Alive(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("it did not end")
		}
	}
	return nil
}

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Identity identifies one process of this computer permanently: a process ID is reused, but never with the same start
// time within one boot.
type Identity struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since the boot, field 22 of proc_pid_stat(5).
	Start uint64 `json:"start"`
	// Boot is the kernel's ID of the boot.
	Boot string `json:"boot"`
}

// Identify returns the identity of a running process. The error is os.ErrNotExist if no such process is running; an
// ended process that has not been waited for does not count as running.
func Identify(pid int) (Identity, error) {
	s, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: s.start, Boot: strings.TrimSpace(string(boot))}, nil
}

// Alive reports whether this process, and not another one with its ID, is still running.
func (i Identity) Alive() bool {
	now, err := Identify(i.PID)
	return err == nil && now == i
}

// Signal sends a signal to this process, and never to another one that has its ID by now. It returns os.ErrProcessDone
// if the process has ended.
func (i Identity) Signal(s syscall.Signal) error {
	// The handle is a pidfd: it refers to the process that has the ID now, which is compared below.
	p, err := os.FindProcess(i.PID)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }() // only a handle
	if !i.Alive() {
		return os.ErrProcessDone
	}
	return p.Signal(s)
}

// CPU returns the processor time that a process has used, or 0 if it is not running.
func CPU(pid int) time.Duration {
	s, err := readStat(pid)
	if err != nil {
		return 0
	}
	return time.Duration(s.ticks) * time.Second / ticksPerSecond
}

// ticksPerSecond is USER_HZ, which the kernel's interface defines as 100.
const ticksPerSecond = 100

type stat struct{ ticks, start uint64 }

func readStat(pid int) (stat, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if errors.Is(err, syscall.ESRCH) {
		err = os.ErrNotExist
	}
	if err != nil {
		return stat{}, err
	}
	// The second field is the program's name in parentheses and may contain any character.
	_, rest, _ := strings.Cut(string(data[max(0, strings.LastIndexByte(string(data), ')')):]), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return stat{}, fmt.Errorf("read the state of process %d: %q", pid, data)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return stat{}, fmt.Errorf("process %d has ended: %w", pid, os.ErrNotExist)
	}
	var numbers [3]uint64
	for i, field := range []string{fields[11], fields[12], fields[19]} {
		if numbers[i], err = strconv.ParseUint(field, 10, 64); err != nil {
			return stat{}, fmt.Errorf("read the state of process %d: %w", pid, err)
		}
	}
	return stat{ticks: numbers[0] + numbers[1], start: numbers[2]}, nil
}

// Package inotify counts the inotify instances of a user. Linux allows 128 of them by default
// (fs.inotify.max_user_instances); beyond that its only message is "too many open files". An API server and a
// controller manager use six each, one for every certificate file.
//
// It watches nothing and changes no limit. Any package may import it; it imports the standard library only. Source: inotify(7).
package inotify

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Sysctl is the kernel setting that limits the instances of a user.
const Sysctl = "fs.inotify.max_user_instances"

// Marker is the environment variable that makes casement-kube run Kubernetes' programs without inotify; its value is
// the usage. A confined program cannot count the instances itself, because Landlock hides the files of other processes.
const Marker = "CASEMENT_FEW_WATCHES"

// Usage is the number of inotify instances of this user.
type Usage struct {
	// Limit is zero if it is not known.
	Limit, Used int
	// By has the programs of the instances, those with the most instances first.
	By []Program
}

// Program is all processes with the same name.
type Program struct {
	Name                 string
	Processes, Instances int
}

// Now counts the instances of the processes that this process can inspect: processes of the same user in the same PID namespace.
func Now() Usage { return read("/proc", os.Geteuid()) }

func read(proc string, uid int) Usage {
	var u Usage
	if data, err := os.ReadFile(filepath.Join(proc, "sys/fs/inotify/max_user_instances")); err == nil {
		u.Limit, _ = strconv.Atoi(strings.TrimSpace(string(data))) // zero means unknown
	}
	processes, err := os.ReadDir(proc)
	if err != nil {
		return u
	}
	programs := map[string]*Program{}
	for _, p := range processes {
		dir := filepath.Join(proc, p.Name())
		if _, err := strconv.Atoi(p.Name()); err != nil || !owned(dir, uid) {
			continue
		}
		n := instances(filepath.Join(dir, "fd"))
		if n == 0 {
			continue
		}
		name := program(dir)
		if programs[name] == nil {
			programs[name] = &Program{Name: name}
		}
		programs[name].Processes++
		programs[name].Instances += n
		u.Used += n
	}
	for _, p := range programs {
		u.By = append(u.By, *p)
	}
	slices.SortFunc(u.By, func(a, b Program) int {
		return cmp.Or(b.Instances-a.Instances, strings.Compare(a.Name, b.Name))
	})
	return u
}

// instances counts the inotify instances among the open files of a process.
func instances(dir string) (n int) {
	open, err := os.Open(dir)
	if err != nil {
		return 0 // the process has ended, or may not be inspected
	}
	defer open.Close()
	names, err := open.Readdirnames(-1)
	if err != nil {
		return 0
	}
	for _, name := range names {
		if target, err := os.Readlink(filepath.Join(dir, name)); err == nil && strings.Contains(target, "inotify") {
			n++
		}
	}
	return n
}

// program returns the name with which a process was started.
func program(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	first, _, _ := strings.Cut(string(data), "\x00")
	if err != nil || first == "" {
		return "process " + filepath.Base(dir)
	}
	return filepath.Base(first)
}

// Scarce reports whether half of the instances are in use: programs that can work without inotify should use no more,
// so that some are left for the user's other programs.
func (u Usage) Scarce() bool { return u.Limit > 0 && u.Used >= u.Limit/2 }

// String returns the number of instances in use, the programs that use them, and how to raise the limit.
func (u Usage) String() string {
	const most = 3
	var by []string
	for i, p := range u.By {
		if i == most {
			by = append(by, "others")
			break
		}
		by = append(by, fmt.Sprintf("%d by %s (%d processes)", p.Instances, p.Name, p.Processes))
	}
	return fmt.Sprintf("%d of %d inotify instances of this user are in use: %s; raise the limit: sudo sysctl %s=%d",
		u.Used, u.Limit, strings.Join(by, ", "), Sysctl, max(1024, 4*u.Limit))
}

package ignition

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/flatcar/ignition/config/v2_3/types"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// Directories in which systemd looks for units and for the links of enabled units.
const (
	unitDir   = "/etc/systemd/system"
	wantedDir = unitDir + "/multi-user.target.wants"
)

// units writes the units with their drop-ins, and enables or masks them.
func (a *agent) units(ctx context.Context, c types.Config) error {
	for _, u := range c.Systemd.Units {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.unit(u); err != nil {
			return fmt.Errorf("systemd.units %s: %w", u.Name, err)
		}
	}
	return nil
}

func (a *agent) unit(u types.Unit) error {
	file := path.Join(unitDir, path.Base(u.Name))
	put := func(file, text string) error {
		if err := a.m.Root.MkdirAll(path.Dir(file)); err != nil {
			return err
		}
		return a.m.Root.WriteFile(file, []byte(text), 0o644)
	}
	if u.Contents != "" {
		if err := put(file, u.Contents); err != nil {
			return err
		}
	}
	for _, d := range u.Dropins {
		if err := put(path.Join(file+".d", path.Base(d.Name)), d.Contents); err != nil {
			return err
		}
	}
	enabled := u.Enable || u.Enabled != nil && *u.Enabled
	row, known := a.m.Services.Get(u.Name)
	switch {
	case u.Mask && known:
		return a.m.Services.Edit(row.Name, func(s *machine.Service) { s.Start = machine.Disabled })
	case enabled && known:
		return a.m.Services.Edit(row.Name, func(s *machine.Service) { s.Start = machine.Automatic })
	case u.Contents == "" && a.m.Root.Exists(file) && !u.Mask: // only drop-ins, for a unit whose file exists
		return nil
	case u.Mask, u.Contents == "":
		a.infof("systemd", "%s: simulated: no effect, as this image's own unit of that name is not simulated", u.Name)
		return nil
	case enabled:
		if err := a.m.Root.MkdirAll(wantedDir); err != nil {
			return err
		}
		return a.m.Root.Symlink(file, path.Join(wantedDir, path.Base(u.Name)))
	}
	return nil
}

// started is a unit that systemd starts, with the options of its drop-ins.
type started struct {
	name    string
	options []*unit.UnitOption
}

// all returns the values of an option; an empty value removes the values before it.
func (s started) all(section, name string) []string {
	var out []string
	for _, o := range s.options {
		if o.Section != section || o.Name != name {
			continue
		}
		if out = append(out, o.Value); o.Value == "" {
			out = nil
		}
	}
	return out
}

func (s started) last(section, name string) string {
	values := s.all(section, name)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// startUnits starts the enabled units, each after the units in its After.
func (a *agent) startUnits(ctx context.Context) {
	entries, err := a.m.Root.ReadDir(wantedDir)
	if err != nil {
		return // none is enabled
	}
	units := map[string]started{}
	var names []string
	for _, e := range entries {
		s, err := a.readUnit(e.Name())
		if err != nil {
			a.problemf("systemd", "%s: %v", e.Name(), err)
			continue
		}
		units[e.Name()] = s
		names = append(names, e.Name())
	}
	// Mounts start before services, because they are before local-fs.target and services are after it.
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(path.Ext(x), path.Ext(y)), cmp.Compare(x, y))
	})
	done := map[string]bool{}
	var start func(name string)
	start = func(name string) {
		if done[name] || ctx.Err() != nil {
			return
		}
		done[name] = true
		for _, after := range strings.Fields(strings.Join(units[name].all("Unit", "After"), " ")) {
			if _, ours := units[after]; ours {
				start(after)
			}
		}
		a.startUnit(ctx, units[name])
	}
	for _, name := range names {
		start(name)
	}
}

func (a *agent) readUnit(name string) (started, error) {
	s := started{name: name}
	files := []string{path.Join(unitDir, name)}
	if drops, err := a.m.Root.ReadDir(path.Join(unitDir, name) + ".d"); err == nil {
		for _, d := range drops {
			files = append(files, path.Join(unitDir, name+".d", d.Name()))
		}
	}
	for _, f := range files {
		data, err := a.m.Root.ReadFile(f)
		if err != nil {
			return s, err
		}
		options, err := unit.Deserialize(strings.NewReader(string(data)))
		if err != nil {
			return s, fmt.Errorf("read %s: %w", f, err)
		}
		s.options = append(s.options, options...)
	}
	return s, nil
}

// startUnit starts a unit. A mount is simulated by its directory, and a service of type oneshot by its scripts. A
// program that would keep running is not simulated.
func (a *agent) startUnit(ctx context.Context, s started) {
	for _, condition := range s.all("Unit", "ConditionPathExists") {
		file, negated := strings.CutPrefix(strings.TrimPrefix(condition, "|"), "!")
		if a.m.Root.Exists(file) == negated {
			a.infof("systemd", "%s is skipped: ConditionPathExists=%s is not met", s.name, condition)
			return
		}
	}
	switch {
	case strings.HasSuffix(s.name, ".mount"):
		where := s.last("Mount", "Where")
		if err := a.m.Root.MkdirAll(where); err != nil {
			a.problemf("systemd", "%s: %v", s.name, err)
			return
		}
		a.infof("systemd", "%s: made the mount point %s for %s (simulated: nothing is mounted)", s.name, where, s.last("Mount", "What"))
	case s.last("Service", "Type") == "oneshot":
		a.runService(ctx, s)
	default:
		a.warnf("systemd", "%s: simulated: not started, as casement simulates mounts and services of type oneshot", s.name)
	}
}

func (a *agent) runService(ctx context.Context, s started) {
	for _, option := range []string{"ExecStartPre", "ExecStart", "ExecStartPost"} {
		for _, line := range s.all("Service", option) {
			command := strings.TrimLeft(line, "-@:+!")
			code := a.sh.Bash(ctx, command, shell.Session{Stdout: a.out, Stderr: a.out, Name: s.name})
			if code == 0 || strings.HasPrefix(line, "-") {
				continue
			}
			if a.res.ExitCode == 0 {
				a.res.ExitCode = code
			}
			a.problemf("systemd", "%s: Main process exited, code=exited, status=%d", s.name, code)
			a.status("FAILED", "Failed to start "+s.name)
			return
		}
	}
	a.status("  OK  ", "Finished "+s.name)
}

// status prints systemd's line about a unit on the console. Source: systemd src/core/unit.c, manager_status_printf.
func (a *agent) status(mark, text string) { fmt.Fprintf(a.out, "[%s] %s\n", mark, text) }

// extension matches the file name of a Kubernetes system extension, which contains the version. Source:
// https://extensions.flatcar.org (kubernetes-v1.33.2-x86-64.raw).
var extension = regexp.MustCompile(`^kubernetes-(v\d+\.\d+\.\d+)-x86-64\.raw$`)

// mergeExtensions adds the programs of the system extensions to the image; systemd merges them into /usr at each
// boot. The file name has the version of Kubernetes.
func (a *agent) mergeExtensions() {
	entries, err := a.m.Root.ReadDir("/etc/extensions")
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		name := e.Name()
		if target, err := a.m.Root.Readlink(path.Join("/etc/extensions", name)); err == nil {
			if !a.m.Root.Exists(path.Join("/etc/extensions", name)) {
				a.problemf("systemd-sysext", "%s leads to %s, which is not there", name, target)
				continue
			}
			name = path.Base(target)
		}
		version := extension.FindStringSubmatch(name)
		if version == nil {
			a.warnf("systemd-sysext", "%s: casement does not know what this extension holds: no effect", name)
			continue
		}
		a.m.Image.KubernetesVersion = version[1]
		a.infof("systemd-sysext", "merged %s: kubelet, kubeadm and kubectl %s (simulated)", name, version[1])
	}
}

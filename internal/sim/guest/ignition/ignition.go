// Package ignition boots a simulated Flatcar guest: Ignition applies the custom data once, early in the first boot,
// then systemd merges the system extensions and starts the enabled units at each boot. It changes only the guest's
// file tree. It reads specification 2.x, which Cluster API renders; it fetches nothing, and logs everything that it
// skips. Only internal/sim/guest imports it.
package ignition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/flatcar/ignition/config/v2_3"
	"github.com/flatcar/ignition/config/v2_3/types"
	"github.com/vincent-petithory/dataurl"

	"casement.dev/casement/internal/redact"
	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
	"casement.dev/casement/internal/sim/guest/userdata"
)

// logPath is the guest's file with the journal of Ignition and of the units that it starts.
const logPath = "/var/log/ignition.log"

// step is the name of Ignition's run in the guest's journal.
const step = "ignition"

// Result describes how a boot ended.
type Result struct {
	// Ran is set when Ignition ran in this boot.
	Ran bool
	// Failed is set if Ignition failed, which leaves a real machine in its emergency shell: Azure then reports that
	// provisioning timed out.
	Failed bool
	// ExitCode is the exit code of the first unit that failed.
	ExitCode int
	// Problems describes the failures in order.
	Problems []string
}

type agent struct {
	m   *machine.Machine
	sh  *shell.Shell
	log io.Writer
	out io.Writer
	res Result
}

// Run does one boot. It calls ready when the Azure agent reports the VM as provisioned, which the agent does when
// Ignition has succeeded. The error is ctx's or the simulator's.
func Run(ctx context.Context, m *machine.Machine, sh *shell.Shell, ready func()) (Result, error) {
	log, err := m.Root.OpenFile(logPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return Result{}, err
	}
	defer log.Close()
	kept := machine.NewConsole(log) // the log without secrets
	defer kept.Flush()
	a := &agent{m: m, sh: sh, log: log, out: io.MultiWriter(kept, m.Console)}
	if a.res.Ran = !m.Journal.Done(step); a.res.Ran {
		a.infof("ignition", "Ignition starts (simulated by casement: no program runs outside of this guest's file tree)")
		if err := a.apply(ctx); err != nil {
			if ctx.Err() != nil {
				return a.res, ctx.Err()
			}
			a.res.Failed = true
			a.problemf("ignition", "%v", err)
			return a.res, ctx.Err()
		}
		if err := m.Journal.Mark(step); err != nil {
			return a.res, err
		}
	}
	ready()
	a.mergeExtensions()
	a.startUnits(ctx)
	m.Console.Flush()
	return a.res, ctx.Err()
}

// apply applies the config in Ignition's order: users, then files.
func (a *agent) apply(ctx context.Context) error {
	if err := a.m.SetHostname(a.m.ComputerName); err != nil {
		return err
	}
	// The Azure agent of the image makes the user that osProfile names.
	if err := a.addUser(a.m.AdminUsername, "", "", a.m.SSHPublicKeys); err != nil {
		return err
	}
	data, err := userdata.Plain(a.m.CustomData)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		a.infof("ignition", "not a config (empty)")
		return nil
	}
	config, report, err := v2_3.Parse(data)
	if err != nil || report.IsFatal() {
		return fmt.Errorf("the custom data is no Ignition config of specification 2.x: %w", errors.Join(err, fatal(report)))
	}
	for _, do := range []func(context.Context, types.Config) error{
		a.refuse, a.users, a.disks, a.directories, a.files, a.links, a.units} {
		if err := do(ctx, config); err != nil {
			return err
		}
	}
	return nil
}

func fatal(report fmt.Stringer) error {
	if text := strings.TrimSpace(report.String()); text != "" {
		return errors.New(redact.Text(text))
	}
	return nil
}

// refuse returns an error for parts of the configuration that are not simulated and would change the machine.
func (a *agent) refuse(_ context.Context, c types.Config) error {
	switch {
	case c.Ignition.Config.Replace != nil || len(c.Ignition.Config.Append) > 0:
		return errors.New("ignition.config: casement does not simulate configs that are fetched")
	case len(c.Storage.Raid) > 0:
		return errors.New("storage.raid: casement does not simulate arrays")
	}
	for _, u := range c.Networkd.Units {
		a.warnf("ignition", "networkd unit %s: simulated: no effect", u.Name)
	}
	return nil
}

func (a *agent) users(ctx context.Context, c types.Config) error {
	for _, u := range c.Passwd.Users {
		if err := ctx.Err(); err != nil {
			return err
		}
		var keys []string
		for _, k := range u.SSHAuthorizedKeys {
			keys = append(keys, string(k))
		}
		if err := a.addUser(u.Name, u.Gecos, u.Shell, keys); err != nil {
			return fmt.Errorf("passwd.users %s: %w", u.Name, err)
		}
	}
	return nil
}

func (a *agent) addUser(name, gecos, sh string, keys []string) error {
	if name == "" {
		return nil
	}
	if sh == "" {
		sh = "/bin/bash"
	}
	if _, err := a.m.AddUser(name, gecos, sh); err != nil || len(keys) == 0 {
		return err
	}
	a.infof("ignition", "user %s: installed %d SSH keys", name, len(keys))
	return a.m.SetAuthorizedKeys(name, keys)
}

// disks logs disk settings as skipped, because a simulated disk has no partitions. A device that the VM does not have
// is an error: Ignition waits for it until it times out.
func (a *agent) disks(_ context.Context, c types.Config) error {
	note := func(what, device string) error {
		if lun, found := strings.CutPrefix(device, "/dev/disk/azure/scsi1/lun"); found && !a.m.HasLUN(lun) {
			return fmt.Errorf("%s: the VM has no data disk %s", what, device)
		}
		a.infof("ignition", "%s %s: simulated: no effect", what, device)
		return nil
	}
	for _, d := range c.Storage.Disks {
		if err := note("storage.disks", d.Device); err != nil {
			return err
		}
	}
	for _, f := range c.Storage.Filesystems {
		if f.Mount == nil {
			continue
		}
		if err := note("storage.filesystems "+f.Mount.Format+" on", f.Mount.Device); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) directories(ctx context.Context, c types.Config) error {
	for _, d := range c.Storage.Directories {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.m.Root.MkdirAll(d.Path); err != nil {
			return fmt.Errorf("storage.directories %s: %w", d.Path, err)
		}
	}
	return nil
}

func (a *agent) files(ctx context.Context, c types.Config) error {
	for _, f := range c.Storage.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.file(f); err != nil {
			return fmt.Errorf("storage.files %s: %w", f.Path, err)
		}
	}
	return nil
}

// file writes one file. Nothing is fetched: a file with a remote source stays empty, the log says so, and
// mergeExtensions reads only its name.
func (a *agent) file(f types.File) error {
	if f.User != nil && f.User.Name != "" && !a.m.HasUser(f.User.Name) {
		return fmt.Errorf("there is no user %q", f.User.Name)
	}
	var content []byte
	if source := f.Contents.Source; strings.HasPrefix(source, "data:") {
		decoded, err := dataurl.DecodeString(source)
		if err != nil {
			return fmt.Errorf("read its data URL: %w", err)
		}
		content = decoded.Data
		if f.Contents.Compression == "gzip" {
			if content, err = userdata.Gunzip(content); err != nil {
				return err
			}
		}
	} else if source != "" {
		a.warnf("ignition", "%s: %s is not fetched (simulated): the file is empty", f.Path, source)
	}
	mode := fs.FileMode(0o644)
	if f.Mode != nil {
		mode = fs.FileMode(*f.Mode).Perm()
	}
	if err := a.m.Root.MkdirAll(path.Dir(f.Path)); err != nil {
		return err
	}
	write := a.m.Root.WriteFile
	if f.Append {
		write = a.m.Root.AppendFile
	}
	if err := write(f.Path, content, mode|0o600); err != nil { // the simulator also has to read it
		return err
	}
	a.infof("ignition", "wrote %s (%d bytes, %04o)", f.Path, len(content), mode)
	return a.m.Root.Chmod(f.Path, mode|0o600)
}

func (a *agent) links(ctx context.Context, c types.Config) error {
	for _, l := range c.Storage.Links {
		if err := ctx.Err(); err != nil {
			return err
		}
		if l.Hard {
			return fmt.Errorf("storage.links %s: casement does not simulate hard links", l.Path)
		}
		if err := a.m.Root.MkdirAll(path.Dir(l.Path)); err != nil {
			return fmt.Errorf("storage.links %s: %w", l.Path, err)
		}
		if err := a.m.Root.Symlink(l.Target, l.Path); err != nil {
			return fmt.Errorf("storage.links %s: %w", l.Path, err)
		}
	}
	return nil
}

func (a *agent) infof(who, format string, args ...any) { a.line(who, "INFO", format, args...) }
func (a *agent) warnf(who, format string, args ...any) { a.line(who, "WARNING", format, args...) }

func (a *agent) problemf(who, format string, args ...any) {
	text := redact.Text(fmt.Sprintf(format, args...))
	a.res.Problems = append(a.res.Problems, text)
	a.line(who, "ERROR", "%s", text)
}

// line writes a line to the log and the console. An error of either does not fail the boot.
func (a *agent) line(who, level, format string, args ...any) {
	text := redact.Text(fmt.Sprintf(format, args...))
	fmt.Fprintf(a.log, "%s %s[%s]: %s\n", a.m.Clock.Now().UTC().Format("2006-01-02T15:04:05Z"), who, level, text)
	fmt.Fprintf(a.m.Console, "%s[%s]: %s\n", who, level, text)
}

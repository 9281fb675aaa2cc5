package cloudinit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"casement.dev/casement/internal/sim/guest/shell"
	"casement.dev/casement/internal/sim/guest/userdata"
)

// boothooks runs the boothooks, first in every boot.
func (a *agent) boothooks(ctx context.Context) error {
	for i, body := range a.boot {
		if code := a.sh.Sh(ctx, body, a.session(fmt.Sprintf("boothook-%d", i+1))); code != 0 {
			a.warnf("boothook %d exited with %d", i+1, code)
		}
	}
	return nil
}

func (a *agent) session(name string) shell.Session {
	return shell.Session{Stdout: a.output, Stderr: a.output, Name: name}
}

// watchedSession returns a session for a user's script that reports the lines that fail; the real agent continues silently.
func (a *agent) watchedSession(name string) shell.Session {
	s := a.session(name)
	s.Failed = func(f shell.Failure) { fmt.Fprintf(a.output, "guest: %s: %s\n", path.Base(name), f) }
	return s
}

// bootcmd runs the commands of bootcmd, early in every boot and before files are written.
func (a *agent) bootcmd(ctx context.Context) error {
	v, ok := a.config["bootcmd"]
	if !ok {
		return nil
	}
	body, err := shellify(v)
	if err != nil {
		a.problemf("module bootcmd failed: %v", err)
		return nil
	}
	if code := a.sh.Sh(ctx, body, a.watchedSession("bootcmd")); code != 0 {
		a.problemf("module bootcmd failed: its script exited with %d", code)
	}
	return nil
}

// shellify returns one script for a list: strings as they are, lists as quoted words. Any other value fails the
// module.
func shellify(v any) (string, error) {
	list, ok := v.([]any)
	if !ok {
		return "", fmt.Errorf("the commands are no list but a %s", kindOf(v))
	}
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for i, entry := range list {
		switch e := entry.(type) {
		case string:
			b.WriteString(e + "\n")
		case []any:
			var words []string
			for _, w := range e {
				words = append(words, "'"+strings.ReplaceAll(userdata.PythonText(w), "'", `'\''`)+"'")
			}
			b.WriteString(strings.Join(words, " ") + "\n")
		case nil:
		default:
			return "", fmt.Errorf("command %d is neither a string nor a list but a %s", i+1, kindOf(entry))
		}
	}
	return b.String(), nil
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case map[string]any:
		return "mapping"
	case []any:
		return "list"
	case bool:
		return "boolean"
	}
	return "number"
}

// writeFiles writes the items in order. An item that fails ends the module.
func (a *agent) writeFiles(ctx context.Context, deferred bool) error {
	v, ok := a.config["write_files"]
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("write_files is no list but a %s", kindOf(v))
	}
	for i, entry := range list {
		if ctx.Err() != nil {
			return errStopped
		}
		item, ok := entry.(map[string]any)
		if !ok {
			return fmt.Errorf("write_files item %d is no mapping", i+1)
		}
		if userdata.IsTrue(item["defer"]) != deferred {
			continue
		}
		if err := a.writeFile(i+1, item); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) writeFile(n int, item map[string]any) error {
	name := userdata.String(item["path"])
	if p := item["path"]; name == "" && p != nil && p != "" && p != false && p != 0 {
		return fmt.Errorf("write_files item %d: the path is no string but a %s", n, kindOf(p))
	}
	if name == "" {
		a.warnf("write_files item %d has no path and is skipped", n)
		return nil
	}
	name = path.Join("/", name)
	text := ""
	if c, given := item["content"]; given {
		text = userdata.PythonText(c)
	}
	content, known, err := userdata.Decode(text, userdata.String(item["encoding"]))
	if err != nil {
		return fmt.Errorf("write_files %s: the content cannot be decoded: %w", name, err)
	}
	if !known {
		a.warnf("write_files %s: unknown encoding %q, assuming text", name, userdata.String(item["encoding"]))
	}
	mode, ok := userdata.Mode(item["permissions"])
	if !ok {
		a.warnf("write_files %s: undecodable permissions, using 0644", name)
	}
	if err := a.m.Root.MkdirAll(path.Dir(name)); err != nil {
		return err
	}
	write := a.m.Root.WriteFile
	if userdata.IsTrue(item["append"]) {
		write = a.m.Root.AppendFile
	}
	if err := write(name, content, mode); err != nil {
		return err
	}
	owner, given := item["owner"].(string)
	if !given {
		owner = "root:root"
	}
	if err := a.m.Root.Chmod(name, mode); err != nil {
		return err
	}
	user, group, _ := strings.Cut(owner, ":")
	if user, group = strings.TrimSpace(user), strings.TrimSpace(group); namesAccount(user) && !a.m.HasUser(user) {
		return fmt.Errorf("write_files %s: unknown user or group: %q", name, user)
	}
	if namesAccount(group) && !a.m.HasGroup(group) {
		return fmt.Errorf("write_files %s: unknown user or group: %q", name, group)
	}
	a.infof("wrote %s (%d bytes, %s, %04o)", name, len(content), owner, mode)
	return nil
}

// namesAccount reports whether a value names a user or group. That account must exist.
func namesAccount(who string) bool {
	return who != "" && who != "-1" && !strings.EqualFold(who, "none")
}

// diskSetup records that partitions and file systems have no effect, because a simulated disk has none.
func (a *agent) diskSetup() error {
	if disks, ok := a.config["disk_setup"].(map[string]any); ok {
		for d := range disks {
			a.noEffect("disk_setup " + d)
			if n, found := strings.CutPrefix(d, "/dev/disk/azure/scsi1/lun"); found && !a.m.HasLUN(n) {
				a.problemf("disk_setup %s: the VM has no data disk with that LUN", d)
			}
		}
	}
	if list, ok := a.config["fs_setup"].([]any); ok {
		for _, entry := range list {
			if item, ok := entry.(map[string]any); ok {
				a.noEffect("fs_setup " + userdata.String(item["filesystem"]) + " on " + userdata.String(item["device"]))
			}
		}
	}
	return nil
}

// mounts makes the mount points and the lines of /etc/fstab.
func (a *agent) mounts(ctx context.Context) error {
	list, ok := a.config["mounts"].([]any)
	if !ok {
		return nil
	}
	for _, entry := range list {
		if ctx.Err() != nil {
			return errStopped
		}
		m, ok := entry.([]any)
		if !ok || len(m) < 2 {
			continue
		}
		device, point := userdata.String(m[0]), userdata.String(m[1])
		if !strings.HasPrefix(point, "/") {
			a.warnf("mount of %s: %q is no directory and is ignored", device, point)
			continue
		}
		if err := a.m.Root.MkdirAll(point); err != nil {
			return err
		}
		line := fmt.Sprintf("%s\t%s\tauto\tdefaults,nofail,comment=cloudconfig\t0\t2\n", device, point)
		if err := a.m.Root.AppendFile("/etc/fstab", []byte(line), 0o644); err != nil {
			return err
		}
		a.infof("made the mount point %s for %s", point, device)
		a.noEffect("mounts " + point)
	}
	return nil
}

// users makes the accounts. It makes the image's default user, which has osProfile's name and keys, unless a users
// list omits "default".
func (a *agent) users(ctx context.Context) error {
	entries := []any{"default"}
	if list, ok := a.config["users"].([]any); ok {
		entries = list
	}
	if !slices.Contains(entries, any("default")) {
		a.warnf("users has no entry \"default\": the admin user %s is not made and its keys are not installed", a.m.AdminUsername)
	}
	var errs []error
	for _, e := range entries {
		if ctx.Err() != nil {
			return errStopped
		}
		errs = append(errs, a.user(e))
	}
	return errors.Join(errs...)
}

func (a *agent) user(entry any) error {
	name, keys, gecos, sh := "", []string(nil), "", "/bin/bash"
	switch e := entry.(type) {
	case string:
		name = e
		if e == "default" {
			name, keys = a.m.AdminUsername, slices.Concat(a.m.SSHPublicKeys, userdata.Strings(a.config["ssh_authorized_keys"]))
			gecos = "Ubuntu"
		}
	case map[string]any:
		name, gecos = userdata.String(e["name"]), userdata.String(e["gecos"])
		keys = userdata.Strings(e["ssh_authorized_keys"])
		if s := userdata.String(e["shell"]); s != "" {
			sh = s
		}
	}
	if name == "" {
		return nil
	}
	made, err := a.m.AddUser(name, gecos, sh)
	if err != nil {
		return err
	}
	if !made {
		a.infof("user %s already exists", name)
	}
	if len(keys) == 0 {
		return nil
	}
	if err := a.m.SetAuthorizedKeys(name, keys); err != nil {
		return err
	}
	a.infof("user %s: installed %d SSH keys", name, len(keys))
	return nil
}

func (a *agent) ntp() error {
	conf, ok := a.config["ntp"].(map[string]any)
	if !ok {
		return nil
	}
	if on, ok := conf["enabled"].(bool); ok && !on {
		return nil
	}
	servers := append(userdata.Strings(conf["servers"]), userdata.Strings(conf["pools"])...)
	text := "[Time]\nNTP=" + strings.Join(servers, " ") + "\n"
	if err := a.m.Root.MkdirAll("/etc/systemd/timesyncd.conf.d"); err != nil {
		return err
	}
	return a.m.Root.WriteFile("/etc/systemd/timesyncd.conf.d/cloud-init.conf", []byte(text), 0o644)
}

// runcmd writes the script; scripts_user runs it.
func (a *agent) runcmd() error {
	v, ok := a.config["runcmd"]
	if !ok {
		return nil
	}
	body, err := shellify(v)
	if err != nil {
		return err
	}
	a.scripts = append(a.scripts, script{"runcmd", body})
	return nil
}

// userScripts runs the scripts in the order of their names. The next script also runs after one that fails.
func (a *agent) userScripts(ctx context.Context) error {
	if err := a.m.Root.MkdirAll(scripts); err != nil {
		return err
	}
	slices.SortStableFunc(a.scripts, func(x, y script) int { return strings.Compare(x.name, y.name) })
	failed := 0
	for _, s := range a.scripts {
		file := path.Join(scripts, path.Base(s.name))
		if err := a.m.Root.WriteFile(file, []byte(s.body), 0o700); err != nil {
			return err
		}
		a.infof("running %s", file)
		var code int
		if first, _, _ := strings.Cut(s.body, "\n"); strings.Contains(first, "bash") {
			code = a.sh.Bash(ctx, s.body, a.watchedSession(file))
		} else {
			code = a.sh.Sh(ctx, s.body, a.watchedSession(file))
		}
		if code != 0 {
			failed++
			if a.res.ExitCode == 0 {
				a.res.ExitCode = code
			}
			a.warnf("%s exited with %d", file, code)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d scripts failed", failed, len(a.scripts))
	}
	return nil
}

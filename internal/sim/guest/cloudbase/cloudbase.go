// Package cloudbase boots a simulated Windows guest as cloudbase-init does on Azure images: plugins in the configured
// order, each with a state, user data recognized by its first bytes, cloud-config keys in their fixed order, one
// batch file for runcmd, reboots and replays. It refuses or ignores the same input as the real agent, and hides the
// same errors. Only internal/sim/guest imports it.
package cloudbase

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"casement.dev/casement/internal/redact"
	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// The files in which the guest stores the agent's logs.
const (
	logPath      = `C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log\cloudbase-init.log`
	unattendPath = `C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log\cloudbase-init-unattend.log`
)

// Result describes how a boot of the agent ended.
type Result struct {
	// Failed is set if a plugin raised an error: ProvisioningFailed is reported to Azure.
	Failed bool
	// Reboot is set if a plugin requested a reboot. Nothing is reported to Azure then.
	Reboot bool
	// Ran is set if user data was read in this boot.
	Ran bool
	// ExitCode is the exit code of the user's script or of the runcmd script.
	ExitCode int
	// Problems describes, in order, the parts of the custom data that could not be used.
	Problems []string
}

// outcome is the result of a plugin: whether it runs again at the next boot, and whether it requests a reboot.
type outcome struct{ again, reboot bool }

type agent struct {
	m   *machine.Machine
	sh  *shell.Shell
	log io.Writer
	res Result
}

type plugin struct {
	name string
	run  func(*agent, context.Context) (outcome, error)
}

// plugins returns the plugins of the MAIN stage in the order of the Azure images' configuration. MTUPlugin runs in an
// earlier stage.
func plugins() []plugin {
	return []plugin{
		{"CreateUserPlugin", (*agent).createUser},
		{"SetUserPasswordPlugin", (*agent).setPassword},
		{"ExtendVolumesPlugin", (*agent).nothing},
		{"UserDataPlugin", (*agent).userData},
		{"EphemeralDiskPlugin", (*agent).nothing},
		{"AzureGuestAgentPlugin", (*agent).nothing},
		{"SetHostNamePlugin", (*agent).setHostName},
	}
}

// Run does one boot. A plugin that failed with an exception stores no state and runs again at the next boot. The
// error is ctx's or the simulator's.
func Run(ctx context.Context, m *machine.Machine, sh *shell.Shell) (Result, error) {
	if err := specialize(m); err != nil {
		return Result{}, err
	}
	file, err := m.Root.OpenFile(logPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return Result{}, err
	}
	defer file.Close()
	defer m.Console.Flush()
	kept := machine.NewConsole(file) // the log without secrets
	defer kept.Flush()
	a := &agent{m: m, sh: sh, log: io.MultiWriter(kept, m.Console)}
	a.infof("cloudbaseinit.init", "Cloudbase-Init starts (simulated by casement: no program runs outside of this guest's file tree)")
	a.infof("cloudbaseinit.init", "Metadata service loaded: 'AzureService'")
	a.infof("cloudbaseinit.init", "Instance id: %s", m.InstanceID)
	a.debugf("cloudbaseinit.metadata.services.azureservice", "Provisioning health report: NotReady, Provisioning")
	for _, p := range plugins() {
		if ctx.Err() != nil {
			return a.res, ctx.Err()
		}
		if m.Journal.Done(p.name) {
			a.debugf("cloudbaseinit.init", "Plugin '%s' execution already done, skipping", p.name)
			continue
		}
		a.infof("cloudbaseinit.init", "Executing plugin '%s'", p.name)
		out, err := p.run(a, ctx)
		if ctx.Err() != nil {
			return a.res, ctx.Err()
		}
		if err != nil {
			a.res.Failed = true
			a.problemf("cloudbaseinit.init", "plugin '%s' failed with error: %v", p.name, err)
			continue
		}
		if !out.again {
			if err := m.Journal.Mark(p.name); err != nil {
				return a.res, err
			}
		}
		if out.reboot {
			a.infof("cloudbaseinit.init", "Plugin '%s' asked for a reboot; rebooting", p.name)
			a.res.Reboot = true
			return a.res, nil
		}
	}
	if a.res.Failed {
		a.debugf("cloudbaseinit.metadata.services.azureservice", "Provisioning health report: NotReady, ProvisioningFailed")
	} else {
		a.debugf("cloudbaseinit.metadata.services.azureservice", "Provisioning health report: Ready")
	}
	a.infof("cloudbaseinit.init", "Plugins execution done")
	return a.res, nil
}

// specialize writes the log of the agent's first run, in the sysprep pass of the same name: with one plugin, without
// an instance ID, once per VM.
func specialize(m *machine.Machine) error {
	if m.Root.Exists(unattendPath) {
		return nil
	}
	now := m.Clock.Now().UTC().Format("2006-01-02 15:04:05.000")
	text := now + " 1 INFO cloudbaseinit.init [-] Metadata service loaded: 'EmptyMetadataService'\r\n" +
		now + " 1 INFO cloudbaseinit.init [-] Executing plugin 'MTUPlugin'\r\n" +
		now + " 1 INFO cloudbaseinit.init [-] Plugins execution done\r\n"
	return m.Root.WriteFile(unattendPath, []byte(text), 0o644)
}

func (a *agent) infof(module, format string, args ...any)  { a.line("INFO", module, format, args...) }
func (a *agent) debugf(module, format string, args ...any) { a.line("DEBUG", module, format, args...) }
func (a *agent) warnf(module, format string, args ...any)  { a.line("WARNING", module, format, args...) }

// problemf logs an error and adds it to the problems that the user sees.
func (a *agent) problemf(module, format string, args ...any) {
	a.res.Problems = append(a.res.Problems, fmt.Sprintf(format, args...))
	a.line("ERROR", module, format, args...)
}

func (a *agent) line(level, module, format string, args ...any) {
	text := redact.Text(fmt.Sprintf(format, args...))
	stamp := a.m.Clock.Now().UTC().Format("2006-01-02 15:04:05.000")
	fmt.Fprintf(a.log, "%s 2024 %s %s [-] %s\r\n", stamp, level, module, text)
}

// noEffect records that a part of the user data does nothing here.
func (a *agent) noEffect(module, what string) {
	a.m.NoEffect(what)
	a.warnf(module, "%s: simulated: no effect", what)
}

func (a *agent) nothing(context.Context) (outcome, error) { return outcome{}, nil }

// createUser renames the built-in administrator to the name that Azure gives.
func (a *agent) createUser(context.Context) (outcome, error) {
	const mod = "cloudbaseinit.plugins.common.createuser"
	name := a.m.AdminUsername
	if name == "" {
		return outcome{}, nil
	}
	if a.m.HasUser(name) {
		a.debugf(mod, "User '%s' already exists", name)
		return outcome{}, nil
	}
	if _, err := a.m.AddUser(name, "", ""); err != nil {
		return outcome{}, err
	}
	a.infof(mod, "Renamed the builtin Administrator to '%s' and set a random password", name)
	return outcome{}, nil
}

// setPassword logs that the user has another random password, which is stored nowhere.
func (a *agent) setPassword(context.Context) (outcome, error) {
	a.infof("cloudbaseinit.plugins.common.setuserpassword", "Set a random password for user '%s'", a.m.AdminUsername)
	return outcome{}, nil
}

// setHostName sets the computer name. It runs after the user data, so a join in the user data uses the name that
// Windows had before; on Azure that name is already right.
func (a *agent) setHostName(context.Context) (outcome, error) {
	return outcome{reboot: a.rename(a.m.ComputerName)}, nil
}

// rename gives Windows a name that NetBIOS allows: the first label, at most 15 characters, a 0 in place of a trailing
// dash. It reports whether the name changed.
func (a *agent) rename(name string) bool {
	const mod = "cloudbaseinit.utils.hostname"
	name, _, _ = strings.Cut(name, ".")
	if len(name) > 15 {
		a.warnf(mod, "Truncating host name for NetBIOS compatibility. Old name: %s, new name: %s", name, name[:15])
		name = name[:15]
	}
	if strings.HasSuffix(name, "-") {
		name = name[:len(name)-1] + "0"
	}
	if strings.EqualFold(name, a.m.Hostname()) {
		a.debugf(mod, "Hostname already set to: %s", name)
		return false
	}
	if err := a.m.SetHostname(name); err != nil {
		a.problemf(mod, "cannot set the host name: %v", err)
		return false
	}
	a.infof(mod, "Setting hostname: %s", name)
	return true
}

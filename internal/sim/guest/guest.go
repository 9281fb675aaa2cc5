// Package guest simulates the inside of a virtual machine: it boots, reads custom data as the agent of its image
// would, turns the data into a file tree and runs the script in it through a small shell whose commands are Go
// functions. It executes nothing on the real machine and says in its own log that it is simulated. The host (the
// local plane) registers commands such as kubeadm, is notified of services that start and stop, and passes listeners
// on which the guest serves SSH and RDP. The package knows nothing of ARM, of Kubernetes or of the provider.
package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/redact"
	"casement.dev/casement/internal/sim/guest/cloudbase"
	"casement.dev/casement/internal/sim/guest/cloudinit"
	"casement.dev/casement/internal/sim/guest/ignition"
	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// The types that the packages below define and the host uses.
type (
	// Machine is the description of the VM that the host passes to the guest.
	Machine = machine.Spec
	// Image describes the contents of the VM's image.
	Image = machine.Image
	// DataDisk is an attached empty disk.
	DataDisk = machine.DataDisk
	// Process is one run of a Command. Its Guest maps paths and has the service table.
	Process = shell.Process
	// Command is a program of the guest.
	Command = shell.Command
	// Action is a change of a service's state.
	Action = machine.Action
	// Service is a row of the service table.
	Service = machine.Service
)

// The operating systems and service actions.
const (
	Linux          = machine.Linux
	Windows        = machine.Windows
	NSSM           = machine.NSSM
	WindowsService = machine.WindowsService
	Started        = machine.Started
	Stopped        = machine.Stopped
)

// Sentinel is the file whose existence reports that kubeadm succeeded, on both systems.
const Sentinel = machine.Sentinel

// ErrDamaged is returned for a guest whose state on the host's disk is damaged.
var ErrDamaged = errors.New("its state is damaged")

// maxReboots bounds the reboots of one boot. A guest that requests more never becomes ready, and Azure's provisioning
// times out.
const maxReboots = 5

// Phase is the stage that a guest has reached.
type Phase string

// The phases of a guest. PhaseFailed means that the guest runs and its bootstrap did not succeed.
const (
	PhaseOff     Phase = "Off"
	PhaseBooting Phase = "Booting"
	PhaseRunning Phase = "Running"
	PhaseFailed  Phase = "Failed"
)

// Provisioned is the provisioning state that the guest's agent reported to Azure.
type Provisioned string

// The states that an agent reports.
const (
	ProvisionedPending Provisioned = "pending"
	ProvisionedReady   Provisioned = "ready"
	ProvisionedFailed  Provisioned = "failed"
)

// Status is the state of a guest.
type Status struct {
	Phase       Phase
	Provisioned Provisioned
	// Message is a sentence about the failure; empty if there is none.
	Message string
	// ExitCode is the exit code of the user's script or of the runcmd script.
	ExitCode int
	// LastLines are the console's last lines, without secrets.
	LastLines []string
	// Sentinel is true if kubeadm's success file exists.
	Sentinel bool
	// Boots counts boots and reboots since New made the guest.
	Boots int
}

// Config describes a guest and the services of its host.
type Config struct {
	Machine Machine
	// Commands are programs by name, in lower case and without .exe. They replace those of the default table; kubeadm
	// has no default.
	Commands map[string]Command
	// Log is the serial console; nil discards its output.
	Log io.Writer
	// Clock defaults to the real clock.
	Clock clock.Clock
	// HTTP sends the HTTP requests of the guest's programs, in the guest's network; nil makes them fail.
	HTTP http.RoundTripper
	// OnChange is called with each new status, from the goroutine that changed it.
	OnChange func(Status)
	// OnPanic is called for each panic of the simulation's own code in a program of the guest; the panic
	// ends only that program. It may be nil.
	OnPanic func(*contain.Panic)
	// OnService is called for each service that starts or stops. The kubelet starts with the OS, configured or not,
	// and kubeadm starts it again.
	OnService func(name string, action Action)
}

// Guest is the inside of one virtual machine. Its methods are safe for use from several goroutines.
type Guest struct {
	m        *machine.Machine
	sh       *shell.Shell
	onChange func(Status)
	booting  sync.Mutex

	mu     sync.Mutex
	status Status
}

// Capture returns the disk of a guest that is off, to create an image from it.
func Capture(dir string) ([]byte, error) { return machine.Capture(dir) }

// Booted reports whether the first boot of the guest in a machine's directory has ended, with or without success.
func Booted(dir string) bool { return machine.Booted(dir) }

// New makes a guest, or resumes the guest in the machine's directory. If its last boot did not end, the guest starts
// from nothing.
func New(c Config) (*Guest, error) {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	c.Machine.OnPanic = c.OnPanic
	m, err := machine.New(c.Machine, c.Log, c.Clock, c.OnService)
	if err != nil {
		return nil, fmt.Errorf("make guest %s: %w", c.Machine.ComputerName, err)
	}
	g := &Guest{m: m, sh: shell.New(m, c.Commands, c.HTTP), onChange: c.OnChange}
	g.status = Status{Phase: PhaseOff, Provisioned: ProvisionedPending}
	if provisioned, code, message, ok := m.Journal.Finished(); ok {
		g.status.Provisioned, g.status.ExitCode, g.status.Message = Provisioned(provisioned), code, message
	}
	return g, nil
}

// Machine returns the parts of the guest that its programs use: paths, services, users.
func (g *Guest) Machine() *machine.Machine { return g.m }

// Path returns the host path of a guest path. It refuses paths that lead out of the guest.
func (g *Guest) Path(guestPath string) (string, error) { return g.m.Path(guestPath) }

// Services returns the guest's service table.
func (g *Guest) Services() *machine.Services { return g.m.Services }

// Status returns the state of the guest.
func (g *Guest) Status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.status
	s.Sentinel = g.m.Root.Exists(Sentinel)
	s.LastLines = g.m.Console.Last()
	return s
}

func (g *Guest) set(edit func(*Status)) {
	g.mu.Lock()
	edit(&g.status)
	g.mu.Unlock()
	if g.onChange != nil {
		g.onChange(g.Status())
	}
}

// Boot starts the guest and returns when its agent has ended, successfully or not: see Status. A later boot does not
// repeat the steps of a bootstrap that has ended. The error is ctx's or the simulator's; faulty custom data is no
// error.
func (g *Guest) Boot(ctx context.Context) error {
	g.booting.Lock()
	defer g.booting.Unlock()
	if damage := g.m.Journal.Damage(); damage != "" {
		g.set(func(s *Status) { s.Phase, s.Provisioned, s.Message = PhaseFailed, ProvisionedFailed, damage })
		return fmt.Errorf("boot guest %s: %w: %s", g.m.ComputerName, ErrDamaged, damage)
	}
	_, _, _, again := g.m.Journal.Finished()
	for reboots := 0; ; reboots++ {
		if err := g.m.Journal.Begin(); err != nil {
			return err
		}
		g.m.TakeReboot()
		g.m.TakeOverrun()
		if err := g.m.SettleDomain(); err != nil {
			return err
		}
		g.banner(reboots)
		g.set(func(s *Status) { s.Phase = PhaseBooting; s.Boots++ })
		g.m.Services.StartAutomatic()
		reboot, err := g.boot(ctx)
		if err != nil {
			return fmt.Errorf("boot guest %s: %w", g.m.ComputerName, err)
		}
		if reason := g.m.TakeOverrun(); reason != "" {
			g.failOverrun(reason)
			break
		}
		if !reboot {
			break
		}
		if reboots == maxReboots {
			g.failRestarts()
			break
		}
		fmt.Fprintf(g.m.Console, "guest: restarting\n")
		g.m.Services.StopAll()
	}
	return g.finish(again)
}

func (g *Guest) banner(reboots int) {
	word := "boots"
	if reboots > 0 {
		word = "boots again"
	}
	fmt.Fprintf(g.m.Console, "guest: %s %s: %s, Kubernetes %s (simulated by casement)\n", g.m.ComputerName, word,
		g.m.Image.Name, g.m.Image.KubernetesVersion)
}

// boot runs the image's agent. An agent that panics has failed.
func (g *Guest) boot(ctx context.Context) (reboot bool, err error) {
	if p := g.m.Wall.Call("boot", func() { reboot, err = g.runAgent(ctx) }); p != nil {
		g.set(func(s *Status) {
			s.Provisioned, s.ExitCode, s.Message = ProvisionedFailed, contain.ExitCode, p.Error()
		})
		return false, nil
	}
	return reboot, err
}

// runAgent runs the image's agent and reports whether the guest restarts.
func (g *Guest) runAgent(ctx context.Context) (bool, error) {
	if g.m.OS == Windows && !cloudbase.Installed(g.m) {
		if err := cloudbase.WithoutAgent(g.m); err != nil {
			return false, err
		}
		g.set(func(s *Status) { s.Provisioned = ProvisionedReady })
		return g.m.TakeReboot(), nil
	}
	if g.m.OS == Windows {
		res, err := cloudbase.Run(ctx, g.m, g.sh)
		if err != nil {
			return false, err
		}
		provisioned := ProvisionedReady
		if res.Failed {
			provisioned = ProvisionedFailed
		}
		reboot := res.Reboot || g.m.TakeReboot()
		g.set(func(s *Status) {
			if !reboot {
				s.Provisioned = provisioned
			}
			if res.Ran {
				s.record(res.ExitCode, cloudbase.Asks(res.ExitCode), res.Problems)
			}
		})
		return reboot, nil
	}
	ready := func() { g.set(func(s *Status) { s.Provisioned = ProvisionedReady }) }
	if g.m.Image.Ignition {
		return g.runIgnition(ctx, ready)
	}
	res, err := cloudinit.Run(ctx, g.m, g.sh, ready)
	if err != nil {
		return false, err
	}
	if res.Ran {
		g.set(func(s *Status) { s.record(res.ExitCode, false, res.Problems) })
	}
	return g.m.TakeReboot(), nil
}

func (g *Guest) runIgnition(ctx context.Context, ready func()) (bool, error) {
	res, err := ignition.Run(ctx, g.m, g.sh, ready)
	if err != nil {
		return false, err
	}
	if res.Ran || res.ExitCode != 0 {
		g.set(func(s *Status) {
			s.record(res.ExitCode, false, res.Problems)
			if res.Failed {
				s.Provisioned = ProvisionedFailed
			}
		})
	}
	return g.m.TakeReboot(), nil
}

// record stores the result of a run in the status. asks is set if the exit code is a request to the agent, and not a
// failure.
func (s *Status) record(code int, asks bool, problems []string) {
	s.ExitCode, s.Message = code, strings.Join(problems, "; ")
	if code != 0 && !asks && s.Message == "" {
		s.Message = fmt.Sprintf("the user's script ended with code %d", code)
	}
}

// failRestarts ends a guest that restarts without end: Azure's provisioning times out.
func (g *Guest) failRestarts() {
	g.set(func(s *Status) {
		s.Provisioned = ProvisionedFailed
		s.Message = fmt.Sprintf("the guest restarted %d times and asks for another restart: an exit code of "+
			"1001 or 1003 in runcmd makes all of the user data run again; provisioning times out", maxReboots)
	})
	fmt.Fprintf(g.m.Console, "guest: %s\n", g.Status().Message)
}

// failOverrun ends a guest whose custom data exceeded a limit of guests.
func (g *Guest) failOverrun(reason string) {
	g.set(func(s *Status) { s.Provisioned, s.Message = ProvisionedFailed, reason })
	fmt.Fprintf(g.m.Console, "guest: %s\n", g.Status().Message)
}

// finish stores the result of a boot. again is set if the bootstrap of the guest had ended before.
func (g *Guest) finish(again bool) error {
	s := g.Status()
	failed := s.Provisioned == ProvisionedFailed || (!s.Sentinel && s.Message != "")
	g.set(func(s *Status) {
		s.Phase = PhaseRunning
		if failed {
			s.Phase = PhaseFailed
		}
	})
	if again && !failed {
		fmt.Fprintf(g.m.Console, "guest: %s is up\n", g.m.ComputerName)
	}
	return g.m.Journal.Finish(string(s.Provisioned), s.ExitCode, redact.Text(s.Message))
}

// Exec runs a script in the guest's shell, bash or PowerShell, as Run Command, an
// extension or SSH does, and returns its exit code. Streams may be nil.
func (g *Guest) Exec(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) int {
	return g.sh.Run(ctx, script, shell.Session{Stdin: stdin, Stdout: stdout, Stderr: stderr})
}

// Stop powers the guest off: its services stop. Before that, the bootstrap must have ended or its context be done.
func (g *Guest) Stop() {
	g.booting.Lock()
	defer g.booting.Unlock()
	g.m.Services.StopAll()
	g.set(func(s *Status) { s.Phase = PhaseOff })
}

// Close stops the guest and releases its file handles. Its directory stays.
func (g *Guest) Close() error {
	g.Stop()
	return errors.Join(g.m.Close())
}

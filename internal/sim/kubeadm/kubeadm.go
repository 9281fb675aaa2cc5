// Package kubeadm is `kubeadm join` for a simulated machine: it reads the JoinConfiguration that
// the bootstrap data wrote, discovers the cluster, verifies it by token and CA pins, writes the
// files that a kubelet needs, and waits for the kubelet's TLS bootstrap. Its requests to the
// cluster are real; its changes of the machine are all below the machine's own root directory.
//
// It does not build control planes (that needs kubeadm's own packages), runs no program, and opens
// sockets only through Options.Dial. The simulator (internal/sim, internal/plane) may import it;
// the provider may not.
package kubeadm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"time"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/guestfs"
)

// Guest paths of kubeadm's files. They are POSIX paths on Windows too, on the system drive.
const (
	kubeletConf     = "/etc/kubernetes/kubelet.conf"
	bootstrapConf   = "/etc/kubernetes/bootstrap-kubelet.conf"
	caCert          = "/etc/kubernetes/pki/ca.crt"
	kubeletConfig   = "/var/lib/kubelet/config.yaml"
	kubeletFlags    = "/var/lib/kubelet/kubeadm-flags.env"
	instanceConfig  = "/var/lib/kubelet/instance-config.yaml"
	joinMarker      = "/var/lib/kubelet/kubeadm-join.unfinished"
	initMarker      = "/var/lib/kubelet/kubeadm-init.unfinished"
	manifestsFolder = "/etc/kubernetes/manifests"
)

// Dial opens a connection from inside the machine.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Options are the inputs of a join: its configuration and the access to its machine.
type Options struct {
	// Config is the content of the file that --config names.
	Config []byte
	// Files are the machine's files.
	Files *guestfs.Root
	// OS is "linux" or "windows".
	OS string
	// Hostname is the machine's host name.
	Hostname string
	// Lacks are the checks that fail because the machine lacks a part of a node.
	Lacks []Lack
	// CRISockets are the endpoints of the machine's container runtime, the default first, with or
	// without a scheme.
	CRISockets []string
	// Cores and MemoryMiB are the machine's resources; 0 means not known.
	Cores, MemoryMiB int
	// PortTaken reports whether a program listens on a port of the machine; nil means that none
	// does.
	PortTaken func(port int) bool
	// Version is the version of kubeadm on the image ("v1.34.2").
	Version string
	// Dial connects to the cluster; nil refuses every connection.
	Dial Dial
	// StartKubelet restarts the machine's kubelet service. It must not wait until the node is
	// ready.
	StartKubelet func(ctx context.Context) error
	// Resume is set if an earlier run on this root was interrupted because the simulator ended, and
	// not the machine: the files of that run are then no error. A run that left its marker is
	// recognised without Resume.
	Resume bool
	// IgnorePreflight are checks whose failure is only a warning, as with
	// --ignore-preflight-errors.
	IgnorePreflight []string
	// Out receives the lines that kubeadm prints. Secrets are never among them.
	Out io.Writer
	// Clock is the clock of the retries; nil means the real clock.
	Clock clock.Clock
}

// join is one run of Join or Init with its parsed inputs.
type join struct {
	Options
	cfg    JoinConfig
	resume bool
}

// Join joins the machine to the cluster that its configuration names. Like kubeadm it returns nil
// when the kubelet has its client certificate, which is before the Node is registered or ready.
// After an interruption at any point it can be run again on the same root. For a control plane
// machine it does only the kubelet's part; the caller builds the control plane.
func Join(ctx context.Context, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Dial == nil {
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("network is unreachable")
		}
	}
	j := &join{Options: o}
	err := j.run(ctx)
	if err != nil && ctx.Err() == nil {
		// A failed kubeadm leaves its files behind, and the next run fails because of them. Only an
		// interrupted run may be resumed.
		j.remove(joinMarker)
	}
	return err
}

func (j *join) run(ctx context.Context) error {
	j.say("[preflight] Running pre-flight checks")
	cfg, notes, err := ParseJoin(j.Config, j.Hostname)
	for _, note := range notes {
		j.say("[config] %s", note)
	}
	if err := cmp.Or(err, cfg.readableBy(j.Version)); err != nil {
		return err
	}
	j.cfg = cfg
	j.resume = j.Resume || j.exists(joinMarker)
	if err := j.preflight(j.joinChecks(), cfg.IgnorePreflight); err != nil {
		return err
	}
	if err := j.write(joinMarker, nil, 0o600); err != nil {
		return err
	}
	if j.resume && j.bootstrapped() {
		j.say("[kubelet-start] Resuming: the kubelet already holds its client certificate")
		if err := j.startKubelet(ctx); err != nil {
			return err
		}
	} else if err := j.enter(ctx); err != nil {
		return err
	}
	j.remove(bootstrapConf)
	j.remove(joinMarker)
	j.say("\nThis node has joined the cluster:")
	j.say("* Certificate signing request was sent to the API server and a response was received.")
	j.say("* The kubelet was informed of the new secure connection details.")
	return nil
}

// enter discovers the cluster and starts the kubelet with the bootstrap credentials.
func (j *join) enter(ctx context.Context) error {
	cluster, err := j.discover(ctx)
	if err != nil {
		return err
	}
	settings, err := j.fetch(ctx, cluster)
	if err != nil {
		return err
	}
	if err := j.refuseTakenName(ctx, cluster); err != nil {
		return err
	}
	if err := j.writeKubeletFiles(cluster, settings); err != nil {
		return err
	}
	if err := j.startKubelet(ctx); err != nil {
		return err
	}
	return j.waitForBootstrap(ctx)
}

func (j *join) startKubelet(ctx context.Context) error {
	j.say("[kubelet-start] Starting the kubelet")
	if j.StartKubelet == nil {
		return nil
	}
	if err := j.StartKubelet(ctx); err != nil {
		return fmt.Errorf("start the kubelet: %w", err)
	}
	return nil
}

// bootstrapPause is the pause between two checks for the kubelet's certificate. As in retry, the
// number of checks is limited and not the time.
const bootstrapPause = 100 * time.Millisecond

// waitForBootstrap waits until kubelet.conf can be used, for at most five minutes (kubeadm's TLS
// bootstrap timeout).
func (j *join) waitForBootstrap(ctx context.Context) error {
	j.say("[kubelet-start] Waiting for the kubelet to perform the TLS Bootstrap...")
	limit := j.timeout(j.cfg.Timeouts.TLSBootstrap, 5*time.Minute)
	for left := limit / bootstrapPause; !j.bootstrapped(); left-- {
		if left <= 0 {
			return fmt.Errorf("error execution phase kubelet-wait: the kubelet wrote no usable %s within %s: "+
				"see the kubelet's log, and whether its CertificateSigningRequest was "+
				"approved", kubeletConf, limit)
		}
		if err := j.pause(ctx, bootstrapPause); err != nil {
			return err
		}
	}
	return nil
}

// bootstrapped reports whether kubelet.conf exists and contains a credential.
func (j *join) bootstrapped() bool {
	data, err := j.Files.ReadFile(kubeletConf)
	if err != nil {
		return false
	}
	k, err := parseKubeconfig(data)
	return err == nil && k.hasCredential()
}

// pause waits on the injected clock; its only error is that of ctx.
func (j *join) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-j.Clock.After(d):
		return nil
	}
}

func (j *join) timeout(asked, fallback time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	return fallback
}

func (j *join) say(format string, args ...any) {
	fmt.Fprintf(j.Out, format+"\n", args...)
}

func (j *join) exists(guest string) bool {
	_, err := j.Files.Lstat(guest)
	return err == nil
}

// write replaces a guest file atomically, so that an interruption leaves the old or the new
// content.
func (j *join) write(guest string, data []byte, mode fs.FileMode) error {
	if err := j.Files.Replace(guest, data, mode); err != nil {
		return fmt.Errorf("write %s: %w", guest, err)
	}
	return nil
}

// remove deletes a guest file; errors are ignored, because kubeadm only warns about them.
func (j *join) remove(guest string) { _ = j.Files.Remove(guest) }

// Lack is a preflight check that fails, with its reason.
type Lack struct{ Check, Reason string }

// Package machine has the commands on a machine: ssh, rdp, cp, logs.
//
// The protocols are in internal/sshroute and internal/azure. Only internal/cli may import it.
package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"
	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/kubeconfig"
	"casement.dev/casement/internal/sshroute"
)

// Way contains the flags of ssh and rdp that select the way to a machine.
type Way struct {
	app.Target
	User, identity, jump string
}

func (w *Way) addFlags(c *cobra.Command) {
	w.Target.AddFlags(c)
	c.Flags().StringVarP(&w.User, "user", "l", sshroute.User, "user to log in as")
	c.Flags().StringVarP(&w.identity, "identity", "i", "", "private key file (default the SSH agent's, the local plane's, those in ~/.ssh)")
	c.Flags().StringVar(&w.jump, "jump", "", "HOST[:PORT] of the way in, bastion, or none (default the "+
		"cluster's Bastion host if it tunnels, else the control plane endpoint)")
}

// route returns the network route to a machine.
func route(ctx context.Context, a *app.App, w Way, name string) (sshroute.Route, error) {
	c, err := a.Client(w.Target)
	if err != nil {
		return sshroute.Route{}, err
	}
	r, err := sshroute.Find(ctx, c, w.Namespace, name, w.jump)
	if err != nil {
		return r, err
	}
	return located(ctx, a, c, r), nil
}

// located adds to the route of a scale set's instance the addresses of its node. If the node cannot be read, the route
// is unchanged; its own error then says that there is no address.
func located(ctx context.Context, a *app.App, c client.Client, r sshroute.Route) sshroute.Route {
	if !r.Pool || r.Node == "" || r.Address != "" {
		return r
	}
	core, err := workload(ctx, a, c, r.Cluster)
	if err != nil {
		return r
	}
	var node corev1.Node
	if err := core.Get().Resource("nodes").Name(r.Node).Do(ctx).Into(&node); err != nil {
		return r
	}
	return r.At(&node)
}

// workload returns a client of the core API group of a workload cluster.
func workload(ctx context.Context, a *app.App, c client.Client, cluster client.ObjectKey) (rest.Interface, error) {
	data, err := app.WorkloadKubeconfig(ctx, c, cluster)
	if err != nil {
		return nil, err
	}
	cfg, err := kubeconfig.Config(data)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of cluster %s: %w", cluster.Name, err)
	}
	facts.Tune(cfg)
	return facts.Core(cfg)
}

// accessDir returns the directory for host keys and Remote Desktop files. For the local plane it is in the plane's
// state directory; for other clusters it is in the user's configuration, which purging a plane does not delete.
func accessDir(a *app.App, t app.Target) (string, error) {
	if a.AsksPlane(t.Kubeconfig) {
		return string(a.Dir), nil
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find where to remember host keys: %w", err)
	}
	return filepath.Join(config, "casement"), nil
}

// Connect connects to a machine's SSH port by a route.
func Connect(ctx context.Context, a *app.App, w Way, r sshroute.Route) (*sshroute.Dialer, error) {
	dir, err := accessDir(a, w.Target)
	if err != nil {
		return nil, err
	}
	tunnel, err := tunnel(ctx, a, w, r)
	if err != nil {
		return nil, err
	}
	var offered func(context.Context) ([]string, error)
	if endpoint := r.Jump; endpoint != "" && w.jump == "" {
		offered = func(ctx context.Context) ([]string, error) { return natPorts(ctx, a, w.Target, r, endpoint) }
	}
	var within func(context.Context, string, string) (net.Conn, error)
	first, files := "", []string{a.Dir.SSHKey()}
	if a.AsksPlane(w.Kubeconfig) {
		first, files = a.Dir.SSHKey(), nil
		r.Jump = a.Bound(ctx, r.Jump)
		if within, err = gateway(ctx, a, w, r); err != nil {
			return nil, err
		}
	}
	if home, err := os.UserHomeDir(); err == nil { // without a home directory there are no keys
		for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			files = append(files, filepath.Join(home, ".ssh", name))
		}
	}
	return sshroute.Connect(ctx, r, sshroute.Access{
		User:       w.User,
		Keys:       sshroute.Keys{Identity: w.identity, First: first, Files: files, AgentSocket: os.Getenv("SSH_AUTH_SOCK")},
		KnownHosts: r.KnownHosts(dir), Notes: a.Err, Tunnel: tunnel, NATPorts: offered, Dial: within,
	})
}

// natPorts returns the ports of the control plane endpoint that the load balancer's NAT rules forward to machines.
func natPorts(ctx context.Context, a *app.App, t app.Target, r sshroute.Route, endpoint string) ([]string, error) {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return nil, err
	}
	azure, err := azureCluster(ctx, a, t, r)
	if err != nil {
		return nil, err
	}
	lb := desired.SSHRuleLB(azure)
	if lb == "" {
		return nil, nil // a private cluster has no NAT rules
	}
	vm, err := vm(ctx, a, t, r)
	if err != nil {
		return nil, err
	}
	raw, err := vm.Client.Get(ctx, lb, desired.NetworkAPIVersion)
	if err != nil {
		return nil, err
	}
	natPorts, err := sshroute.NATPorts(host, raw)
	if a.AsksPlane(t.Kubeconfig) {
		for i := range natPorts {
			natPorts[i] = a.Bound(ctx, natPorts[i])
		}
	}
	return natPorts, err
}

// login logs in to a machine over SSH; leave closes the session and the connections below it.
func login(ctx context.Context, a *app.App, w Way, r sshroute.Route) (c *ssh.Client, leave func(), err error) {
	e, err := Connect(ctx, a, w, r)
	if err != nil {
		return nil, nil, err
	}
	if c, err = e.SSH(ctx); err != nil {
		return nil, nil, errors.Join(err, e.Close())
	}
	return c, func() { c.Close(); e.Close() }, nil
}

func NewSSH(a *app.App) *cobra.Command {
	var w Way
	c := &cobra.Command{
		Use:   "ssh NODE|MACHINE [-- COMMAND...]",
		Short: "Open a shell on a machine, or run a command there",
		Long: `Log in to a machine by SSH: to the control plane endpoint's port 22, and from there
to the machine's private address; or through the Azure Bastion host, where the
AzureCluster declares one of SKU Standard with enableTunneling, as whom az or the
environment logs in. --jump bastion insists on it; --jump none goes straight to the
machine's public or private address. NODE|MACHINE is the name of a Machine, of its node,
or of its AzureMachine. Host keys are remembered per cluster, with the local plane's
state or in ~/.config/casement; a changed one is refused. The exit code is the command's.
On the local plane the machine is simulated, and so is what answers.`,
		Example: "  casement ssh demo-md-win-x7k2p\n  casement ssh demo-md-win-x7k2p -- hostname\n" +
			"  casement ssh demo-md-win-x7k2p --identity ~/.ssh/id_ed25519 -- powershell Get-Service kubelet",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && cmd.ArgsLenAtDash() != 1 {
				return app.Usagef("the command follows a --: casement ssh %s -- %s", args[0], strings.Join(args[1:], " "))
			}
			return runSSH(cmd.Context(), a, w, args[0], strings.Join(args[1:], " "))
		},
	}
	w.addFlags(c)
	return c
}

// runSSH runs a command, or a shell, on a machine.
func runSSH(ctx context.Context, a *app.App, w Way, name, command string) error {
	r, err := route(ctx, a, w, name)
	if err != nil {
		return err
	}
	c, leave, err := login(ctx, a, w, r)
	if err != nil {
		return err
	}
	defer leave()
	terminal, restore, err := rawTerminal(a)
	if err != nil {
		return err
	}
	defer restore()
	code, err := sshroute.Run(ctx, c, command, terminal, a.Raw.In, a.Raw.Out, a.Raw.Err)
	if err == nil && code != 0 {
		return app.ExitError{Code: code}
	}
	return err
}

// rawTerminal sets the user's terminal to raw mode for the remote shell; it returns nil if there is no terminal.
func rawTerminal(a *app.App) (*sshroute.Terminal, func(), error) {
	f, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || !a.Terminal() {
		return nil, func() {}, nil
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return nil, nil, err
	}
	before, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, nil, err
	}
	resized, forget := watchSize(f)
	restore := func() {
		forget()
		_ = term.Restore(int(f.Fd()), before) // the terminal may have been closed
	}
	return &sshroute.Terminal{Kind: cmp.Or(os.Getenv("TERM"), "xterm"),
		Size: sshroute.Size{Width: width, Height: height}, Resized: resized}, restore, nil
}

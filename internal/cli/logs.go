package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/diagnose/logs"
	"casement.dev/casement/internal/sshroute"
)

// logsOptions are the flags of logs.
type logsOptions struct {
	way
	from, cluster string
	all           bool
	since         time.Duration
	logs.Options
}

// Values of the flag that selects how logs are read.
const (
	fromAuto    = "auto"
	fromSSH     = "ssh"
	fromKubelet = "kubelet"
	fromConsole = "console"
	fromAgent   = "agent"
)

func newLogs(a *app) *cobra.Command {
	var o logsOptions
	c := &cobra.Command{
		Use:   "logs NODE|MACHINE [LOG...]",
		Short: "Show a machine's logs: boot agent, kubelet, containerd, CNI, ...",
		Long: `Show the logs of a machine, each below a heading. LOG is boot (cloud-init or
cloudbase-init), kubelet, containerd, kube-proxy, cni, on Windows hns, and on a control
plane etcd, kube-apiserver, kube-controller-manager and kube-scheduler; all without one.
NODE|MACHINE is the name of a Machine, of its node, or of its AzureMachine.

They are read over SSH, as casement ssh goes; where that fails through the kubelet's
log endpoint, which has what is below /var/log; and where the machine has not joined
from Azure: the last of each log by Run Command, and the serial console of boot
diagnostics. --from takes one of the ways: ssh, kubelet, agent or console. Secrets are
taken out. On the local plane the machines are simulated, and so is what they log.`,
		Example: "  casement logs demo-md-win-x7k2p\n  casement logs demo-md-w-x7k2p kubelet cni --since 10m " +
			"--follow\n  casement logs --all kube-proxy --tail 5\n  casement logs demo-control-plane-pfsjt " +
			"kube-apiserver\n  casement logs demo-md-win-x7k2p --from console",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.since > 0 {
				o.Now = time.Now()
				o.Since = o.Now.Add(-o.since)
			}
			switch o.from {
			case fromAuto, fromSSH, fromKubelet, fromAgent, fromConsole:
			default:
				return usagef("--from %q: use auto, ssh, kubelet, agent or console", o.from)
			}
			if !o.all && len(args) == 0 {
				return usagef("name a node or machine, or all of them with --all")
			}
			return a.readLogs(cmd.Context(), o, args, &logs.Printer{Out: a.data(), Notes: a.Err})
		},
	}
	o.addFlags(c)
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on as the logs grow")
	c.Flags().DurationVar(&o.since, "since", 0, "only lines that are not older, such as 10m")
	c.Flags().IntVar(&o.Tail, "tail", 0, "only so many of the last lines of each log")
	c.Flags().BoolVar(&o.all, "all", false, "all machines; then every argument is a LOG")
	c.Flags().StringVar(&o.cluster, "cluster", "", "with --all: only the machines of this cluster")
	c.Flags().StringVar(&o.from, "from", fromAuto, "auto, ssh, kubelet, agent or console")
	return c
}

// readLogs prints the logs of the machines that the options select, or of the first argument.
func (a *app) readLogs(ctx context.Context, o logsOptions, args []string, p *logs.Printer) error {
	c, err := a.client(o.target)
	if err != nil {
		return err
	}
	var routes []sshroute.Route
	if o.all {
		routes, err = sshroute.All(ctx, c, o.namespace, o.cluster, o.jump)
	} else {
		routes = make([]sshroute.Route, 1)
		routes[0], err = sshroute.Find(ctx, c, o.namespace, args[0], o.jump)
		args = args[1:]
	}
	if err != nil {
		return err
	}
	if _, err := logs.Choose(args, false); err != nil {
		return usageError{err}
	}
	for i, r := range routes {
		routes[i] = a.located(ctx, c, r)
	}
	errs := make([]error, len(routes))
	var wg sync.WaitGroup
	for i, r := range routes {
		read := func() { errs[i] = a.nodeLogs(ctx, o, r, args, p) }
		if o.Follow {
			wg.Go(read)
		} else {
			read()
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// nodeLogs reads one machine's logs by the first access method that works.
func (a *app) nodeLogs(ctx context.Context, o logsOptions, r sshroute.Route, names []string, p *logs.Printer) error {
	sources, err := logs.Choose(names, r.Windows)
	if err != nil {
		return err
	}
	var tried []error
	for _, way := range []struct {
		name string
		read func() error
	}{
		{fromSSH, func() error { return a.logsBySSH(ctx, o, r, sources, p) }},
		{fromKubelet, func() error { return a.logsByKubelet(ctx, o, r, sources, p) }},
		{fromAgent, func() error { return a.logsByAgent(ctx, o, r, sources, p) }},
		{fromConsole, func() error { return a.logsByConsole(ctx, o, r, p) }},
	} {
		if o.from != fromAuto && o.from != way.name {
			continue
		}
		err := way.read()
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if _, partly := errors.AsType[partError](err); partly {
			return err
		}
		tried = append(tried, err)
		if o.from == fromAuto && way.name != fromConsole {
			p.Note("%s: not by %s: %v", r.Name(), way.name, err)
		}
	}
	if o.from == fromAuto {
		return fmt.Errorf("no way leads to the logs of machine %s: %w", r.Machine, tried[len(tried)-1])
	}
	return errors.Join(tried...)
}

// partError is the error of an access method that worked, but could not read all logs.
type partError struct{ error }

func part(err error) error {
	if err == nil {
		return nil
	}
	return partError{err}
}

func (a *app) logsBySSH(ctx context.Context, o logsOptions, r sshroute.Route, sources []logs.Source, p *logs.Printer) error {
	c, leave, err := a.login(ctx, o.way, r)
	if err != nil {
		return err
	}
	defer leave()
	return part(logs.Read(ctx, logs.SSH{Client: c, Node: r.Name(), Windows: r.Windows}, sources, o.Options, p))
}

func (a *app) logsByKubelet(ctx context.Context, o logsOptions, r sshroute.Route, sources []logs.Source, p *logs.Printer) error {
	if r.Node == "" {
		return errors.New("the machine has not joined")
	}
	c, err := a.client(o.target)
	if err != nil {
		return err
	}
	core, err := a.workload(ctx, c, r.Cluster)
	if err != nil {
		return err
	}
	k := logs.Kubelet{Client: core, Node: r.Node, Windows: r.Windows}
	if err := k.Check(ctx); err != nil {
		return err
	}
	return part(logs.Read(ctx, k, sources, o.Options, p))
}

func (a *app) logsByAgent(ctx context.Context, o logsOptions, r sshroute.Route, sources []logs.Source, p *logs.Printer) error {
	vm, err := a.vm(ctx, o.target, r)
	if err != nil {
		return err
	}
	o.Follow = false
	return logs.Read(ctx, logs.Agent{Run: vm.Run, Node: r.Name(), Windows: r.Windows}, sources, o.Options, p)
}

func (a *app) logsByConsole(ctx context.Context, o logsOptions, r sshroute.Route, p *logs.Printer) error {
	vm, err := a.vm(ctx, o.target, r)
	if err != nil {
		return err
	}
	text, err := vm.Console(ctx)
	if err != nil {
		return err
	}
	log := p.Log(r.Name()+": serial console", o.Options)
	_, err = io.Copy(log, strings.NewReader(text))
	return errors.Join(err, log.Close())
}

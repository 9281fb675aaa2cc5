package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/diagnose/logs"
	"casement.dev/casement/internal/sshroute"
)

// LogsOptions are the flags of logs.
type LogsOptions struct {
	Way
	From, cluster string
	all           bool
	since         time.Duration
	logs.Options
}

// Values of the flag that selects the way in which logs are read.
const (
	FromAuto    = "auto"
	FromSSH     = "ssh"
	FromKubelet = "kubelet"
	FromConsole = "console"
	FromAgent   = "agent"
)

func NewLogs(a *app.App) *cobra.Command {
	var o LogsOptions
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
			switch o.From {
			case FromAuto, FromSSH, FromKubelet, FromAgent, FromConsole:
			default:
				return app.Usagef("--from %q: use auto, ssh, kubelet, agent or console", o.From)
			}
			if !o.all && len(args) == 0 {
				return app.Usagef("name a node or machine, or all of them with --all")
			}
			return ReadLogs(cmd.Context(), a, o, args, &logs.Printer{Out: a.Data(), Notes: a.Err})
		},
	}
	o.addFlags(c)
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on as the logs grow")
	c.Flags().DurationVar(&o.since, "since", 0, "only lines that are not older, such as 10m")
	c.Flags().IntVar(&o.Tail, "tail", 0, "only so many of the last lines of each log")
	c.Flags().BoolVar(&o.all, "all", false, "all machines; then every argument is a LOG")
	c.Flags().StringVar(&o.cluster, "cluster", "", "with --all: only the machines of this cluster")
	c.Flags().StringVar(&o.From, "from", FromAuto, "auto, ssh, kubelet, agent or console")
	return c
}

// ReadLogs prints the logs of the machines that the options select, or of the first argument.
func ReadLogs(ctx context.Context, a *app.App, o LogsOptions, args []string, p *logs.Printer) error {
	c, err := a.Client(o.Target)
	if err != nil {
		return err
	}
	var routes []sshroute.Route
	if o.all {
		routes, err = sshroute.All(ctx, c, o.Namespace, o.cluster, o.jump)
	} else {
		routes = make([]sshroute.Route, 1)
		routes[0], err = sshroute.Find(ctx, c, o.Namespace, args[0], o.jump)
		args = args[1:]
	}
	if err != nil {
		return err
	}
	if _, err := logs.Choose(args, false); err != nil {
		return app.Usagef("%w", err)
	}
	for i, r := range routes {
		routes[i] = located(ctx, a, c, r)
	}
	errs := make([]error, len(routes))
	var wg sync.WaitGroup
	for i, r := range routes {
		read := func() { errs[i] = nodeLogs(ctx, a, o, r, args, p) }
		if o.Follow {
			wg.Go(read)
		} else {
			read()
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// nodeLogs reads the logs of one machine by the first access method that works.
func nodeLogs(ctx context.Context, a *app.App, o LogsOptions, r sshroute.Route, names []string, p *logs.Printer) error {
	sources, err := logs.Choose(names, r.Windows)
	if err != nil {
		return err
	}
	var tried []error
	for _, way := range []struct {
		name string
		read func() error
	}{
		{FromSSH, func() error { return logsBySSH(ctx, a, o, r, sources, p) }},
		{FromKubelet, func() error { return logsByKubelet(ctx, a, o, r, sources, p) }},
		{FromAgent, func() error { return logsByAgent(ctx, a, o, r, sources, p) }},
		{FromConsole, func() error { return logsByConsole(ctx, a, o, r, p) }},
	} {
		if o.From != FromAuto && o.From != way.name {
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
		if o.From == FromAuto && way.name != FromConsole {
			p.Note("%s: not by %s: %v", r.Name(), way.name, err)
		}
	}
	if o.From == FromAuto {
		return fmt.Errorf("no way leads to the logs of machine %s: %w", r.Machine, tried[len(tried)-1])
	}
	return errors.Join(tried...)
}

// partError is the error of an access method that works but could not read all logs.
type partError struct{ error }

func part(err error) error {
	if err == nil {
		return nil
	}
	return partError{err}
}

func logsBySSH(ctx context.Context, a *app.App, o LogsOptions, r sshroute.Route, sources []logs.Source, p *logs.Printer) error {
	c, leave, err := login(ctx, a, o.Way, r)
	if err != nil {
		return err
	}
	defer leave()
	return part(logs.Read(ctx, logs.SSH{Client: c, Node: r.Name(), Windows: r.Windows}, sources, o.Options, p))
}

func logsByKubelet(ctx context.Context, a *app.App, o LogsOptions, r sshroute.Route, sources []logs.Source, p *logs.Printer) error {
	if r.Node == "" {
		return errors.New("the machine has not joined")
	}
	c, err := a.Client(o.Target)
	if err != nil {
		return err
	}
	core, err := workload(ctx, a, c, r.Cluster)
	if err != nil {
		return err
	}
	k := logs.Kubelet{Client: core, Node: r.Node, Windows: r.Windows}
	if err := k.Check(ctx); err != nil {
		return err
	}
	return part(logs.Read(ctx, k, sources, o.Options, p))
}

func logsByAgent(ctx context.Context, a *app.App, o LogsOptions, r sshroute.Route, sources []logs.Source, p *logs.Printer) error {
	vm, err := vm(ctx, a, o.Target, r)
	if err != nil {
		return err
	}
	o.Follow = false
	return logs.Read(ctx, logs.Agent{Run: vm.Run, Node: r.Name(), Windows: r.Windows}, sources, o.Options, p)
}

func logsByConsole(ctx context.Context, a *app.App, o LogsOptions, r sshroute.Route, p *logs.Printer) error {
	vm, err := vm(ctx, a, o.Target, r)
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

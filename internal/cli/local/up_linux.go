//go:build !client

package local

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"casement.dev/casement/config"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/plane/supervisor"
	"casement.dev/casement/internal/sim/pull"
	"casement.dev/casement/internal/terminal"
)

func NewUp(a *app.App) *cobra.Command {
	var foreground bool
	var kind planeKind
	var timeout time.Duration
	pace := azure.Latency("instant")
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the local plane and leave it in the background",
		Long: `Start the local plane: a management API server with Cluster API and casement's
controllers, and a local Azure whose VMs boot. It needs neither root nor Docker.
State from an earlier run, clusters included, is resumed.

A second up joins a start that goes on already, and waits for the end of a plane that
is being ended. Ctrl-C and --timeout end the wait and not the plane, which goes on
starting in the background.

With --latency azure the local Azure takes the time that Azure is known to take; a
number scales it, so that 0.1 is ten times as fast.

Cluster API runs with less waiting and fewer requests than as upstream ships it, to be quick on a
small machine; 'casement status' says so, and docs/design/cluster-api.md lists what differs. With
--upstream nothing does, and a cluster takes about twice as long.

With --bare the management cluster is empty but for a stub for cert-manager:
clusterctl installs the providers, whose Deployments run as processes of this machine
from the programs that 'make programs' builds. --azure-of lets a second such plane use
the local Azure of a first one, for clusterctl move.

With --azure env there is no local Azure: clusters are made in the subscription that
AZURE_SUBSCRIPTION_ID names, with the service principal of AZURE_TENANT_ID,
AZURE_CLIENT_ID and AZURE_CLIENT_SECRET. They cost money, and 'casement down' ends the
management cluster alone: delete them before.

No registry is asked for a container's image. With --images known, the default, a tag or
repository that the plane's table of public images rules out fails with ErrImagePull, and
all others run, your own among them. listed runs the images of the table alone, any runs
all; --image PATTERN admits more in each case.

With --management-route simulated machines reach the management API server, as machines
in Azure reach one that has a public address: bootstrap commands may ask it, and
kube-public/cluster-info has its address. Without it nothing of a guest leads there.

HelmChartProxies of templates install their charts as Cluster API's addon provider for
Helm does. Charts of Calico, the Azure cloud provider, the CSI drivers of Azure, csi-proxy
and flannel are simulated; every other chart is downloaded, or taken from --charts.

With --proxy the plane also answers for Azure's public names, so that other controllers,
such as CAPZ or Azure Service Operator, run beside it unchanged: 'casement azure env
--for proxy' prints their environment.`,
		Example: `  casement up
  casement up --latency azure
  casement up --foreground --v 4
  casement up --feature-gates MachineTaintPropagation=true
  casement up --images listed --image 'contoso.azurecr.io/*'
  casement up --charts ./charts
  casement up --proxy 127.0.0.1:8080
  casement up --bare && casement status -o clusterctl >> clusterctl.yaml
  export KUBECONFIG=$(casement status -o kubeconfig)`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			factor, err := pace.Factor()
			if err != nil {
				return err
			}
			if foreground {
				return supervise(cmd.Context(), a, factor, kind, true)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return up(ctx, a, factor, kind)
		},
	}
	c.Flags().BoolVar(&foreground, "foreground", false, "stay in the foreground and log to the terminal")
	c.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "wait this long (exit code 3)")
	c.Flags().StringVar((*string)(&pace), "latency", string(pace), "pace of the local Azure: instant, azure or a factor of it")
	kind.addFlags(c.Flags())
	return c
}

// planeKind contains the options of the plane to start.
type planeKind struct {
	bare    bool
	audit   string
	azureOf string
	azure   string
	gates   string
	capi    bool // Cluster API as upstream ships it
	images  string
	admit   []string
	route   bool
	charts  string
	verbose int
	public  azure.Public
}

func (k *planeKind) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&k.bare, "bare", false, "leave Cluster API and casement out, for clusterctl to install")
	f.StringVar(&k.audit, "audit", "", "note what `WHO` asks of the management API server in management/log/audit.log: "+
		"manager (casement-manager, the value without one) or all")
	f.Lookup("audit").NoOptDefVal = auditManager
	f.StringVar(&k.azureOf, "azure-of", "", "use the local Azure of the plane with this state directory; with --bare")
	f.StringVar(&k.azure, "azure", "local", "local, or env: the Azure that the AZURE_ variables of the environment name, and no local one")
	f.StringVar(&k.gates, "feature-gates", "", "Cluster API's feature gates to set, as NAME=true,NAME=false")
	f.BoolVar(&k.capi, "upstream", false, "run Cluster API as upstream ships it, without what differs for speed")
	f.StringVar(&k.images, "images", pull.Known, "container images that nodes can pull: any, known (all but "+
		"those that the plane's table rules out) or listed (those of the table)")
	f.StringArrayVar(&k.admit, "image", nil, "an image that nodes can pull whatever --images says, * for any characters; may be repeated")
	f.BoolVar(&k.route, "management-route", false,
		"let simulated machines reach the management API server as https://management.casement.internal:6443")
	f.StringVar(&k.charts, "charts", "", "take the Helm charts of HelmChartProxies from this folder "+
		"(NAME-VERSION.tgz, NAME.tgz or NAME) where it has them")
	f.IntVar(&k.verbose, "v", 0, "log what the code logs up to this level, 0 to 5: 2 has steps, 4 has details")
	k.public.Flags(f)
}

// maxVerbosity is the highest level of --v: above it client-go logs URLs, then bodies.
// Source: https://kubernetes.io/docs/reference/kubectl/quick-reference/#kubectl-output-verbosity-and-debugging
const maxVerbosity = 5

// args returns the command line of the background process.
func (k planeKind) args() ([]string, error) {
	args := []string{"--bare=" + strconv.FormatBool(k.bare), "--audit=" + k.audit,
		"--feature-gates=" + k.gates, "--upstream=" + strconv.FormatBool(k.capi), "--proxy=" + k.public.Proxy, "--azure=" + k.azure,
		"--images=" + k.images, "--management-route=" + strconv.FormatBool(k.route), "--v=" + strconv.Itoa(k.verbose)}
	if k.verbose < 0 || k.verbose > maxVerbosity {
		return nil, app.Usagef("--v is 0 to %d, not %d", maxVerbosity, k.verbose)
	}
	for _, pattern := range k.admit {
		args = append(args, "--image="+pattern)
	}
	if _, err := k.policy(); err != nil {
		return nil, err
	}
	if _, err := k.auditOf(); err != nil {
		return nil, err
	}
	if _, err := k.outside(); err != nil {
		return nil, err
	}
	if k.public.Clients != "" {
		abs, err := filepath.Abs(k.public.Clients)
		if err != nil {
			return nil, err
		}
		args = append(args, "--clients", abs)
	}
	if k.charts != "" {
		abs, err := filepath.Abs(k.charts)
		if err != nil {
			return nil, err
		}
		args = append(args, "--charts", abs)
	}
	if k.azureOf == "" {
		return args, nil
	}
	if !k.bare {
		return nil, app.Usagef("--azure-of needs --bare")
	}
	abs, err := filepath.Abs(k.azureOf)
	return append(args, "--azure-of", abs), err
}

// auditManager is the value of --audit that selects the requests of casement-manager.
const auditManager = "manager"

// auditOf returns the user that --audit selects.
func (k planeKind) auditOf() (string, error) {
	switch k.audit {
	case "":
		return "", nil
	case auditManager:
		return config.User, nil
	case "all":
		return kubeproc.Everyone, nil
	}
	return "", app.Usagef("--audit is %s or all, not %q", auditManager, k.audit)
}

// policy returns the rule for the container images that simulated nodes can pull.
func (k planeKind) policy() (pull.Policy, error) {
	p, err := pull.New(k.images, k.admit)
	if err != nil {
		return p, app.Usagef("--images: %v", err)
	}
	return p, nil
}

func up(ctx context.Context, a *app.App, factor float64, kind planeKind) error {
	args, err := kind.args()
	if err != nil {
		return err
	}
	args = append([]string{"--state", string(a.Dir), "supervise", "--latency", strconv.FormatFloat(factor, 'g', -1, 64)}, args...)
	noteInotify(a)
	begun, waited := time.Now(), false
	progress := terminal.NewProgress(terminal.NewScreen(a.Raw.Out))
	var seen terminal.View
	s, started, err := plane.Up(ctx, a.Dir, args, plane.UpReport{
		Note: func(text string) {
			progress.Clear()
			fmt.Fprintln(a.Err, text)
			waited = true
		},
		Seen: func(s plane.Status) {
			if waited || s.Phase == plane.PhaseStarting || len(seen.Steps) > 0 {
				waited, seen = true, starting(s, begun)
				progress.Show(seen)
			}
		},
	})
	if err != nil {
		progress.Clear()
		return err
	}
	if !started && !waited {
		fmt.Fprintf(a.Out, "The local plane is running (process %d).\n", s.PID)
	} else {
		progress.End(starting(s, begun), fmt.Sprintf("The local plane is ready, after %s.", app.Rounded(begun)), "")
	}
	next(a, s)
	return nil
}

// starting returns the terminal view of a plane that starts.
func starting(s plane.Status, begun time.Time) terminal.View {
	view := terminal.View{Title: "Starting the local plane", Elapsed: time.Since(begun)}
	for _, step := range s.Steps {
		shown := terminal.Step{Name: step.Name, State: terminal.Now, Detail: s.Waiting}
		if step.Done {
			shown = terminal.Step{Name: step.Name, State: terminal.Done, Took: time.Duration(step.Seconds * float64(time.Second))}
		}
		view.Steps = append(view.Steps, shown)
	}
	return view
}

// showSteps prints the steps that finished since the last call.
func showSteps(a *app.App, s plane.Status, shown int) int {
	for ; shown < len(s.Steps) && s.Steps[shown].Done; shown++ {
		fmt.Fprintf(a.Out, "  %-44s %5.1f s\n", s.Steps[shown].Name, s.Steps[shown].Seconds)
	}
	return shown
}

func next(a *app.App, s plane.Status) {
	fmt.Fprintf(a.Out, `
Management API server  %s
                       Kubernetes %s
%-22s %s

Use it:
%s  export KUBECONFIG=%s
%s`, s.Kubernetes.Server, s.Kubernetes.Version, azureLabel(s), azureAt(s), defaultStateLine(a), s.Kubernetes.Kubeconfig, nextCommands(s))
}

// defaultStateLine returns the line that makes the plane of --state the default for later commands; "" if it is the default.
func defaultStateLine(a *app.App) string {
	if a.Named == "" {
		return ""
	}
	return fmt.Sprintf("  export CASEMENT_HOME=%s\n", a.Dir)
}

// nextCommands returns the next commands to run on a plane.
func nextCommands(s plane.Status) string {
	if s.Bare {
		return `  casement status -o clusterctl >> clusterctl.yaml   # its variables; add the providers
  clusterctl --config clusterctl.yaml init --infrastructure azure
  casement generate addons | casement kubectl apply -f -
  clusterctl --config clusterctl.yaml generate cluster demo --flavor windows |
    casement kubectl apply -f -
`
	}
	return `  casement generate cluster demo --flavor windows |
    casement kubectl apply -f -
  casement wait demo
`
}

func NewDown(a *app.App) *cobra.Command {
	var purge bool
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "down",
		Short: "End the local plane",
		Long: `End the local plane and every process of it. Its state stays, so that up takes
the clusters up again; --purge deletes it too: what a plane made in the state directory,
and nothing else. A plane that does not answer is signalled, and killed in the end.`,
		Example: "  casement down\n  casement down --purge",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return down(ctx, a, purge)
		},
	}
	c.Flags().BoolVar(&purge, "purge", false, "delete the state too")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "give up after this long (exit code 3)")
	return c
}

func down(ctx context.Context, a *app.App, purge bool) error {
	stop := ticking(a, "Ending the local plane", "its programs and virtual machines end")
	r, err := plane.Down(ctx, a.Dir, purge)
	stop()
	if err != nil {
		return err
	}
	switch {
	case r.Killed:
		fmt.Fprintln(a.Out, "The local plane did not end and has been killed. Its state stays whole: it is written for that.")
	case r.Ran:
		fmt.Fprintln(a.Out, "The local plane has ended.")
		if !purge {
			fmt.Fprintln(a.Out, "Its clusters are kept; start it again: "+a.Suited("casement up"))
		}
	default:
		fmt.Fprintln(a.Out, "The local plane is not running.")
	}
	if len(r.Kept) > 0 {
		return fmt.Errorf("what the plane made is deleted; %s stays for what is not its own: %s", a.Dir, strings.Join(r.Kept, ", "))
	}
	return nil
}

// NewConduct returns the command that up runs as its background process.
func NewConduct(a *app.App) *cobra.Command {
	var factor float64
	var kind planeKind
	c := &cobra.Command{
		Use:    "supervise",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return supervise(cmd.Context(), a, factor, kind, false) },
	}
	c.Flags().Float64Var(&factor, "latency", 0, "factor of Azure's durations")
	kind.addFlags(c.Flags())
	return c
}

func supervise(ctx context.Context, a *app.App, factor float64, kind planeKind, foreground bool) error {
	if _, err := kind.args(); err != nil {
		return err
	}
	if kind.azureOf != "" {
		abs, err := filepath.Abs(kind.azureOf)
		if err != nil {
			return err
		}
		kind.azureOf = abs
	}
	opts := supervisor.Options{Dir: a.Dir, Log: a.Err, Latency: factor, Bare: kind.bare,
		AzureOf: plane.Dir(kind.azureOf), FeatureGates: kind.gates, Upstream: kind.capi,
		ManagementRoute: kind.route, Charts: kind.charts, Verbosity: kind.verbose}
	var err error
	if opts.Outside, err = kind.outside(); err != nil {
		return err
	}
	if opts.AuditOf, err = kind.auditOf(); err != nil {
		return err
	}
	if err := kind.public.Apply(&opts); err != nil {
		return err
	}
	if opts.Images, err = kind.policy(); err != nil {
		return err
	}
	if foreground {
		shown := 0
		opts.OnStatus = func(s plane.Status) {
			shown = showSteps(a, s, shown)
			if s.Phase == plane.PhaseReady {
				next(a, s)
			}
		}
	}
	return supervisor.Run(ctx, opts)
}

// ImagePolicies returns the values of --images.
func ImagePolicies() []string { return []string{pull.Any, pull.Known, pull.Listed} }

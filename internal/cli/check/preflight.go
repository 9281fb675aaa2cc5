package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/preflight"
)

// PreflightTimeout is the default limit of the time for queries of Azure.
const PreflightTimeout = 2 * time.Minute

type PreflightOptions struct {
	azure.Account
	output, failOn string
	offline, plane bool
	Timeout        time.Duration
}

func NewPreflight(a *app.App) *cobra.Command {
	var o PreflightOptions
	c := &cobra.Command{
		Use:   "preflight FILE|DIR|-...",
		Short: "Report what Azure, Kubernetes or Windows will refuse of a file",
		Long: `Read the manifests of a cluster and check them before anything is created: the
subscription, quota per VM family, sizes and zones, images, ranges of addresses, names,
versions, what admission refuses, bootstrap data, and the rules of casement lint. A
Cluster with a topology is rendered first, where its ClusterClass is in the input. With
--plane, machines whose Cluster is not in the input are judged by the one that is there.
Nothing is changed.

` + azure.AccountHelp + `
Where there is no Azure to ask, or with --offline, the checks that need it are left out.

Exit codes: 0 nothing found, 1 found at or above --fail-on or input that could not be
read, 2 usage, 3 timed out.`,
		Example: `  casement generate cluster demo --flavor windows | casement preflight -
  casement preflight cluster.yaml --offline
  casement preflight cluster.yaml --identity cluster-identity
  casement preflight cluster.yaml --azure env -o json --fail-on warning
  casement preflight cluster.yaml --plane
  casement preflight explain PRE112`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runPreflight(cmd.Context(), a, args, o) },
	}
	o.AddFlags(c)
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "text", strings.Join(lint.Formats, ", "))
	f.StringVar(&o.failOn, "fail-on", "error", "the least severity that makes the exit code 1: info, warning, error")
	f.BoolVar(&o.offline, "offline", false, "ask no Azure")
	f.BoolVar(&o.plane, "plane", false,
		"let the management cluster try each object as a dry run, the local plane's or that of --kubeconfig")
	f.DurationVar(&o.Timeout, "timeout", PreflightTimeout, "how long to ask Azure")
	c.AddCommand(newPreflightExplain(a), newPreflightRules(a))
	return c
}

func newPreflightExplain(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "explain CHECK", Short: "Say what a check is about", Example: "  casement preflight explain PRE202", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, r := range preflight.All(nil, nil) {
				if strings.EqualFold(r.ID, args[0]) {
					_, err := fmt.Fprintf(a.Out, "%s  %s (%s)\n\n%s\n", r.ID, r.Title, r.Severity, r.Doc)
					return err
				}
			}
			return app.Usagef("there is no check %s; see: casement preflight checks, casement lint rules", args[0])
		},
	}
}

func newPreflightRules(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "checks", Short: "List the checks, apart from the rules of lint", Example: "  casement preflight checks", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, r := range preflight.Rules(nil, nil) {
				if _, err := fmt.Fprintf(a.Out, "%s  %-8s %s\n", r.ID, r.Severity, r.Title); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// PreflightResult is the output of -o json.
type PreflightResult struct {
	// Azure names the Azure that was queried; it is "" if none was, and NotAsked explains why.
	Azure    string `json:"azure,omitempty"`
	NotAsked string `json:"notAsked,omitempty"`
	// NotRendered are the Clusters whose ClusterClass could not be rendered, each with the reason.
	NotRendered []string       `json:"notRendered,omitempty"`
	Clusters    int            `json:"clusters"`
	Machines    int            `json:"machines"`
	Findings    []lint.Finding `json:"findings"`
}

func runPreflight(ctx context.Context, a *app.App, args []string, o PreflightOptions) error {
	failOn, ok := lint.ParseSeverity(o.failOn)
	if !ok {
		return app.Usagef("--fail-on is info, warning or error, not %q", o.failOn)
	}
	if !slices.Contains(lint.Formats, o.output) {
		return app.Usagef("--output is %s, not %q", strings.Join(lint.Formats, ", "), o.output)
	}
	set, unread := lint.Read(args, lint.Options{Stdin: a.In})
	if len(set.Objects) == 0 && len(unread) == 0 {
		unread = append(unread, errors.New("there is no object in the input: nothing is checked"))
	}
	for _, err := range unread {
		fmt.Fprintf(a.Err, "casement: %v\n", err)
	}
	if i := slices.IndexFunc(set.Objects, func(o *lint.Object) bool { return strings.Contains(o.Name, "${") }); i >= 0 {
		fmt.Fprintf(a.Err, "casement: %s is a template whose variables are not filled in: casement generate "+
			"cluster NAME --from FILE | casement preflight -\n", set.Objects[i].File)
	}
	result, checks, err := JudgeManifests(ctx, a, set, o)
	if err != nil {
		return err
	}
	if err := printPreflight(a, o.output, result, checks); err != nil {
		return err
	}
	if len(unread) > 0 || slices.ContainsFunc(result.Findings, func(f lint.Finding) bool { return f.Severity >= failOn }) {
		return app.ExitError{Code: app.ExitFailed}
	}
	return nil
}

// JudgeManifests checks manifests, and returns the checks that it ran.
func JudgeManifests(ctx context.Context, a *app.App, set *lint.Set, o PreflightOptions) (PreflightResult, []lint.Rule, error) {
	given := set.Objects
	if o.plane {
		if err := addClusters(ctx, a, o.Target, set); err != nil {
			return PreflightResult{}, nil, err
		}
	}
	rendered, err := renderTopologies(ctx, set)
	if err != nil {
		return PreflightResult{}, nil, err
	}
	plan, err := preflight.Read(rendered.created)
	if err != nil {
		return PreflightResult{}, nil, err
	}
	plan.Refused = rendered.refused
	if o.plane {
		if plan.Server, err = tryCreating(ctx, a, o.Target, given); err != nil {
			return PreflightResult{}, nil, err
		}
	}
	facts, why, err := askFacts(ctx, a, plan, o)
	if err != nil {
		return PreflightResult{}, nil, err
	}
	result := PreflightResult{Clusters: len(plan.Clusters), NotAsked: why, NotRendered: rendered.unknown,
		Findings: preflight.Run(rendered.set, plan, facts)}
	if o.plane { // objects that were added from the management cluster are not part of the input
		result.Findings = slices.DeleteFunc(result.Findings, func(f lint.Finding) bool { return f.File == "" })
	}
	if facts != nil {
		result.Azure = facts.Name
	}
	for _, c := range plan.Clusters {
		for _, m := range c.Machines {
			result.Machines += m.Replicas
		}
	}
	return result, preflight.All(plan, facts), nil
}

// askFacts reads the facts that the plan needs from Azure, or returns the reason why no Azure was queried.
func askFacts(ctx context.Context, a *app.App, plan *preflight.Plan, o PreflightOptions) (*preflight.Facts, string, error) {
	if o.offline {
		return nil, "--offline", nil
	}
	subscriptions := plan.Subscriptions()
	if len(subscriptions) == 0 {
		return nil, "no AzureCluster with a subscription is in the input", nil
	}
	if o.Identity != "" || o.Azure == "env" {
		o.Subscription = cmp.Or(o.Subscription, subscriptions[0])
	}
	from, err := azure.Open(ctx, a, o.Account)
	if err != nil && o.Azure == "auto" && o.Identity == "" && ctx.Err() == nil {
		return nil, err.Error(), nil
	}
	if err != nil {
		return nil, "", err
	}
	ctx, stop := context.WithTimeout(ctx, o.Timeout)
	defer stop()
	facts, err := preflight.Ask(ctx, from.Client, from.Name, plan)
	return facts, "", err
}

func printPreflight(a *app.App, format string, r PreflightResult, rules []lint.Rule) error {
	switch format {
	case "json":
		return a.Print("json", r, nil)
	case "text":
	default:
		return lint.Write(a.Report(format), format, r.Findings, rules)
	}
	var out bytes.Buffer
	if err := lint.Show(&out, r.Findings); err != nil {
		return err
	}
	count := map[lint.Severity]int{}
	for _, f := range r.Findings {
		count[f.Severity]++
	}
	fmt.Fprintf(&out, "%s, %s: %d errors, %d warnings, %d notes\n", counted(r.Clusters, "cluster"),
		counted(r.Machines, "machine"), count[lint.Error], count[lint.Warning], count[lint.Info])
	for _, one := range r.NotRendered {
		fmt.Fprintf(&out, "not rendered: %s\nits class's templates are checked as they are, and its machines are not counted\n", one)
	}
	if r.Azure != "" {
		fmt.Fprintf(&out, "asked: %s\n", r.Azure)
	} else {
		fmt.Fprintf(&out, "Azure was not asked: %s\n"+
			"nothing is said of the subscription, quota, sizes, zones, images and existing networks\n", r.NotAsked)
	}
	_, err := a.Out.Write(out.Bytes())
	return err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/explain"
	"casement.dev/casement/internal/upgrade"
	"casement.dev/casement/internal/windows"
)

func NewUpgrade(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "upgrade", Short: "Plan the move to another release of Windows, and watch patch day",
		Example: "  casement upgrade plan demo --to 2025\n  casement upgrade status demo",
		Args:    cobra.NoArgs}
	c.AddCommand(newUpgradePlan(a), newUpgradeStatus(a), newUpgradePause(a), newUpgradeResume(a), newUpgradeRollback(a))
	return c
}

func newUpgradePlan(a *app.App) *cobra.Command {
	var t app.Target
	var to, output, folder string
	c := &cobra.Command{
		Use:   "plan CLUSTER",
		Short: "Plan the move of Windows nodes to another release",
		Long: `Read a cluster and its workload cluster and print the plan: the pools with Windows in
the order in which to move them, the smallest first, with their images now and then and
what a rolling update takes of the quota; the pods whose images or selectors no new node
takes; what Kubernetes and the network say of the release; known regressions of the
builds of its nodes and of the new release. --manifests writes one file per step, for
kubectl apply --server-side. Nothing is applied. The exit code is 1 where something
speaks against beginning, such as a network that does not support the release.`,
		Example: "  casement upgrade plan demo\n  casement upgrade plan demo --to 2025 --manifests steps",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			release, ok := windows.ReleaseByName(strings.TrimPrefix(to, "windows-"))
			if !ok || !release.Node || release.SKU == "" {
				return app.Usagef("--to %s: use one of %s", to, strings.Join(windows.ServerReleases(), ", "))
			}
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			in, err := upgradeInput(cmd.Context(), a, c, t.Namespace, args[0])
			if err != nil {
				return err
			}
			plan := upgrade.Make(in, release)
			if len(plan.Pools) == 0 {
				return fmt.Errorf("cluster %s has no pools with Windows", args[0])
			}
			if folder != "" {
				if err := writeSteps(folder, in, plan); err != nil {
					return err
				}
			}
			if err := a.Print(output, plan, func(w io.Writer) { planText(w, plan) }); err != nil {
				return err
			}
			if len(plan.Blocked) > 0 {
				return app.ExitError{Code: app.ExitFailed}
			}
			return nil
		},
	}
	t.AddFlags(c)
	c.Flags().StringVar(&to, "to", "2025", "Windows Server release to move to")
	c.Flags().StringVar(&folder, "manifests", "", "write a manifest per step into this directory, which is made where it is missing")
	c.Flags().StringVarP(&output, "output", "o", "table", "table, json or yaml")
	return c
}

// upgradeInput reads a cluster with the templates of its MachineDeployments.
func upgradeInput(ctx context.Context, a *app.App, c client.Client, namespace, name string) (upgrade.Input, error) {
	snapshot, err := explain.Snapshot(ctx, a, c, explain.ClusterObject(namespace, name))
	if err != nil {
		return upgrade.Input{}, err
	}
	in := upgrade.Input{Snapshot: snapshot, Templates: map[string]*infrav1.AzureMachineTemplate{}}
	var templates infrav1.AzureMachineTemplateList
	if err := c.List(ctx, &templates, client.InNamespace(snapshot.Cluster.Namespace)); err != nil {
		return in, fmt.Errorf("list the machine templates of %s: %w", name, err)
	}
	for i := range templates.Items {
		in.Templates[templates.Items[i].Name] = &templates.Items[i]
	}
	return in, nil
}

// writeSteps writes the manifests of a plan.
func writeSteps(folder string, in upgrade.Input, plan *upgrade.Plan) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { // the manifests contain no secrets
		return err
	}
	for i := range plan.Pools {
		pool := &plan.Pools[i]
		if pool.File == "" {
			continue
		}
		data, err := plan.Manifest(in, pool)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, pool.File), data, 0o644); err != nil { // nor do these
			return err
		}
	}
	return nil
}

// planText prints a plan without shortening lines, because a plan must be readable in full.
func planText(w io.Writer, p *upgrade.Plan) {
	fmt.Fprintf(w, "Cluster %s to Windows Server %s. Nothing is applied.\n", p.Cluster, p.To)
	for i, pool := range p.Pools {
		fmt.Fprintf(w, "\n%d. %s/%s: %d machines of Windows Server %s\n", i+1, pool.Kind, pool.Name, pool.Replicas, pool.From)
		if pool.There {
			fmt.Fprintln(w, "   is there")
			continue
		}
		fmt.Fprintf(w, "   image  %s\n   next   %s\n   surge  %s\n", pool.Image, cmp.Or(pool.Next, "an image of yours"), pool.Cost)
		if pool.File != "" {
			fmt.Fprintf(w, "   file   %s\n", pool.File)
		}
	}
	section := func(name string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(w, "\n%s\n", name)
		}
		for _, line := range lines {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	section("AGAINST IT", p.Blocked)
	section("WARNINGS", p.Warnings)
	var behind, builds []string
	for _, b := range p.Behind {
		behind = append(behind, fmt.Sprintf("%s, %d pods: %s", b.Owner, b.Pods, strings.Join(b.Why, "; ")), "  "+b.Fix)
	}
	section("PODS THAT STAY BEHIND", behind)
	section("SUPPORT", p.Support)
	for _, pool := range p.Pools {
		for _, b := range pool.Builds {
			builds = append(builds, pool.Name+": "+b)
		}
	}
	section("BUILDS OF TODAY, AND THEIR KNOWN REGRESSIONS", builds)
	section("KNOWN REGRESSIONS OF WINDOWS SERVER "+p.To+", BY BUILD", append(p.Ahead,
		"a reference image does not say its build: compare the kernelVersion of the first new node with these"))
}

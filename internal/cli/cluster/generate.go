// Package cluster has the commands on clusters: generate, get, wait, upgrade, adopt, addons, fetch, ui.
//
// It only calls internal/flavors, internal/upgrade and other packages, which do the work. Only internal/cli may import it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/terminal"
	"casement.dev/casement/internal/windows"
)

func NewGenerate(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "generate",
		Short: "Print manifests to apply",
		Example: `  casement generate cluster demo --flavor windows
  casement generate addons
  casement generate gmsa WebApp1 --domain corp.example`,
		Args: cobra.NoArgs,
	}
	c.AddCommand(newGenerateCluster(a), newGenerateAddons(a), newGenerateLintWebhook(a), newGenerateGMSA(a))
	return c
}

type GenerateOptions struct {
	Name, flavor, from, Namespace, Kubernetes string
	ControlPlanes, Workers                    int
	listVariables, listFlavors                bool
}

func newGenerateCluster(a *app.App) *cobra.Command {
	var o GenerateOptions
	c := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Fill a cluster template, as clusterctl does",
		Long: `Fill a flavor, or any clusterctl template given by --from, and print it.

Variables come from flags first, then from the environment, then from the local
plane when one runs (subscription, tenant, identity), then from the template.
AZURE_CLIENT_ID and AZURE_CLIENT_SECRET are those of a running local plane, unless
AZURE_SUBSCRIPTION_ID names a subscription that is not the plane's.`,
		Example: `  casement generate cluster demo --flavor windows | casement kubectl apply -f -
  WINDOWS_SERVER_VERSION=windows-2025 casement generate cluster demo --flavor windows
  casement generate cluster old --from cluster-template-windows-containerd.yaml --kubernetes-version v1.22.1
  casement generate cluster --list-variables --flavor windows`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Name = args[0]
			}
			return generateCluster(cmd.Context(), a, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.flavor, "flavor", "f", "default", "flavor; --list-flavors prints them")
	f.StringVar(&o.from, "from", "", "template to fill instead of a flavor: a file, a URL, or - for standard input")
	f.StringVarP(&o.Namespace, "target-namespace", "n", "", "namespace of the objects (default $NAMESPACE, else default)")
	f.StringVar(&o.Kubernetes, "kubernetes-version", "", "Kubernetes version (default $KUBERNETES_VERSION, else "+kuberelease.Default+")")
	f.IntVar(&o.ControlPlanes, "control-plane-machine-count", -1, "control plane machines (default $CONTROL_PLANE_MACHINE_COUNT, else 1)")
	f.IntVar(&o.Workers, "worker-machine-count", -1, "machines per worker group (default $WORKER_MACHINE_COUNT, else 1)")
	f.BoolVar(&o.listVariables, "list-variables", false, "print the template's variables instead")
	f.BoolVar(&o.listFlavors, "list-flavors", false, "print the flavors instead")
	return c
}

func generateCluster(ctx context.Context, a *app.App, o GenerateOptions) error {
	if o.listFlavors {
		w := terminal.NewTable(a.Out, a.Width(0))
		for _, name := range flavors.List() {
			fmt.Fprintf(w, "%s\t%s\n", name, flavors.Describe(name))
		}
		return w.Flush()
	}
	template, err := template(ctx, a, o)
	if err != nil {
		return err
	}
	if o.listVariables {
		return listVariables(a, template)
	}
	if o.Name == "" {
		return app.Usagef("name the cluster: casement generate cluster NAME")
	}
	lookup := withRelease(template, Lookup(ctx, a, o))
	if err := checkValues(template, lookup); err != nil {
		return err
	}
	out, _, err := flavors.Fill(template, lookup)
	if err != nil {
		return SuggestUp(ctx, a, err)
	}
	if name := identityFor(out); name != "" {
		out, _, err = flavors.Fill(template, func(variable string) (string, bool) {
			if variable == "CLUSTER_IDENTITY_NAME" {
				return name, true
			}
			return lookup(variable)
		})
		if err != nil {
			return err
		}
	}
	if o.Namespace != "" {
		if out, err = flavors.InNamespace(out, o.Namespace); err != nil {
			return err
		}
	}
	_, err = a.Data().Write(out)
	return err
}

// identityFor returns another name for the identity of a filled template if the identity has the plane's name but not
// the type of casement's flavors: the type of an identity cannot be changed, and both may be in one namespace. It
// returns "" for every other template, and if the user sets the name.
func identityFor(filled []byte) string {
	if _, named := os.LookupEnv("CLUSTER_IDENTITY_NAME"); named {
		return ""
	}
	kind := flavors.IdentityType(filled, plane.IdentityName)
	if kind == "" || kind == "ServicePrincipal" {
		return ""
	}
	return plane.IdentityName + "-" + strings.ToLower(kind)
}

func template(ctx context.Context, a *app.App, o GenerateOptions) ([]byte, error) {
	switch {
	case o.from == "" && flavors.Topology(o.flavor):
		return flavors.WithClass(o.flavor)
	case o.from == "":
		return flavors.Get(o.flavor)
	case o.from == "-":
		return input.All(a.In, "-", input.Small)
	case strings.HasPrefix(o.from, "https://") || strings.HasPrefix(o.from, "http://"):
		data, err := input.URL(ctx, o.from, input.Small)
		if err != nil {
			return nil, fmt.Errorf("fetch the template: %w", err)
		}
		return data, nil
	default:
		return input.File(o.from, input.Small)
	}
}

func listVariables(a *app.App, template []byte) error {
	variables, err := flavors.Variables(template)
	if err != nil {
		return err
	}
	for _, v := range variables {
		if v.Default != nil {
			fmt.Fprintf(a.Out, "%s (default %q)\n", v.Name, *v.Default)
		} else {
			fmt.Fprintln(a.Out, v.Name)
		}
	}
	return nil
}

// planeLogin returns the client ID and secret of the local plane, which take precedence over the environment's; nil if
// AZURE_SUBSCRIPTION_ID in the environment is not the local plane's subscription.
func planeLogin(local map[string]string) map[string]string {
	if id, ok := os.LookupEnv("AZURE_SUBSCRIPTION_ID"); ok && id != local["AZURE_SUBSCRIPTION_ID"] {
		return nil
	}
	return map[string]string{"AZURE_CLIENT_ID": local["AZURE_CLIENT_ID"], "AZURE_CLIENT_SECRET": local["AZURE_CLIENT_SECRET"]}
}

// cniLabel matches the label of a template's Cluster that selects its network.
var cniLabel = regexp.MustCompile(`(?m)^    cni: (\S+)$`)

// withRelease returns a lookup that gives WINDOWS_SERVER_VERSION a value if no other source does: the release for the
// Kubernetes version and the network that the template's Cluster requests.
func withRelease(template []byte, lookup func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := lookup(name)
		label := cniLabel.FindSubmatch(template)
		if ok || name != "WINDOWS_SERVER_VERSION" || label == nil {
			return value, ok
		}
		version, _ := lookup("KUBERNETES_VERSION")
		var minor int
		if _, err := fmt.Sscanf(version, "v1.%d", &minor); err != nil {
			return "", false
		}
		n, ok := windows.NetworkByLabels(map[string]string{"cni": string(label[1])})
		if release := windows.ChooseRelease(minor, n); ok && release != windows.DefaultRelease {
			return "windows-" + release, true
		}
		return "", false // the template has its own default
	}
}

// Lookup returns a function that finds a variable's value: in flags, environment or local plane.
func Lookup(ctx context.Context, a *app.App, o GenerateOptions) func(string) (string, bool) {
	flags := map[string]string{"CLUSTER_NAME": o.Name}
	if o.Namespace != "" {
		flags["NAMESPACE"] = o.Namespace
	}
	if o.Kubernetes != "" {
		flags["KUBERNETES_VERSION"] = o.Kubernetes
	}
	if o.ControlPlanes >= 0 {
		flags["CONTROL_PLANE_MACHINE_COUNT"] = strconv.Itoa(o.ControlPlanes)
	}
	if o.Workers >= 0 {
		flags["WORKER_MACHINE_COUNT"] = strconv.Itoa(o.Workers)
	}
	fallback := map[string]string{
		"KUBERNETES_VERSION": kuberelease.Default, "CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
	}
	maps.Copy(flags, sshKeys(os.LookupEnv))
	s, err := plane.NewClient(a.Dir).Status(ctx)
	var local map[string]string
	if err == nil {
		local, err = plane.TemplateVariables(s)
	}
	switch {
	case err == nil:
		maps.Copy(fallback, local)
		maps.Copy(flags, planeLogin(local))
	case !errors.Is(err, plane.ErrNotRunning):
		fmt.Fprintf(a.Err, "warning: %v; its values are not filled in\n", err)
	}
	return func(name string) (string, bool) {
		if v, ok := flags[name]; ok {
			return v, true
		}
		if v, ok := os.LookupEnv(name); ok {
			return v, true
		}
		v, ok := fallback[name]
		return v, ok
	}
}

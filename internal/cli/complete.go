package cli

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/diagnose/facts"
)

// pluginComplete is the name by which kubectl asks a plugin for completions.
// Source: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/.
const pluginComplete = "kubectl_complete-casement"

// pluginArgs returns the arguments of a call without the program's name; it converts kubectl's call for completions to cobra's.
func pluginArgs(args []string) []string {
	if filepath.Base(args[0]) == pluginComplete {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

// choices matches the words in a flag's usage text that are values of the flag.
var choices = regexp.MustCompile(`\b(?:(?:jsonpath|go-template|custom-columns)(?:-file)?=|table|wide|json|yaml|` +
	`text|sarif|github|junit|tar|name|kubeconfig|clusterctl)`)

// widenOutput adds kubectl's templates to the formats of --output in c and all its subcommands that print an object as
// YAML. Output that is printed line by line has no templates.
func widenOutput(c *cobra.Command) {
	if f := c.Flags().Lookup("output"); f != nil && strings.Contains(f.Usage, "yaml") && !strings.Contains(f.Usage, "--follow") {
		f.Usage += "; or kubectl's " + strings.Join(app.Templates, ", ")
	}
	for _, sub := range c.Commands() {
		widenOutput(sub)
	}
}

// completeOutput adds completion of the values of --output, which the flag's help lists, to c and all its subcommands.
func completeOutput(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "output" {
			return
		}
		values := choices.FindAllString(f.Usage, -1)
		slices.Sort(values)
		if len(values) > 0 {
			// RegisterFlagCompletionFunc fails only for a flag that has a completion already.
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(slices.Compact(values), cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, sub := range c.Commands() {
		completeOutput(sub)
	}
}

// strictOutput makes commands refuse an invalid value of --output before they do their work.
func strictOutput(c *cobra.Command) {
	if run, f := c.RunE, c.Flags().Lookup("output"); run != nil && f != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			values := choices.FindAllString(f.Usage, -1)
			got := f.Value.String()
			fits := func(value string) bool {
				return got == value || strings.HasSuffix(value, "=") && strings.HasPrefix(got, value)
			}
			if got != "" && len(values) > 0 && !slices.ContainsFunc(values, fits) {
				return app.Usagef("unknown output format %q: use %s", got, f.Usage)
			}
			return run(c, args)
		}
	}
	for _, sub := range c.Commands() {
		strictOutput(sub)
	}
}

// directive returns the shell completion directive of a command's arguments: cp completes file names too.
func directive(name string) cobra.ShellCompDirective {
	if name == "cp" {
		return cobra.ShellCompDirectiveDefault
	}
	return cobra.ShellCompDirectiveNoFileComp
}

// completing returns the target that the flags of an incomplete command line select.
func completing(a *app.App, c *cobra.Command) app.Target {
	text := func(name string) string {
		if f := c.Flags().Lookup(name); f != nil {
			return f.Value.String()
		}
		return ""
	}
	_ = a.Settle(text("state")) // without a state directory there is nothing to offer
	return app.Target{Kubeconfig: text("kubeconfig"), Context: text("context"), Namespace: cmp.Or(text("namespace"), "default")}
}

// namesOf returns the names of the objects of the given kinds in the management cluster.
func namesOf(a *app.App, c *cobra.Command, kinds []string) (names []string) {
	t := completing(a, c)
	k, err := a.Client(t)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Context(), app.CompletePatience)
	defer cancel()
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(groupOf(kind).WithKind(kind + "List"))
		within := []client.ListOption{client.InNamespace(t.Namespace)}
		if kind == "Namespace" {
			within = nil
		}
		if err := k.List(ctx, list, within...); err != nil {
			continue
		}
		for i := range list.Items {
			names = append(names, prefixes[kind]+list.Items[i].Name)
		}
	}
	return names
}

// services returns the LoadBalancer services of the workload cluster that the flags select.
func services(a *app.App, c *cobra.Command) (names []string) {
	t := completing(a, c)
	k, err := a.Client(t)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Context(), app.CompletePatience)
	defer cancel()
	within, err := facts.Find(ctx, k, t.Namespace, c.Flag("cluster").Value.String(), "service/any")
	if err != nil {
		return nil
	}
	w, _, err := facts.Workload(ctx, k, within.Cluster)
	if err != nil {
		return nil
	}
	var list corev1.ServiceList
	if err := w.List(ctx, &list); err != nil {
		return nil
	}
	for _, s := range list.Items {
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
			names = append(names, "service/"+s.Namespace+"/"+s.Name)
		}
	}
	return names
}

// prefixes are the prefixes of names that commands take as KIND/NAME, by kind.
var prefixes = map[string]string{"MachineDeployment": "md/", "MachinePool": "mp/"}

// groupOf returns the API group and version of a kind whose names are completed.
func groupOf(kind string) schema.GroupVersion {
	switch kind {
	case "Namespace":
		return corev1.SchemeGroupVersion
	case "AzureClusterIdentity":
		return infrav1.GroupVersion
	}
	return clusterv1.GroupVersion
}

// contexts returns the names of the contexts in the kubeconfig.
func contexts(a *app.App, c *cobra.Command) []string {
	raw, err := a.ClientConfig(completing(a, c)).RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

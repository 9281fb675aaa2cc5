package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/internal/addons"
	"casement.dev/casement/internal/azure/permission"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/cli/local"
	"casement.dev/casement/internal/cli/machine"
	"casement.dev/casement/internal/diagnose/logs"
	"casement.dev/casement/internal/flavors"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/preflight"
	"casement.dev/casement/internal/windows"
)

// valuesOf returns the possible values of an argument or flag.
type valuesOf func(a *app.App, c *cobra.Command) []string

// these returns the given values.
func these(values ...string) valuesOf {
	return func(*app.App, *cobra.Command) []string { return values }
}

// ofPlane returns values that read gets from the local plane.
func ofPlane(read func(context.Context, *plane.Client) []string) valuesOf {
	return func(a *app.App, c *cobra.Command) []string {
		completing(a, c)
		ctx, cancel := context.WithTimeout(c.Context(), app.CompletePatience)
		defer cancel()
		return read(ctx, plane.NewClient(a.Dir))
	}
}

// objects returns the names of the objects of the given kinds.
func objects(kinds ...string) valuesOf {
	return func(a *app.App, c *cobra.Command) []string { return namesOf(a, c, kinds) }
}

// argumentValues are the values of positional arguments, by the command's path. They apply to every argument of a command.
var argumentValues = map[string]valuesOf{
	"why": objects("Cluster", "Machine", "MachineDeployment", "MachinePool"), "doctor": objects("Cluster", "Machine"),
	"tree": objects("Cluster"), "wait": objects("Cluster"), "support": objects("Cluster"), "adopt": objects("Cluster"),
	"get kubeconfig": objects("Cluster"), "timeline": objects("Machine", "Cluster"), "ssh": objects("Machine"),
	"rdp": objects("Machine"), "cp": objects("Machine"),
	"logs": func(a *app.App, c *cobra.Command) []string {
		if all, _ := c.Flags().GetBool("all"); all || c.Flags().NArg() > 0 {
			return logNames()
		}
		return namesOf(a, c, []string{"Machine"})
	},
	"fetch":          services,
	"addons install": addonNames, "generate addons": addonNames,
	"azure faults add": func(*app.App, *cobra.Command) []string {
		return app.Names(fault.Kinds(), func(k [2]string) string { return k[0] })
	},
	"azure faults clear": ofPlane(faultIDs),
	"images show":        these(kuberelease.Default),
	"lint explain":       func(*app.App, *cobra.Command) []string { return ruleIDs(rules.All()) },
	"preflight explain":  func(*app.App, *cobra.Command) []string { return ruleIDs(preflight.All(nil, nil)) },
}

func addonNames(*app.App, *cobra.Command) []string {
	return app.Names(addons.All(), func(x addons.Addon) string { return x.Name })
}

// flagValues are the values of flags, by the flag's name, or by the command's path and the flag's name if commands have
// different flags of the same name.
var flagValues = map[string]valuesOf{
	"cluster": objects("Cluster"), "namespace": objects("Namespace"), "target-namespace": objects("Namespace"),
	"context": contexts, "azure": these("auto", "local", "env"), "up azure": these("local", "env"),
	"images pins azure": these("local", "env"),
	"flavor":            func(*app.App, *cobra.Command) []string { return flavors.List() },
	"feature": func(*app.App, *cobra.Command) []string {
		return app.Names(permission.Features(), func(f permission.Feature) string { return f.Name })
	},
	"wait for": these("ready", "deleted"), "azure env for": these("sdk", "az", "proxy"),
	"logs from": these(machine.FromAuto, machine.FromSSH, machine.FromKubelet, machine.FromAgent, machine.FromConsole),
	"latency":   these("instant", "azure"), "throttle": these("off", "real"), "audit": these("manager", "all"),
	"images": func(*app.App, *cobra.Command) []string { return local.ImagePolicies() },
	"os":     these(windows.OSWindows, "Linux"), "runtime": these("containerd", "dockershim"),
	"release": these(windows.ServerReleases()...), "windows-release": these(windows.ServerReleases()...), "assume-os": these("windows"),
	"fail-on": these("info", "warning", "error"), "kubernetes-version": these(kuberelease.Default),
	"verb": these("GET", "PUT", "PATCH", "POST", "DELETE"), "status": these("2xx", "4xx", "5xx", "429"),
	"guest-fault":    func(*app.App, *cobra.Command) []string { return azure.GuestFaultNames() },
	"resource-group": ofPlane(resourceGroups), "preflight identity": objects("AzureClusterIdentity"),
	"images build identity": objects("AzureClusterIdentity"),
	"images list identity":  objects("AzureClusterIdentity"),
	"images show identity":  objects("AzureClusterIdentity"),
	"images diff identity":  objects("AzureClusterIdentity"), "images prune identity": objects("AzureClusterIdentity"),
	"images retire identity": objects("AzureClusterIdentity"),
}

// completeNames adds completion of arguments and flags to all commands below c. It offers nothing if no server
// responds, and files only for arguments and flags that name files.
func completeNames(a *app.App, c *cobra.Command) {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	if values, ok := argumentValues[path]; ok {
		c.ValidArgsFunction = offer(a, values, directive(c.Name()))
	} else if c.ValidArgsFunction == nil && c.Runnable() && c.Args != nil && c.Args(c, nil) == nil && c.Args(c, []string{"x"}) != nil {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		values, ok := flagValues[path+" "+f.Name]
		if !ok {
			values, ok = flagValues[f.Name]
		}
		if !ok && !strings.HasPrefix(f.Value.Type(), "string") || !ok && namesFile(f) {
			return
		}
		if !ok {
			values = these()
		}
		// RegisterFlagCompletionFunc fails only for a flag that has a completion already.
		_ = c.RegisterFlagCompletionFunc(f.Name, offer(a, values, cobra.ShellCompDirectiveNoFileComp))
	})
	for _, sub := range c.Commands() {
		completeNames(a, sub)
	}
}

// offer returns a completion function that offers the given values.
func offer(a *app.App, values valuesOf, directive cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return values(a, c), directive
	}
}

// namesFile reports whether a flag's value is a file or a directory.
func namesFile(f *pflag.Flag) bool {
	for _, word := range []string{"file", "folder", "director", "kubeconfig", "list of", "JSON"} {
		if strings.Contains(f.Usage, word) {
			return true
		}
	}
	return false
}

func logNames() []string {
	return app.Names(logs.Sources(), func(s logs.Source) string { return s.Name })
}

func faultIDs(ctx context.Context, k *plane.Client) []string {
	list, _ := k.Faults(ctx) // without a plane there is nothing to offer
	return app.Names(list, func(r fault.Rule) string { return r.ID })
}

func resourceGroups(ctx context.Context, k *plane.Client) (out []string) {
	list, _ := k.AzureResources(ctx) // without a plane there is nothing to offer
	for _, r := range list {
		if strings.HasSuffix(r.Type, "/resourceGroups") {
			out = append(out, r.Name)
		}
	}
	return out
}

func ruleIDs(all []lint.Rule) []string {
	return app.Names(all, func(r lint.Rule) string { return r.ID })
}

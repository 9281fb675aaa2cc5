package cli

import (
	"path/filepath"
	"regexp"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pluginComplete is the name by which kubectl asks a plugin for completions.
// Source: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/.
const pluginComplete = "kubectl_complete-casement"

// pluginArgs are the arguments of a call, without the program's name; kubectl's call
// for completions becomes one of cobra's.
func pluginArgs(args []string) []string {
	if filepath.Base(args[0]) == pluginComplete {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

// choices are words of a flag's usage that are values of it.
var choices = regexp.MustCompile(`\b(?:table|wide|json|yaml|text|sarif|github|junit|tar|name)\b`)

// completeOutput completes the values of --output in all commands below c, which are
// those that its help names.
func completeOutput(c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "output" {
			return
		}
		values := choices.FindAllString(f.Usage, -1)
		slices.Sort(values)
		if len(values) > 0 {
			// The error is that the flag is completed already.
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(slices.Compact(values), cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, sub := range c.Commands() {
		completeOutput(sub)
	}
}

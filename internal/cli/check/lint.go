// Package check has the commands that check manifests before they are applied: lint and preflight.
//
// It contains no rules: they are in internal/lint and internal/preflight. Only internal/cli may import it.
package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/registry"
	"casement.dev/casement/internal/lint/rules"
	"casement.dev/casement/internal/windows"
)

// ExitUnreadable is lint's exit code for unreadable input; the code for an error of the command line is 2, and for a finding 1.
const ExitUnreadable = 4

type lintOptions struct {
	output, failOn, assumeOS, baseline, kubernetes, config string
	templates, windows                                     []string
	fix, diff, updateBaseline, checkImages                 bool
	cluster                                                lintCluster
}

func NewLint(a *app.App) *cobra.Command {
	var o lintOptions
	c := &cobra.Command{
		Use:   "lint [FILE|DIR|GLOB|-]...",
		Short: "Report what Windows refuses or ignores in Kubernetes manifests",
		Long: `Read manifests and report what of the pods that are meant for Windows is refused,
ignored or read otherwise there. Pods for Linux are left alone.

With --kubeconfig, --context, --namespace or --all-namespaces it reads a running
cluster instead, and changes nothing there. What the cluster's version and nodes say
goes where neither a flag nor the configuration file says otherwise.

An object asks for silence with the annotation casement.dev/ignore: WIN201,WIN402,
and says why with casement.dev/ignore-reason.
Exit codes: 0 nothing found, 1 found at or above --fail-on, 2 usage, 4 input that
could not be read.`,
		Example: `  casement lint deploy/
  helm template chart | casement lint -
  casement lint --fix iis.yaml
  casement lint -o sarif deploy/ > casement.sarif
  casement lint --kubeconfig demo.kubeconfig --all-namespaces
  casement lint explain WIN201`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.cluster.check(cmd, args, o); err != nil {
				return err
			}
			return runLint(cmd.Context(), a, args, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "text", strings.Join(lint.Formats, ", "))
	f.StringVar(&o.failOn, "fail-on", "warning", "the least severity that makes the exit code 1: info, warning, error")
	f.StringVar(&o.assumeOS, "assume-os", "", "windows takes pods that name no OS as ones for Windows")
	f.StringVar(&o.kubernetes, "kubernetes-version", "",
		"Kubernetes release the manifests are for, such as "+kuberelease.Choice()+" (default the newest)")
	f.StringSliceVar(&o.windows, "windows-release", nil,
		"Windows Server release of the nodes: "+windows.ServerChoice("")+"; may be repeated")
	f.StringVar(&o.config, "config", "", "configuration file (default "+lint.ConfigFile+" here or in a directory above)")
	f.StringSliceVar(&o.templates, "template-path", nil, "where another kind has its pod template: Rollout=spec.template")
	f.BoolVar(&o.fix, "fix", false, "repair what is safe to repair, in place")
	f.BoolVar(&o.diff, "diff", false, "print the fixed files instead of findings, and change nothing")
	f.BoolVar(&o.checkImages, "check-images", false, "ask the registries of other images for which Windows builds they are")
	f.StringVar(&o.baseline, "baseline", "", "JSON of findings that are known")
	f.BoolVar(&o.updateBaseline, "update-baseline", false, "write what is found to --baseline")
	o.cluster.addFlags(c)
	c.AddCommand(newLintExplain(a), newLintRules(a))
	return c
}

func newLintExplain(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "explain RULE", Short: "Say what a rule is about, with examples",
		Example: "  casement lint explain WIN201", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, r := range rules.All() {
				if strings.EqualFold(r.ID, args[0]) {
					about := ""
					if needs := lint.Describe(r.For); needs != "" {
						about = "\n\nThe examples are for this cluster, in the words of " + lint.ConfigFile +
							":\n\n" + strings.TrimRight(indent(needs), "\n")
					}
					_, err := fmt.Fprintf(a.Out, "%s  %s (%s)\n\n%s%s\n\nNot so:\n\n%s\nBut so:\n\n%s", r.ID,
						r.Title, r.Severity, r.Doc, about, indent(r.Bad), indent(r.Good))
					return err
				}
			}
			return app.Usagef("there is no rule %s; see: casement lint rules", args[0])
		},
	}
}

func newLintRules(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "rules", Short: "List the rules", Example: "  casement lint rules", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, r := range rules.All() {
				if _, err := fmt.Fprintf(a.Out, "%s  %-8s %s\n", r.ID, r.Severity, r.Title); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("    " + line)
	}
	return out.String()
}

// lintInput returns the options of the linter for the flags about the input.
func lintInput(a *app.App, args []string, o lintOptions) (lint.Options, error) {
	read := lint.Options{Stdin: a.In, AssumeWindows: o.assumeOS == "windows", Templates: map[string][]string{}}
	switch {
	case len(args) == 0 && !o.cluster.asked:
		return read, app.Usagef("name files or directories, - for standard input, or a cluster (--kubeconfig, --namespace)")
	case o.assumeOS != "" && o.assumeOS != "windows":
		return read, app.Usagef("--assume-os is windows, not %q", o.assumeOS)
	case !slices.Contains(lint.Formats, o.output):
		return read, app.Usagef("--output is %s, not %q", strings.Join(lint.Formats, ", "), o.output)
	case o.updateBaseline && o.baseline == "":
		return read, app.Usagef("--update-baseline needs --baseline FILE")
	case (o.fix || o.diff) && slices.Contains(args, "-"):
		return read, app.Usagef("standard input cannot be fixed; name a file")
	}
	for _, t := range o.templates {
		kind, path, ok := strings.Cut(t, "=")
		if !ok || kind == "" || path == "" {
			return read, app.Usagef("--template-path is KIND=PATH, such as Rollout=spec.template, not %q", t)
		}
		read.Templates[kind] = strings.Split(strings.Trim(path, "."), ".")
	}
	return read, nil
}

func runLint(ctx context.Context, a *app.App, args []string, o lintOptions) error {
	failOn, ok := lint.ParseSeverity(o.failOn)
	if !ok {
		return app.Usagef("--fail-on is info, warning or error, not %q", o.failOn)
	}
	limitMemory()
	input, err := lintInput(a, args, o)
	if err != nil {
		return err
	}
	config, err := lintConfig(o)
	if err != nil {
		return err
	}
	var set *lint.Set
	var unread []error
	if o.cluster.asked {
		set, config, unread = lintLive(ctx, a, o.cluster, input, config)
	} else {
		set, unread = lint.Read(args, input)
	}
	target, err := config.Resolve()
	if err != nil {
		return app.Usagef("%v", err)
	}
	unread = slices.DeleteFunc(unread, func(err error) bool {
		e, ok := errors.AsType[*lint.ReadError](err)
		return ok && config.Excludes(e.File)
	})
	for _, e := range unread {
		fmt.Fprintf(a.Err, "casement: %v\n", e)
	}
	if n := len(set.Skipped); n > 0 {
		fmt.Fprintf(a.Err, "casement: %d files are no Kubernetes objects and were skipped, such as %s\n", n, set.Skipped[0])
	}
	var images map[string]lint.Platforms
	if o.checkImages {
		images = askRegistries(ctx, a, set)
		set.Learn(images)
	}
	findings, silent := lintRun(set, config, target)
	if o.fix || o.diff {
		if err := repair(a, findings, o.diff); err != nil || o.diff {
			return err
		}
		set, _ = lint.Read(args, input)
		set.Learn(images)
		findings, silent = lintRun(set, config, target)
	}
	if findings, err = known(a, findings, o); err != nil {
		return err
	}
	if o.output == "json" {
		err = lint.WriteJSON(a.Data(), findings, silent)
	} else {
		err = lint.Write(a.Report(o.output), o.output, findings, rules.All())
	}
	if err != nil {
		return err
	}
	switch {
	case len(unread) > 0:
		return app.ExitError{Code: ExitUnreadable}
	case slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Severity >= failOn }):
		return app.ExitError{Code: app.ExitFailed}
	}
	return nil
}

// askRegistries reads the platforms of images whose names do not state them, with the credentials of the docker
// configuration. An image whose registry does not respond is reported, and its platforms stay unknown.
func askRegistries(ctx context.Context, a *app.App, set *lint.Set) map[string]lint.Platforms {
	images, notes := registry.Ask(ctx, set.AskFor(), registry.Options{})
	for _, note := range notes {
		fmt.Fprintf(a.Err, "casement: warning: --check-images: %s\n", note)
	}
	return images
}

// lintConfig returns the configuration file's values, overridden by the flags.
func lintConfig(o lintOptions) (lint.Config, error) {
	config, err := lint.LoadConfig(o.config)
	if err != nil {
		return config, app.Usagef("%v", err)
	}
	config.KubernetesVersion = cmp.Or(o.kubernetes, config.KubernetesVersion)
	if len(o.windows) > 0 {
		config.Windows = o.windows
	}
	if _, err := config.Resolve(); err != nil {
		return config, app.Usagef("%v", err)
	}
	return config, nil
}

// lintRun runs the rules and returns the findings, separated into shown and suppressed ones; annotations and the
// configuration suppress findings.
func lintRun(set *lint.Set, config lint.Config, target lint.Target) (shown, silent []lint.Finding) {
	found, silent := lint.RunAll(set, rules.All(), target)
	shown, more := config.Suppress(found)
	return shown, append(silent, more...)
}

// repair applies the fixes of findings to files, or prints the changes.
func repair(a *app.App, findings []lint.Finding, show bool) error {
	var files []string
	for _, f := range findings {
		if f.Fixable() && !slices.Contains(files, f.File) {
			files = append(files, f.File)
		}
	}
	for _, file := range files {
		text, err := input.File(file, lint.MaxFile)
		if err != nil {
			return err
		}
		fixed, made := lint.ApplyFixes(file, text, findings)
		switch {
		case show:
			if err := writeDiff(a.Data(), file, text, fixed); err != nil {
				return err
			}
		case made > 0 && !bytes.Equal(fixed, text):
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(file, fixed, info.Mode().Perm()); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "%s: fixed %d\n", file, made)
		}
	}
	return nil
}

// known removes the findings that are in the baseline, or writes the baseline again.
func known(a *app.App, findings []lint.Finding, o lintOptions) ([]lint.Finding, error) {
	if o.baseline == "" {
		return findings, nil
	}
	if o.updateBaseline {
		var out bytes.Buffer
		if err := lint.Write(&out, "json", findings, nil); err != nil {
			return nil, err
		}
		return nil, os.WriteFile(o.baseline, out.Bytes(), 0o644)
	}
	data, err := input.File(o.baseline, lint.MaxFile)
	if err != nil {
		return nil, err
	}
	var file struct{ Findings []lint.Finding }
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read the baseline %s: %w", o.baseline, err)
	}
	return lint.Baseline(findings, file.Findings), nil
}

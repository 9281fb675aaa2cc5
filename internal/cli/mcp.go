package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"casement.dev/casement/docs"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/cli/azure"
	"casement.dev/casement/internal/cli/check"
	"casement.dev/casement/internal/cli/explain"
	"casement.dev/casement/internal/cli/machine"
	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/diagnose/checks"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/logs"
	"casement.dev/casement/internal/diagnose/timeline"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
	"casement.dev/casement/internal/mcp"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/preflight"
	"casement.dev/casement/internal/sshroute"
)

func newMCP(a *app.App) *cobra.Command {
	var t app.Target
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve why, tree, doctor, logs and the checks to an agent",
		Long: `Serve the Model Context Protocol on standard input and output, for a program that starts
casement as an MCP server. The tools only read: why, tree, doctor, timeline, logs, calls,
lint, preflight and explain; the documentation is offered as resources. What may be a
secret is replaced by [redacted] in everything. It asks the local plane, or the
management cluster of --kubeconfig; docs/mcp.md shows how to add it to a client.`,
		Example: "  casement mcp\n  casement mcp --kubeconfig management.kubeconfig -n clusters",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return mcp.Serve(cmd.Context(), mcp.Config{Version: version(), Source: source(a, t), Docs: docs.Pages}, a.In, a.Raw.Out)
		},
	}
	t.AddFlags(c)
	return c
}

// source serves an agent's questions with the functions of the commands.
func source(a *app.App, t app.Target) mcp.Source {
	at := func(namespace string) app.Target {
		own := t
		own.Namespace = cmp.Or(namespace, t.Namespace)
		return own
	}
	return mcp.Source{
		Why: func(ctx context.Context, in mcp.Object) (walk.Answer, error) {
			return mcpWhy(ctx, a, at(in.Namespace), in)
		},
		Tree: func(ctx context.Context, in mcp.Cluster) (mcp.Tree, error) {
			return mcpTree(ctx, a, at(in.Namespace), in)
		},
		Doctor: func(ctx context.Context, in mcp.Patient) (mcp.Doctor, error) {
			return mcpDoctor(ctx, a, at(in.Namespace), in)
		},
		Timeline: func(ctx context.Context, in mcp.Machine) (timeline.Timeline, error) {
			return mcpTimeline(ctx, a, at(in.Namespace), in)
		},
		Logs: func(ctx context.Context, in mcp.Logs) (mcp.LogText, error) {
			return mcpLogs(ctx, a, at(in.Namespace), in)
		},
		Calls: func(ctx context.Context) (plane.Calls, error) {
			if !a.OfPlane(t) {
				return plane.Calls{}, errors.New("calls are recorded by the local Azure alone, and the management cluster is no local plane")
			}
			return azure.ReadCalls(ctx, plane.NewClient(a.Dir))
		},
		Lint:      mcpLint,
		Preflight: func(ctx context.Context, in mcp.Manifests) (mcp.Preflight, error) { return mcpPreflight(ctx, a, t, in) },
		Explain:   mcpExplain,
	}
}

func mcpWhy(ctx context.Context, a *app.App, t app.Target, in mcp.Object) (walk.Answer, error) {
	c, err := a.Client(t)
	if err != nil {
		return walk.Answer{}, err
	}
	object, err := facts.Find(ctx, c, t.Namespace, in.Cluster, in.Object)
	if err != nil {
		return walk.Answer{}, err
	}
	return explain.Answer(ctx, a, t, c, object)
}

func mcpTree(ctx context.Context, a *app.App, t app.Target, in mcp.Cluster) (mcp.Tree, error) {
	c, err := a.Client(t)
	if err != nil {
		return mcp.Tree{}, err
	}
	root, err := explain.Tree(ctx, a, c, explain.ClusterObject(t.Namespace, in.Cluster))
	if err != nil {
		return mcp.Tree{}, err
	}
	root.Fold()
	return mcp.Tree{Objects: rows(root, "")}, nil
}

func mcpDoctor(ctx context.Context, a *app.App, t app.Target, in mcp.Patient) (mcp.Doctor, error) {
	c, err := a.Client(t)
	if err != nil {
		return mcp.Doctor{}, err
	}
	var named []string
	if in.Object != "" {
		named = []string{in.Object}
	}
	object, err := explain.Patient(ctx, c, t.Namespace, named)
	if err != nil {
		return mcp.Doctor{}, err
	}
	results, err := explain.Examine(ctx, a, t, c, object)
	return mcp.Doctor{Checks: results}, err
}

func mcpTimeline(ctx context.Context, a *app.App, t app.Target, in mcp.Machine) (timeline.Timeline, error) {
	c, err := a.Client(t)
	if err != nil {
		return timeline.Timeline{}, err
	}
	return explain.Timeline(ctx, a, c, t.Namespace, in.Machine)
}

// mcpLines and mcpMaxLines are the default and the maximum number of lines that an agent gets of each log.
const mcpLines, mcpMaxLines = 100, 2000

func mcpLogs(ctx context.Context, a *app.App, t app.Target, in mcp.Logs) (mcp.LogText, error) {
	var out, notes bytes.Buffer
	o := machine.LogsOptions{Way: machine.Way{Target: t, User: sshroute.User}, From: machine.FromAuto}
	o.Tail = min(max(in.Lines, 0), mcpMaxLines)
	if o.Tail == 0 {
		o.Tail = mcpLines
	}
	err := machine.ReadLogs(ctx, a, o, append([]string{in.Machine}, in.Logs...), &logs.Printer{Out: &out, Notes: &notes})
	if err != nil && out.Len() == 0 {
		return mcp.LogText{}, err
	}
	text := mcp.LogText{Text: out.String(), Notes: strings.Split(strings.TrimSpace(notes.String()), "\n")}
	if err != nil {
		text.Notes = append(text.Notes, err.Error())
	}
	text.Notes = slices.DeleteFunc(text.Notes, func(note string) bool { return note == "" })
	return text, nil
}

// given reads the manifests of a question; inputs that could not be read are returned beside them.
func given(in mcp.Manifests) (set *lint.Set, unread []string, err error) {
	set, errs := lint.Read([]string{"-"}, lint.Options{Stdin: strings.NewReader(in.Manifests)})
	for _, err := range errs {
		unread = append(unread, err.Error())
	}
	if len(set.Objects) == 0 && len(unread) == 0 {
		return nil, nil, errors.New("there is no object in the manifests: nothing is checked")
	}
	return set, unread, nil
}

func mcpLint(_ context.Context, in mcp.Manifests) (mcp.Lint, error) {
	set, unread, err := given(in)
	if err != nil {
		return mcp.Lint{}, err
	}
	return mcp.Lint{Findings: leveled(lint.Run(set, rules.All(), lint.Target{})), Unread: unread}, nil
}

func mcpPreflight(ctx context.Context, a *app.App, t app.Target, in mcp.Manifests) (mcp.Preflight, error) {
	set, unread, err := given(in)
	if err != nil {
		return mcp.Preflight{}, err
	}
	result, _, err := check.JudgeManifests(ctx, a, set,
		check.PreflightOptions{Account: azure.Account{Target: t, Azure: "auto"}, Timeout: check.PreflightTimeout})
	return mcp.Preflight{Findings: leveled(result.Findings), Clusters: result.Clusters, Machines: result.Machines, Azure: result.Azure,
		NotAsked: result.NotAsked, NotRendered: result.NotRendered, Unread: unread}, err
}

// leveled returns the findings, never nil, with their severities as words.
func leveled(findings []lint.Finding) []lint.Finding {
	out := make([]lint.Finding, len(findings))
	for i, f := range findings {
		f.Level = f.Severity.String()
		out[i] = f
	}
	return out
}

func mcpExplain(_ context.Context, in mcp.Name) (mcp.Explanation, error) {
	for _, r := range preflight.All(nil, nil) {
		if strings.EqualFold(r.ID, in.Name) {
			return mcp.Explanation{Kind: "rule", Name: r.ID, Title: r.Title, Severity: r.Severity.String(), Says: r.Doc,
				Bad: r.Bad, Good: r.Good}, nil
		}
	}
	for _, r := range checks.All() {
		if strings.EqualFold(r.ID, in.Name) {
			return mcp.Explanation{Kind: "check", Name: r.ID, Title: r.Symptom, Says: r.Cause, Fix: r.Fix}, nil
		}
	}
	found := mcp.Explanation{Kind: "cause"}
	for _, step := range cause.Steps() {
		for _, c := range cause.Of(step) {
			if strings.EqualFold(c.Name, in.Name) {
				found.Name, found.Says, found.Fix = c.Name, c.Says, c.Fix
				found.Steps = append(found.Steps, string(step))
				found.Evidence = append(found.Evidence, c.Needs(step))
			}
		}
	}
	if found.Name == "" {
		return found, fmt.Errorf("there is no rule, check or cause %s", in.Name)
	}
	found.Steps = slices.Compact(found.Steps)
	return found, nil
}

// rows returns a branch and all branches below it, each with its owner.
func rows(b explain.Branch, owner string) []mcp.Row {
	out := []mcp.Row{{Kind: b.Kind, Name: b.Name, Owner: owner, Ready: b.Ready, Reason: b.Reason, Message: b.Message,
		Detail: b.Detail, FirstWrong: b.FirstWrong}}
	for _, child := range b.Children {
		out = append(out, rows(child, b.Kind+"/"+b.Name)...)
	}
	return out
}

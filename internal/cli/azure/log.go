package azure

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
)

// logPoll is the interval at which log -f reads new calls.
const logPoll = 200 * time.Millisecond

// callFilter selects the calls that a user wants to see; an empty field matches every call.
type callFilter struct {
	verb, typ, status, caller string
	polls, failed             bool
}

// takes reports whether a call passes the filter. Text fields match by substring and ignore case; a status may end in
// x, as in 4xx.
func (f callFilter) takes(c plane.AzureCall) bool {
	part := func(want, text string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(want))
	}
	code := strconv.Itoa(c.Status)
	class := strings.TrimRight(strings.ToLower(f.status), "x")
	switch {
	case f.verb != "" && !strings.EqualFold(f.verb, c.Method), !part(f.typ, c.Type), !part(f.caller, c.Caller):
		return false
	case !f.polls && c.Type == "operations", f.failed && c.Status < 400:
		return false
	}
	return f.status == "" || code == f.status || class != strings.ToLower(f.status) && strings.HasPrefix(code, class)
}

func newAzureLog(a *app.App) *cobra.Command {
	var f callFilter
	var follow bool
	var last int
	var output string
	c := &cobra.Command{
		Use:   "log",
		Short: "Show the calls that the local Azure answered, one by one",
		Long: `Show the calls that the local Azure answered, the newest last. It remembers about
two thousand. Polls of operations are left out unless --polls is given.`,
		Example: `  casement azure log -f
  casement azure log --failed --caller AZURECLI
  casement azure log --verb PUT --type virtualMachines --status 4xx -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return azureLog(cmd.Context(), a, plane.NewClient(a.Dir), f, last, follow, output)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.verb, "verb", "", "only this HTTP method")
	fl.StringVar(&f.typ, "type", "", "only resource types that contain this")
	fl.StringVar(&f.status, "status", "", "only this status, or its class, as in 4xx")
	fl.StringVar(&f.caller, "caller", "", "only user agents that contain this")
	fl.BoolVar(&f.failed, "failed", false, "only calls that were refused")
	fl.BoolVar(&f.polls, "polls", false, "polls of operations too")
	fl.BoolVarP(&follow, "follow", "f", false, "go on as calls come")
	fl.IntVar(&last, "last", 50, "how many to begin with")
	fl.StringVarP(&output, "output", "o", "table", "table, wide, json (one object a line with --follow) or yaml")
	return c
}

func azureLog(ctx context.Context, a *app.App, client *plane.Client, f callFilter, last int, follow bool, output string) error {
	calls, err := client.AzureLog(ctx, 0)
	if err != nil {
		return err
	}
	var after uint64
	if len(calls) > 0 {
		after = calls[len(calls)-1].Number
	}
	calls = slices.DeleteFunc(calls, func(c plane.AzureCall) bool { return !f.takes(c) })
	calls = calls[max(0, len(calls)-max(0, last)):]
	if !follow {
		return a.Print(output, calls, func(w io.Writer) {
			fmt.Fprintln(w, "TIME\tVERB\tSTATUS\tMS\tWHAT\tNOTE")
			room := callRoom(a, calls...)
			for _, c := range calls {
				fmt.Fprintln(w, callLine(c, "\t", output == "wide", room))
			}
		})
	}
	tick := time.NewTicker(logPoll)
	defer tick.Stop()
	for {
		for _, c := range calls {
			if f.takes(c) {
				printCall(a, c, output)
			}
			after = max(after, c.Number)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if calls, err = client.AzureLog(ctx, after); err != nil {
			return err
		}
	}
}

func printCall(a *app.App, c plane.AzureCall, output string) {
	if output == "json" {
		_ = json.NewEncoder(a.Data()).Encode(c) // the reader has closed the stream; the next status shows it
		return
	}
	fmt.Fprintln(a.Out, callLine(c, "  ", output == "wide", callRoom(a, c)))
}

// callAt is the column in which a call's path begins; mostPath and leastPath are the maximum and minimum width of the path.
const callAt, mostPath, leastPath = 36, 56, 24

// callRoom returns the width for the paths of calls, given the width of their notes.
func callRoom(a *app.App, calls ...plane.AzureCall) int {
	notes := len("NOTE")
	for _, c := range calls {
		notes = max(notes, len(noteOf(c)))
	}
	return max(leastPath, min(mostPath, a.Width(callAt+mostPath+2+notes)-callAt-2-notes))
}

func noteOf(c plane.AzureCall) string { return strings.TrimSpace(c.Code + " " + c.Fault) }

// callLine formats a call as one line with the end of its path, or with all fields if wide is set.
func callLine(c plane.AzureCall, sep string, wide bool, room int) string {
	what, note := shortPath(c.Path, room), noteOf(c)
	if wide {
		what, note = c.Path+"?api-version="+c.APIVersion, strings.TrimSpace(note+" "+c.Caller)
	}
	return strings.Join([]string{c.Time.Local().Format("15:04:05.000"), fmt.Sprintf("%-6s", c.Method),
		strconv.Itoa(c.Status), fmt.Sprintf("%4.0f", c.Seconds*1000), what, note}, sep)
}

// shortPath shortens the path of a resource by the parts that all paths have: the subscription and ARM's fixed segments.
func shortPath(path string, width int) string {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if len(segments) > 2 && strings.EqualFold(segments[0], "subscriptions") {
		segments = segments[2:]
	}
	var out []string
	for i := 0; i < len(segments); i++ {
		switch strings.ToLower(segments[i]) {
		case "resourcegroups", "providers":
			continue
		}
		out = append(out, strings.TrimPrefix(segments[i], "Microsoft."))
	}
	s := strings.Join(out, "/")
	if len(s) > width {
		return "…" + s[len(s)-width+1:]
	}
	return s
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

type verdict string

const (
	succeeded  verdict = "ok"
	refused    verdict = "refused"
	unmodelled verdict = "not modelled"
)

// result is the result of one example.
type result struct {
	example
	verdict verdict
	request *request
	reason  string
}

// report prints the tables and returns the number of successful examples.
func report(w io.Writer, results []result) (ok int) {
	type row struct{ ok, refused, unmodelled int }
	rows := map[string]*row{}
	missing := map[string]int{}
	for _, r := range results {
		pkg, _, _ := strings.Cut(r.Name, ".")
		key := pkg + "." + r.Client
		if rows[key] == nil {
			rows[key] = &row{}
		}
		switch r.verdict {
		case succeeded:
			rows[key].ok++
			ok++
		case unmodelled:
			rows[key].unmodelled++
			missing[strings.TrimSuffix(strings.TrimPrefix(r.reason,
				"NotSupportedByLocalAzure: The local Azure does not implement "), ". Nothing was changed.")]++
		default:
			rows[key].refused++
		}
	}
	fmt.Fprintf(w, "%-62s %5s %8s %13s\n", "CLIENT", "OK", "REFUSED", "NOT MODELLED")
	var wholly row
	for _, key := range sortedKeys(rows) {
		r := rows[key]
		if r.ok+r.refused == 0 {
			wholly.ok++
			wholly.unmodelled += r.unmodelled
			continue
		}
		fmt.Fprintf(w, "%-62s %5d %8d %13d\n", key, r.ok, r.refused, r.unmodelled)
	}
	fmt.Fprintf(w, "%-62s %5d %8d %13d\n", fmt.Sprintf("%d clients of types that are not modelled", wholly.ok), 0, 0, wholly.unmodelled)
	fmt.Fprintln(w, "\nREFUSED, AND WHY")
	for _, r := range results {
		if r.verdict == refused {
			fmt.Fprintf(w, "%s\n    %s\n", r.Name, r.reason)
		}
	}
	fmt.Fprintln(w, "\nNOT MODELLED")
	for _, reason := range sortedKeys(missing) {
		fmt.Fprintf(w, "%5d  %s\n", missing[reason], reason)
	}
	all := row{ok: ok}
	for _, r := range rows {
		all.refused += r.refused
		all.unmodelled += r.unmodelled
	}
	fmt.Fprintf(w, "\n%d examples: %d succeeded, %d refused, %d ask for what is not modelled\n", len(results), ok,
		all.refused, all.unmodelled)
	return ok
}

var errorCode = regexp.MustCompile(`ERROR CODE: (\S+)`)

// brief returns the code and message of an SDK error on one line.
func brief(said string) string {
	m := errorCode.FindStringSubmatch(said)
	if m == nil {
		return cut(said)
	}
	if i := strings.Index(said, "{\n"); i >= 0 {
		var body struct {
			Error struct{ Message string }
		}
		end := strings.LastIndexByte(said, '}')
		if end > i && json.Unmarshal([]byte(said[i:end+1]), &body) == nil {
			return cut(m[1] + ": " + body.Error.Message)
		}
	}
	return cut(m[1] + ": " + said)
}

func cut(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 260 {
		s = s[:260] + "..."
	}
	return s
}

package recordings

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// score counts the calls of a type, and those whose answers match Azure's recording.
type score struct {
	calls, unmodelled    int
	statuses             int
	refused, codes, said int
	writes, headers      int
	bodies, sameBodies   int
}

func (s *score) add(v verdict) {
	count := func(n *int, ok bool) {
		if ok {
			*n++
		}
	}
	s.calls++
	count(&s.unmodelled, v.unmodelled)
	count(&s.statuses, v.status)
	count(&s.refused, v.refused)
	count(&s.codes, v.code)
	count(&s.said, v.message)
	count(&s.writes, v.wrote)
	count(&s.headers, v.headers)
	count(&s.bodies, v.bodied)
	count(&s.sameBodies, v.body)
}

// report collects the results of a run.
type report struct {
	total       score
	types       map[string]*score
	differences map[string]*seenDifference // by type, method, path and values
}

type seenDifference struct {
	typ, method string
	difference
	count int
	in    string // the first recording with the difference
}

func newReport() *report {
	return &report{types: map[string]*score{}, differences: map[string]*seenDifference{}}
}

func (r *report) add(recording string, v verdict) {
	r.total.add(v)
	if r.types[v.typ] == nil {
		r.types[v.typ] = &score{}
	}
	r.types[v.typ].add(v)
	for _, d := range v.differences {
		key := strings.Join([]string{v.typ, v.method, d.at, d.want, d.got}, "\x00")
		if r.differences[key] == nil {
			r.differences[key] = &seenDifference{typ: v.typ, method: v.method, difference: d, in: recording}
		}
		r.differences[key].count++
	}
}

// print writes a table of the types, with the sum at the end.
func (r *report) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TYPE\tCALLS\tSTATUS\tCODE\tMESSAGE\tHEADERS\tBODY\tNOT MODELLED")
	row := func(name string, s *score) {
		fmt.Fprintf(w, "%s\t%d\t%d/%d\t%d/%d\t%d/%d\t%d/%d\t%d/%d\t%d\n", name, s.calls, s.statuses, s.calls,
			s.codes, s.refused, s.said, s.codes, s.headers, s.writes, s.sameBodies, s.bodies, s.unmodelled)
	}
	for _, name := range slices.Sorted(maps.Keys(r.types)) {
		row(name, r.types[name])
	}
	row("all", &r.total)
	w.Flush()
	fmt.Fprintf(out, "\nstatuses %s, codes %s, messages %s, headers %s, bodies %s\n",
		percent(r.total.statuses, r.total.calls), percent(r.total.codes, r.total.refused), percent(r.total.said, r.total.codes),
		percent(r.total.headers, r.total.writes), percent(r.total.sameBodies, r.total.bodies))
}

// printDifferences writes every difference, the most frequent first.
func (r *report) printDifferences(out io.Writer) {
	list := slices.SortedFunc(maps.Values(r.differences), func(a, b *seenDifference) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.typ, b.typ), cmp.Compare(a.method, b.method),
			cmp.Compare(a.at, b.at), cmp.Compare(a.want, b.want))
	})
	for _, d := range list {
		fmt.Fprintf(out, "%4d  %s %s  %s: recorded %s, ours %s  (%s)\n", d.count, d.method, d.typ, d.at, short(d.want), short(d.got), d.in)
	}
}

// unexplained returns the members of recorded answers that ours do not have and that no default,
// request or generator yields, except the members in known.
func (r *report) unexplained(known baseline) []string {
	found := map[string]string{}
	for _, d := range r.differences {
		if d.got == absent && !known.allow(d.typ, d.method, d.at, d.want) {
			found[d.typ+" "+index.ReplaceAllString(d.at, "[*]")] = d.in
		}
	}
	var out []string
	for _, at := range slices.Sorted(maps.Keys(found)) {
		out = append(out, at+" of "+found[at])
	}
	return out
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %% (%d of %d)", 100*float64(n)/float64(of), n, of)
}

func short(s string) string {
	if len(s) > 160 {
		return s[:160] + "..."
	}
	return s
}

// baseline lists the intended differences.
type baseline []allowance

// allowance accepts a difference at one path in the answers of a type. "*" accepts any type or
// method; at the end of a path, it accepts all paths with that prefix.
type allowance struct{ typ, method, at, why string }

// readBaseline parses lines of type, method, path and reason, separated by tabs. Array indexes in a
// path are written [*]; "=VALUE" after a path accepts only that recorded value.
func readBaseline(name string) (baseline, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out baseline
	for s := bufio.NewScanner(f); s.Scan(); {
		if s.Text() == "" || strings.HasPrefix(s.Text(), "#") {
			continue
		}
		parts := strings.Split(s.Text(), "\t")
		if len(parts) != 4 || parts[3] == "" {
			return nil, fmt.Errorf("%s: the line %q is not type, method, path and reason", name, s.Text())
		}
		out = append(out, allowance{parts[0], parts[1], parts[2], parts[3]})
	}
	return out, nil
}

// allow reports whether a difference is accepted.
func (b baseline) allow(typ, method, at, want string) bool {
	at = index.ReplaceAllString(at, "[*]")
	return slices.ContainsFunc(b, func(a allowance) bool {
		return (a.typ == "*" || a.typ == typ) && (a.method == "*" || a.method == method) && (a.covers(at) || a.at == at+"="+want)
	})
}

// covers reports whether the allowance applies to a path.
func (a allowance) covers(at string) bool {
	begin, all := strings.CutSuffix(a.at, "*")
	return a.at == at || all && strings.HasPrefix(at, begin)
}

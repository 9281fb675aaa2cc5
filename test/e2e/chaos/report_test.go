package chaos

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// row is one round with its result.
type row struct {
	number                 int
	action, cluster, theme string
	kills, restarts, stops int
	faults, fills          int
	orphans, duplicates    int
	stuck, lost, unsettled int
	took                   time.Duration
}

func (r row) counts() string {
	return fmt.Sprintf("%d kills, %d restarts, %d stops, %d faults; %d orphans, %d duplicates, %d stuck deletes, %d lost objects",
		r.kills, r.restarts, r.stops, r.faults, r.orphans, r.duplicates, r.stuck, r.lost)
}

// sum returns the sum of rounds.
func sum(rows []row) row {
	var s row
	for _, r := range rows {
		s.kills, s.restarts, s.stops, s.faults = s.kills+r.kills, s.restarts+r.restarts, s.stops+r.stops, s.faults+r.faults
		s.orphans, s.duplicates, s.stuck, s.lost = s.orphans+r.orphans, s.duplicates+r.duplicates, s.stuck+r.stuck, s.lost+r.lost
		s.unsettled += r.unsettled
		s.took = max(s.took, r.took)
	}
	return s
}

// table returns a text with the results by fault, and of all rounds.
func table(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s %6s %6s %8s %6s %7s %9s %9s | %7s %10s %13s %12s\n", "WHAT GOES WRONG", "ROUNDS",
		"KILLS", "RESTARTS", "STOPS", "FAULTS", "SETTLED", "SLOWEST", "ORPHANS", "DUPLICATES", "STUCK DELETES",
		"LOST OBJECTS")
	line := func(name string, group []row) {
		s := sum(group)
		fmt.Fprintf(&b, "%-20s %6d %6d %8d %6d %7d %7.1f s %7.1f s | %7d %10d %13d %12d\n", name, len(group),
			s.kills, s.restarts, s.stops, s.faults,
			median(group).Seconds(), s.took.Seconds(), s.orphans, s.duplicates, s.stuck, s.lost)
	}
	groups := byTheme(rows)
	for _, theme := range slices.Sorted(maps.Keys(groups)) {
		line(theme, groups[theme])
	}
	line("all", rows)
	return b.String()
}

func byTheme(rows []row) map[string][]row {
	groups := map[string][]row{}
	for _, r := range rows {
		groups[r.theme] = append(groups[r.theme], r)
	}
	return groups
}

func median(rows []row) time.Duration {
	if len(rows) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b row) int { return cmp.Compare(a.took, b.took) })
	return sorted[len(sorted)/2].took
}

// svg returns a plot of the time that each round took to settle, by fault.
func svg(rows []row, seed uint64) []byte {
	const left, width, step = 160, 640, 28
	groups := byTheme(rows)
	themes := slices.Sorted(maps.Keys(groups))
	longest := max(sum(rows).took.Seconds(), 1)
	unit := math.Pow(10, math.Floor(math.Log10(longest)))
	height := 60 + step*len(themes)
	var b bytes.Buffer
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		left+width+40, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="%d" y="18">seconds until the `+
		`cluster has settled, one dot a round (seed %d, %d rounds)</text>`+"\n", left, seed, len(rows))
	x := func(seconds float64) float64 { return left + width*seconds/longest }
	for s := 0.0; s <= longest; s += unit {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="28" x2="%.1f" y2="%d" stroke="#ddd"/><text x="%.1f" y="%d" `+
			`text-anchor="middle" fill="#555">%g</text>`+"\n", x(s), x(s), height-24, x(s), height-8, s)
	}
	for i, theme := range themes {
		y := 46 + step*i
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-10, y+4, html.EscapeString(theme))
		for _, r := range groups[theme] {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%d" r="4" fill="#2563eb" fill-opacity="0.5"><title>round %d: `+
				`%s of %s, %.1f `+
				`s</title></circle>`+"\n", x(r.took.Seconds()), y, r.number, r.action, r.cluster, r.took.Seconds())
		}
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#b91c1c" stroke-width="2"/>`+"\n",
			x(median(groups[theme]).Seconds()), y-8, x(median(groups[theme]).Seconds()), y+8)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func TestReport(t *testing.T) {
	rows := []row{{number: 1, action: "create", cluster: "pool", theme: "a & b", kills: 3, took: 12 * time.Second},
		{number: 2, theme: "c", faults: 7, lost: 1, took: 3 * time.Second}}
	if text := table(rows); !strings.Contains(text, "all                       2      3        0      0       7 "+
		"   12.0 s    12.0 s |       0          0             0            1") {
		t.Errorf("the table is\n%s", text)
	}
	if plot := string(svg(rows, 5)); strings.Count(plot, "<circle") != 2 || !strings.Contains(plot, "a &amp; b") {
		t.Errorf("the plot is %s", plot)
	}
}

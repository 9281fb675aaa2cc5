package shell

import "github.com/pmezard/go-difflib/difflib"

// hunk is a difference of two texts: the ranges of lines that differ in each.
type hunk struct{ from, to [2]int }

// Bounds of a comparison, which then takes about a second: it cannot be interrupted.
const (
	maxDiffLines = 100_000
	maxPairs     = 1 << 20
)

// hunks compares the lines of two texts. If that would take too long, it refuses and ok is false.
func (p *Process) hunks(texts [2][]string) (all []hunk, ok bool) {
	if len(texts[0])+len(texts[1]) > maxDiffLines || pairs(texts) > maxPairs {
		p.Refuse("a comparison of more than %d lines, or %d pairs of equal lines", maxDiffLines, maxPairs)
		return nil, false
	}
	for _, op := range difflib.NewMatcherWithJunk(texts[0], texts[1], false, nil).GetOpCodes() {
		if op.Tag != 'e' {
			all = append(all, hunk{[2]int{op.I1, op.J1}, [2]int{op.I2, op.J2}})
		}
	}
	return all, true
}

// pairs returns the number of pairs of a line of one text and an equal line of the other.
func pairs(lines [2][]string) (n int) {
	count := map[string]int{}
	for _, line := range lines[1] {
		count[line]++
	}
	for _, line := range lines[0] {
		n += count[line]
	}
	return n
}

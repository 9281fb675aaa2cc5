package cause

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// needles returns texts in lower case such that each match of an expression contains at least one of them, or nil if
// there are no such texts. Most lines of a boot log contain no needle, and this check takes a hundredth of the time of
// the expressions.
func needles(expression string) []string {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil // regexp.MustCompile reports the error
	}
	return needlesOf(parsed)
}

func needlesOf(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCapture, syntax.OpPlus:
		return needlesOf(re.Sub[0])
	case syntax.OpConcat: // the part whose shortest needle is the longest
		var best []string
		for _, sub := range re.Sub {
			if n := needlesOf(sub); shortest(n) > shortest(best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			n := needlesOf(sub)
			if len(n) == 0 {
				return nil
			}
			all = append(all, n...)
		}
		return all
	default:
		return nil
	}
}

// shortest returns the length of the shortest text, or 0 if there are no texts.
func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) }))
}

// mayMatch reports whether a text, which has to be in lower case, contains a needle of the cause's expression.
func (c *Cause) mayMatch(lower string) bool {
	return len(c.needles) == 0 || slices.ContainsFunc(c.needles, func(needle string) bool { return strings.Contains(lower, needle) })
}

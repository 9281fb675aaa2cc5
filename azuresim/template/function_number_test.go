package template

import "testing"

// TestNumbers: arithmetic and its limits.
func TestNumbers(t *testing.T) {
	holds(t, [][2]string{
		{"[add(1, 2)]", "3"}, {"[mul(9223372036854775807, 2)]", "overflowed"}, {"[mod(-7, 3)]", "-1"}, {"[mod(1, 0)]", "divide by zero"},
		{"[mul(-9223372036854775807, 1)]", "-9223372036854775807"}, {"[sub(-9223372036854775807, 2)]", "overflowed"},
	})
}

// TestLogic: conditions and comparisons.
func TestLogic(t *testing.T) {
	holds(t, [][2]string{
		{"[less('a_b', 'a-b')]", "true"}, {"[if(false(), fail('not now'), 1)]", "1"}, {"[fail('not now')]", "not now"},
		{"[if(true(), 1, nope())]", "1"}, {"[or(true(), nope())]", "true"}, {"[and(true(), 1)]", "boolean"}, {"[equals(1, '1')]", "false"},
		{"[less('a', 'B')]", "true"}, {"[greater('é', 'e')]", "true"}, {"[less('a-b', 'ab')]", "true"},
		{"[less(1, 'a')]", "two numbers or two texts"},
	})
}

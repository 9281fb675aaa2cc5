package shell

import "casement.dev/casement/internal/limit"

// hunk is a part that differs: its lines in either text.
type hunk struct{ from, to [2]int }

// comparison finds what differs of two texts as GNU diff does: the shortest script by Myers' algorithm from both ends at once, and
// each part of it as far down as it goes.
type comparison struct {
	meter   *limit.Meter
	lines   [2][]int // equal lines have equal numbers
	at      [2][]int // where the lines that both texts have are
	changed [2][]bool
	// ahead and back are how far the diagonals go, by their numbers.
	ahead, back map[int]int
}

// hunks compares lines. What is equal at both ends is left out but for some lines.
func (p *Process) hunks(texts [2][]string, kept int) (all []hunk) {
	a, b, head, tail := texts[0], texts[1], 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	head, tail = max(head-kept, 0), max(tail-kept, 0)
	c := comparison{meter: p.meter, ahead: map[int]int{}, back: map[int]int{}}
	numbers, in := map[string]int{}, [2]map[int]bool{{}, {}}
	for f, text := range texts {
		for _, line := range text[head : len(text)-tail] {
			if numbers[line] == 0 {
				numbers[line] = len(numbers) + 1
			}
			c.lines[f], in[f][numbers[line]] = append(c.lines[f], numbers[line]), true
		}
		c.changed[f] = make([]bool, len(c.lines[f])+1)
	}
	for f := range texts {
		for i, n := range c.lines[f] {
			if c.changed[f][i] = !in[1-f][n]; in[1-f][n] {
				c.at[f] = append(c.at[f], i)
			}
		}
	}
	c.compare([2]int{}, [2]int{len(c.at[0]), len(c.at[1])})
	c.shift(0)
	c.shift(1)
	for at := [2]int{}; at[0] < len(c.lines[0]) || at[1] < len(c.lines[1]); {
		h := hunk{from: at}
		for f := range at {
			for c.changed[f][at[f]] {
				at[f]++
			}
		}
		if h.to = at; h.from != h.to {
			for f := range at {
				h.from[f], h.to[f] = h.from[f]+head, h.to[f]+head
			}
			all = append(all, h)
			continue
		}
		at[0], at[1] = at[0]+1, at[1]+1
	}
	return all
}

func (c *comparison) same(x, y int) bool { return c.lines[0][c.at[0][x]] == c.lines[1][c.at[1][y]] }

// compare marks what differs between two places.
func (c *comparison) compare(from, to [2]int) {
	for from[0] < to[0] && from[1] < to[1] && c.same(from[0], from[1]) {
		from[0], from[1] = from[0]+1, from[1]+1
	}
	for from[0] < to[0] && from[1] < to[1] && c.same(to[0]-1, to[1]-1) {
		to[0], to[1] = to[0]-1, to[1]-1
	}
	if from[0] < to[0] && from[1] < to[1] {
		middle := c.middle(from, to)
		c.compare(from, middle)
		c.compare(middle, to)
		return
	}
	for f := range from {
		for i := from[f]; i < to[f]; i++ {
			c.changed[f][c.at[f][i]] = true
		}
	}
}

// middle returns a place that a shortest script passes in its middle.
func (c *comparison) middle(from, to [2]int) [2]int {
	least, most := from[0]-to[1], to[0]-from[1]
	first, last := from[0]-from[1], to[0]-to[1]
	low, high, backLow, backHigh := first, first, last, last
	odd := (first-last)&1 != 0
	c.ahead[first], c.back[last] = from[0], to[0]
	for {
		c.meter.Step()
		if low > least {
			low--
			c.ahead[low-1] = -1
		} else {
			low++
		}
		if high < most {
			high++
			c.ahead[high+1] = -1
		} else {
			high--
		}
		for d := high; d >= low; d -= 2 {
			x := max(c.ahead[d-1]+1, c.ahead[d+1])
			for x < to[0] && x-d < to[1] && c.same(x, x-d) {
				x++
			}
			c.ahead[d] = x
			if odd && backLow <= d && d <= backHigh && c.back[d] <= x {
				return [2]int{x, x - d}
			}
		}
		const far = 1 << 40
		if backLow > least {
			backLow--
			c.back[backLow-1] = far
		} else {
			backLow++
		}
		if backHigh < most {
			backHigh++
			c.back[backHigh+1] = far
		} else {
			backHigh--
		}
		for d := backHigh; d >= backLow; d -= 2 {
			x := min(c.back[d-1], c.back[d+1]-1)
			for from[0] < x && from[1] < x-d && c.same(x-1, x-d-1) {
				x--
			}
			c.back[d] = x
			if !odd && low <= d && d <= high && x <= c.ahead[d] {
				return [2]int{x, x - d}
			}
		}
	}
}

// shift moves each part that differs: up, where it joins the one before it, then down as far as it goes, and back to where the other
// text differs too.
func (c *comparison) shift(f int) {
	lines, changed, others := c.lines[f], c.changed[f], c.changed[1-f]
	other := func(j int) bool { return j >= 0 && j < len(others) && others[j] }
	for i, j, end := 0, 0, len(lines); ; {
		for i < end && !changed[i] {
			for j++; other(j - 1); j++ {
			}
			i++
		}
		if i == end {
			return
		}
		start := i
		for i++; changed[i]; i++ {
		}
		for other(j) {
			j++
		}
		for length, corresponding := -1, 0; ; {
			if length == i-start {
				for corresponding < i {
					start, i, j = start-1, i-1, j-1
					changed[start], changed[i] = true, false
					for other(j) {
						j--
					}
				}
				break
			}
			length = i - start
			for start > 0 && lines[start-1] == lines[i-1] {
				start, i, j = start-1, i-1, j-1
				changed[start], changed[i] = true, false
				for start > 0 && changed[start-1] {
					start--
				}
				for other(j) {
					j--
				}
			}
			if corresponding = end; other(j - 1) {
				corresponding = i
			}
			for i != end && lines[start] == lines[i] {
				changed[start], changed[i] = false, true
				start, i, j = start+1, i+1, j+1
				for changed[i] {
					i++
				}
				for ; other(j); j++ {
					corresponding = i
				}
			}
		}
	}
}

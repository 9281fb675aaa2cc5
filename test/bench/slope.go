package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// line is the straight line that is nearest to some points.
type line struct {
	// slope is in seconds per node, fixed in seconds.
	slope, fixed float64
	// r2 is the share of the variance that the line explains.
	r2 float64
}

// nearest returns the line with the least sum of squared distances.
func nearest(points []point, of func(point) float64) line {
	var n, x, y, xx, xy, yy float64
	for _, p := range points {
		a, b := float64(p.nodes), of(p)
		n, x, y, xx, xy, yy = n+1, x+a, y+b, xx+a*a, xy+a*b, yy+b*b
	}
	spread := n*xx - x*x
	if spread == 0 {
		return line{}
	}
	l := line{slope: (n*xy - x*y) / spread}
	l.fixed = (y - l.slope*x) / n
	if height := n*yy - y*y; height > 0 {
		l.r2 = (n*xy - x*y) * (n*xy - x*y) / (spread * height)
	}
	return l
}

// fit returns a description of how the cost grows with the number of nodes, in seconds and, if kwok
// was measured too, in bare nodes of kwok, which depend on the machine far less than seconds.
func fit(kind string, points []point) string {
	if len(points) < 2 {
		return fmt.Sprintf("%s%s: one size has no slope", kind, limitOf[kind])
	}
	out := fmt.Sprintf("%s%s: %s", kind, limitOf[kind], fitIn("s", points, point.total))
	if !slices.ContainsFunc(points, func(p point) bool { return p.peer == 0 }) {
		out += "\n  " + fitIn("bare nodes", points, func(p point) float64 { return p.total() / p.peer })
	}
	return out
}

// fitIn returns a description of the growth in one unit.
func fitIn(unit string, points []point, of func(point) float64) string {
	l := nearest(points, of)
	var steps []string
	for i, p := range points[1:] {
		if q := points[i]; p.nodes != q.nodes {
			steps = append(steps, fmt.Sprintf("%.3g from %d to %d", (of(p)-of(q))/float64(p.nodes-q.nodes), q.nodes, p.nodes))
		}
	}
	return fmt.Sprintf("%.1f %s and %.3g %s a node (r² %.3f); %s", l.fixed, unit, l.slope, unit, l.r2, strings.Join(steps, ", "))
}

// The plot's size and margins, and the colours of the kinds.
const (
	plotWidth, plotHeight = 640, 400
	left, bottom, top     = 70, 50, 30
)

var colours = []string{"#1668a8", "#b3541e", "#3f7d3a"}

// plot returns an SVG plot of each kind's seconds by its number of nodes, with the nearest lines.
func plot(kinds []string, all []point) []byte {
	var most, highest float64
	for _, p := range all {
		most, highest = max(most, float64(p.nodes)), max(highest, p.total())
	}
	x := func(nodes float64) float64 { return left + nodes/most*(plotWidth-left-30) }
	y := func(seconds float64) float64 {
		return plotHeight - bottom - seconds/highest*(plotHeight-bottom-top)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, plotHeight)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	fmt.Fprintf(&out, `<path d="M%d %dV%dH%d" fill="none" stroke="black"/>`+"\n", left, top, plotHeight-bottom, plotWidth-20)
	for _, part := range []float64{0.25, 0.5, 0.75, 1} {
		fmt.Fprintf(&out, `<text x="%.0f" y="%d" text-anchor="middle">%.0f</text>`+"\n", x(part*most), plotHeight-bottom+18, part*most)
		fmt.Fprintf(&out, `<text x="%d" y="%.0f" text-anchor="end">%.0f</text>`+"\n", left-6, y(part*highest)+4, part*highest)
	}
	fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="middle">nodes</text>`+"\n", plotWidth/2, plotHeight-12)
	fmt.Fprintf(&out, `<text x="%d" y="18">seconds of a processor until all are ready</text>`+"\n", left)
	for i, kind := range kinds {
		points, colour := of(all, kind), colours[i%len(colours)]
		l := nearest(points, point.total)
		fmt.Fprintf(&out, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" stroke-dasharray="4"/>`+"\n", x(0),
			y(l.fixed), x(most), y(l.fixed+l.slope*most), colour)
		for _, p := range points {
			fmt.Fprintf(&out, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", x(float64(p.nodes)), y(p.total()), colour)
		}
		fmt.Fprintf(&out, `<text x="%d" y="%d" fill="%s">%s: %.3g s a node%s</text>`+"\n", left+20, top+20+18*i, colour, kind, l.slope,
			limitOf[kind])
	}
	fmt.Fprintln(&out, "</svg>")
	return out.Bytes()
}

package timeline

import (
	"bytes"
	"fmt"
	"html"
	"slices"
)

// The measures of the plot, in pixels. The names are on the left, in a column with the width of the longest name in
// wide characters.
const (
	plotLeft, plotRight, plotTop = 220, 60, 30
	plotBars                     = 640
	rowHeight, barHeight         = 22, 14
	charWidth, nameGap           = 7, 6
)

// colours are the colours of Names, so that a stage has the same colour in each plot.
var colours = []string{"#b0aeab", "#d37295", "#4878a8", "#e49444", "#d1615d", "#85b6b2", "#6a9f58", "#e7ca60", "#a87c9f"}

// SVG draws a bar for each machine, the slowest first, in the colours of its stages, with the advice below.
func (f Fleet) SVG() []byte {
	longest, left := 1.0, plotLeft
	for _, line := range f.Machines {
		longest = max(longest, line.whole())
		left = max(left, len(line.Machine)*charWidth+2*nameGap)
	}
	legend := plotTop + len(f.Machines)*rowHeight + 40
	height := legend + len(f.Stages)*18 + len(f.Advice)*18 + 40
	x := func(seconds float64) float64 { return float64(left) + seconds/longest*plotBars }
	var out bytes.Buffer
	fmt.Fprintf(&out,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		left+plotBars+plotRight, height)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	fmt.Fprintf(&out, `<text x="10" y="18">seconds from the request of a machine</text>`+"\n")
	for i, line := range f.Machines {
		y := plotTop + i*rowHeight
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-nameGap, y+barHeight-2,
			html.EscapeString(line.Machine))
		for _, s := range line.Stages {
			if s.Took > 0 {
				fmt.Fprintf(&out,
					`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s: %.0f s</title></rect>`+"\n",
					x(s.After-s.Took), y, s.Took/longest*plotBars, barHeight, colour(s.Name),
					html.EscapeString(s.Name), s.Took)
			}
		}
		fmt.Fprintf(&out, `<text x="%.1f" y="%d">%.0f s</text>`+"\n", x(line.whole())+4, y+barHeight-2, line.whole())
	}
	for i, s := range f.Stages {
		y := legend + i*18
		fmt.Fprintf(&out,
			`<rect x="10" y="%d" width="12" height="12" fill="%s"/><text x="28" y="%d">%s: %.0f s, at most %.0f s (%s)</text>`+"\n",
			y, colour(s.Name), y+10, html.EscapeString(s.Name), s.Median, s.Slowest, html.EscapeString(s.By))
	}
	for i, a := range f.Advice {
		fmt.Fprintf(&out, `<text x="10" y="%d">%s</text>`+"\n", legend+len(f.Stages)*18+24+i*18, html.EscapeString(a.Text()))
	}
	fmt.Fprintln(&out, "</svg>")
	return out.Bytes()
}

// colour returns the colour of a stage.
func colour(stage string) string { return colours[max(slices.Index(Names, stage), 0)] }

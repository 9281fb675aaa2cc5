package rdp

import (
	"image"
	"image/color"
	"image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"
)

// Colours of a screen.
var (
	ground = color.RGBA{0x00, 0x3a, 0x6e, 0xff}
	ink    = color.RGBA{0xff, 0xff, 0xff, 0xff}
)

// Sizes of a screen's text, in pixels: a letter of the font, and the space around all.
const (
	letterWidth, letterHeight = 8, 16
	margin                    = 2 * letterHeight
)

// Screen draws a title in large letters and lines of text below it. What does not fit into
// the width is wrapped at a space.
func Screen(width, height int, title string, lines ...string) image.Image {
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(out, out.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
	y := margin
	for _, line := range wrap(title, (width-2*margin)/(2*letterWidth)) {
		large := image.NewRGBA(image.Rect(0, 0, len(line)*letterWidth, letterHeight))
		write(large, inconsolata.Bold8x16, 0, 0, line)
		double(out, image.Pt(margin, y), large)
		y += 2*letterHeight + letterHeight/2
	}
	for _, line := range lines {
		for _, part := range wrap(line, (width-2*margin)/letterWidth) {
			y += letterHeight + letterHeight/4
			write(out, inconsolata.Regular8x16, margin, y, part)
		}
	}
	return out
}

// write draws a line whose upper left corner is at x and y.
func write(on draw.Image, face font.Face, x, y int, line string) {
	d := font.Drawer{Dst: on, Src: image.NewUniform(ink), Face: face, Dot: fixed.P(x, y+face.Metrics().Ascent.Ceil())}
	d.DrawString(line)
}

// double draws each pixel of an image as four.
func double(on *image.RGBA, at image.Point, from *image.RGBA) {
	for y := range 2 * from.Rect.Dy() {
		for x := range 2 * from.Rect.Dx() {
			if c := from.RGBAAt(x/2, y/2); c.A > 0 {
				under := on.RGBAAt(at.X+x, at.Y+y)
				on.SetRGBA(at.X+x, at.Y+y, over(c, under))
			}
		}
	}
}

// over blends a colour with alpha onto an opaque one.
func over(c, under color.RGBA) color.RGBA {
	mix := func(a, b uint8) uint8 { return a + uint8(int(b)*(0xff-int(c.A))/0xff) }
	return color.RGBA{mix(c.R, under.R), mix(c.G, under.G), mix(c.B, under.B), 0xff}
}

// wrap breaks a line into lines of at most width letters, at spaces if possible. An empty line
// stays one line.
func wrap(line string, width int) (out []string) {
	width = max(width, 1)
	for len(line) > width {
		cut := width
		for cut > 0 && line[cut] != ' ' {
			cut--
		}
		if cut == 0 {
			cut = width
		}
		out = append(out, line[:cut])
		for line = line[cut:]; line != "" && line[0] == ' '; {
			line = line[1:]
		}
	}
	return append(out, line)
}

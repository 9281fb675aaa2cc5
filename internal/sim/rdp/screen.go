package rdp

import (
	"cmp"
	"image"
	"image/color"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"
)

// Colours of a screen.
var (
	ground = color.RGBA{0x00, 0x3a, 0x6e, 0xff}
	ink    = color.RGBA{0xff, 0xff, 0xff, 0xff}
)

// Sizes of a screen's text, in pixels: a letter of the font, and the margin around the text.
const (
	letterWidth, letterHeight = 8, 16
	margin                    = 2 * letterHeight
)

// Screen returns a picture with a title in large letters and lines of text below it, wrapped at
// spaces. The picture stores only its letters and no background pixels, because clients choose its
// size and there may be many clients.
func Screen(width, height int, title string, lines ...string) image.Image {
	out := &screen{bounds: image.Rect(0, 0, width, height)}
	y := margin
	for _, line := range wrap(title, (width-2*margin)/(2*letterWidth)) {
		out.write(inconsolata.Bold8x16, line, y, 2)
		y += 2*letterHeight + letterHeight/2
	}
	for _, line := range lines {
		for _, part := range wrap(line, (width-2*margin)/letterWidth) {
			y += letterHeight + letterHeight/4
			out.write(inconsolata.Regular8x16, part, y, 1)
		}
	}
	return out
}

// screen is a picture of lines of text.
type screen struct {
	bounds image.Rectangle
	rows   []row // from top to bottom
}

// row is a line of text: its letters, and the width and height in pixels with which each pixel of
// the font is drawn.
type row struct {
	top, scale int
	letters    *image.Alpha
}

// write adds a line at y, unless y is below the picture.
func (s *screen) write(face font.Face, line string, y, scale int) {
	if line == "" || y >= s.bounds.Max.Y {
		return
	}
	letters := image.NewAlpha(image.Rect(0, 0, len(line)*letterWidth, letterHeight))
	d := font.Drawer{Dst: letters, Src: image.Opaque, Face: face, Dot: fixed.P(0, face.Metrics().Ascent.Ceil())}
	d.DrawString(line)
	s.rows = append(s.rows, row{y, scale, letters})
}

func (s *screen) Bounds() image.Rectangle { return s.bounds }
func (s *screen) ColorModel() color.Model { return color.RGBAModel }

// At implements image.Image.
func (s *screen) At(x, y int) color.Color {
	i, _ := slices.BinarySearchFunc(s.rows, y, func(r row, y int) int { return cmp.Compare(r.top+r.scale*letterHeight-1, y) })
	if i == len(s.rows) || y < s.rows[i].top || x < margin {
		return ground
	}
	r := s.rows[i]
	return blend(r.letters.AlphaAt((x-margin)/r.scale, (y-r.top)/r.scale).A)
}

// blend returns the colour of ink with an opacity on the background.
func blend(alpha uint8) color.RGBA {
	mix := func(a, b uint8) uint8 { return uint8((int(a)*int(alpha) + int(b)*(0xff-int(alpha))) / 0xff) }
	return color.RGBA{mix(ink.R, ground.R), mix(ink.G, ground.G), mix(ink.B, ground.B), 0xff}
}

// wrap breaks a line into lines of at most width letters, at spaces if possible. An empty line
// yields one empty line.
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

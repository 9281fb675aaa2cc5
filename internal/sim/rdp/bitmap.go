package rdp

import (
	"image"
	"iter"
)

// bitsPerPixel is the only colour depth that all clients support and that can be sent without
// compression: five bits of red, six of green, five of blue.
const bitsPerPixel = 16

// tile is the width and height, in pixels, of a part of the picture that is sent in one message.
// Every client accepts its 8 KiB.
const tile = 64

// updates yields the bitmap updates that draw a picture, [MS-RDPBCGR] 2.2.9.1.1.3.1.2: one for each
// tile.
func updates(picture image.Image) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		all := picture.Bounds()
		for y := all.Min.Y; y < all.Max.Y; y += tile {
			for x := all.Min.X; x < all.Max.X; x += tile {
				part := image.Rect(x, y, x+tile, y+tile).Intersect(all)
				if !yield(update(picture, part)) {
					return
				}
			}
		}
	}
}

// update returns the bitmap update for one part. A row has an even number of pixels, so that its
// length is a multiple of four bytes, and the last row comes first.
func update(picture image.Image, part image.Rectangle) []byte {
	const bitmap, one, plain = 1, 1, 0
	width, height := (part.Dx()+1)/2*2, part.Dy()
	at := part.Sub(picture.Bounds().Min)
	out := le(bitmap, one, uint16(at.Min.X), uint16(at.Min.Y), uint16(at.Max.X-1), uint16(at.Max.Y-1),
		uint16(width), uint16(height), bitsPerPixel, plain, uint16(width*height*2))
	for y := part.Max.Y - 1; y >= part.Min.Y; y-- {
		for x := range width {
			r, g, b, _ := picture.At(part.Min.X+x, y).RGBA()
			out = append(out, le(uint16(r>>11<<11|g>>10<<5|b>>11))...)
		}
	}
	return out
}

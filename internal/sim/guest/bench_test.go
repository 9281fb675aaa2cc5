package guest_test

import (
	"fmt"
	"testing"

	"casement.dev/casement/internal/sim/guest"
)

// BenchmarkBoot boots a guest from nothing with a worker's bootstrap data.
func BenchmarkBoot(b *testing.B) {
	for _, os := range []string{"linux", "windows"} {
		b.Run(os, func(b *testing.B) {
			data := document(b, os+"-join.cloudcfg")
			n := 0
			for b.Loop() {
				c := linux(b, data)
				if os == "windows" {
					c = windows(b, data)
				}
				n++
				c.Machine.ComputerName = fmt.Sprintf("vm-%d", n)
				g, err := guest.New(c)
				if err != nil {
					b.Fatal(err)
				}
				if err := g.Boot(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := g.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

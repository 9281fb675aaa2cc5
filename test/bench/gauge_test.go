package main

import (
	"math"
	"testing"
)

func TestQuantile(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		of   histogram
		q    float64
		want float64
	}{
		"nothing was observed":     {histogram{}, 0.99, 0},
		"within a bucket":          {histogram{1: 0, 10: 100, inf: 100}, 0.5, 5.5},
		"at a bound":               {histogram{1: 99, 10: 100, inf: 100}, 0.99, 1},
		"in the second bucket":     {histogram{1: 98, 10: 100, inf: 100}, 0.99, 5.5},
		"above the last bound":     {histogram{1: 0, 10: 0, inf: 100}, 0.99, 10},
		"no observation in phases": {histogram{1: 0, inf: 0}, 0.99, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.of.quantile(c.q); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

func points(seconds ...float64) []point {
	var out []point
	for i, s := range seconds {
		out = append(out, point{kind: "pool", nodes: 100 * (i + 1), cpu: map[string]float64{"a": s / 2, "b": s / 2}})
	}
	return out
}

// TestNearest checks the slope of figures that grow evenly, and that uneven growth is reported.
func TestNearest(t *testing.T) {
	for name, c := range map[string]struct {
		points []point
		want   line
	}{
		"evenly":       {points(30, 50, 70), line{0.2, 10, 1}},
		"one size":     {points(30), line{}},
		"by a square":  {points(10, 40, 90, 160), line{0.5, -50, 0.969}},
		"not at all":   {points(20, 20), line{0, 20, 0}},
		"of no points": {nil, line{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := nearest(c.points, point.total)
			if math.Abs(got.slope-c.want.slope) > 1e-9 || math.Abs(got.fixed-c.want.fixed) > 1e-9 || math.Abs(got.r2-c.want.r2) > 1e-3 {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
	if got := fit("pool", points(30, 50, 90)); !strings.Contains(got, "0.2 from 100 to 200, 0.4 from 200 to 300") {
		t.Error(got)
	}
}

// TestPlot checks that the plot is valid XML and has a mark for each point.
func TestPlot(t *testing.T) {
	svg := plot([]string{"pool", "deployment"}, points(30, 50, 70))
	if n := bytes.Count(svg, []byte("<circle")); n != 3 {
		t.Errorf("%d marks, want 3", n)
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestParseScale checks which command lines are refused.
func TestParseScale(t *testing.T) {
	for name, c := range map[string]struct{ kinds, sizes, refused string }{
		"all":         {"deployment,pool,kwok", "50,100", ""},
		"unknown":     {"statefulset", "50", "statefulset"},
		"no number":   {"pool", "50,many", "many"},
		"no node":     {"pool", "0", `"0"`},
		"no sizes":    {"pool", "", `""`},
		"no kinds":    {"", "1", `""`},
		"a size less": {"pool", "-5", "-5"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseScale(c.kinds, c.sizes, "", time.Second)
			if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Error(err)
			}
		})
	}
}

// TestFitBesidePeer checks that a machine that becomes slower changes the seconds but not the
// figure relative to bare nodes.
func TestFitBesidePeer(t *testing.T) {
	all := points(30, 120, 90)
	for i, peer := range []float64{0.003, 0.006, 0.003} {
		all[i].peer = peer
	}
	want := "\n  0.0 bare nodes and 100 bare nodes a node (r² 1.000); 100 from 100 to 200, 100 from 200 to 300"
	if got := fit("pool", all); !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	all[1].peer = 0
	if got := fit("pool", all); strings.Contains(got, "bare nodes") {
		t.Errorf("without a peer: %q", got)
	}
}

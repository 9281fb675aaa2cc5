package throttle

import (
	"testing"
	"time"
)

func TestTake(t *testing.T) {
	var b Buckets
	now := time.Unix(0, 0)
	own, all := Ask{"own", Limit{Size: 2, Refill: 1}}, Ask{"all", Limit{Size: 100, Refill: 100}}
	for i, want := range []bool{true, true, false} {
		if _, ok := b.Take(now, own, all); ok != want {
			t.Errorf("request %d: ok is %v, want %v", i+1, ok, want)
		}
	}
	taken, _ := b.Take(now, own, all)
	if taken[0].Wait != time.Second || taken[1].Wait != 0 {
		t.Errorf("wait %v, want one second for the empty bucket and none for the other", taken)
	}
	if taken[1].Left != 98 {
		t.Errorf("%d tokens left, want 98: a refused request takes none", taken[1].Left)
	}
	if _, ok := b.Take(now.Add(time.Second), own, all); !ok {
		t.Error("a second later a token is back, yet it was refused")
	}
	taken, ok := b.Take(now.Add(time.Hour), own)
	if !ok || taken[0].Left != 1 {
		t.Errorf("after an hour %d are left, want 1: a bucket holds no more than its size", taken[0].Left)
	}
}

func TestScale(t *testing.T) {
	if got := (Limit{Size: 12, Refill: 2}).Scale(0.01); got.Size != 1 || got.Refill != 0.02 {
		t.Errorf("scaled to %v, want a bucket of one token", got)
	}
}

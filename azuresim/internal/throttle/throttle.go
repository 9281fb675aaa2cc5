// Package throttle computes Azure's request limits: token buckets, by name, that refill with time.
// It knows no HTTP and no resource: its caller chooses the buckets of a request and answers if a
// bucket is empty.
//
// The packages below azuresim/internal may import it.
package throttle

import (
	"math"
	"sync"
	"time"
)

// Limit is the size of a bucket and the number of tokens per second with which it refills.
type Limit struct {
	Size, Refill float64
}

// Scale multiplies a limit by a factor; a bucket has at least one token.
func (l Limit) Scale(factor float64) Limit {
	return Limit{Size: max(1, math.Floor(l.Size*factor)), Refill: l.Refill * factor}
}

// Buckets contains buckets by key. The zero value is ready, and it is safe for concurrent use.
type Buckets struct {
	mu sync.Mutex
	m  map[string]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

// Ask names a bucket and its limit.
type Ask struct {
	Key   string
	Limit Limit
}

// Taken is the state of one bucket after a call.
type Taken struct {
	// Left is the number of whole tokens that remain.
	Left int
	// Wait is the time until the bucket has a token; 0 unless it was empty.
	Wait time.Duration
}

// Take takes one token from each bucket, or from none if one is empty: then ok is false, and Wait
// of the empty buckets is not zero.
func (b *Buckets) Take(now time.Time, asks ...Ask) (taken []Taken, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m == nil {
		b.m = map[string]*bucket{}
	}
	ok = true
	found := make([]*bucket, len(asks))
	taken = make([]Taken, len(asks))
	for i, a := range asks {
		k := b.m[a.Key]
		if k == nil {
			k = &bucket{tokens: a.Limit.Size, at: now}
			b.m[a.Key] = k
		}
		if d := now.Sub(k.at); d > 0 {
			k.tokens, k.at = min(a.Limit.Size, k.tokens+d.Seconds()*a.Limit.Refill), now
		}
		found[i] = k
		if k.tokens < 1 {
			ok = false
			taken[i].Wait = time.Duration(math.Ceil((1 - k.tokens) / a.Limit.Refill * float64(time.Second)))
		}
	}
	for i, k := range found {
		if ok {
			k.tokens--
		}
		taken[i].Left = int(k.tokens)
	}
	return taken, ok
}

// Package throttle is the arithmetic of Azure's request limits: token buckets
// that refill with time, by name. It knows no HTTP and no resource: what is
// limited by which bucket, and what is answered when one is empty, its caller
// knows.
//
// The packages below azuresim/internal may import it.
package throttle

import (
	"math"
	"sync"
	"time"
)

// Limit is the size of a bucket and how many tokens it regains a second.
type Limit struct {
	Size, Refill float64
}

// Scale makes a limit smaller or larger by a factor; a bucket holds one token at
// least.
func (l Limit) Scale(factor float64) Limit {
	return Limit{Size: max(1, math.Floor(l.Size*factor)), Refill: l.Refill * factor}
}

// Buckets holds buckets by key. The zero value is ready, and it is safe for
// concurrent use.
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
	// Left are the whole tokens that remain.
	Left int
	// Wait is how long until there is one, when the bucket was empty.
	Wait time.Duration
}

// Take takes one token of each bucket, or of none when one of them is empty: ok
// is false then, and Wait of the empty ones is not zero.
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

package catalog

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// cache keeps Azure's responses until they expire. If several callers request a missing value at the same time, one of
// them reads it and the others wait.
type cache[T any] struct {
	now    func() time.Time
	flight singleflight.Group

	mu   sync.Mutex
	kept map[string]answer[T]
}

type answer[T any] struct {
	value T
	until time.Time
}

func newCache[T any](now func() time.Time) *cache[T] {
	return &cache[T]{now: now, kept: map[string]answer[T]{}}
}

// get returns the value of a key. If the value is missing or has expired, get calls read, which returns it and how long
// it is valid.
func (c *cache[T]) get(ctx context.Context, key string, read func(context.Context) (T, time.Duration, error)) (T, error) {
	if a, ok := c.good(key); ok {
		return a.value, nil
	}
	// The read serves all callers, so the end of the first caller's context does not stop
	// it.
	done := c.flight.DoChan(key, func() (any, error) {
		// Another caller may have read the value since the check above.
		if a, ok := c.good(key); ok {
			return a.value, nil
		}
		value, good, err := read(context.WithoutCancel(ctx))
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.kept[key] = answer[T]{value, c.now().Add(good)}
		}
		return value, err
	})
	select {
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	case r := <-done:
		value, _ := r.Val.(T)
		return value, r.Err
	}
}

// good returns the cached value of a key, unless it has expired.
func (c *cache[T]) good(key string) (answer[T], bool) {
	a, ok := c.last(key)
	return a, ok && c.now().Before(a.until)
}

// last returns the newest value of a key, even if it has expired.
func (c *cache[T]) last(key string) (answer[T], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.kept[key]
	return a, ok
}

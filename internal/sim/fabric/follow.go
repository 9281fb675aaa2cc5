package fabric

import (
	"encoding/json"
	"time"
)

// Follow syncs with what list returns, at once and after each call of changed,
// until the fabric is closed. changed does not block and may be called from any
// goroutine. Changes that come while a sync runs are taken together, and the pause
// between two syncs grows with the size of the model, so that the creation of a
// thousand machines costs a bounded part of a core.
func (f *Fabric) Follow(list func(resourceType string) []json.RawMessage) (changed func()) {
	dirty := make(chan struct{}, 1)
	changed = func() {
		select {
		case dirty <- struct{}{}:
		default:
		}
	}
	f.Sync(Read(list))
	f.spawn(func() {
		for {
			select {
			case <-f.ctx.Done():
				return
			case <-dirty:
			}
			start := time.Now()
			f.Sync(Read(list))
			pause := time.NewTimer(4 * time.Since(start))
			select {
			case <-f.ctx.Done():
			case <-pause.C:
			}
			pause.Stop()
		}
	})
	return changed
}

package record

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lag is the longest time for which a cache is waited for: after it, another copy than the written one may be the right one, as
// after a restore of the API server's data.
const lag = time.Minute

// Versions has of each object the version that its last pass wrote, as long as the cache may show an older one. A pass over that
// one may find nothing to write, and would leave what the last pass said until the next comparison with Azure. The zero value is
// ready to use.
type Versions struct {
	mu      sync.Mutex
	written map[types.UID]written
}

type written struct {
	version string
	at      time.Time
}

// Note remembers the version of an object that was written, unless nothing follows because the write let it go.
func (v *Versions) Note(o client.Object, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !o.GetDeletionTimestamp().IsZero() && len(o.GetFinalizers()) == 0 {
		delete(v.written, o.GetUID())
		return
	}
	if v.written == nil {
		v.written = map[types.UID]written{}
	}
	v.written[o.GetUID()] = written{o.GetResourceVersion(), now}
}

// Behind reports whether a copy of an object is older than the version that was written last.
func (v *Versions) Behind(o client.Object, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	last, ok := v.written[o.GetUID()]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), last.version)
	if err == nil && order < 0 && now.Sub(last.at) < lag {
		return true
	}
	delete(v.written, o.GetUID())
	return false
}

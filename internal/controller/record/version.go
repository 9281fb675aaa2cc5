package record

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lag is the maximum time to wait for a cache: after that, a copy with another version may be correct, as after a
// restore of the API server's data.
const lag = time.Minute

// Versions has, for each object, the version that its last pass wrote, as long as the cache may return an older one. A
// pass over an older copy may find nothing to write, and the result of the last pass would stay until the next
// comparison with Azure. The zero value is ready to use.
type Versions struct {
	mu      sync.Mutex
	written map[types.UID]written
}

type written struct {
	version string
	at      time.Time
}

// Note remembers the version of an object that was written, unless the write removed the last finalizer, so that the
// object is gone.
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

// Behind reports whether a copy of an object is older than the last written version.
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

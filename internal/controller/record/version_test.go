package record

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestVersions: a copy from before the last write is behind, until the cache has the write, or for at most a minute.
func TestVersions(t *testing.T) {
	at := func(uid, version string) *infrav1.AzureMachine {
		return &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), ResourceVersion: version}}
	}
	now := time.Now()
	for name, c := range map[string]struct {
		copied *infrav1.AzureMachine
		after  time.Duration
		behind bool
	}{
		"an older copy":               {at("a", "99"), time.Second, true},
		"the written copy":            {at("a", "100"), time.Second, false},
		"a newer copy":                {at("a", "101"), time.Second, false},
		"another object":              {at("b", "99"), time.Second, false},
		"an older copy for a minute":  {at("a", "99"), time.Minute, false},
		"a version that is no number": {at("a", "x"), time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			var v Versions
			v.Note(at("a", "100"), now)
			if got := v.Behind(c.copied, now.Add(c.after)); got != c.behind {
				t.Errorf("behind: %t", got)
			}
			if !c.behind && c.copied.UID == "a" && v.Behind(at("a", "99"), now) {
				t.Error("the write is remembered after the cache has shown it")
			}
		})
	}
	var v Versions
	v.Note(at("a", "100"), now)
	gone := at("a", "101")
	gone.DeletionTimestamp = new(metav1.Now())
	v.Note(gone, now)
	if len(v.written) > 0 {
		t.Error("an object is remembered that was let go")
	}
}

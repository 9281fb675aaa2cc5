package plan

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

// failing is a client whose lists fail. during, if set, is called while the first list is read.
type failing struct {
	Client
	during func()
	calls  int
}

var errList = errors.New("no answer")

func (f *failing) List(context.Context, string, string, ...arm.Option) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if f.calls++; f.calls == 1 {
			f.during()
		}
		yield(nil, errList)
	}
}

// TestSharedFailure: a reader that waits for a failing list does not read it again, and a later reader does.
func TestSharedFailure(t *testing.T) {
	const vm = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/m"
	var mu sync.Mutex
	var clock time.Time
	asked := make(chan bool, 100)
	f := &failing{}
	r := newReader(f, time.Minute, func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(time.Second)
		asked <- true
		return clock
	})
	read := func() error {
		_, err := r.fromList(t.Context(), vm, "1")
		return err
	}
	waited := make(chan error)
	f.during = func() {
		for len(asked) > 0 {
			<-asked
		}
		go func() { waited <- read() }()
		<-asked
	}
	if err := read(); !errors.Is(err, errList) {
		t.Fatal(err)
	}
	if err := <-waited; !errors.Is(err, errList) || f.calls != 1 {
		t.Errorf("the second reader: %v, after %d calls", err, f.calls)
	}
	if err := read(); !errors.Is(err, errList) || f.calls != 2 {
		t.Errorf("a later reader: %v, after %d calls", err, f.calls)
	}
}

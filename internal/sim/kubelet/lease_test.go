package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"casement.dev/casement/internal/testing/guesttree"
)

// TestBeat: the periodic work of a node has an interval of exactly one period, whenever it began. A
// few nodes share each moment, rather than all of them or none.
func TestBeat(t *testing.T) {
	const period = 10 * time.Second
	shared := map[int64]int{}
	for n := range 200 {
		clock := testclock.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, n*12345678, time.UTC))
		k := &Kubelet{nodeName: fmt.Sprintf("node-%d", n), c: Config{Clock: clock}}
		first := k.beat(period)
		if first <= 0 || first > period {
			t.Fatalf("node %d waits %s at first", n, first)
		}
		clock.Step(first)
		shared[clock.Now().UnixNano()%int64(period)]++
		if again := k.beat(period); again != period {
			t.Fatalf("node %d waits %s then", n, again)
		}
		clock.Step(period + 30*time.Millisecond) // the timer fires late
		if again := k.beat(period); again != period-30*time.Millisecond {
			t.Fatalf("node %d waits %s after a late beat", n, again)
		}
	}
	if len(shared) != beats {
		t.Errorf("200 nodes have %d beats, want %d", len(shared), beats)
	}
	for at, nodes := range shared {
		if nodes < 20 || nodes > 80 {
			t.Errorf("%d of 200 nodes share the beat at %s", nodes, time.Duration(at))
		}
	}
}

// TestLeaseDuration: nodeLeaseDurationSeconds is used, and a lease is renewed twice within its
// duration.
func TestLeaseDuration(t *testing.T) {
	for name, test := range map[string]struct {
		config  string
		seconds int32
		period  time.Duration
	}{
		"default": {"kind: KubeletConfiguration\n", 40, 20 * time.Second},
		"longer":  {"kind: KubeletConfiguration\nnodeLeaseDurationSeconds: 160\n", 160, 80 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			files, root := guesttree.New(t)
			at := filepath.Join(root, configFile)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(test.config), 0o600); err != nil {
				t.Fatal(err)
			}
			k, err := New(Config{Hostname: "N", Files: files})
			if err != nil {
				t.Fatal(err)
			}
			lease := nodeLease{k: k}
			if lease.period() != test.period {
				t.Errorf("it is renewed each %s, want %s", lease.period(), test.period)
			}
			next := lease.next()
			if *next.Spec.LeaseDurationSeconds != test.seconds || *next.Spec.HolderIdentity != "n" || next.Spec.RenewTime == nil {
				t.Errorf("the lease is %+v", next.Spec)
			}
			lease.last = next
			lease.last.ResourceVersion, lease.last.ManagedFields = "7", []metav1.ManagedFieldsEntry{{Manager: "m"}}
			again := lease.next()
			if again.ResourceVersion != "7" || len(again.ManagedFields) != 1 || again.ManagedFields[0].Manager != "" {
				t.Errorf("the renewal has version %q and fields %v", again.ResourceVersion, again.ManagedFields)
			}
		})
	}
}

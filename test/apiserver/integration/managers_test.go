package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/manager"
)

// second runs another manager without leader election, beside the manager of all tests, until ctx
// ends.
func (b *bed) second(ctx context.Context) error {
	o := b.options
	o.LeaderElection, o.WebhookPort, o.MetricsAddress, o.SkipNameValidation = false, 0, "0", true
	o.Namespaces, o.GracefulShutdown = []string{b.namespace}, time.Millisecond
	mgr, err := manager.New(rest.CopyConfig(b.config), o)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// amid ends managers during their work: when Azure has accepted a write whose result the manager
// has not recorded yet.
type amid struct {
	mu     sync.Mutex
	chance *rand.Rand
	ends   map[int]context.CancelFunc
	kills  int
}

// live records a manager that can be ended.
func (a *amid) live(i int, end context.CancelFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ends[i] = end
}

// wrote is called after a write to Azure. It ends one of the managers, at random.
func (a *amid) wrote() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.chance.IntN(4); a.ends[i] != nil {
		a.ends[i]()
		delete(a.ends, i)
		a.kills++
	}
}

// TestManagersAtOnce lets three managers work on one cluster. Two of them are ended and restarted,
// at random moments and right after writes to Azure. No machine is lost: each keeps the virtual
// machine that it got, and no resource remains in the end.
func TestManagersAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	random := rand.New(rand.NewPCG(*seed, 12))
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	killer := &amid{chance: rand.New(rand.NewPCG(random.Uint64(), 2)), ends: map[int]context.CancelFunc{}}
	b.azure.Subscribe(func(c azuresim.Change) {
		if strings.Contains(strings.ToLower(c.ID), "/"+b.name) && ctx.Err() == nil {
			killer.wrote()
		}
	})
	for i := range 2 {
		chance := rand.New(rand.NewPCG(random.Uint64(), 1))
		running.Go(func() {
			for ctx.Err() == nil {
				life, kill := context.WithTimeout(ctx, 200*time.Millisecond+time.Duration(chance.IntN(2500))*time.Millisecond)
				killer.live(i, kill)
				if err := b.second(life); err != nil && life.Err() == nil {
					t.Error(err)
				}
				kill()
			}
		})
	}
	defer func() {
		end()
		running.Wait()
		killer.mu.Lock()
		defer killer.mu.Unlock()
		t.Logf("%d managers were ended right after a write", killer.kills)
		if killer.kills == 0 {
			t.Error("no manager was ended right after a write")
		}
	}()

	l := &life{bed: b, random: random, theme: everything, vmIDs: map[string]string{}}
	b.provision()
	l.grow(8)
	l.pools = []*pool{b.pool("uniform", "Linux", infrav1.UniformOrchestrationMode, 3),
		b.pool("flexible", "Linux", infrav1.FlexibleOrchestrationMode, 2)}
	for round := range 3 {
		for _, m := range l.workers {
			l.rest(m, func() string {
				if m.Status.FailureReason != nil {
					t.Fatalf("%s is given up: %s: %s", m.Name, *m.Status.FailureReason, *m.Status.FailureMessage)
				}
				return provisioned(m.Status.Initialization.Provisioned)
			})
		}
		l.departed()
		for _, p := range l.pools {
			l.rest(p.azure, func() string {
				p.play()
				_, objection := p.unsettled()
				return objection
			})
		}
		l.account(fmt.Sprint("round ", round))
		l.delete(l.draw())
		l.delete(l.draw())
		l.grow(3)
	}
	l.end()
}

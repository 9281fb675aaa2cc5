package pass

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/controller/condition"
)

// subject is a machine whose Block writes to VMRunning.
type subject struct {
	Scope
	machine infrav1.AzureMachine
	ran     []string
}

func (s *subject) Object() condition.Object { return &s.machine }

func (s *subject) Operations() *[]infrav1.LongRunningOperationState {
	return &s.machine.Status.LongRunningOperationStates
}

func (s *subject) Block(r Result) {
	condition.False(&s.machine, infrav1.VMRunningCondition, r.Reason, r.Message)
}

func TestWalk(t *testing.T) {
	const resync = time.Hour
	broken := errors.New("the API server is gone")
	for _, test := range []struct {
		name    string
		results []Result
		ran     int
		again   time.Duration
		err     error
		// by condition type
		reasons map[string]string
	}{
		{"to the end", []Result{Next(), Next()}, 2, resync, nil, nil},
		{"the earliest wish counts", []Result{Within(time.Minute), Within(time.Second), Within(time.Minute)}, 3, time.Second, nil, nil},
		{"a wait keeps earlier wishes", []Result{Within(time.Second), Wait(time.Minute), Next()}, 2, time.Second, nil, nil},
		{"done wants no other pass", []Result{Within(time.Second), Done(), Next()}, 2, 0, nil, nil},
		{"blocked", []Result{Blocked("Quota", "no cores", time.Minute), Next()}, 1, time.Minute, nil,
			map[string]string{infrav1.VMRunningCondition: "Quota"}},
		{
			"blocked on a condition of its own",
			[]Result{Blocked("Vault", "no right", time.Minute).On(infrav1.BootstrapSecretReadyCondition)},
			1, time.Minute, nil,
			map[string]string{infrav1.BootstrapSecretReadyCondition: "Vault"},
		},
		{"failed for good", []Result{Within(time.Second), Failed("CreateError", "no agent"), Next()}, 2, 0, nil,
			map[string]string{infrav1.VMRunningCondition: "CreateError"}},
		{"an error leaves the back-off to the queue and is said", []Result{Within(time.Second), Error(broken), Next()}, 2, 0, broken,
			map[string]string{infrav1.VMRunningCondition: Unexpected}},
		{"no error goes on", []Result{Error(nil), Next()}, 2, resync, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, ran := &subject{Scope: Scope{Cluster: &clusterv1.Cluster{}}}, 0
			var steps []Step[*subject]
			for _, result := range test.results {
				steps = append(steps, Step[*subject]{Name: "step", Run: func(context.Context, *subject) Result {
					ran++
					return result
				}})
			}
			result, err := Kind[*subject]{Resync: resync}.walk(t.Context(), s, steps)
			if !errors.Is(err, test.err) || ran != test.ran {
				t.Errorf("%d steps ran, error %v", ran, err)
			}
			if got := result.RequeueAfter; got != test.again && (test.again != resync || got < resync/10 || got > 2*resync) {
				t.Errorf("the next pass is in %v, want %v", got, test.again)
			}
			for _, conditionType := range []string{infrav1.VMRunningCondition, infrav1.BootstrapSecretReadyCondition} {
				if got := conditions.GetReason(&s.machine, conditionType); got != test.reasons[conditionType] {
					t.Errorf("%s has reason %q, want %q", conditionType, got, test.reasons[conditionType])
				}
			}
		})
	}
}

func TestEach(t *testing.T) {
	part := func(name string, result Result) func(context.Context, *subject) Result {
		return func(_ context.Context, s *subject) Result {
			s.ran = append(s.ran, name)
			return result
		}
	}
	s := &subject{}
	result := Each(t.Context(), s, part("size", Next()), part("image", Wait(time.Minute)), part("data", Next()))
	if !result.Ends() || !slices.Equal(s.ran, []string{"size", "image"}) {
		t.Errorf("ran %v, result %+v", s.ran, result)
	}
}

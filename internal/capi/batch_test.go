package capi

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// counted is a client that counts patches of statuses.
type counted struct {
	client.Client
	writes int
}

func (c *counted) Status() client.SubResourceWriter { return countedStatus{c.Client.Status(), c} }

type countedStatus struct {
	client.SubResourceWriter
	c *counted
}

func (s countedStatus) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	s.c.writes++
	return s.SubResourceWriter.Patch(ctx, obj, patch, opts...)
}

// TestBatcher checks that conditions are sent with the rest of the status, or at the end of the pass.
func TestBatcher(t *testing.T) {
	if !feature.Gates.Enabled(feature.PriorityQueue) {
		t.Fatal("the gate PriorityQueue is off: nothing would rest")
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "pending"}}
	if err := api.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	pace := &pacer{}
	q := pace.options(1).NewQueue("node", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	sent := &counted{Client: api}
	c := newBatcher(sent, pace)
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: node.Name}}
	status := func(fields string) {
		t.Helper()
		patch := client.RawPatch(types.MergePatchType, []byte(fields))
		if err := c.Status().Patch(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}, patch); err != nil {
			t.Fatal(err)
		}
	}
	ready := func(reason string) string {
		return `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"` + reason + `"}]}}`
	}
	check := func(step string, writes int, reason, os string) {
		t.Helper()
		var now corev1.Node
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(node), &now); err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(now.Status.Conditions) > 0 {
			got = now.Status.Conditions[0].Reason
		}
		if sent.writes != writes || got != reason || now.Status.NodeInfo.OperatingSystem != os {
			t.Errorf("%s: %d writes, reason %q, OS %q, want %d, %q, %q", step, sent.writes, got,
				now.Status.NodeInfo.OperatingSystem, writes, reason, os)
		}
	}
	status(ready("Alone"))
	check("outside of a pass", 1, "Alone", "")
	q.Add(request)
	r, _ := q.Get()
	status(ready("Held"))
	check("conditions in a pass", 1, "Alone", "")
	status(`{"status":{"nodeInfo":{"operatingSystem":"windows"}}}`)
	check("the rest of the status", 2, "Held", "windows")
	status(ready("Last"))
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	if err := c.Patch(t.Context(), node.DeepCopy(), label); err != nil {
		t.Fatal(err)
	}
	check("another write", 3, "Last", "windows")
	status(ready("End"))
	q.Done(r)
	check("the end of the pass", 4, "End", "windows")

	// Conditions that depend on a version wait for the one that another write makes.
	q.Add(request)
	r, _ = q.Get()
	version := func() string {
		var now corev1.Node
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(node), &now); err != nil {
			t.Fatal(err)
		}
		return `{"metadata":{"resourceVersion":"` + now.ResourceVersion + `"},`
	}
	status(version() + ready("Kept")[1:])
	label = client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"c"}}}`))
	if err := c.Patch(t.Context(), node.DeepCopy(), label); err != nil {
		t.Fatal(err)
	}
	check("a write between them", 4, "End", "windows")
	status(`{"status":{"nodeInfo":{"operatingSystem":"linux"}}}`)
	check("the rest of the status after it", 5, "Kept", "linux")
	status(version() + ready("Lost")[1:])
	label = client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"d"}}}`))
	if err := api.Patch(t.Context(), node.DeepCopy(), label); err != nil {
		t.Fatal(err)
	}
	if err := c.Patch(t.Context(), node.DeepCopy(), label); !apierrors.IsConflict(err) {
		t.Errorf("a write after that of somebody else: %v", err)
	}
	q.Done(r)
	check("the end of the pass after it", 6, "Kept", "linux")
	r, _ = q.Get()
	q.Done(r)

	// What cannot be sent at the end triggers another pass.
	q.Add(request)
	r, _ = q.Get()
	status(`{"metadata":{"resourceVersion":"1"},` + ready("Old")[1:])
	q.Done(r)
	check("a conflict", 7, "Kept", "linux")
	if again, _ := q.Get(); again != request {
		t.Errorf("after a conflict there is a pass over %v", again)
	}
}

// newMachine creates a Machine that has no infrastructure.
func newMachine(t *testing.T, name string) *clusterv1.Machine {
	t.Helper()
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Namespace: "default"}}
	machine.Spec.ClusterName = name
	machine.Spec.Bootstrap.DataSecretName = new(name)
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{Kind: "AzureMachine", Name: name,
		APIGroup: "infrastructure.cluster.x-k8s.io"}
	if err := api.Create(t.Context(), machine); err != nil {
		t.Fatal(err)
	}
	return machine
}

// addOthers has a pass over so many other objects that statuses wait.
func addOthers(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	for i := range manyObjects {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprint(i)}})
		r, _ := q.Get()
		q.Done(r)
	}
}

// TestHeldConditions checks how long conditions wait where many objects are reconciled, and what reads return meanwhile.
func TestHeldConditions(t *testing.T) {
	for name, test := range map[string]struct {
		// was and is are the condition's status before the pass and after it.
		was, is corev1.ConditionStatus
		// foreign is true if somebody else writes the object meanwhile.
		foreign bool
		// passes is the number of passes after which the conditions are sent; 0 means never.
		passes int
	}{
		"another status waits for the next pass": {corev1.ConditionFalse, corev1.ConditionTrue, false, 2},
		"another reason waits for longer":        {corev1.ConditionFalse, corev1.ConditionFalse, false, 0},
		"somebody else's write wins":             {corev1.ConditionFalse, corev1.ConditionTrue, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			machine := newMachine(t, "held")
			condition := func(status corev1.ConditionStatus, reason string) string {
				return fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q,"lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
					status, reason)
			}
			key := client.ObjectKeyFromObject(machine)
			write := func(c client.Client, fields string) {
				t.Helper()
				var now clusterv1.Machine
				if err := c.Get(t.Context(), key, &now); err != nil {
					t.Fatal(err)
				}
				if err := c.Status().Patch(t.Context(), &now, client.RawPatch(types.MergePatchType, []byte(fields))); err != nil {
					t.Fatal(err)
				}
			}
			reason := func(c client.Client) string {
				t.Helper()
				var now clusterv1.Machine
				if err := c.Get(t.Context(), key, &now); err != nil || len(now.Status.Conditions) != 1 {
					t.Fatal(now.Status.Conditions, err)
				}
				return now.Status.Conditions[0].Reason
			}
			write(api, condition(test.was, "Before"))

			pace := &pacer{}
			q := pace.options(1).NewQueue("machine", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer q.ShutDown()
			c := newBatcher(api, pace)
			addOthers(q)
			request := reconcile.Request{NamespacedName: key}
			q.Add(request)
			r, _ := q.Get()
			write(c, condition(test.is, "After"))
			q.Done(r)
			if got, seen := reason(api), reason(c); got != "Before" || seen != "After" {
				t.Errorf("after the first pass the API server has %q and the controllers read %q", got, seen)
			}
			if test.foreign {
				write(api, condition(test.was, "Foreign"))
				if seen := reason(c); seen != "Foreign" {
					t.Errorf("the controllers read %q", seen)
				}
			}
			q.Add(request)
			r, _ = q.Get()
			q.Done(r)
			want := "Before"
			if test.foreign {
				want = "Foreign"
			}
			if test.passes == 2 {
				want = "After"
			}
			if got := reason(api); got != want {
				t.Errorf("after the second pass the API server has %q, want %q", got, want)
			}
		})
	}
}

// TestStatusOfNew checks which conditions of a new machine are written soon, and which need another pass.
func TestStatusOfNew(t *testing.T) {
	machine := newMachine(t, "new")
	b := newBatcher(api, &pacer{})
	for name, test := range map[string]struct {
		status       string
		turns, first bool
	}{
		"not paused":                  {`{"conditions":[{"type":"Paused","status":"False"}]}`, false, true},
		"paused":                      {`{"conditions":[{"type":"Paused","status":"True"}]}`, true, false},
		"not ready":                   {`{"conditions":[{"type":"Ready","status":"False"}]}`, true, false},
		"not ready, and just created": {`{"phase":"Pending","conditions":[{"type":"Ready","status":"False"}]}`, false, false},
		"not ready, and failed":       {`{"phase":"Failed","conditions":[{"type":"Ready","status":"False"}]}`, true, false},
		"all of a first pass": {`{"conditions":[{"type":"Ready","status":"False"},{"type":"Paused","status":"False"}]}`,
			true, true},
	} {
		t.Run(name, func(t *testing.T) {
			status := map[string]any{}
			if err := json.Unmarshal([]byte(test.status), &status); err != nil {
				t.Fatal(err)
			}
			turns, first := b.compare(t.Context(), pendingPatch{object: machine, patch: map[string]any{"status": status}})
			if turns != test.turns || first != test.first {
				t.Errorf("turns %v, first %v; want %v, %v", turns, first, test.turns, test.first)
			}
		})
	}
}

// TestFirstCondition checks that the pass that says that a new object is not paused is followed by another one soon, and that
// one by none until the status is sent.
func TestFirstCondition(t *testing.T) {
	machine := newMachine(t, "first")
	pace := &pacer{}
	q := pace.options(1).NewQueue("machine", workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	addOthers(q)
	b := newBatcher(api, pace)
	over := pass{"machine", client.ObjectKeyFromObject(machine)}
	b.pending[over] = pendingPatch{object: machine, patch: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": clusterv1.PausedCondition, "status": "False"}}}}}
	for i, want := range []struct{ least, most time.Duration }{{1, longestTurn}, {longestTurn, reasonsWait}} {
		again, err := b.flush(over)
		if err != nil || again < want.least || again > want.most {
			t.Errorf("pass %d is followed by one after %v, %v, want %v to %v", i+1, again, err, want.least, want.most)
		}
	}
}

// TestGenerations checks that a status says the generation that a write of the spec in the same pass made.
func TestGenerations(t *testing.T) {
	patch := func() map[string]any {
		return map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "observedGeneration": 3.0}, map[string]any{"type": "Old", "observedGeneration": 2.0},
		}}}
	}
	machine := &clusterv1.Machine{Status: clusterv1.MachineStatus{ObservedGeneration: 3}}
	for name, test := range map[string]struct {
		writes [][2]int64
		want   float64
	}{
		"no write":                {nil, 3},
		"one write":               {[][2]int64{{3, 4}}, 4},
		"two writes":              {[][2]int64{{3, 4}, {4, 5}}, 5},
		"a write of metadata":     {[][2]int64{{3, 4}, {4, 4}}, 4},
		"somebody else's between": {[][2]int64{{3, 5}}, 3},
		"somebody else's later":   {[][2]int64{{3, 4}, {4, 6}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			b, over, p := newBatcher(api, &pacer{}), pass{}, patch()
			for _, w := range test.writes {
				b.wrote(over, w[0], w[1])
			}
			b.changed(over).update(p, machine)
			status := p["status"].(map[string]any)
			list := status["conditions"].([]any)
			ready, old := list[0].(map[string]any)["observedGeneration"], list[1].(map[string]any)["observedGeneration"]
			if ready != test.want || old != 2.0 {
				t.Errorf("the conditions say the generations %v and %v, want %v and 2", ready, old, test.want)
			}
			if got, ok := status["observedGeneration"]; ok != (test.want != 3) || ok && got != test.want {
				t.Errorf("the status says the generation %v, want %v", got, test.want)
			}
		})
	}
}

func TestOnlyConditions(t *testing.T) {
	for patch, want := range map[string]bool{
		`{"status":{"conditions":[]}}`: true,
		`{"metadata":{"resourceVersion":"7"},"status":{"conditions":[],"deprecated":{"v1beta1":{"conditions":null}}}}`: true,
		`{"metadata":{"resourceVersion":"7"},"status":{"v1beta2":{"conditions":[]}}}`:                                  true,
		`{"status":{"conditions":[],"phase":"Running"}}`:                                                               false,
		`{"status":{"conditions":[],"phase":"Pending","lastUpdated":"now","observedGeneration":1}}`:                    true,
		`{"status":{"phase":"Provisioning","initialization":{"bootstrapDataSecretCreated":true}}}`:                     true,
		`{"status":{"phase":"Provisioning","initialization":{"infrastructureProvisioned":true}}}`:                      false,
		`{"status":{"phase":"Provisioning","addresses":[]}}`:                                                           false,
		`{"status":{"deprecated":{"v1beta1":{"readyReplicas":1}}}}`:                                                    false,
		`{"metadata":{"labels":{"a":"b"}},"status":{"conditions":[]}}`:                                                 false,
		`{"metadata":{"resourceVersion":"7"}}`:                                                                         false,
		`{"spec":{}}`:                                                                                                  false,
	} {
		var fields map[string]any
		if err := json.Unmarshal([]byte(patch), &fields); err != nil {
			t.Fatal(err)
		}
		if got := onlyConditions(fields); got != want {
			t.Errorf("%s: %t, want %t", patch, got, want)
		}
	}
}

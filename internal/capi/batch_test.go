package capi

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
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

func TestOnlyConditions(t *testing.T) {
	for patch, want := range map[string]bool{
		`{"status":{"conditions":[]}}`: true,
		`{"metadata":{"resourceVersion":"7"},"status":{"conditions":[],"deprecated":{"v1beta1":{"conditions":null}}}}`: true,
		`{"metadata":{"resourceVersion":"7"},"status":{"v1beta2":{"conditions":[]}}}`:                                  true,
		`{"status":{"conditions":[],"phase":"Running"}}`:                                                               false,
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

package capi

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
)

// api is a client of the test's API server, and reach its address.
var (
	api   client.Client
	reach *rest.Config
)

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(p *kubeproc.Plane) error {
		scheme := runtime.NewScheme()
		if err := errors.Join(admissionv1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
			return err
		}
		var err error
		reach = p.Config()
		api, err = client.New(reach, client.Options{Scheme: scheme})
		return err
	}))
}

// late is a client whose cached reads return an earlier state, as those of a real cache may, until catchUp.
type late struct {
	client.Client
	mu   sync.Mutex
	seen map[string]*coordinationv1.Lease // by name; nil for a lease that is not in the cache
	// asked receives a value at each read of a lease that is late.
	asked chan string
}

func newLate(seen ...*coordinationv1.Lease) *late {
	l := &late{Client: api, seen: map[string]*coordinationv1.Lease{}, asked: make(chan string, 1)}
	for _, s := range seen {
		l.seen[s.Name] = s
	}
	return l
}

func (l *late) catchUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = map[string]*coordinationv1.Lease{}
}

func (l *late) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	l.mu.Lock()
	seen, ok := l.seen[key.Name]
	l.mu.Unlock()
	lease, isLease := obj.(*coordinationv1.Lease)
	if !ok || !isLease {
		return l.Client.Get(ctx, key, obj, opts...)
	}
	select {
	case l.asked <- key.Name:
	default:
	}
	if seen == nil {
		return apierrors.NewNotFound(coordinationv1.Resource("leases"), key.Name)
	}
	seen.DeepCopyInto(lease)
	return nil
}

func lease(name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func newLease(t *testing.T, name string) *coordinationv1.Lease {
	t.Helper()
	l := lease(name)
	if err := api.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestOwnWrites checks that reads wait until the cache has the client's writes.
func TestOwnWrites(t *testing.T) {
	names := func(t *testing.T, c client.Client) (names []string) {
		var list coordinationv1.LeaseList
		if err := c.List(t.Context(), &list, client.InNamespace("default")); err != nil {
			t.Error(err)
		}
		for _, l := range list.Items {
			names = append(names, l.Name)
		}
		return names
	}
	holder := func(t *testing.T, c client.Client, name string) string {
		var l coordinationv1.Lease
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &l); err != nil {
			t.Error(err)
		}
		return ptr.Deref(l.Spec.HolderIdentity, "")
	}
	for _, test := range []struct {
		name  string
		seen  func(t *testing.T, name string) *coordinationv1.Lease // the lease in the cache before the write
		write func(ctx context.Context, c client.Client, name string) error
		read  func(t *testing.T, c client.Client, name string) bool
	}{
		{"list-after-create", func(*testing.T, string) *coordinationv1.Lease { return nil },
			func(ctx context.Context, c client.Client, name string) error { return c.Create(ctx, lease(name)) },
			func(t *testing.T, c client.Client, name string) bool { return slices.Contains(names(t, c), name) }},
		{"list-after-apply", func(*testing.T, string) *coordinationv1.Lease { return nil },
			func(ctx context.Context, c client.Client, name string) error {
				u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
					"metadata": map[string]any{"namespace": "default", "name": name}}}
				return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("test"))
			},
			func(t *testing.T, c client.Client, name string) bool { return slices.Contains(names(t, c), name) }},
		{"list-after-delete", newLease,
			func(ctx context.Context, c client.Client, name string) error {
				l := lease(name)
				if err := api.Get(ctx, client.ObjectKeyFromObject(l), l); err != nil {
					return err
				}
				return c.Delete(ctx, l)
			},
			func(t *testing.T, c client.Client, name string) bool { return !slices.Contains(names(t, c), name) }},
		{"get-after-update", newLease,
			func(ctx context.Context, c client.Client, name string) error {
				l := lease(name)
				if err := api.Get(ctx, client.ObjectKeyFromObject(l), l); err != nil {
					return err
				}
				l.Spec.HolderIdentity = new("somebody")
				return c.Update(ctx, l)
			},
			func(t *testing.T, c client.Client, name string) bool { return holder(t, c, name) == "somebody" }},
		{"get-after-patch", newLease,
			func(ctx context.Context, c client.Client, name string) error {
				return c.Patch(ctx, lease(name), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"holderIdentity":"somebody"}}`)))
			},
			func(t *testing.T, c client.Client, name string) bool { return holder(t, c, name) == "somebody" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			cache := newLate()
			seen := test.seen(t, test.name)
			cache.seen[test.name] = seen
			c := newOwnWrites(cache, api)
			if err := test.write(t.Context(), c, test.name); err != nil {
				t.Fatal(err)
			}
			done := make(chan bool)
			go func() { done <- test.read(t, c, test.name) }()
			for range 3 { // the read checks the cache repeatedly
				select {
				case <-cache.asked:
				case <-done:
					t.Fatal("the read did not wait for the cache")
				}
			}
			cache.catchUp()
			if !<-done {
				t.Error("the read lacks the write")
			}
			if keys := c.keys(coordinationv1.SchemeGroupVersion.WithKind("Lease").GroupKind()); len(keys) > 0 {
				t.Errorf("still remembers the writes of %v", keys)
			}
		})
	}
}

// TestOwnWriteOfLostObject checks that a read does not wait for an object that another client has deleted.
func TestOwnWriteOfLostObject(t *testing.T) {
	cache := newLate()
	cache.seen["lost"] = nil
	c := newOwnWrites(cache, api)
	l := lease("lost")
	if err := c.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if err := c.List(t.Context(), &coordinationv1.LeaseList{}); err != nil {
		t.Fatal(err)
	}
}

// TestOwnWritesOutliveNoPass checks that a pass that times out during a wait cannot write any more.
func TestOwnWritesOutliveNoPass(t *testing.T) {
	cache := newLate()
	cache.seen["never"] = nil
	c := newOwnWrites(cache, api)
	if err := c.Create(t.Context(), lease("never")); err != nil {
		t.Fatal(err)
	}
	pass, end := context.WithCancel(t.Context())
	go func() {
		<-cache.asked
		end()
	}()
	err := c.List(pass, &coordinationv1.LeaseList{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "Lease default/never") {
		t.Errorf("the list ended with %v, want the object that it waited for", err)
	}
	if err := c.Create(pass, lease("another")); !errors.Is(err, context.Canceled) {
		t.Errorf("a creation after it ended with %v", err)
	}
}

package capi

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/testing/kubetest"
)

// api reaches the API server of the tests, whose address is in reach.
var (
	api   client.Client
	reach *rest.Config
)

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(p *kubeproc.Plane) error {
		scheme := runtime.NewScheme()
		if err := errors.Join(coordinationv1.AddToScheme(scheme), corev1.AddToScheme(scheme), clusterv1.AddToScheme(scheme)); err != nil {
			return err
		}
		err := kubeproc.InstallCRDs(context.Background(), p.Config(), []*apiextensionsv1.CustomResourceDefinition{machines()})
		if err != nil {
			return err
		}
		reach = p.Config()
		api, err = client.New(reach, client.Options{Scheme: scheme})
		return err
	}))
}

// machines returns a CRD of Machines with any content.
func machines() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "machines.cluster.x-k8s.io"}}
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: clusterv1.GroupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "machines", Kind: "Machine"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: clusterv1.GroupVersion.Version, Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", XPreserveUnknownFields: new(true),
			}},
			Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
		}},
	}
	return crd
}

// late is a client whose reads are of an earlier state, as those of a cache may be, and which counts writes.
type late struct {
	client.Client
	seen   *coordinationv1.Lease
	writes int
}

func (l *late) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if lease, ok := obj.(*coordinationv1.Lease); ok && l.seen != nil {
		l.seen.DeepCopyInto(lease)
		return nil
	}
	return l.Client.Get(ctx, key, obj, opts...)
}

func (l *late) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	l.writes++
	return l.Client.Patch(ctx, obj, patch, opts...)
}

func (l *late) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	l.writes++
	return l.Client.Apply(ctx, obj, opts...)
}

func newLease(t *testing.T, name string) *coordinationv1.Lease {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if err := api.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	return lease
}

// TestFresh checks that a read returns at least what was written, and what others wrote since.
func TestFresh(t *testing.T) {
	lease := newLease(t, "fresh")
	cache := &late{Client: api, seen: lease.DeepCopy()}
	c := newFresh(cache, api)
	holder := func() string {
		t.Helper()
		var read coordinationv1.Lease
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(lease), &read); err != nil {
			t.Fatal(err)
		}
		if read.Spec.HolderIdentity == nil {
			return ""
		}
		return *read.Spec.HolderIdentity
	}
	hold := func(by client.Client, name string) *coordinationv1.Lease {
		t.Helper()
		written := lease.DeepCopy()
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"holderIdentity":"`+name+`"}}`))
		if err := by.Patch(t.Context(), written, patch); err != nil {
			t.Fatal(err)
		}
		return written
	}
	if got := holder(); got != "" {
		t.Errorf("before any write the holder is %q", got)
	}
	hold(c, "one")
	if got := holder(); got != "one" {
		t.Errorf("after the write the holder is %q", got)
	}
	cache.seen = hold(api, "two")
	if got := holder(); got != "two" {
		t.Errorf("after a later write of another the holder is %q", got)
	}
	if c.written.Len() != 0 {
		t.Error("a write that the cache has passed is still remembered")
	}
}

// behind is a client whose reads have no Lease before seen is set, as those of a cache whose watch is late.
type behind struct {
	client.Client
	seen bool
}

func (b *behind) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if !b.seen {
		return apierrors.NewNotFound(coordinationv1.Resource("leases"), key.Name)
	}
	return b.Client.Get(ctx, key, obj, opts...)
}

func (b *behind) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if !b.seen {
		return nil
	}
	return b.Client.List(ctx, list, opts...)
}

// TestFreshList checks that a list has what was created, once, before and after the cache has it.
func TestFreshList(t *testing.T) {
	mine := client.MatchingLabels{"list": "fresh"}
	lease := func(name string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: mine}}
	}
	cache := &behind{Client: api}
	c := newFresh(cache, api)
	if err := c.Create(t.Context(), lease("created")); err != nil {
		t.Fatal(err)
	}
	applied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"namespace": "default", "name": "created-by-apply", "labels": map[string]any{"list": "fresh"}}}}
	err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("test"))
	if err != nil {
		t.Fatal(err)
	}
	both := []string{"created", "created-by-apply"}
	for _, step := range []struct {
		name   string
		before func() error
		opts   []client.ListOption
		want   []string
	}{
		{name: "before the cache has them", opts: []client.ListOption{mine, client.InNamespace("default")}, want: both},
		{name: "in another namespace", opts: []client.ListOption{mine, client.InNamespace("kube-system")}},
		{name: "with another label", opts: []client.ListOption{client.MatchingLabels{"list": "other"}}},
		{name: "by an index", opts: []client.ListOption{client.MatchingFields{"spec.holderIdentity": "x"}}},
		{name: "again", opts: []client.ListOption{mine}, want: both},
		{name: "after one was deleted", opts: []client.ListOption{mine}, want: both[1:],
			before: func() error { return c.Delete(t.Context(), lease("created")) }},
		{name: "when the cache has them", opts: []client.ListOption{mine}, want: both[1:],
			before: func() error { cache.seen = true; return nil }},
		{name: "after another has deleted the other", opts: []client.ListOption{mine},
			before: func() error { return api.Delete(t.Context(), lease("created-by-apply")) }},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.before != nil {
				if err := step.before(); err != nil {
					t.Fatal(err)
				}
			}
			var list coordinationv1.LeaseList
			if err := c.List(t.Context(), &list, step.opts...); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, item := range list.Items {
				got = append(got, item.Name)
			}
			if slices.Sort(got); !slices.Equal(got, step.want) {
				t.Errorf("the list has %q, want %q", got, step.want)
			}
			var kinds metav1.PartialObjectMetadataList
			kinds.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("LeaseList"))
			if err := c.List(t.Context(), &kinds, mine); err != nil {
				t.Errorf("a list of metadata: %v", err)
			}
		})
	}
}

// overtaken is a client whose cache gets what is missing, and serves another list, after it has made a list without it.
type overtaken struct {
	*behind
	meanwhile func()
}

func (o *overtaken) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := o.behind.List(ctx, list, opts...)
	if meanwhile := o.meanwhile; meanwhile != nil {
		o.meanwhile = nil
		o.seen = true
		meanwhile()
	}
	return err
}

// TestFreshListOvertaken checks that a list has what was created although a later list has seen meanwhile that the cache
// has it: a MachineSet deletes the infrastructure of a machine that its list lacks.
func TestFreshListOvertaken(t *testing.T) {
	mine := client.MatchingLabels{"list": "overtaken"}
	cache := &overtaken{behind: &behind{Client: api}}
	c := newFresh(cache, api)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "overtaken", Labels: mine}}
	if err := c.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		var list coordinationv1.LeaseList
		if err := c.List(t.Context(), &list, mine); err != nil {
			t.Error(err)
		}
		return len(list.Items)
	}
	later := 0
	cache.meanwhile = func() { later = count() }
	if earlier := count(); earlier != 1 || later != 1 {
		t.Errorf("the list has %d objects, and the one that overtook it %d, want 1 in each", earlier, later)
	}
}

// mute is a client whose creations end with an error, carried out or not.
type mute struct {
	*behind
	carriesOut bool
	err        error
}

func (m *mute) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if m.carriesOut {
		if err := m.behind.Create(ctx, obj.DeepCopyObject().(client.Object), opts...); err != nil {
			return err
		}
	}
	return m.err
}

func (m *mute) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if m.carriesOut {
		if err := m.behind.Apply(ctx, obj, opts...); err != nil {
			return err
		}
	}
	return m.err
}

// notSent returns the error of a request that its client's rate limit keeps until its context is over.
func notSent(t *testing.T) error {
	limit := flowcontrol.NewTokenBucketRateLimiter(1e-6, 1)
	limit.Accept()
	c, err := rest.NewRESTClient(&url.URL{Scheme: "https", Host: "127.0.0.1:1"}, "", rest.ClientContentConfig{}, limit, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return c.Get().AbsPath("/version").Do(ctx).Error()
}

// TestFreshListInDoubt checks that a list has an object whose creation had no answer, and that there is no list while it
// may come.
func TestFreshListInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		mute
		refused bool
		has     int
	}{
		"carried out, and the time of the pass is over": {mute: mute{carriesOut: true, err: context.DeadlineExceeded}, has: 1},
		"carried out, and the API server is too slow": {
			mute: mute{carriesOut: true, err: apierrors.NewTimeoutError("too slow", 0)}, has: 1},
		"not carried out yet":        {mute: mute{err: context.DeadlineExceeded}, refused: true},
		"the connection is refused":  {mute: mute{err: syscall.ECONNREFUSED}},
		"not sent":                   {mute: mute{err: notSent(t)}},
		"refused by the API server":  {mute: mute{err: apierrors.NewBadRequest("no")}},
		"there is an object like it": {mute: mute{err: apierrors.NewAlreadyExists(coordinationv1.Resource("leases"), "x")}},
	} {
		for _, how := range []string{"create", "apply"} {
			t.Run(name+" by "+how, func(t *testing.T) {
				label := strings.ToLower(strings.ReplaceAll(fmt.Sprintf("doubt-%s-%s", name, how), " ", "-"))
				label = strings.ReplaceAll(label, ",", "")
				mine := client.MatchingLabels{"list": label}
				writer := c.mute
				writer.behind = &behind{Client: api}
				f := newFresh(&writer, api)
				lease := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
					"metadata": map[string]any{"namespace": "default", "name": label, "labels": map[string]any{"list": label}}}}
				var err error
				if how == "apply" {
					err = f.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(lease), client.FieldOwner("test"))
				} else {
					err = f.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
						Namespace: "default", Name: label, Labels: mine}})
				}
				if !errors.Is(err, c.err) {
					t.Fatalf("error %v, want %v", err, c.err)
				}
				var list coordinationv1.LeaseList
				if err := f.List(t.Context(), &list, client.MatchingLabels{"list": "other"}); err != nil || len(list.Items) != 0 {
					t.Errorf("a list of others has %d objects: %v", len(list.Items), err)
				}
				err = f.List(t.Context(), &list, mine)
				if (err != nil) != c.refused || c.refused && !strings.Contains(err.Error(), "Lease default/"+label+" had no answer") {
					t.Errorf("list: %v", err)
				}
				if len(list.Items) != c.has {
					t.Errorf("the list has %d objects, want %d", len(list.Items), c.has)
				}
				if f.seeing(t.Context()) != nil {
					t.Error("a list outside of a pass hinders writes")
				}
				f.id = func(context.Context) types.UID { return "pass" }
				err = f.List(t.Context(), &list, mine)
				object := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: label}}
				deleted := f.Delete(t.Context(), object, client.DryRunAll)
				barred := deleted != nil && strings.Contains(deleted.Error(), "a list failed")
				if (err != nil) != c.refused || barred != c.refused || c.refused && f.Create(t.Context(), object) == nil {
					t.Errorf("in a pass whose list has the error %v a deletion ends with %v", err, deleted)
				}
				f.id = func(context.Context) types.UID { return "next" }
				if err := f.seeing(t.Context()); err != nil {
					t.Errorf("in the next pass: %v", err)
				}
			})
		}
	}
}

// TestApplier checks that an apply is sent only if it can change something.
func TestApplier(t *testing.T) {
	lease := newLease(t, "applied")
	sent := &late{Client: api}
	c := newApplier(sent)
	apply := func(labels map[string]any, opts ...client.ApplyOption) *unstructured.Unstructured {
		t.Helper()
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
			"metadata": map[string]any{"namespace": "default", "name": lease.Name, "uid": string(lease.UID), "labels": labels}}}
		opts = append(opts, client.FieldOwner("test"), client.ForceOwnership)
		if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), opts...); err != nil {
			t.Fatal(err)
		}
		return u
	}
	change := func(patch string) {
		t.Helper()
		if err := api.Patch(t.Context(), lease.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	a, b := map[string]any{"a": "1"}, map[string]any{"a": "1", "b": "2"}
	for _, step := range []struct {
		name   string
		before func()
		labels map[string]any
		opts   []client.ApplyOption
		sent   int
	}{
		{"the first", nil, a, nil, 1},
		{"again", nil, a, nil, 0},
		{"after a change of another field", func() { change(`{"spec":{"leaseDurationSeconds":7}}`) }, a, nil, 0},
		{"after another took the field", func() { change(`{"metadata":{"labels":{"a":"9"}}}`) }, a, nil, 1},
		{"another intent", nil, b, nil, 1},
		{"a dry run", nil, b, []client.ApplyOption{client.DryRunAll}, 1},
		{"the smaller intent again", nil, a, nil, 1},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.before != nil {
				step.before()
			}
			was := sent.writes
			u := apply(step.labels, step.opts...)
			if got := sent.writes - was; got != step.sent {
				t.Errorf("%d requests, want %d", got, step.sent)
			}
			if got := u.GetLabels()["a"]; got != "1" || u.GetResourceVersion() == "" {
				t.Errorf("the object came back with label %q and version %q", got, u.GetResourceVersion())
			}
		})
	}
}

// TestHandOver checks that the labels of an object that a MachineSet creates get another manager, and that a label which
// this manager drops is removed, whoever looks at the object first.
func TestHandOver(t *testing.T) {
	const seed = `{"f:metadata":{"f:name":{}}}`
	both, one, spec := map[string]any{"a": "1", "b": "2"}, map[string]any{"a": "1"}, map[string]any{"leaseDurationSeconds": int64(7)}
	for name, c := range map[string]struct {
		machineFirst, conflict bool
		writes                 int // of both objects until the labels have their manager
	}{
		"the machine":                   {machineFirst: true, writes: 3},
		"the machine, after a conflict": {machineFirst: true, conflict: true, writes: 6},
		"the MachineSet":                {writes: 4},
	} {
		t.Run(name, func(t *testing.T) {
			sent := &late{Client: api}
			a := newApplier(sent)
			apply := func(u *unstructured.Unstructured, uid types.UID, manager string, labels, spec map[string]any) *unstructured.Unstructured {
				t.Helper()
				u.Object["metadata"] = map[string]any{"namespace": "default", "name": "handed-over-" + strconv.Itoa(c.writes), "labels": labels}
				u.SetUID(uid)
				if spec != nil {
					u.Object["spec"] = spec
				}
				err := a.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager), client.ForceOwnership)
				if err != nil {
					t.Fatal(err)
				}
				return u
			}
			of := func(apiVersion, kind string) *unstructured.Unstructured {
				return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
			}
			const leases = "coordination.k8s.io/v1"
			// change changes an object by a merge patch, as Cluster API does.
			change := func(u *unstructured.Unstructured, change func(*unstructured.Unstructured)) {
				t.Helper()
				base := u.DeepCopy()
				change(u)
				if err := a.Patch(t.Context(), u, client.MergeFrom(base)); err != nil {
					t.Fatal(err)
				}
			}
			entry := func(manager, set string) metav1.ManagedFieldsEntry {
				return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: leases,
					FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(set)}
			}
			u := apply(of(leases, "Lease"), "", machineSetManager, map[string]any{"a": "1", "b": "2", "of-template": "3"}, spec)
			uid := u.GetUID()
			change(u.DeepCopy(), func(u *unstructured.Unstructured) {
				u.SetManagedFields([]metav1.ManagedFieldsEntry{entry(machineSetManager, `{"f:spec":{"f:leaseDurationSeconds":{}}}`)})
			})
			m := apply(of(clusterv1.GroupVersion.String(), "Machine"), "", machineSetManager, both, map[string]any{"clusterName": "c"})
			if c.conflict {
				patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"leaseTransitions":1}}`))
				if err := api.Patch(t.Context(), u.DeepCopy(), patch); err != nil {
					t.Fatal(err)
				}
			}
			if c.machineFirst {
				change(u, func(u *unstructured.Unstructured) {
					u.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(m, m.GroupVersionKind())})
				})
			}
			if _, fields := appliedBy(u.GetManagedFields(), metadataManager); fields == nil {
				change(u, func(u *unstructured.Unstructured) {
					u.SetManagedFields([]metav1.ManagedFieldsEntry{entry(metadataManager, seed)})
				})
			}
			handed := apply(of(leases, "Lease"), uid, metadataManager, both, nil)
			if sent.writes != c.writes {
				t.Errorf("%d writes until the labels have their manager, want %d", sent.writes, c.writes)
			}
			if _, set := appliedBy(handed.GetManagedFields(), metadataManager); string(fieldsOf(set).GetRawBytes()) !=
				`{"f:metadata":{"f:labels":{"f:a":{},"f:b":{}}}}` {
				t.Errorf("%s owns %v", metadataManager, set)
			}
			if _, set := appliedBy(handed.GetManagedFields(), machineSetManager); set != nil && string(fieldsOf(set).GetRawBytes()) !=
				`{"f:spec":{"f:leaseDurationSeconds":{}}}` {
				t.Errorf("%s owns %v", machineSetManager, set)
			}
			apply(of(leases, "Lease"), uid, metadataManager, both, nil)
			if sent.writes != c.writes {
				t.Errorf("the same apply was sent again")
			}
			if labels := apply(of(leases, "Lease"), uid, metadataManager, one, nil).GetLabels(); len(labels) != 2 || labels["of-template"] == "" {
				t.Errorf("with one label dropped the object has %v", labels)
			}
		})
	}
}

// TestEmptyPatch checks which merge patches are not sent.
func TestEmptyPatch(t *testing.T) {
	for patch, want := range map[string]bool{
		`{}`: true, `{"metadata":{"resourceVersion":"7"}}`: true, `{"metadata":{}}`: true,
		`{"metadata":{"resourceVersion":"7","labels":{"a":"b"}}}`: false, `{"metadata":null}`: false,
		`{"spec":null}`: false, `{"spec":{}}`: false, `[]`: false, `x`: false,
	} {
		if got := empty([]byte(patch)); got != want {
			t.Errorf("%s: %t", patch, got)
		}
	}
}

package capi

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestUncopiedNodes holds that a list of all nodes shares the cache's objects, and that no other list does.
func TestUncopiedNodes(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "shared", Labels: map[string]string{"x": "y"}}}
	if err := api.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	objects, err := cache.New(reach, cache.Options{Scheme: api.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = objects.Start(t.Context()) }()
	if !objects.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache did not start")
	}
	cached, err := client.New(reach, client.Options{Scheme: api.Scheme(), Cache: &client.CacheOptions{Reader: objects}})
	if err != nil {
		t.Fatal(err)
	}
	c := uncopiedList{cached}
	labels := func(opts ...client.ListOption) uintptr {
		t.Helper()
		var nodes corev1.NodeList
		if err := c.List(t.Context(), &nodes, opts...); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(nodes.Items, func(n corev1.Node) bool { return n.Name == node.Name })
		if i < 0 {
			t.Fatalf("the node is not among %d nodes", len(nodes.Items))
		}
		return reflect.ValueOf(nodes.Items[i].Labels).Pointer()
	}
	first, second, some := labels(), labels(), labels(client.MatchingLabels{"x": "y"})
	if first != second {
		t.Error("a list of all nodes has copies")
	}
	if some == first {
		t.Error("a list of some nodes shares the cache's objects")
	}
}

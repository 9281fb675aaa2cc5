package facts

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPointers: references of objects in a workload cluster are found in lists, in objects and in simple fields.
func TestPointers(t *testing.T) {
	service := map[string]any{"clientConfig": map[string]any{"service": map[string]any{"name": "hook", "namespace": "policy"}}}
	for kind, test := range map[string]struct {
		content map[string]any
		want    []Reference
	}{
		"Ingress": {map[string]any{"spec": map[string]any{"tls": []any{map[string]any{"secretName": "a"}, map[string]any{},
			map[string]any{"secretName": "b"}}}},
			[]Reference{{"Ingress/x", "spec.tls.secretName", "Secret", "shop", "a", ""},
				{"Ingress/x", "spec.tls.secretName", "Secret", "shop", "b", ""}}},
		"RoleBinding": {map[string]any{"roleRef": map[string]any{"kind": "ClusterRole", "name": "view"}},
			[]Reference{{"RoleBinding/x", "roleRef", "ClusterRole", "shop", "view", ""}}},
		"MutatingWebhookConfiguration": {map[string]any{"webhooks": []any{service, map[string]any{"clientConfig": map[string]any{
			"url": "https://hook.example"}}}},
			[]Reference{{"MutatingWebhookConfiguration/x", "webhooks.clientConfig.service", "Service", "policy", "hook", ""}}},
		"Widget": {map[string]any{"roleRef": map[string]any{"name": "view"}}, nil},
	} {
		o := &unstructured.Unstructured{Object: test.content}
		o.SetKind(kind)
		o.SetName("x")
		o.SetNamespace("shop")
		var got []Reference
		for _, r := range pointers(o) {
			got = append(got, r.Reference)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", kind, got, test.want)
		}
	}
}

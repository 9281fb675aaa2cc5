package capi

import (
	"context"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestAskOfChanges checks for which requests the API server calls Cluster API's webhooks, with a policy that has the
// same conditions and refuses every request that it gets.
func TestAskOfChanges(t *testing.T) {
	ctx := t.Context()
	var conditions []admissionv1.MatchCondition
	asked := Provider{Validating: []*admissionv1.ValidatingWebhookConfiguration{{Webhooks: []admissionv1.ValidatingWebhook{{
		Rules: []admissionv1.RuleWithOperations{{Rule: admissionv1.Rule{Resources: []string{"machines"}}}}}}}}}
	limitToChanges(asked)
	conditions = asked.Validating[0].Webhooks[0].MatchConditions

	before := newLease(t, "asked")
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "asked"}}
	policy.Spec = admissionv1.ValidatingAdmissionPolicySpec{
		MatchConditions: conditions,
		Validations:     []admissionv1.Validation{{Expression: "false", Message: "asked"}},
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			ResourceNames: []string{"asked", "asked-too"},
			RuleWithOperations: admissionv1.RuleWithOperations{Operations: []admissionv1.OperationType{admissionv1.OperationAll},
				Rule: admissionv1.Rule{APIGroups: []string{"coordination.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"leases"}}},
		}}},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "asked"}}
	binding.Spec = admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "asked",
		ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}
	for _, o := range []client.Object{policy, binding} {
		if err := api.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = api.Delete(context.Background(), o) })
	}
	for lease := lease("asked-too"); ; { // until the API server uses the policy
		if err := api.Create(ctx, lease, client.DryRunAll); err != nil {
			break
		}
	}
	ours := rest.CopyConfig(reach)
	ours.Impersonate = rest.ImpersonationConfig{UserName: User, Groups: []string{"system:masters"}}
	clusterAPI, err := client.New(ours, client.Options{Scheme: api.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		by     client.Client
		change func(*coordinationv1.Lease)
		asks   bool
	}{
		{"a finalizer", api, func(l *coordinationv1.Lease) { l.Finalizers = []string{"a/b"} }, false},
		{"an owner", api, func(l *coordinationv1.Lease) {
			l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "a", UID: "1"}}
		}, false},
		{"the spec", api, func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("a") }, true},
		{"a label", api, func(l *coordinationv1.Lease) { l.Labels = map[string]string{"a": "b"} }, true},
		{"an annotation", api, func(l *coordinationv1.Lease) { l.Annotations = map[string]string{"a": "b"} }, true},
		{"the spec by Cluster API", clusterAPI, func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("a") }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			after := before.DeepCopy()
			test.change(after)
			if err := test.by.Update(ctx, after, client.DryRunAll); (err != nil) != test.asks {
				t.Errorf("asked: %v, want %v", err, test.asks)
			}
		})
	}
}

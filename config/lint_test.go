package config

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestLintComponents: the printed objects fit together: the webhook names the service, the
// service selects the pods, and the pods may write the certificate that the manager's flags
// name.
func TestLintComponents(t *testing.T) {
	text, err := LintComponents("example.com/manager:v1")
	if err != nil {
		t.Fatal(err)
	}
	var service corev1.Service
	var deployment appsv1.Deployment
	var role rbacv1.Role
	var cluster rbacv1.ClusterRole
	var hook admissionv1.ValidatingWebhookConfiguration
	into := map[string]any{"Service": &service, "Deployment": &deployment, "Role": &role, "ClusterRole": &cluster,
		"ValidatingWebhookConfiguration": &hook}
	for document := range bytes.SplitSeq(text, []byte("---\n")) {
		var o struct{ Kind string }
		if err := yaml.Unmarshal(document, &o); err != nil {
			t.Fatal(err)
		}
		if out, ok := into[o.Kind]; ok {
			if err := yaml.UnmarshalStrict(document, out); err != nil {
				t.Errorf("%s: %v", o.Kind, err)
			}
			delete(into, o.Kind)
		}
	}
	if len(into) > 0 {
		t.Fatalf("there is no %v", into)
	}
	w := hook.Webhooks[0]
	if s := w.ClientConfig.Service; s.Namespace != service.Namespace || s.Name != service.Name || *w.FailurePolicy != admissionv1.Ignore {
		t.Errorf("the webhook calls %+v, and fails with %v", s, *w.FailurePolicy)
	}
	pod := deployment.Spec.Template
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value {
			t.Errorf("the service selects %s=%s, which the pods are not", key, value)
		}
	}
	if pod.Spec.Containers[0].Image != "example.com/manager:v1" {
		t.Errorf("the image is %s", pod.Spec.Containers[0].Image)
	}
	flags := strings.Join(pod.Spec.Containers[0].Args, " ")
	may := func(rules []rbacv1.PolicyRule, name string) bool {
		return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.ResourceNames, name) })
	}
	secret := "casement-lint-cert"
	if !strings.Contains(flags, "--webhook-self-signed="+role.Namespace+"/"+secret) || !may(role.Rules, secret) {
		t.Errorf("it may not write its certificate: %s", flags)
	}
	if !strings.Contains(flags, "--webhook-configurations="+hook.Name) || !may(cluster.Rules, hook.Name) {
		t.Errorf("it may not write its authority into %s: %s", hook.Name, flags)
	}
}

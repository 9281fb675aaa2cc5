package record

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// text returns a patch as JSON, and no patch as "".
func text(t *testing.T, patch map[string]any) string {
	t.Helper()
	if patch == nil {
		return ""
	}
	data, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestChanges expects one patch of the status, one of the other fields, and none if nothing changed.
func TestChanges(t *testing.T) {
	base := func() *infrav1.AzureMachine {
		return &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{
			Name: "m", Annotations: map[string]string{BlockMoveAnnotation: ""}, Labels: map[string]string{"a": "b"},
			Finalizers: []string{"f"}}}
	}
	for _, test := range []struct {
		name         string
		change       func(*infrav1.AzureMachine)
		main, status string
	}{
		{"nothing", func(*infrav1.AzureMachine) {}, "", ""},
		{"the status", func(m *infrav1.AzureMachine) {
			m.Status.Ready = true
			m.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "R"}}
		}, "", `{"status":{"conditions":[{"lastTransitionTime":null,"message":"","reason":"R","status":"True",` +
			`"type":"Ready"}],"ready":true}}`},
		{"the last annotation goes", func(m *infrav1.AzureMachine) { m.Annotations = nil },
			`{"metadata":{"annotations":null}}`, ""},
		{"the labels go", func(m *infrav1.AzureMachine) { m.Labels = nil }, `{"metadata":{"labels":null}}`, ""},
		{"the finalizers go", func(m *infrav1.AzureMachine) { m.Finalizers = nil }, `{"metadata":{"finalizers":null}}`, ""},
		{"all", func(m *infrav1.AzureMachine) {
			m.Annotations["c"] = "d"
			m.Spec.ProviderID = new("azure:///x")
			m.Status.Ready = true
		}, `{"metadata":{"annotations":{"c":"d"}},"spec":{"providerID":"azure:///x"}}`, `{"status":{"ready":true}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			after := base()
			test.change(after)
			main, status, err := changes(base(), after)
			if m, s := text(t, main), text(t, status); err != nil || m != test.main || s != test.status {
				t.Errorf("main %s\nstatus %s\n%v", m, s, err)
			}
		})
	}
}

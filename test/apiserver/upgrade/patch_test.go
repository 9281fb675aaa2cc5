package upgrade

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestPatch checks that status shows the condition and the patch state of a pool within 80 columns,
// and that pause, resume and rollback set the annotations that the controller reads.
func TestPatch(t *testing.T) {
	c := connect(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, server.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "patched"}}
	ref := clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: "AzureCluster", Name: "x"}
	cluster.Spec.InfrastructureRef = ref
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	if out, _ := runCommand(t, "status", file, "patched"); !strings.Contains(out, "No pool of patched follows a channel") {
		t.Errorf("without a channel: %s", out)
	}
	cluster.Annotations = map[string]string{infrav1.ImageChannelAnnotation: infrav1.ImageChannelVerified}
	if err := c.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	d := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "patched-win",
		Labels: map[string]string{clusterv1.ClusterNameLabel: "patched"}, Annotations: map[string]string{
			infrav1.PatchStateAnnotation: `{"line":"gallery","from":"1.0.0","refused":{"1.1.0":"a canary failed"}}`}}}
	d.Spec.ClusterName, d.Spec.Selector.MatchLabels = "patched", map[string]string{"p": "w"}
	d.Spec.Template.Labels = map[string]string{"p": "w"}
	ref.Kind = "AzureMachineTemplate"
	d.Spec.Template.Spec = clusterv1.MachineSpec{ClusterName: "patched", Bootstrap: clusterv1.Bootstrap{DataSecretName: new("d")},
		InfrastructureRef: ref}
	if err := c.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d.Status.Conditions = []metav1.Condition{{Type: infrav1.ImageUpToDateCondition, Status: metav1.ConditionFalse,
		Reason: infrav1.PatchRolledBackReason, LastTransitionTime: metav1.Now(),
		Message: "1.1.0 failed here and is not tried again: a canary failed: node patched-win-abcde: the kubelet never posted its status"}}
	if err := c.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	out, _ := runCommand(t, "status", file, "patched")
	if !strings.Contains(out, "MachineDeployment/patched-win  RolledBack\n") ||
		!strings.Contains(strings.Join(strings.Fields(out), " "), "never posted its status") {
		t.Errorf("status:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	var list []struct{ Pool, Channel, Status, Reason, From string }
	text, _ := runCommand(t, "status", file, "patched", "-o", "json")
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) != 1 || list[0].Reason != "RolledBack" || list[0].From != "1.0.0" ||
		list[0].Channel != infrav1.ImageChannelVerified || list[0].Status != "False" {
		t.Errorf("%v: %s", err, text)
	}
	annotation := func(o client.Object, name string) string {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		return o.GetAnnotations()[name]
	}
	runCommand(t, "pause", file, "patched", "--reason", "quarter end")
	if got := annotation(cluster, infrav1.PatchFreezeAnnotation); got != "quarter end" {
		t.Errorf("paused: %q", got)
	}
	runCommand(t, "resume", file, "patched")
	state := annotation(d, infrav1.PatchStateAnnotation)
	if got := annotation(cluster, infrav1.PatchFreezeAnnotation); got != "" || !strings.Contains(state, "refused") {
		t.Errorf("resumed: %q, %s", got, state)
	}
	runCommand(t, "resume", file, "patched", "--retry")
	if got := annotation(d, infrav1.PatchStateAnnotation); strings.Contains(got, "refused") || !strings.Contains(got, `"from":"1.0.0"`) {
		t.Errorf("with --retry: %s", got)
	}
	runCommand(t, "rollback", file, "patched", "--reason", "slow disks")
	if got := annotation(cluster, infrav1.PatchRollbackAnnotation); got != "slow disks" {
		t.Errorf("rolled back: %q", got)
	}
}

package walk

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"casement.dev/casement/internal/diagnose/facts"
)

// TestNoCNI: once it is clear that a cluster has no CNI for a waiting node's operating system, why shows the command
// that installs one.
func TestNoCNI(t *testing.T) {
	unconfigured := ready("KubeletNotReady", "container runtime network not ready: NetworkReady=false "+
		"reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized")
	daemonSet := func(name, os string) appsv1.DaemonSet {
		d := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
		d.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: os}
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "net",
			VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc/cni/net.d"}}}}
		return d
	}
	for _, test := range []struct {
		name    string
		change  func(*facts.Snapshot)
		says    string
		waiting bool
	}{
		{"none at all", func(*facts.Snapshot) {}, "casement addons install calico calico-windows cloud-provider-azure --cluster c", false},
		{"in another namespace", func(f *facts.Snapshot) { f.Cluster.Namespace = "team" }, "--cluster c -n team", false},
		{"of Linux alone", func(f *facts.Snapshot) {
			f.Workloads.DaemonSets = []appsv1.DaemonSet{daemonSet("calico-node", "linux")}
		},
			"no CNI is installed for windows nodes", false},
		{"there is one", func(f *facts.Snapshot) {
			f.Workloads.DaemonSets = []appsv1.DaemonSet{daemonSet("calico-node-windows", "windows")}
		}, "no CNI has configured", false},
		{"not registered with the cluster", func(f *facts.Snapshot) {
			f.Machines[0].Status.NodeRef.Name = ""
			f.AzureMachines["am"].Spec.ProviderID = new("azure:///vm/n")
			f.Nodes["n"].Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}}
		}, "no CNI is installed", false},
		{"DaemonSets that may not be read", func(f *facts.Snapshot) {
			f.NotExamined = []string{"DaemonSets: forbidden"}
		}, "no CNI has configured", false},
		{"half a minute old", func(f *facts.Snapshot) {
			f.Taken = time.Now()
			f.Nodes["n"].CreationTimestamp = metav1.NewTime(f.Taken.Add(-30 * time.Second))
		}, "no CNI is installed", false},
		{"half a minute old, and asked for by label", func(f *facts.Snapshot) {
			f.Taken, f.Cluster.Labels = time.Now(), map[string]string{"cni": "calico"}
			f.Nodes["n"].CreationTimestamp = metav1.NewTime(f.Taken.Add(-30 * time.Second))
		}, "waiting for the new node", true},
		{"just joined", func(f *facts.Snapshot) {
			f.Taken = time.Now()
			f.Nodes["n"].CreationTimestamp = metav1.NewTime(f.Taken.Add(-time.Second))
		}, "waiting for the new node", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := healthy()
			unconfigured(f)
			test.change(f)
			a := Cluster(f)
			if a.Name() != "CNIMissing" || a.Step != "cni" || !strings.Contains(a.Means.Says, test.says) || a.Waiting != test.waiting {
				t.Errorf("got %+v, want CNIMissing that says %q", a, test.says)
			}
		})
	}
}

package walk

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"

	"casement.dev/casement/internal/diagnose/facts"
)

// TestKubeProxy: a node with a CNI and without kube-proxy is reported, unless another program does its work.
func TestKubeProxy(t *testing.T) {
	daemonSet := func(name, os string) appsv1.DaemonSet {
		d := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
		d.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: os}
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: `C:\etc\cni\net.d`}}}}
		return d
	}
	runs := func(f *facts.Snapshot, name string) {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system"}}
		p.Spec.NodeName, p.Status.Phase = "n", corev1.PodRunning
		f.Pods = append(f.Pods, p)
	}
	changed := func(f *facts.Snapshot, ago time.Duration) appsv1.DaemonSet {
		d := daemonSet("kube-proxy-windows", "windows")
		at := metav1.NewTime(f.Taken.Add(-ago))
		d.ManagedFields = []metav1.ManagedFieldsEntry{{Subresource: "status", Time: &at}}
		return d
	}
	linux := func(f *facts.Snapshot, more ...appsv1.DaemonSet) {
		f.Nodes["n"].Status.NodeInfo.OperatingSystem = "linux"
		f.Workloads.DaemonSets = append([]appsv1.DaemonSet{daemonSet("calico-node", "linux")}, more...)
	}
	for name, test := range map[string]struct {
		change  func(*facts.Snapshot)
		missing bool
		fix     string
	}{
		"it runs": {func(f *facts.Snapshot) { runs(f, "kube-proxy-windows-x") }, false, ""},
		"none for Windows": {func(*facts.Snapshot) {}, true,
			"casement addons install calico-windows --cluster c"},
		"none beside flannel": {func(f *facts.Snapshot) { f.Workloads.DaemonSets[0].Name = "kube-flannel-ds-windows" }, true,
			"casement addons install flannel-windows --cluster c"},
		"the DaemonSet has no pod there": {func(f *facts.Snapshot) {
			f.Workloads.DaemonSets = append(f.Workloads.DaemonSets, daemonSet("kube-proxy-windows", "windows"))
		}, true, ""},
		"the DaemonSet has just replaced a pod": {func(f *facts.Snapshot) {
			f.Workloads.DaemonSets = append(f.Workloads.DaemonSets, changed(f, time.Minute))
		}, false, ""},
		"the DaemonSet does not change any more": {func(f *facts.Snapshot) {
			f.Workloads.DaemonSets = append(f.Workloads.DaemonSets, changed(f, time.Hour))
		}, true, ""},
		"no CNI yet":                  {func(f *facts.Snapshot) { f.Workloads.DaemonSets = nil }, false, ""},
		"DaemonSets were not read":    {func(f *facts.Snapshot) { f.NotExamined = []string{"DaemonSets: forbidden"} }, false, ""},
		"its pods were not read":      {func(f *facts.Snapshot) { f.PodsOf = map[string]bool{"another": true} }, false, ""},
		"a node that has just joined": {func(f *facts.Snapshot) { f.Nodes["n"].CreationTimestamp = metav1.NewTime(f.Taken) }, false, ""},
		"none for Linux":              {func(f *facts.Snapshot) { linux(f) }, true, ""},
		"Cilium":                      {func(f *facts.Snapshot) { linux(f, daemonSet("cilium", "linux")) }, false, ""},
		"Calico with eBPF": {func(f *facts.Snapshot) {
			linux(f)
			f.Workloads.DaemonSets[0].Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "FELIX_BPFENABLED",
				Value: "true"}}}}
		}, false, ""},
		"a cluster that asks for none": {func(f *facts.Snapshot) {
			linux(f)
			f.ControlPlane = &controlplanev1.KubeadmControlPlane{}
			f.ControlPlane.Spec.KubeadmConfigSpec.InitConfiguration.SkipPhases = []string{"addon/kube-proxy"}
		}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken = time.Now()
			f.Workloads.DaemonSets = []appsv1.DaemonSet{daemonSet("calico-node-windows", "windows")}
			test.change(f)
			a := Cluster(f)
			if (a.Means.Cause == "KubeProxyMissing" && !a.Waiting) != test.missing || !test.missing && !a.Healthy && !a.Waiting {
				t.Errorf("got %+v", a)
			}
			if test.fix != "" && a.Means.Fix != test.fix {
				t.Errorf("the fix is %q", a.Means.Fix)
			}
		})
	}
}

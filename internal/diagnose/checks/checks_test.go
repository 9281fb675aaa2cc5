package checks

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
)

// snapshot returns the facts of a cluster with one Windows machine and its node.
func snapshot(edit func(*corev1.Node)) *facts.Snapshot {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	n.Spec.ProviderID, n.Status.NodeInfo.OperatingSystem = "azure:///x", "windows"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	edit(n)
	m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	m.Spec.Bootstrap.DataSecretName, m.Spec.InfrastructureRef.Name, m.Status.NodeRef.Name = new("data"), "am", n.Name
	am := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Name: "am"}}
	am.SetConditions([]metav1.Condition{{Type: clusterv1.ReadyCondition, Status: metav1.ConditionTrue}})
	return &facts.Snapshot{Cluster: &clusterv1.Cluster{}, Machines: []clusterv1.Machine{m},
		AzureMachines: map[string]*infrav1.AzureMachine{"am": am}, Nodes: map[string]*corev1.Node{n.Name: n}}
}

// pod adds a running pod with probes that is not ready, with a warning event.
func pod(f *facts.Snapshot, name, reason, message string) {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	p.Spec.NodeName, p.Status.Phase = "n", corev1.PodRunning
	p.Spec.Containers = []corev1.Container{{Name: "c",
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{}}}}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if reason != "" {
		p.Status.Conditions[0].Status = corev1.ConditionFalse
		f.Warnings = append(f.Warnings, corev1.Event{InvolvedObject: corev1.ObjectReference{UID: p.UID}, Reason: reason, Message: message})
	}
	f.Pods = append(f.Pods, p)
}

// TestFaults runs the checks that need no probe on a node, for facts that cause their symptoms, and for facts that only
// resemble those.
func TestFaults(t *testing.T) {
	const timeout, hangs = "Readiness probe failed: dial tcp 192.168.1.7:80: i/o timeout",
		"Readiness probe failed: context deadline exceeded"
	sandbox := func(build string) func(*facts.Snapshot) {
		return func(f *facts.Snapshot) {
			f.Nodes["n"].Status.NodeInfo.KernelVersion = build
			pod(f, "p", "FailedCreatePodSandBox", "failed to get sandbox image: no matching manifest for windows("+
				build+")/amd64 in the manifest list entries")
			f.Pods[0].Status.Phase = corev1.PodPending
			f.Pods[0].Status.ContainerStatuses = []corev1.ContainerStatus{
				{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}},
			}
		}
	}
	for name, test := range map[string]struct {
		fail func(*facts.Snapshot)
		want []string
	}{
		"no pod is reached": {
			func(f *facts.Snapshot) { pod(f, "a", "Unhealthy", timeout); pod(f, "b", "Unhealthy", timeout) },
			[]string{"D03"},
		},
		"one pod is reached": {func(f *facts.Snapshot) { pod(f, "a", "Unhealthy", timeout); pod(f, "b", "", "") }, nil},
		"a program hangs":    {func(f *facts.Snapshot) { pod(f, "a", "Unhealthy", hangs) }, nil},
		"pods of Linux": {func(f *facts.Snapshot) {
			pod(f, "a", "Unhealthy", timeout)
			f.Nodes["n"].Status.NodeInfo.OperatingSystem = "linux"
		}, nil},
		"sandbox image, Server 2022": {sandbox("10.0.20348.4294"), []string{"D12"}},
		"sandbox image, Server 2025": {sandbox("10.0.26100.7019"), []string{"D12", "D15"}},
		"Calico refuses Windows": {func(f *facts.Snapshot) {
			f.Calico = []facts.Degraded{{Name: "calico-windows", Reason: "StrictAffinity", Message: "is off"}}
		}, []string{"D28"}},
		"another part of it": {func(f *facts.Snapshot) { f.Calico = []facts.Degraded{{Name: "apiserver"}} }, nil},
		"two machines share one name": {
			func(f *facts.Snapshot) { f.Machines = append(f.Machines, *f.Machines[0].DeepCopy()) }, []string{"D30"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := snapshot(func(*corev1.Node) {})
			test.fail(f)
			if got := failed(Examine(f, nil)); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestEveryCheckCanFail: every check has causes or an observe function.
func TestEveryCheckCanFail(t *testing.T) {
	for _, c := range checks {
		if len(c.causes) == 0 && c.observe == nil {
			t.Errorf("%s is never examined", c.id)
		}
	}
}

func failed(results []Result) []string {
	var out []string
	for _, r := range results {
		if r.Verdict == Failed {
			out = append(out, r.ID)
		}
	}
	return out
}

func TestLooks(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*corev1.Node)
		want []string
	}{
		"healthy":        {func(*corev1.Node) {}, nil},
		"no provider ID": {func(n *corev1.Node) { n.Spec.ProviderID = "" }, []string{"D20"}},
		"VNI": {func(n *corev1.Node) {
			n.Annotations = map[string]string{"flannel.alpha.coreos.com/backend-data": `{"VNI":1}`}
		}, []string{"D27"}},
		"VNI enough": {func(n *corev1.Node) {
			n.Annotations = map[string]string{"flannel.alpha.coreos.com/backend-data": `{"VNI":4096}`}
		}, nil},
		"VNI is no JSON": {func(n *corev1.Node) {
			n.Annotations = map[string]string{"flannel.alpha.coreos.com/backend-data": "x"}
		}, nil},
		"an update that broke networks": {func(n *corev1.Node) { n.Status.NodeInfo.KernelVersion = "10.0.20348.2582" }, []string{"D38"}},
		"an update that repaired them":  {func(n *corev1.Node) { n.Status.NodeInfo.KernelVersion = "10.0.20348.2762" }, nil},
		"long name":                     {func(n *corev1.Node) { n.Name = "sixteen-letters-" }, []string{"D30"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failed(Examine(snapshot(test.edit), nil)); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestNewBuild: a node whose Windows is newer than the table of regressions does not pass the check of regressions.
func TestNewBuild(t *testing.T) {
	for build, want := range map[string]Verdict{"10.0.20348.99999": NotExamined, "10.0.20348.2762": Passed, "10.0.20348.2582": Failed} {
		f := snapshot(func(n *corev1.Node) { n.Status.NodeInfo.KernelVersion = build })
		for _, r := range Examine(f, nil) {
			if r.ID == "D38" && r.Verdict != want {
				t.Errorf("%s: %s, want %s", build, r.Verdict, want)
			}
		}
	}
}

func TestNothingPassesUnseen(t *testing.T) {
	f := snapshot(func(*corev1.Node) {})
	f.Unreachable = "dial tcp: connection refused"
	for _, r := range Examine(f, nil) { // facts from the management cluster are known
		if inManagement := []string{"A01", "A02", "A04"}; r.Verdict == Passed && !slices.Contains(inManagement, r.ID) {
			t.Errorf("%s passed, and the workload cluster did not answer", r.ID)
		}
	}
	f = snapshot(func(*corev1.Node) {})
	f.Machines[0].Status.NodeRef.Name = "" // the machine boots, and its log is not read
	f.AzureMachines = nil
	passed := []string{}
	for _, r := range Examine(f, nil) {
		if r.Verdict == Passed {
			passed = append(passed, r.ID)
		}
	}
	for _, unread := range []string{"D17", "D19", "D21", "A01", "A04"} {
		if slices.Contains(passed, unread) {
			t.Errorf("%s passed, and neither the boot log nor an object of Azure was read", unread)
		}
	}
}

// TestEachFaultHasACheck: every fault that package walk finds fails a check, and no area passes then.
func TestEachFaultHasACheck(t *testing.T) {
	f := snapshot(func(*corev1.Node) {})
	f.AzureMachines["am"].SetConditions([]metav1.Condition{{Type: infrav1.VMRunningCondition, Status: metav1.ConditionFalse,
		Reason: "SomethingNew", Message: "a code without a row"}})
	if got := failed(Examine(f, nil)); !slices.Equal(got, []string{"A01"}) {
		t.Errorf("got %v", got)
	}
	for _, r := range Examine(f, nil) {
		if r.ID == "A01" && (r.Verdict != Failed || len(r.Findings) != 1 || r.Findings[0].Cause == "") {
			t.Errorf("%+v", r)
		}
	}
}

func TestUnknownTroubleIsShown(t *testing.T) {
	f := snapshot(func(*corev1.Node) {})
	f.Cluster.Spec.Paused = new(true)
	// The Deployment has a change that has not been observed yet.
	f.Deployments = []clusterv1.MachineDeployment{{ObjectMeta: metav1.ObjectMeta{Name: "md", Generation: 2}}}
	if got := failed(Examine(f, nil)); !slices.Equal(got, []string{"A02"}) {
		t.Errorf("got %v", got)
	}
	if got := failed(Examine(f, func(string) bool { return false })); got != nil {
		t.Errorf("kept %v", got)
	}
}

// TestCausesExist: the names of causes in the checks are causes of package walk.
func TestCausesExist(t *testing.T) {
	names := []string{"NotRegistered", "NodeDeleted", "BootstrapFailed", "InvalidBootstrapData",
		"CloudProviderMissing", "PodsCutOff", "VXLANMismatch", "CalicoRefusesWindows"}
	for _, step := range cause.Steps() {
		for _, c := range cause.Of(step) {
			names = append(names, c.Name)
		}
	}
	for _, p := range walk.Probes() {
		names = append(names, p.Name)
	}
	seen := map[string]bool{}
	for _, c := range checks {
		if seen[c.id] {
			t.Errorf("%s is there twice", c.id)
		}
		seen[c.id] = true
		for _, name := range c.causes {
			if !slices.Contains(names, name) {
				t.Errorf("%s: no cause is called %s", c.id, name)
			}
		}
	}
}

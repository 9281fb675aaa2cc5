package walk

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

// manifest returns an object of any kind from YAML.
func manifest(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(data, &o.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestRolloutBlocked: the answer for a broken pod of a StatefulSet whose template has changed since names the reason
// why the pod is not replaced. Source: github.com/kubernetes/kubernetes/issues/67250.
func TestRolloutBlocked(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*appsv1.StatefulSet, *corev1.Pod)
		cause  string
	}{
		"an older template":    {func(*appsv1.StatefulSet, *corev1.Pod) {}, "RolloutBlocked"},
		"the present template": {func(s *appsv1.StatefulSet, _ *corev1.Pod) { s.Status.UpdateRevision = "db-1" }, "ContainerImageNotFound"},
		"all pods at once": {func(s *appsv1.StatefulSet, _ *corev1.Pod) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement },
			"ContainerImageNotFound"},
		"not yet seen":    {func(s *appsv1.StatefulSet, _ *corev1.Pod) { s.Generation = 3 }, "ContainerImageNotFound"},
		"a pod that runs": {func(_ *appsv1.StatefulSet, p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodRunning} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			s := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "default", UID: "s"}}
			s.Status.UpdateRevision = "db-2"
			p := &f.Pods[0]
			p.Labels = map[string]string{appsv1.StatefulSetRevisionLabel: "db-1"}
			p.OwnerReferences = []metav1.OwnerReference{{UID: "s", Controller: new(true)}}
			p.Status.Phase = corev1.PodPending
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "x/y:z: not found"}}}}
			test.change(&s, p)
			f.Workloads.StatefulSets = []appsv1.StatefulSet{s}
			if a := Cluster(f); a.Means.Cause != test.cause || test.cause == "RolloutBlocked" && !strings.HasPrefix(a.Means.Fix, "kubectl") &&
				!strings.Contains(a.Means.Fix, "delete pod p") {
				t.Errorf("got %+v", a)
			}
		})
	}
}

// TestProgramOfTheMachine: a control plane machine whose API server ends repeatedly does not count as a machine that
// waits for an API server. Source: github.com/kubernetes/kubeadm/issues/640.
func TestProgramOfTheMachine(t *testing.T) {
	const end = "casement: the static pod kube-system/kube-apiserver-m/kube-apiserver ended with code 1: "
	const file = `"command failed" err="loading audit policy file: open /etc/kubernetes/audit/policy.yaml: no such file or directory"` + "\n"
	const other = `"command failed" err="the audit policy has no rules"` + "\n"
	const refused = "[discovery] dial tcp 10.0.0.4:6443: connect: connection refused\n"
	for name, test := range map[string]struct {
		console string
		plane   bool
		cause   string
	}{
		"its own API server": {refused + strings.Repeat(end+other, 3) + refused, true, "ControlPlaneProgramDies"},
		"a known reason":     {refused + strings.Repeat(end+file, 3) + refused, true, "ManifestMissing"},
		"a start":            {refused + end + other + refused, true, "APIRefused"},
		"a worker":           {refused + strings.Repeat(end+other, 3) + refused, false, "APIRefused"},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Taken = time.Now()
			m := &f.Machines[0]
			m.Status.NodeRef.Name = ""
			if test.plane {
				m.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
			}
			vm(infrav1.BootstrapSucceededCondition, "APIRefused", "the address refuses the connection")(f)
			f.Console = func(*clusterv1.Machine) string { return test.console }
			a := Cluster(f)
			if a.Means.Cause != test.cause || strings.Contains(strings.Join(a.Lines(), "\n"), "audit policy") != (test.cause != "APIRefused") {
				t.Errorf("got %+v", a)
			}
		})
	}
}

// TestGroupGone: if a cluster's resource group is gone, the answer does not suggest replacing a machine. Source:
// github.com/kubernetes-sigs/cluster-api-provider-azure/issues/1090.
func TestGroupGone(t *testing.T) {
	f := healthy()
	f.Taken, f.Unreachable = time.Now(), "dial tcp 10.0.0.100:6443: connect: connection refused"
	f.Machines[0].Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
	f.VMs = map[string]facts.VM{"m": {Gone: true}}
	if a := Cluster(f); a.Means.Cause != "VMDeleted" {
		t.Errorf("of a machine: %+v", a)
	}
	f.Closed = []facts.Obstacle{{Cause: "ResourceGroupGone", Line: "ResourceGroupNotFound: Resource group 'c' could not be found."}}
	if a := Cluster(f); a.Means.Cause != "ResourceGroupGone" || a.At != "AzureCluster/ac" {
		t.Errorf("of the group: %+v", a)
	}
}

// TestAskedStep: an object that the walk of its cluster examines has the same answer when a user names it.
func TestAskedStep(t *testing.T) {
	f := healthy()
	f.Taken = time.Now()
	f.AzureCluster.SetConditions([]metav1.Condition{{Type: "NetworkInfrastructureReady", Status: metav1.ConditionFalse,
		Reason: "PublicIPCountLimitReached", Message: "Cannot create more than 20 public IP addresses for this subscription in this region.",
		LastTransitionTime: metav1.NewTime(f.Taken.Add(-time.Second))}})
	f.Asked = manifest(t, `{kind: AzureCluster, metadata: {name: ac, namespace: default}, status: {conditions: [{type: X, status: "False"}]}}`)
	a, err := Object(f, facts.Object{Kind: "AzureCluster", Name: "ac", Namespace: "default"})
	if err != nil || a.Means.Cause != "AddressQuotaExceeded" || Cluster(f).Means.Cause != a.Means.Cause {
		t.Errorf("got %+v, %v", a, err)
	}
}

const resourceSetText = `
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: corp, namespace: default}
status:
  conditions: [{type: ResourcesApplied, status: "False", reason: %REASON%, message: "%MESSAGE%"}]
  deprecated: {v1beta1: {conditions: [{type: ResourcesApplied, status: "False", message: 'namespaces "monitoring" not found'}]}}
`

// TestResourceSet: resources that a ClusterResourceSet could not apply are shown with Cluster API's error, but not for
// a cluster to which the set is applied. Sources: github.com/cert-manager/cert-manager/issues/7258,
// github.com/kubernetes-sigs/cluster-api/issues/4878.
func TestResourceSet(t *testing.T) {
	const failed = "Failed to apply ClusterResourceSet resources to Cluster"
	binding := func(applied string) string {
		return `{metadata: {name: c}, spec: {bindings: [{clusterResourceSetName: corp, resources: [{applied: ` + applied + `}]}]}}`
	}
	for name, test := range map[string]struct{ reason, message, applied, says string }{
		"this cluster":       {"NotApplied", failed, "false", `namespaces "monitoring" not found`},
		"another cluster":    {"InternalError", failed, "true", ""},
		"a type of a Secret": {"WrongSecretType", "Secret type of resource corp-tls is not supported", "false", "WrongSecretType"},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			set := strings.NewReplacer("%REASON%", test.reason, "%MESSAGE%", test.message).Replace(resourceSetText)
			f.Others = map[string][]unstructured.Unstructured{
				"ClusterResourceSet":        {*manifest(t, set)},
				"ClusterResourceSetBinding": {*manifest(t, binding(test.applied))}}
			a := Cluster(f)
			if test.says == "" {
				if !a.Healthy {
					t.Errorf("got %+v", a)
				}
			} else if seen := strings.Join(a.Lines(), "\n") + a.Name(); !strings.Contains(seen, test.says) {
				t.Errorf("got %+v", a)
			}
		})
	}
}

// TestRefused: the API server's error for an object is the answer about the object, and a reference of an object other
// than the named one is followed too. Sources: github.com/kubernetes/kubernetes/issues/71925,
// github.com/kubernetes/ingress-nginx/issues/3834.
func TestRefused(t *testing.T) {
	f := healthy()
	f.Others = map[string][]unstructured.Unstructured{"CustomResourceDefinition": {*manifest(t,
		`{kind: CustomResourceDefinition, metadata: {name: widgets.shop.example}}`)}}
	if a := Cluster(f); !a.Healthy {
		t.Errorf("with its service: %+v", a)
	}
	f.Dangling = []facts.Reference{{
		From: "CustomResourceDefinition/widgets.shop.example", Field: "spec.conversion.webhook.clientConfig.service",
		Kind: "Service", Namespace: "widgets", Name: "convert"}}
	if a := Cluster(f); a.Means.Cause != "ServiceMissing" {
		t.Errorf("without: %+v", a)
	}
	f.Asked = manifest(t, `{kind: Widget, metadata: {name: w, namespace: shop}}`)
	f.Refused = `conversion webhook for shop.example/v1, Kind=Widget failed: Post "https://convert.widgets.svc:443/": no endpoints available`
	if a, err := Object(f, facts.Object{Kind: "Widget", Name: "w", Namespace: "shop"}); err != nil ||
		a.Means.Cause != "ConversionWebhookUnavailable" || !strings.Contains(strings.Join(a.Lines(), ""), "no endpoints available") {
		t.Errorf("got %+v, %v", a, err)
	}
}

// TestCordoned: the answer for a pod that only fits cordoned nodes names them, and the answer for a machine whose node
// was left cordoned does so too; a drain in progress is no fault. Source: github.com/Azure/AKS/issues/3439.
func TestCordoned(t *testing.T) {
	f := healthy()
	f.Taken = time.Now()
	n := f.Nodes["n"]
	n.Labels, n.Spec.Unschedulable = map[string]string{corev1.LabelOSStable: "windows"}, true
	n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, TimeAdded: new(metav1.NewTime(f.Taken.Add(-time.Minute)))}}
	machine := func() Answer {
		a, err := Object(f, facts.Object{Kind: "Machine", Name: "m"})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := machine(); !a.Waiting || a.Means.Cause != "Cordoned" {
		t.Errorf("a drain: %+v", a)
	}
	n.Spec.Taints[0].TimeAdded = new(metav1.NewTime(f.Taken.Add(-time.Hour)))
	if a := machine(); a.Waiting || a.Means.Cause != "Cordoned" || !Cluster(f).Healthy {
		t.Errorf("left: %+v", a)
	}
	p := &f.Pods[0]
	p.Spec.NodeName, p.Spec.NodeSelector, p.Status.Phase = "", map[string]string{corev1.LabelOSStable: "windows"}, corev1.PodPending
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable."}}
	if a := Cluster(f); a.Means.Cause != "NodesCordoned" || !strings.Contains(a.Means.Fix, "uncordon n") {
		t.Errorf("the pod: %+v", a)
	}
	f.Nodes["o"] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "o", Labels: n.Labels}}
	if a := Cluster(f); a.Means.Cause != "Unschedulable" {
		t.Errorf("with another node: %+v", a)
	}
}

// TestBudget: a disruption budget has an answer if the user names it. Source:
// github.com/devantler-tech/platform/issues/1880.
func TestBudget(t *testing.T) {
	f := healthy()
	f.Asked = manifest(t, `{kind: PodDisruptionBudget, metadata: {name: b, namespace: shop},
  status: {currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, disruptionsAllowed: 0,
    conditions: [{type: DisruptionAllowed, status: "False"}]}}`)
	a, err := Object(f, facts.Object{Kind: "PodDisruptionBudget", Name: "b", Namespace: "shop"})
	if err != nil || a.Means.Cause != "EvictionBlocked" || !strings.Contains(a.Means.Says, "never") {
		t.Errorf("got %+v, %v", a, err)
	}
}

// TestBudgetsOfOnePod: a pod in two disruption budgets cannot be evicted, and the answers for both budgets say so,
// whatever they allow. Source: k8s.io/kubernetes pkg/registry/core/pod/storage/eviction.go.
func TestBudgetsOfOnePod(t *testing.T) {
	f := healthy()
	f.Pods[0].Labels = map[string]string{"app": "shop", "tier": "web"}
	of := func(name, labels string) *unstructured.Unstructured {
		return manifest(t, `{kind: PodDisruptionBudget, metadata: {name: `+name+`, namespace: `+f.Pods[0].Namespace+`},
  spec: {selector: {matchLabels: {`+labels+`}}}, status: {currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1}}`)
	}
	asked := facts.Object{Kind: "PodDisruptionBudget", Name: "a", Namespace: f.Pods[0].Namespace}
	for second, cause := range map[string]string{"tier: web": "TwoBudgets", "tier: batch": ""} {
		f.Asked = of("a", "app: shop")
		f.Others = map[string][]unstructured.Unstructured{"PodDisruptionBudget": {*f.Asked, *of("b", second)}}
		if a, err := Object(f, asked); err != nil || a.Means.Cause != cause {
			t.Errorf("%s: got %+v, %v", second, a, err)
		}
	}
}

// TestNameless: a pod that names a credential spec that no webhook has inserted runs without its account. Source:
// github.com/kubernetes/website/issues/15905.
func TestNameless(t *testing.T) {
	f := healthy()
	o := &corev1.WindowsSecurityContextOptions{GMSACredentialSpecName: new("webapp01")}
	f.Pods[0].Spec.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: o}
	if a := Cluster(f); a.Means.Cause != "GMSASpecEmpty" {
		t.Errorf("got %+v", a)
	}
	o.GMSACredentialSpec = new("{}")
	if a := Cluster(f); !a.Healthy {
		t.Errorf("with its spec: %+v", a)
	}
}

// TestHealthCheckAsked: the answer for a health check that a user names has the number of its healthy machines.
func TestHealthCheckAsked(t *testing.T) {
	f := healthy()
	h := clusterv1.MachineHealthCheck{ObjectMeta: metav1.ObjectMeta{Name: "h", Namespace: "default"}}
	h.Status.CurrentHealthy, h.Status.ExpectedMachines = new(int32(0)), new(int32(1))
	f.HealthChecks = []clusterv1.MachineHealthCheck{h}
	f.Asked = manifest(t, `{kind: MachineHealthCheck, metadata: {name: h, namespace: default}}`)
	a, err := Object(f, facts.Object{Kind: "MachineHealthCheck", Name: "h", Namespace: "default"})
	if err != nil || a.Means.Cause != "MachinesUnhealthy" || !Cluster(f).Healthy {
		t.Errorf("got %+v, %v", a, err)
	}
}

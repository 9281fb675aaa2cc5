package integration

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/adopt"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/kubeproc"
)

// TestAdopt adopts a cluster that CAPZ managed: its objects with the status of the v1beta1
// contract, the objects of Azure Service Operator, and the resources in Azure. casement writes
// nothing to Azure, the machine stays, and a second run changes nothing.
func TestAdopt(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.change(b.cluster, func() { b.cluster.Spec.Paused = new(true) })
	b.create(b.azureC)
	m := b.machine("adopt-md-win-x7k2p", "Windows", false)
	vm := b.group().Compute("virtualMachines", "adopt-md-x7k2p")
	m.Spec.ProviderID = new(desired.ProviderID(vm))
	m.Finalizers = []string{infrav1.MachineFinalizer}
	b.create(m)
	b.azureAsOfCAPZ(vm)
	b.statusAsOfCAPZ(m, nil)
	operator := b.operatorAsOfCAPZ()
	b.change(b.azureC, func() {
		b.azureC.Finalizers = []string{infrav1.ClusterFinalizer}
		b.azureC.Annotations = map[string]string{"clusterctl.cluster.x-k8s.io/block-move": "true"}
	})
	b.cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	if err := b.client.Status().Update(t.Context(), b.cluster); err != nil {
		t.Fatal(err)
	}
	b.change(b.cluster, func() { b.cluster.Spec.Paused = nil })

	// While CAPZ runs, the adoption refuses to start.
	a, key := adopt.Adopter{Client: b.client}, client.ObjectKeyFromObject(b.cluster)
	capz := b.capz()
	plan := b.observe(a, key)
	if len(plan.Refusals) != 1 || plan.Apply(t.Context(), func(adopt.Change) {}) == nil {
		t.Fatalf("beside a CAPZ that runs: %+v", plan)
	}
	b.change(capz, func() { capz.Spec.Replicas = new(int32(0)) })

	mark := b.azure.mark()
	b.observe(adopt.Adopter{Client: readOnly{b.client, t}}, key)
	plan = b.observe(a, key)
	if plan.Machines != 1 || len(plan.Refusals) > 0 {
		t.Fatalf("%+v", plan)
	}
	for _, c := range plan.Changes {
		t.Logf("%s: %s (%s)", c.Object, c.Does, c.Why)
	}
	if err := plan.Apply(t.Context(), func(adopt.Change) {}); err != nil {
		t.Fatal(err)
	}
	for _, o := range []conditionsObject{b.azureC, m} {
		b.eventually(o, func() string {
			for _, c := range o.GetConditions() {
				if c.Reason == "" {
					return "has the condition " + c.Type + " of CAPZ"
				}
				if c.Type == clusterv1.ReadyCondition && c.Status == metav1.ConditionTrue {
					return ""
				}
			}
			return "not ready"
		})
	}
	b.onlyMarked(mark)
	if *m.Spec.ProviderID != desired.ProviderID(vm) || m.Status.FailureReason != nil {
		t.Errorf("the machine is %s, failed %v", *m.Spec.ProviderID, m.Status.FailureReason)
	}
	for _, o := range operator {
		if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			t.Errorf("%s %s of Azure Service Operator is still there: %v", o.GetKind(), o.GetName(), err)
		}
	}
	b.get(b.cluster)
	if b.cluster.Spec.Paused != nil && *b.cluster.Spec.Paused || len(b.cluster.Annotations) > 0 {
		t.Errorf("the cluster is paused: %v, annotations %v", b.cluster.Spec.Paused, b.cluster.Annotations)
	}
	if rest := b.observe(a, key); len(rest.Changes) > 0 {
		t.Errorf("a second run would %+v", rest.Changes)
	}
	// The adopted cluster is deleted like one that casement created.
	b.delete(m)
	b.gone(m)
	b.delete(b.azureC)
	b.gone(b.azureC)
	if left := b.azure.left(b.name); len(left) > 0 {
		t.Errorf("left in Azure: %v", left)
	}
}

// onlyMarked checks that since a mark in Azure's log nothing was written to Azure except tags.
func (b *bed) onlyMarked(mark uint64) {
	b.t.Helper()
	for call, n := range b.azure.writes(mark, b.name) {
		if !strings.HasPrefix(call, "PATCH ") {
			b.t.Errorf("Azure was asked to change: %d %s", n, call)
		}
	}
}

func (b *bed) observe(a adopt.Adopter, key client.ObjectKey) *adopt.Plan {
	b.t.Helper()
	plan, err := a.Observe(b.t.Context(), key)
	if err != nil {
		b.t.Fatal(err)
	}
	return plan
}

// capz returns the Deployment of CAPZ's manager as clusterctl installs it.
func (b *bed) capz() *appsv1.Deployment {
	b.t.Helper()
	labels := map[string]string{"control-plane": "capz-controller-manager"}
	d := &appsv1.Deployment{ObjectMeta: b.meta("capz-controller-manager"), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{Name: "manager", Image: "registry.k8s.io/cluster-api-azure/cluster-api-azure-controller:v1.26.0"},
			}}},
	}}
	b.create(d)
	return d
}

// left is a status that CAPZ has written, with the kind and name of its object.
type left struct {
	kind, name string
	status     map[string]any
}

// trueAsOfCAPZ returns a true condition of the v1beta1 contract.
func trueAsOfCAPZ(kind string) any {
	return map[string]any{"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
}

// statusAsOfCAPZ writes statuses of the v1beta1 contract: of the cluster, of the machine if it is
// not nil, and of more objects. It uses CAPZ's CRDs, because casement's would refuse them.
func (b *bed) statusAsOfCAPZ(m *infrav1.AzureMachine, more []left) {
	b.t.Helper()
	failed := map[string]any{"type": "BootstrapSucceeded", "status": "False", "severity": "Info",
		"reason": "BootstrapInProgress", "lastTransitionTime": "2026-01-01T00:00:00Z"}
	operation := map[string]any{"type": "PUT", "name": "x", "resourceGroup": b.name, "serviceName": "natgateways",
		"data": "eyJ0eXBlIjoiKmFybW5ldHdvcmsuTmF0R2F0ZXdheSJ9"}
	all := append([]left{{"AzureCluster", b.name, map[string]any{
		"ready": true, "conditions": []any{
			trueAsOfCAPZ("Ready"), trueAsOfCAPZ("NetworkInfrastructureReady"), trueAsOfCAPZ("VnetPeeringReady"),
		}, "longRunningOperationStates": []any{operation},
		"failureDomains": map[string]any{"1": map[string]any{"controlPlane": true}, "2": map[string]any{"controlPlane": true}},
	}}}, more...)
	if m != nil {
		all = append(all, left{"AzureMachine", m.Name, map[string]any{
			"ready": true, "vmState": "Succeeded",
			"conditions": []any{trueAsOfCAPZ("Ready"), trueAsOfCAPZ("VMRunning"), trueAsOfCAPZ("DisksReady"), failed},
		}})
	}
	ours, err := config.CRDs()
	if err != nil {
		b.t.Fatal(err)
	}
	// A change of a CRD ends the watches of its kind, so the other CRDs are left unchanged.
	ours = slices.DeleteFunc(ours, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return !slices.ContainsFunc(all, func(l left) bool { return l.kind == crd.Spec.Names.Kind })
	})
	theirs := make([]*apiextensionsv1.CustomResourceDefinition, len(ours))
	for i, crd := range ours {
		theirs[i] = crd.DeepCopy()
		for v := range theirs[i].Spec.Versions {
			status, ok := theirs[i].Spec.Versions[v].Schema.OpenAPIV3Schema.Properties["status"]
			if !ok {
				continue
			}
			status.Properties["conditions"] = apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{
				Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}}}
			if _, ok := status.Properties["failureDomains"]; ok {
				status.Properties["failureDomains"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
			}
			theirs[i].Spec.Versions[v].Schema.OpenAPIV3Schema.Properties["status"] = status
		}
	}
	ctx := b.t.Context()
	if err := kubeproc.InstallCRDs(ctx, b.config, theirs); err != nil {
		b.t.Fatal(err)
	}
	for _, l := range all {
		data, err := json.Marshal(map[string]any{"status": l.status})
		if err != nil {
			b.t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(infrav1.GroupVersion.WithKind(l.kind))
		o.SetNamespace(b.namespace)
		o.SetName(l.name)
		// The API server serves a changed kind shortly after the CRD is established.
		var refused error
		err = wait.PollUntilContextTimeout(ctx, often, patience, true, func(ctx context.Context) (bool, error) {
			refused = b.client.Status().Patch(ctx, o, client.RawPatch("application/merge-patch+json", data))
			return refused == nil, nil
		})
		if err != nil {
			b.t.Fatal(refused)
		}
	}
	if err := kubeproc.InstallCRDs(context.WithoutCancel(ctx), b.config, ours); err != nil {
		b.t.Fatal(err)
	}
}

// operatorAsOfCAPZ creates the objects that CAPZ writes for Azure Service Operator. The operator
// does not run here.
func (b *bed) operatorAsOfCAPZ() []*unstructured.Unstructured {
	b.t.Helper()
	kinds := []schema.GroupVersionKind{
		{Group: "resources.azure.com", Version: "v1api20200601", Kind: "ResourceGroup"},
		{Group: "network.azure.com", Version: "v1api20201101", Kind: "VirtualNetwork"},
		{Group: "network.azure.com", Version: "v1api20220701", Kind: "NatGateway"},
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	var objects []*unstructured.Unstructured
	for _, kind := range kinds {
		singular := strings.ToLower(kind.Kind)
		crds = append(crds, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + kind.Group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{
					Plural: singular + "s", Singular: singular, Kind: kind.Kind, ListKind: kind.Kind + "List",
				},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: kind.Version, Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{
						OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
					}}},
			},
		})
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		o.SetNamespace(b.namespace)
		o.SetName(b.name)
		o.SetFinalizers([]string{"serviceoperator.azure.com/finalizer"})
		o.SetAnnotations(map[string]string{"serviceoperator.azure.com/reconcile-policy": "manage"})
		o.SetOwnerReferences([]metav1.OwnerReference{
			{APIVersion: infrav1.GroupVersion.String(), Kind: "AzureCluster", Name: b.name, UID: b.azureC.UID},
		})
		objects = append(objects, o)
	}
	if err := kubeproc.InstallCRDs(b.t.Context(), b.config, crds); err != nil {
		b.t.Fatal(err)
	}
	for _, o := range objects {
		b.create(o)
	}
	b.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: b.namespace, Name: b.name + "-aso-secret", OwnerReferences: objects[0].GetOwnerReferences(),
	}})
	return objects
}

// readOnly is a client whose writes fail the test. Comparing the objects before and after would not
// suffice, because casement's controllers write the objects too.
type readOnly struct {
	client.Client
	t *testing.T
}

func (r readOnly) refuse(verb string, obj any) error {
	r.t.Errorf("looking changes something: %s of %T", verb, obj)
	return errors.ErrUnsupported
}

func (r readOnly) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	return r.refuse("create", obj)
}

func (r readOnly) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return r.refuse("update", obj)
}

func (r readOnly) Delete(_ context.Context, obj client.Object, _ ...client.DeleteOption) error {
	return r.refuse("delete", obj)
}

func (r readOnly) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return r.refuse("patch", obj)
}

func (r readOnly) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	return r.refuse("apply", obj)
}

func (r readOnly) DeleteAllOf(_ context.Context, obj client.Object, _ ...client.DeleteAllOfOption) error {
	return r.refuse("delete all", obj)
}

func (r readOnly) Status() client.SubResourceWriter { return r.SubResource("status") }

func (r readOnly) SubResource(name string) client.SubResourceClient {
	_ = r.refuse("subresource "+name, nil)
	return r.Client.SubResource(name)
}

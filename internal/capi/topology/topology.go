// Package topology computes, from manifests alone, the objects that Cluster API creates for a Cluster with a
// ClusterClass. The computation is Cluster API's own, but uses no API server.
//
// It refuses a class that is not among the manifests, and patches of a runtime extension. Only internal/cli imports it,
// for the program with the local plane; the client program would grow by a twentieth.
package topology

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/cluster-api/exp/topology/desiredstate"
	"sigs.k8s.io/cluster-api/exp/topology/scope"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Rendered is the result of rendering a Cluster with a topology.
type Rendered struct {
	// Class is the name of the ClusterClass.
	Class string
	// Objects are the Cluster with its references, and the objects that it refers to: infrastructure, control plane,
	// groups of machines and their templates. If Cluster API generates the last five characters of a name, they are
	// xx000, xx001 and so on here.
	Objects []*unstructured.Unstructured
	// Refused lists the errors that admission reports for the topology; there are no Objects then.
	Refused field.ErrorList
}

// Render renders a new Cluster of API version v1beta1 or v1beta2. all contains the class and its templates among other
// manifests. The error explains to a user why the Cluster cannot be rendered.
func Render(ctx context.Context, cluster *unstructured.Unstructured, all []*unstructured.Unstructured) (Rendered, error) {
	ctx = ctrl.LoggerInto(ctx, logr.Discard())
	r := renderer{all: all}
	typed, err := read(ctx, cluster, &clusterv1beta1.Cluster{}, &clusterv1.Cluster{}, conversion.ConvertClusterV1Beta1ToHub)
	if err != nil {
		return Rendered{}, err
	}
	// Admission accepts a version without the leading v and adds it.
	typed.Spec.Topology.Version = "v" + strings.TrimPrefix(typed.Spec.Topology.Version, "v")
	key := typed.GetClassKey()
	out := Rendered{Class: key.Name}
	class, err := r.class(ctx, key)
	if err != nil {
		return out, err
	}
	out.Refused = slices.Concat((&admission.Cluster{}).DefaultAndValidateVariables(ctx, typed, nil, class),
		admission.ValidateClusterForClusterClass(typed, class))
	if len(out.Refused) > 0 {
		return out, nil
	}
	first, err := r.objects(ctx, typed, class)
	if err != nil {
		return out, err
	}
	second, err := r.objects(ctx, typed, class)
	if err != nil {
		return out, err
	}
	out.Objects, err = placeholders(first, second)
	return out, err
}

// read converts an object of either API version to v1beta2.
func read[Old, Hub client.Object](ctx context.Context, o *unstructured.Unstructured, old Old, hub Hub,
	convert func(context.Context, Old, Hub) error) (Hub, error) {
	if o.GroupVersionKind().Version != clusterv1beta1.GroupVersion.Version {
		return hub, decode(o, hub)
	}
	if err := decode(o, old); err != nil {
		return hub, err
	}
	return hub, convert(ctx, old, hub)
}

func decode(o *unstructured.Unstructured, into client.Object) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// renderer renders from a set of manifests.
type renderer struct{ all []*unstructured.Unstructured }

// class returns a ClusterClass as its controller leaves it: the variables in its spec are also in its status.
func (r renderer) class(ctx context.Context, key client.ObjectKey) (*clusterv1.ClusterClass, error) {
	found, err := r.find(clusterv1.GroupVersion.Group, "ClusterClass", key.Namespace, key.Name)
	if err != nil {
		return nil, err
	}
	class, err := read(ctx, found, &clusterv1beta1.ClusterClass{}, &clusterv1.ClusterClass{}, conversion.ConvertClusterClassV1Beta1ToHub)
	if err != nil {
		return nil, err
	}
	class.Namespace = key.Namespace // a manifest may omit the namespace
	class.Status.Variables = nil
	for _, v := range class.Spec.Variables {
		class.Status.Variables = append(class.Status.Variables, clusterv1.ClusterClassStatusVariable{Name: v.Name,
			Definitions: []clusterv1.ClusterClassStatusVariableDefinition{{
				From: clusterv1.VariableDefinitionFromInline, Required: v.Required, Schema: v.Schema,
				DeprecatedV1Beta1Metadata: v.DeprecatedV1Beta1Metadata,
			}}})
	}
	for _, p := range class.Spec.Patches {
		if p.External != nil {
			return nil, fmt.Errorf("patch %s of ClusterClass %s comes from a runtime extension, which is not asked", p.Name, class.Name)
		}
	}
	return class, nil
}

// find returns a manifest. A manifest without a namespace matches any namespace: kubectl applies all objects of a file
// to the same namespace.
func (r renderer) find(group, kind, namespace, name string) (*unstructured.Unstructured, error) {
	for _, o := range r.all {
		if o.GetKind() == kind && o.GetName() == name && o.GroupVersionKind().Group == group &&
			(o.GetNamespace() == namespace || o.GetNamespace() == "" || namespace == "") {
			o = o.DeepCopy()
			o.SetNamespace(namespace)
			return o, nil
		}
	}
	return nil, fmt.Errorf("%s %s is not in the input", kind, name)
}

// objects computes the desired objects of a cluster that does not exist yet.
func (r renderer) objects(ctx context.Context, cluster *clusterv1.Cluster,
	class *clusterv1.ClusterClass) ([]*unstructured.Unstructured, error) {
	s := scope.New(cluster.DeepCopy())
	s.Current.ControlPlane = &scope.ControlPlaneState{}
	var err error
	if s.Blueprint, err = r.blueprint(cluster, class); err != nil {
		return nil, err
	}
	generator, err := desiredstate.NewGenerator(contractReader{}, noClusters{}, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	state, err := generator.Generate(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("ClusterClass %s: %w", class.Name, err)
	}
	return flatten(state)
}

// blueprint returns the class with the templates that it refers to.
func (r renderer) blueprint(cluster *clusterv1.Cluster, class *clusterv1.ClusterClass) (*scope.ClusterBlueprint, error) {
	var missing []error
	template := func(ref clusterv1.ClusterClassTemplateReference) *unstructured.Unstructured {
		o, err := r.find(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group, ref.Kind, class.Namespace, ref.Name)
		if err != nil {
			missing = append(missing, err)
		}
		return o
	}
	b := &scope.ClusterBlueprint{
		Topology: cluster.Spec.Topology, ClusterClass: class, InfrastructureClusterTemplate: template(
			class.Spec.Infrastructure.TemplateRef),
		ControlPlane: &scope.ControlPlaneBlueprint{Template: template(class.Spec.ControlPlane.TemplateRef),
			HealthCheck: class.Spec.ControlPlane.HealthCheck},
		MachineDeployments: map[string]*scope.MachineDeploymentBlueprint{}, MachinePools: map[string]*scope.MachinePoolBlueprint{},
	}
	if b.HasControlPlaneInfrastructureMachine() {
		b.ControlPlane.InfrastructureMachineTemplate = template(class.Spec.ControlPlane.MachineInfrastructure.TemplateRef)
	}
	for _, c := range class.Spec.Workers.MachineDeployments {
		b.MachineDeployments[c.Class] = &scope.MachineDeploymentBlueprint{Metadata: c.Metadata, HealthCheck: c.HealthCheck,
			BootstrapTemplate: template(c.Bootstrap.TemplateRef), InfrastructureMachineTemplate: template(c.Infrastructure.TemplateRef)}
	}
	for _, c := range class.Spec.Workers.MachinePools {
		b.MachinePools[c.Class] = &scope.MachinePoolBlueprint{Metadata: c.Metadata,
			BootstrapTemplate: template(c.Bootstrap.TemplateRef), InfrastructureMachinePoolTemplate: template(c.Infrastructure.TemplateRef)}
	}
	return b, errors.Join(missing...)
}

// flatten lists the objects of a state, always in the same order.
func flatten(state *scope.ClusterState) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	var failed []error
	add := func(o client.Object, kind string) {
		if u, ok := o.(*unstructured.Unstructured); ok {
			if u != nil {
				out = append(out, u)
			}
			return
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			failed = append(failed, err)
			return
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(kind))
		unstructured.RemoveNestedField(u.Object, "status")
		out = append(out, u)
	}
	add(state.Cluster, "Cluster")
	add(state.InfrastructureCluster, "")
	add(state.ControlPlane.Object, "")
	add(state.ControlPlane.InfrastructureMachineTemplate, "")
	for _, name := range slices.Sorted(maps.Keys(state.MachineDeployments)) {
		d := state.MachineDeployments[name]
		add(d.Object, "MachineDeployment")
		add(d.BootstrapTemplate, "")
		add(d.InfrastructureMachineTemplate, "")
	}
	for _, name := range slices.Sorted(maps.Keys(state.MachinePools)) {
		p := state.MachinePools[name]
		add(p.Object, "MachinePool")
		add(p.BootstrapObject, "")
		add(p.InfrastructureMachinePoolObject, "")
	}
	return out, errors.Join(failed...)
}

// placeholders replaces the generated suffixes of names in two renderings by the same placeholders, so that the
// renderings can be compared. Within a rendering the suffixes differ, as those of Cluster API do.
func placeholders(one, other []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var names []string
	for i, o := range one {
		end := fmt.Sprintf("xx%03d", i)
		if name := o.GetName(); name != other[i].GetName() && len(name) > len(end) {
			names = append(names, name, name[:len(name)-len(end)]+end)
		}
	}
	replace := strings.NewReplacer(names...)
	out := make([]*unstructured.Unstructured, 0, len(one))
	for _, o := range one {
		text, err := o.MarshalJSON()
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON([]byte(replace.Replace(string(text)))); err != nil {
			return nil, err
		}
		out = append(out, u)
	}
	return out, nil
}

// contractReader serves the only read of the API server in the computation: the contract that a version of the control
// plane's kind follows.
type contractReader struct{ client.Client }

// Get returns the same contract for every kind of Cluster API: contracts are named after the versions of
// its API (Cluster API book, "Contract version").
func (contractReader) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	crd, ok := into.(*metav1.PartialObjectMetadata)
	if !ok {
		return fmt.Errorf("%T %s is not among the manifests", into, key)
	}
	crd.Labels = map[string]string{}
	for _, version := range []string{clusterv1beta1.GroupVersion.Version, clusterv1.GroupVersion.Version} {
		crd.Labels[clusterv1.GroupVersion.Group+"/"+version] = version
	}
	return nil
}

// noClusters is a cluster cache that is never called: a cluster that does not exist yet has no
// nodes.
type noClusters struct{ clustercache.ClusterCache }

package preflight

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/kind"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/webhook"
)

// Plan is the set of clusters and machines that manifests declare.
type Plan struct {
	Clusters []*Cluster
	// Refused are the errors that Cluster API's admission reports for the topologies of Clusters.
	Refused map[*lint.Object]field.ErrorList
	// Server are the reasons why the management cluster would not create objects, in its words; nil if it was not queried.
	Server map[*lint.Object]string
	// objects are the objects of Cluster API, by kind, namespace and name.
	objects map[string]*lint.Object
	// created are the objects of casement's own kinds in order, and admitted has the results of their admission.
	created  []*lint.Object
	admitted map[*lint.Object]admitted
}

type admitted struct {
	webhook.Admission
	// content has the defaults of the schema, but not those of the webhook.
	content map[string]any
	err     error
}

// Cluster is a Cluster with its infrastructure.
type Cluster struct {
	// Object is the Cluster, and Infra its AzureCluster, nil if it is not in the input.
	Object, Infra *lint.Object
	// Azure is the AzureCluster with its defaults; nil if Infra is nil or cannot be parsed.
	Azure *infrav1.AzureCluster
	// Machines are the cluster's groups of machines.
	Machines []*Machines
}

// Machines are the machines that one object creates.
type Machines struct {
	// Owner is a KubeadmControlPlane, MachineDeployment, MachineSet, MachinePool or Machine. Infra and Bootstrap are
	// nil if they are not in the input.
	Owner, Infra, Bootstrap *lint.Object
	// Spec is the AzureMachine's spec; for a pool, it has the fields that a pool's template has too.
	Spec infrav1.AzureMachineSpec
	// At is the place of Spec, and Version the place of the Kubernetes version.
	At, Version lint.Value
	// Replicas is the initial number of machines.
	Replicas int
	// Zones are the availability zones in the group's spec.
	Zones []string
	// ControlPlane and Pool are true for these kinds of owners.
	ControlPlane, Pool bool
}

// Windows reports whether the machines run Windows.
func (m *Machines) Windows() bool { return m.Spec.OSDisk.OSType == "Windows" }

// Annotations returns the annotations that the infrastructure machines will have.
func (m *Machines) Annotations() map[string]string {
	all := map[string]string{}
	if m.Infra == nil {
		return all
	}
	places := []lint.Value{m.Infra.Root.At("metadata", "annotations")}
	if m.Infra.Kind == "AzureMachineTemplate" {
		places = []lint.Value{m.Infra.Root.At("spec", "template", "metadata", "annotations")}
	}
	for _, place := range places {
		for _, f := range place.Fields() {
			all[f.Key] = f.Value.Str()
		}
	}
	return all
}

// Read finds the clusters of a set. An error means that the program was built with invalid schemas.
func Read(set *lint.Set) (*Plan, error) {
	known, err := schemas()
	if err != nil {
		return nil, err
	}
	p := &Plan{objects: map[string]*lint.Object{}, admitted: map[*lint.Object]admitted{}}
	for _, o := range set.Objects {
		if !o.OfClusterAPI() {
			continue
		}
		p.objects[key(o.Kind, o.Namespace, o.Name)] = o
		if strings.HasPrefix(o.APIVersion, infrav1.GroupVersion.Group+"/") {
			p.admit(o, known[o.Kind])
		}
	}
	clusters := map[string]*Cluster{}
	for _, o := range set.Objects {
		if o.Kind == "Cluster" && p.has(o) {
			c := p.cluster(o)
			clusters[key("", o.Namespace, o.Name)] = c
			p.Clusters = append(p.Clusters, c)
		}
	}
	for _, o := range set.Objects {
		if path, ok := kind.Makers()[o.Kind]; ok && p.has(o) {
			m := p.machines(o, o.Root.At(path...))
			if c := clusters[key("", o.Namespace, p.clusterOf(o, clusters))]; c != nil {
				c.Machines = append(c.Machines, m)
			}
		}
	}
	return p, nil
}

func key(kind, namespace, name string) string {
	return kind + "/" + cmp.Or(namespace, "default") + "/" + name
}

func (p *Plan) has(o *lint.Object) bool { return p.objects[key(o.Kind, o.Namespace, o.Name)] == o }

// admit sets defaults and records errors as the API server would: by the schema, by the defaulting webhook, and by the
// validating webhook.
func (p *Plan) admit(o *lint.Object, s schema) {
	a := admitted{}
	raw, err := o.Root.JSON()
	if err == nil {
		err = json.Unmarshal(raw, &a.content)
	}
	if err == nil {
		s.applyDefaults(a.content)
		raw, err = json.Marshal(a.content)
	}
	if err == nil {
		a.Admission, err = webhook.Admit(o.Kind, raw)
	}
	if errors.Is(err, webhook.ErrNoAdmission) {
		return
	}
	a.err = err
	// Admission may have set a field that the schema requires, and an error of admission is not reported a second time.
	for _, e := range s.refuses(a.content) {
		if !slices.ContainsFunc(a.Errors, func(known *field.Error) bool { return known.Field == e.Field }) &&
			e.Type != field.ErrorTypeRequired {
			a.Errors = append(a.Errors, e)
		}
	}
	p.admitted[o] = a
	p.created = append(p.created, o)
}

// place returns the value at a path of the object with its schema defaults.
func (a admitted) place(path []string) any {
	var at any = a.content
	for _, key := range path {
		m, _ := at.(map[string]any)
		at = m[key]
	}
	return at
}

// refer returns the object to which a reference refers, or nil.
func (p *Plan) refer(from *lint.Object, ref lint.Value) *lint.Object {
	return p.objects[key(ref.At("kind").Str(), cmp.Or(ref.At("namespace").Str(), from.Namespace), ref.At("name").Str())]
}

func (p *Plan) cluster(o *lint.Object) *Cluster {
	c := &Cluster{Object: o, Infra: p.refer(o, o.Root.At("spec", "infrastructureRef"))}
	if azure, ok := p.admitted[c.Infra].Object.(*infrav1.AzureCluster); ok {
		c.Azure = azure
	}
	return c
}

// clusterOf returns the name of the cluster that machines belong to. A control plane has a label, or the Cluster refers to it.
func (p *Plan) clusterOf(o *lint.Object, clusters map[string]*Cluster) string {
	if o.Kind != "KubeadmControlPlane" {
		return cmp.Or(o.Root.At("spec", "clusterName").Str(), o.Root.At("spec", "template", "spec", "clusterName").Str())
	}
	for _, c := range clusters {
		if p.refer(c.Object, c.Object.Root.At("spec", "controlPlaneRef")) == o {
			return c.Object.Name
		}
	}
	return o.Root.At("metadata", "labels", "cluster.x-k8s.io/cluster-name").Str()
}

// infraRef returns the place of the reference to the infrastructure, which is different in each version of
// KubeadmControlPlane.
func infraRef(o *lint.Object, spec lint.Value) lint.Value {
	if o.Kind != "KubeadmControlPlane" {
		return spec.At("infrastructureRef")
	}
	for _, path := range [][]string{{"machineTemplate", "spec", "infrastructureRef"},
		{"machineTemplate", "infrastructureRef"}, {"infrastructureTemplate"}} {
		if v := spec.At(path...); v.Exists() {
			return v
		}
	}
	return spec.At("machineTemplate", "spec", "infrastructureRef")
}

func (p *Plan) machines(o *lint.Object, spec lint.Value) *Machines {
	m := &Machines{
		Owner: o, Infra: p.refer(o, infraRef(o, spec)), Bootstrap: p.refer(o, spec.At("bootstrap", "configRef")),
		Version: spec.At("version"), Replicas: 1, ControlPlane: o.Kind == "KubeadmControlPlane", Pool: o.Kind == "MachinePool",
	}
	if m.ControlPlane {
		m.Bootstrap = o
	}
	if n, ok := o.Root.At("spec", "replicas").Int(); ok && o.Kind != "Machine" {
		m.Replicas = int(n)
	}
	if m.Infra != nil {
		path := kind.VMs(false)[m.Infra.Kind]
		m.At = m.Infra.Root.At(path...)
		// check PRE501 reports a spec that cannot be parsed
		if raw, err := json.Marshal(p.admitted[m.Infra].place(path)); err == nil {
			_ = json.Unmarshal(raw, &m.Spec)
		}
	}
	zones := append(spec.At("failureDomains").Strings(), o.Root.At("spec", "failureDomains").Strings()...)
	zones = append(zones, spec.At("failureDomain").Str(), m.At.At("failureDomain").Str())
	m.Zones = slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(zones, func(z string) bool { return z == "" }))))
	return m
}

// in returns a place in an object by its path, for a finding.
func in(o *lint.Object, path string) lint.Value { return o.Root.Find(path) }

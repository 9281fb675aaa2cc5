package integration

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
)

var (
	nonsenseAll = flag.Bool("nonsense", false, "every nonsense value of every field; otherwise some, by the seed")
	seed        = flag.Uint64("seed", 13, "of what is drawn: nonsense values, faults")
)

// spot is a position in a Go value: the fields, pointers and elements that lead to it.
type spot struct {
	path  string
	steps []int // for a struct the index of the field; elsewhere 0, for the pointer's value or the first element
	kind  reflect.Type
}

// spots returns every position in a type that can have an invalid value.
func spots(t reflect.Type, path string, steps []int) []spot {
	here := spot{path, append([]int(nil), steps...), t}
	switch t.Kind() {
	case reflect.Pointer:
		return append([]spot{here}, spots(t.Elem(), path, append(steps, 0))...)
	case reflect.Slice:
		return append([]spot{here}, spots(t.Elem(), path+"[0]", append(steps, 0))...)
	case reflect.Struct:
		var out []spot
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "-" || f.Type.PkgPath() == "k8s.io/apimachinery/pkg/api/resource" {
				continue
			}
			out = append(out, spots(f.Type, strings.TrimPrefix(path+"."+name, "."), append(steps, i))...)
		}
		return out
	}
	return []spot{here}
}

// at returns the value at a spot; it creates nil pointers and missing elements on the path.
func (s spot) at(v reflect.Value) reflect.Value {
	for _, step := range s.steps {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		case reflect.Slice:
			if v.Len() == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			}
			v = v.Index(0)
		default:
			v = v.Field(step)
		}
	}
	return v
}

// nonsense returns functions that set the value at the spot to invalid values.
func (s spot) nonsense() []func(reflect.Value) {
	set := func(values ...any) (out []func(reflect.Value)) {
		for _, value := range values {
			out = append(out, func(v reflect.Value) { v.Set(reflect.ValueOf(value).Convert(v.Type())) })
		}
		return out
	}
	switch s.kind.Kind() {
	case reflect.String:
		return set("nonsense", "", "../../x", "a b?c=d#e/f%", strings.Repeat("x", 300), "/subscriptions/none/x", "é\u0007")
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8:
		return set(0, 77)
	case reflect.Bool:
		return []func(reflect.Value){func(v reflect.Value) { v.SetBool(!v.Bool()) }}
	case reflect.Map:
		return []func(reflect.Value){func(v reflect.Value) {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("../nonsense").Convert(v.Type().Key()), reflect.Zero(v.Type().Elem()))
		}}
	}
	return []func(reflect.Value){func(v reflect.Value) { v.SetZero() }}
}

// trial is one invalid value at one spot.
type trial struct {
	name string
	put  func(spec any)
}

// trials returns the trials of all spots of a type, or a random selection of count trials.
func trials(spec any, count int) []trial {
	var all []trial
	for _, s := range spots(reflect.TypeOf(spec).Elem(), "", nil) {
		for i, f := range s.nonsense() {
			all = append(all, trial{fmt.Sprintf("%s (%d)", s.path, i), func(spec any) { f(s.at(reflect.ValueOf(spec).Elem())) }})
		}
	}
	if *nonsenseAll {
		return all
	}
	random := rand.New(rand.NewPCG(*seed, 1))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(count, len(all))]
}

// admitting runs a test twice: with admission and without.
func admitting(t *testing.T, run func(*testing.T, map[string]string)) {
	t.Run("admission", func(t *testing.T) { run(t, nil) })
	t.Run("no admission", func(t *testing.T) { run(t, map[string]string{unadmitted: ""}) })
}

// tryCreate creates an object and reports whether the API server accepted it.
func (b *bed) tryCreate(o client.Object) bool {
	b.t.Helper()
	err := b.client.Create(b.t.Context(), o)
	if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) && !apierrors.IsBadRequest(err) {
		b.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
	return err == nil
}

// observed waits until the manager has set a condition of an object.
func (b *bed) observed(o conditionsObject) {
	b.t.Helper()
	b.eventually(o, func() string {
		if !conditions.Has(o, clusterv1.ReadyCondition) {
			return "nothing is said of it"
		}
		return ""
	})
}

// nothingLeft checks that Azure has no resource group that the cluster created, and no resource in
// the group with the cluster's name.
func (b *bed) nothingLeft() {
	b.t.Helper()
	if left := b.azure.left(b.name); len(left) > 0 {
		b.t.Errorf("left in Azure: %v", left)
	}
	for raw, err := range b.azure.client.List(b.t.Context(), "/subscriptions/"+subscription+"/resourceGroups",
		desired.ResourcesAPIVersion) {
		if err != nil {
			b.t.Fatal(err)
		}
		if strings.Contains(string(raw), desired.OwnershipTag(b.name)+`"`) {
			b.t.Errorf("a resource group is left in Azure: %s", raw)
		}
	}
}

// TestNonsenseMachines checks that an AzureMachine, an AzureMachinePool and an
// AzureMachinePoolMachine can be deleted with any value in their fields, and that their resources
// in Azure are deleted too.
func TestNonsenseMachines(t *testing.T) {
	t.Parallel()
	admitting(t, func(t *testing.T, labels map[string]string) {
		b := newBedIn(t, labels)
		b.sane(labels)
		b.provision()
		before := len(b.azure.left(b.name))
		var all []conditionsObject
		names := map[string]string{}
		for i, tr := range trials(&infrav1.AzureMachineSpec{}, 40) {
			m := b.machine(fmt.Sprintf("m-%d", i), []string{"Linux", "Windows"}[i%2], i%7 == 0)
			b.saneMachine(labels, &m.Spec)
			tr.put(&m.Spec)
			if b.tryCreate(m) {
				all, names[m.Name] = append(all, m), tr.name
			}
		}
		for i, tr := range trials(&infrav1.AzureMachinePoolSpec{}, 25) {
			if p := b.nonsensePool(labels, fmt.Sprintf("p-%d", i), tr); p != nil {
				all, names[p.Name] = append(all, p), tr.name
			}
		}
		for i, tr := range trials(&infrav1.AzureMachinePoolMachineSpec{}, 10) {
			m := &infrav1.AzureMachinePoolMachine{ObjectMeta: b.meta(fmt.Sprintf("i-%d", i))}
			tr.put(&m.Spec)
			if m.Spec.ProviderID == "" {
				m.Spec.ProviderID = "nonsense"
			}
			m.Finalizers = []string{infrav1.MachinePoolMachineFinalizer}
			m.OwnerReferences = b.owned("", "none", b.cluster).OwnerReferences
			m.OwnerReferences[0].APIVersion, m.OwnerReferences[0].Kind, m.OwnerReferences[0].Name =
				infrav1.GroupVersion.String(), "AzureMachinePool", "gone"
			if b.tryCreate(m) {
				if err := b.client.Delete(t.Context(), m); client.IgnoreNotFound(err) != nil { // the garbage collector may have deleted it already
					t.Fatal(err)
				}
				b.gone(m)
			}
		}
		for _, o := range all {
			if _, shown := o.(*infrav1.AzureMachinePoolMachine); !shown {
				b.observed(o)
			}
		}
		b.changeLater(labels, all)
		for _, o := range all {
			b.delete(o)
		}
		for _, o := range all {
			t.Log(o.GetName(), names[o.GetName()])
			b.gone(o)
		}
		if left := b.azure.left(b.name); len(left) != before {
			t.Errorf("of %d resources %d are left: %v", before, len(left), left)
		}
		b.delete(b.azureC)
		b.gone(b.azureC)
		b.nothingLeft()
	})
}

// changeLater sets invalid values in running machines where admission does not run.
func (b *bed) changeLater(labels map[string]string, all []conditionsObject) {
	if labels == nil {
		return
	}
	later := trials(&infrav1.AzureMachineSpec{}, 40)
	for i, o := range all {
		m, ok := o.(*infrav1.AzureMachine)
		if !ok || i%2 == 0 || m.Spec.ProviderID == nil {
			continue
		}
		b.get(m)
		before := m.DeepCopy()
		later[i%len(later)].put(&m.Spec)
		if err := b.client.Patch(b.t.Context(), m, client.MergeFrom(before)); err != nil && !apierrors.IsInvalid(err) {
			b.t.Fatal(err)
		}
	}
}

// sane sets the values that admission would set by default if admission does not run.
func (b *bed) sane(labels map[string]string) {
	if labels == nil {
		return
	}
	spec := &b.azureC.Spec
	spec.ResourceGroup = b.name
	spec.NetworkSpec.Vnet.Name = b.name + "-vnet"
	spec.NetworkSpec.Vnet.CIDRBlocks = []string{"10.0.0.0/8"}
	for i, role := range []infrav1.SubnetRole{infrav1.SubnetControlPlane, infrav1.SubnetNode} {
		subnet := infrav1.SubnetSpec{SubnetClassSpec: infrav1.SubnetClassSpec{
			Name: string(role), Role: role, CIDRBlocks: []string{fmt.Sprintf("10.%d.0.0/16", i)},
		}}
		subnet.SecurityGroup.Name, subnet.RouteTable.Name = string(role)+"-nsg", ""
		spec.NetworkSpec.Subnets = append(spec.NetworkSpec.Subnets, subnet)
	}
}

func (b *bed) saneMachine(labels map[string]string, spec *infrav1.AzureMachineSpec) {
	if labels == nil {
		return
	}
	spec.SSHPublicKey = anyKey
	spec.OSDisk.CachingType = "None"
	spec.NetworkInterfaces = []infrav1.NetworkInterface{{PrivateIPConfigs: 1}}
	spec.Identity = infrav1.VMIdentityNone
}

// nonsensePool creates a pool with an invalid value; it returns nil if the API server refuses it.
func (b *bed) nonsensePool(labels map[string]string, name string, tr trial) *infrav1.AzureMachinePool {
	b.t.Helper()
	data := &corev1.Secret{ObjectMeta: b.meta(name), Data: map[string][]byte{"value": []byte(goodBootstrapData)}}
	b.create(data)
	owner := &clusterv1.MachinePool{ObjectMeta: b.meta(name), Spec: clusterv1.MachinePoolSpec{
		ClusterName: b.name, Replicas: new(int32(1)),
		Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
			ClusterName: b.name, Version: olderVersion, Bootstrap: clusterv1.Bootstrap{DataSecretName: &data.Name},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "AzureMachinePool", Name: name,
			},
		}},
	}}
	owner.Labels = map[string]string{clusterv1.ClusterNameLabel: b.name}
	b.create(owner)
	p := &infrav1.AzureMachinePool{ObjectMeta: b.owned(name, "MachinePool", owner)}
	p.Spec.Location, p.Spec.OrchestrationMode = location, infrav1.UniformOrchestrationMode
	spec := p.MachineSpec()
	spec.VMSize, spec.OSDisk = vmSize, infrav1.OSDisk{OSType: "Linux", DiskSizeGB: new(int32(128))}
	b.saneMachine(labels, &spec)
	p.SetMachineSpec(spec)
	tr.put(&p.Spec)
	if !b.tryCreate(p) {
		return nil
	}
	return p
}

// TestNonsenseClusters checks that an AzureCluster can be deleted with any value in its fields.
func TestNonsenseClusters(t *testing.T) {
	t.Parallel()
	admitting(t, func(t *testing.T, labels map[string]string) {
		for i, tr := range trials(&infrav1.AzureClusterSpec{}, 20) {
			t.Run(fmt.Sprintf("n%d", i), func(t *testing.T) {
				t.Parallel()
				t.Log(tr.name)
				b := newBedIn(t, labels)
				b.sane(labels)
				tr.put(&b.azureC.Spec)
				if !b.tryCreate(b.azureC) {
					return
				}
				b.observed(b.azureC)
				b.delete(b.azureC)
				b.gone(b.azureC)
				b.nothingLeft()
			})
		}
	})
}

package webhook

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// words returns the values of random fields; there are few of them, so that rules about equal values apply.
func words() []string {
	return []string{"", "", "a", "b", "nodes", "10.0.0.0/16", "10.1.0.0/16", "fd00::/64", "10.0.0.100", "x y",
		"Public", "Internal", "node", "control-plane", "cluster", "bastion", "Windows", "Linux", "UltraSSD_LRS",
		"SystemAssigned", "UserAssigned", "Local", "Standard", "Managed", "AzureClusterIdentity"}
}

// fill sets the fields of v at random: about half stay unset.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Type() {
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.TypeMeta](),
		reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[corev1.ObjectReference]():
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i), depth)
		}
	case reflect.Slice:
		if n := r.IntN(4); n > 0 && depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i), depth-1)
			}
		}
	case reflect.String:
		v.SetString(words()[r.IntN(len(words()))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.IntN(24) - 3))
	}
}

// random returns a random spec of an object with the name demo.
func random[T any](seed uint64, spec func(*T) any) *T {
	obj := new(T)
	fill(rand.New(rand.NewPCG(seed, 1)), reflect.ValueOf(spec(obj)).Elem(), 3)
	return obj
}

// settles checks properties of every object, valid or not: defaulting twice equals
// defaulting once, an unchanged object is never refused, and applying the same manifest
// again changes nothing.
func settles[T any](t *testing.T, manifest T, clone func(T) T, inherit func(old, obj T), defaults func(T) error,
	refused func(old, obj T) int) {
	t.Helper()
	stored := clone(manifest)
	if err := defaults(stored); err != nil {
		t.Fatal(err)
	}
	twice := clone(stored)
	if err := defaults(twice); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, twice); diff != "" {
		t.Errorf("defaulting twice differs from once (-once +twice)\n%s", diff)
	}
	if n := refused(stored, clone(stored)); n > 0 {
		t.Errorf("%d errors for an update that changes nothing", n)
	}
	again := clone(manifest)
	inherit(stored, again)
	if err := defaults(again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, again); diff != "" {
		t.Errorf("applying the manifest again differs (-stored +again)\n%s", diff)
	}
}

func FuzzCluster(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		c := random(seed, func(c *infrav1.AzureCluster) any { return &c.Spec })
		c.Name = "demo"
		for i := range c.Spec.NetworkSpec.Subnets { // the schema refuses two subnets with the same name
			if s := &c.Spec.NetworkSpec.Subnets[i]; s.Name != "" || s.Role != infrav1.SubnetNode {
				s.Name = fmt.Sprintf("subnet-%d", i)
			}
		}
		settles(t, c, (*infrav1.AzureCluster).DeepCopy, inheritCluster, defaultCluster,
			func(old, obj *infrav1.AzureCluster) int { return len(validateCluster(old, obj)) })
		validateCluster(nil, c)
		ignored("AzureCluster", c)
	})
}

// FuzzMachine uses fewer seeds than the other tests, because generating keys is slow.
func FuzzMachine(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	key := machineKey(f)
	f.Fuzz(func(t *testing.T, seed uint64) {
		m := random(seed, func(m *infrav1.AzureMachine) any { return &m.Spec })
		m.Name, m.Spec.SSHPublicKey = "demo", key
		settles(t, m, (*infrav1.AzureMachine).DeepCopy, inheritMachine, defaultMachine,
			func(old, obj *infrav1.AzureMachine) int { return len(validateMachine(old, obj)) })
		validateMachine(nil, m)
		template := &infrav1.AzureMachineTemplate{}
		template.Spec.Template.Spec = m.Spec
		settles(t, template, (*infrav1.AzureMachineTemplate).DeepCopy, inheritMachineTemplate,
			defaultMachineTemplate, func(old, obj *infrav1.AzureMachineTemplate) int {
				return len(validateMachineTemplate(old, obj))
			})
	})
}

func machineKey(f *testing.F) string {
	f.Helper()
	m := &infrav1.AzureMachine{}
	if err := defaultMachine(m); err != nil {
		f.Fatal(err)
	}
	return m.Spec.SSHPublicKey
}

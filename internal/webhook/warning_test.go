package webhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/testing/golden"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestNotesExist: a note about a field that the CRDs do not have would never be
// raised.
func TestNotesExist(t *testing.T) {
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		kind := crd.Spec.Names.Kind
		for _, n := range notes(kind) {
			if !hasField(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, n.Path) {
				t.Errorf("%s has no field %s", kind, n.Path)
			}
		}
	}
}

func hasField(schema *apiextensionsv1.JSONSchemaProps, path string) bool {
	for step := range strings.SplitSeq(path, ".") {
		name, list := strings.CutSuffix(step, "[]")
		name, dict := strings.CutSuffix(name, "{}")
		child, ok := schema.Properties[name]
		if !ok {
			return false
		}
		switch schema = &child; {
		case list && child.Items == nil, dict && child.AdditionalProperties == nil:
			return false
		case list:
			schema = child.Items.Schema
		case dict:
			schema = child.AdditionalProperties.Schema
		}
	}
	return true
}

func TestIgnored(t *testing.T) {
	c := &infrav1.AzureCluster{}
	c.Spec.FailureDomains = map[string]infrav1.FailureDomainSpec{"1": {Attributes: map[string]string{"a": "b"}}, "2": {}}
	c.Spec.NetworkSpec.Subnets = []infrav1.SubnetSpec{{}, {RouteTable: infrav1.RouteTable{ID: "x"}}}
	template := &infrav1.AzureMachineTemplate{}
	template.Spec.Template.Spec.Image = &infrav1.Image{SharedGallery: &infrav1.AzureSharedGalleryImage{Name: "n"}}
	for name, tc := range map[string]struct {
		kind string
		obj  any
		want []string
	}{
		"cluster":  {"AzureCluster", c, []string{"spec.failureDomains[1].attributes", "spec.networkSpec.subnets[1].routeTable.id"}},
		"template": {"AzureMachineTemplate", template, []string{"spec.template.spec.image.sharedGallery"}},
		"nothing":  {"AzureMachine", &infrav1.AzureMachine{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, w := range ignored(tc.kind, tc.obj) {
				path, _, _ := strings.Cut(w, ": ")
				got = append(got, path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	named := func(name, os string) *infrav1.AzureMachine {
		m := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Spec.OSDisk.OSType = os
		return m
	}
	for name, tc := range map[string]struct {
		got  []string
		want string // beginning of the only warning
	}{
		"digits":        {warnMachine(named("2026", infrav1.WindowsOS)), "metadata.name: "},
		"dots":          {warnMachine(named("win.1", infrav1.WindowsOS)), "metadata.name: "},
		"digits, Linux": {warnMachine(named("2026", infrav1.LinuxOS)), ""},
		"usual":         {warnMachine(named("demo-md-win-abcde", infrav1.WindowsOS)), ""},
		"no namespace":  {warnIdentity(&infrav1.AzureClusterIdentity{}), "spec.allowedNamespaces: "},
		"all namespaces": {warnIdentity(&infrav1.AzureClusterIdentity{
			Spec: infrav1.AzureClusterIdentitySpec{AllowedNamespaces: &infrav1.AllowedNamespaces{}},
		}), ""},
		"empty selector": {warnIdentity(&infrav1.AzureClusterIdentity{Spec: infrav1.AzureClusterIdentitySpec{
			AllowedNamespaces: &infrav1.AllowedNamespaces{Selector: &metav1.LabelSelector{}}}}), "spec.allowedNamespaces.selector: "},
		"deprecated type": {warnIdentity(&infrav1.AzureClusterIdentity{Spec: infrav1.AzureClusterIdentitySpec{
			Type: infrav1.ManualServicePrincipal, AllowedNamespaces: &infrav1.AllowedNamespaces{}}}), "spec.type: "},
	} {
		t.Run(name, func(t *testing.T) {
			if len(tc.got) != min(1, len(tc.want)) || tc.want != "" && !strings.HasPrefix(tc.got[0], tc.want) {
				t.Errorf("warnings %q, want one that starts with %q", tc.got, tc.want)
			}
		})
	}
}

// TestWarnedOnce: a controller that patches an object does not get the warnings that its author already got.
func TestWarnedOnce(t *testing.T) {
	h := hook[*infrav1.AzureMachine]{kind: "AzureMachine", defaults: defaultMachine, validate: validateMachine, warn: warnMachine}
	m := machine(t, func(m *infrav1.AzureMachine) { m.Name, m.Spec.FailureDomain = "2026", new("1") })
	first, err := h.ValidateCreate(t.Context(), m)
	if err != nil || len(first) != 2 {
		t.Fatalf("warnings %q, error %v, want two and none", first, err)
	}
	patched := m.DeepCopy()
	patched.Finalizers = []string{infrav1.MachineFinalizer}
	if again, err := h.ValidateUpdate(t.Context(), m, patched); err != nil || len(again) > 0 {
		t.Errorf("warnings %q, error %v, want none", again, err)
	}
}

// TestDocumented keeps the page with these fields up to date.
func TestDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Fields that do less than their names say

Made from the table in internal/webhook. Setting one raises a warning at admission. What is said of AzureMachine and
AzureCluster also holds for their templates.

| kind | field | when | why |
|---|---|---|---|
`)
	for _, n := range Notes() {
		when := "set"
		if n.OnChange {
			when = "changed later"
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", n.Kind, n.Path, when, n.Text)
	}
	golden.Compare(t, "../../docs/reference/ignored-fields.md", []byte(b.String()))
}

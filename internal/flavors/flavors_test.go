package flavors

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/testing/golden"
)

func values(extra ...string) func(string) (string, bool) {
	m := map[string]string{
		"CLUSTER_NAME": "demo", "KUBERNETES_VERSION": "v1.36.3", "CLUSTER_IDENTITY_NAME": "identity",
		"AZURE_LOCATION": "westeurope", "AZURE_SUBSCRIPTION_ID": "00000000-0000-0000-0000-000000000001",
		"AZURE_CLIENT_ID": "client", "AZURE_TENANT_ID": "tenant",
		"AZURE_CLUSTER_IDENTITY_SECRET_NAME": "secret", "AZURE_CLUSTER_IDENTITY_SECRET_NAMESPACE": "default",
		"DOMAIN_NAME": "corp.example", "DOMAIN_DNS_SERVERS": "10.1.0.4", "DOMAIN_JOIN_SECRET_URL": "https://v.vault.azure.net/secrets/join",
		"GMSA_IDENTITY_ID":      "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/gmsa",
		"WINDOWS_IMAGE_GALLERY": "nodes", "WINDOWS_IMAGE_NAME": "win-2022", "WINDOWS_IMAGE_RESOURCE_GROUP": "images",
		"WINDOWS_IMAGE_VERSION": "1.0.0",
	}
	for i := 0; i+1 < len(extra); i += 2 {
		m[extra[i]] = extra[i+1]
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func TestFlavors(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clusterv1.AddToScheme, controlplanev1.AddToScheme, bootstrapv1.AddToScheme, infrav1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, name := range List() {
		t.Run(name, func(t *testing.T) {
			template, err := Get(name)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, filepath.Join("testdata", FileName(name)), template)
			if Topology(name) {
				class, err := Class()
				if err != nil {
					t.Fatal(err)
				}
				golden.Compare(t, filepath.Join("testdata", ClassFileName), class)
				if template, err = WithClass(name); err != nil {
					t.Fatal(err)
				}
			}
			if Describe(name) == "" {
				t.Error("no description")
			}
			filled, _, err := Fill(template, values("WORKER_MACHINE_COUNT", "3"))
			if err != nil {
				t.Fatal(err)
			}
			windows := false
			for doc := range bytes.SplitSeq(filled, []byte("\n---\n")) {
				obj, gvk, err := strict.Decode(doc, nil, nil)
				if err != nil {
					t.Fatalf("%v\n%s", err, doc)
				}
				if md, ok := obj.(*clusterv1.MachineDeployment); ok && strings.HasSuffix(md.Name, "-md-win") {
					windows = true
					if *md.Spec.Replicas != 3 {
						t.Errorf("%d Windows workers, want as many as Linux ones", *md.Spec.Replicas)
					}
				}
				if m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err != nil ||
					m["metadata"].(map[string]any)["namespace"] != "default" {
					t.Errorf("%s: namespace in %v, %v", gvk.Kind, m["metadata"], err)
				}
			}
			if windows != strings.HasPrefix(name, "windows") {
				t.Errorf("Windows workers: %t", windows)
			}
		})
	}
	if _, err := Get("nope"); err == nil || !strings.Contains(err.Error(), "windows") {
		t.Errorf("an unknown flavor: %v", err)
	}
}

func TestSSHKey(t *testing.T) {
	template, err := Get("windows")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"": "sshAuthorizedKeys: [ ]", "ssh-ed25519 AAAA me@here": "sshAuthorizedKeys: [ssh-ed25519 AAAA me@here]",
	} {
		out, _, err := Fill(template, values("AZURE_SSH_PUBLIC_KEY", key))
		if err != nil || !bytes.Contains(out, []byte(want)) {
			t.Errorf("key %q: no %q, %v", key, want, err)
		}
	}
}

func TestFill(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"NAME": "c", "EMPTY": "", "VERSION": "v1.36.3"}[name]
		return v, ok
	}
	for _, tt := range []struct {
		name, in, want string
		missing        []string
	}{
		{"plain", "a: ${NAME}", "a: c", nil},
		{"blanks", "a: ${ NAME } ${NAME } ${ NAME}", "a: c c c", nil},
		{"default with =", "a: ${NO:=x}", "a: x", nil},
		{"default with -", "a: ${NO:-1}", "a: 1", nil},
		{"quoted default", `a: ${NO:=""}`, `a: ""`, nil},
		{"blank default", "a: [${NO:= }]", "a: [ ]", nil},
		{"default for an empty value", "a: ${EMPTY:=x}", "a: x", nil},
		{"empty value", "a: ${EMPTY}", "a: ", nil},
		{"default not used", "a: ${NAME:=x}", "a: c", nil},
		{"nested default", "a: ${VNET:=${NAME}-vnet}", "a: c-vnet", nil},
		{"doubly nested default", "a: ${A:=${B:=${NAME}}}", "a: c", nil},
		{"escaped", `sed "s/X/$${mac}/g"`, `sed "s/X/${mac}/g"`, nil},
		{"dollars of others", "awk '{ print $17 }' $(ip)", "awk '{ print $17 }' $(ip)", nil},
		{"jinja", `{{ ds.meta_data["local_hostname"] }}`, `{{ ds.meta_data["local_hostname"] }}`, nil},
		{"bash functions", "${VERSION/v/} ${NAME^^} ${#NAME}", "1.36.3 C 1", nil},
		{"missing", "a: ${X}\nb: ${Y} ${NAME}\nc: ${X}", "", []string{"X", "Y"}},
		{"missing in a default", "a: ${A:=${X}-vnet}", "", []string{"X"}},
		{"missing in a default that is not used", "a: ${NAME:=${X}-vnet}", "a: c", nil},
		{"default at first use only", "a: ${X:=1} ${X}", "a: 1 ", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			judge(t, tt.in, lookup)
			got, _, err := Fill([]byte(tt.in), lookup)
			var names []string
			if missing, ok := errors.AsType[*MissingError](err); ok {
				for _, v := range missing.Variables {
					names = append(names, v.Name)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want || !cmp.Equal(names, tt.missing) {
				t.Errorf("Fill = %q, missing %v; want %q, %v", got, names, tt.want, tt.missing)
			}
		})
	}
	_, _, err := Fill([]byte("a: ${X}\n  b: ${Y}\nc: ${X}"), lookup)
	if want := "X (line 1: a: ${X}; and 1 more)\n  Y (line 2: b: ${Y})"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %q does not say %q", err, want)
	}
	if _, _, err := Fill([]byte("a: ${X"), lookup); err == nil {
		t.Error("an open brace was accepted")
	}
}

func TestVariables(t *testing.T) {
	got, err := Variables([]byte("a: ${NAME}\nb: ${VNET:=${NAME}-vnet}\nc: ${N:-1} ${NAMES}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Variable{
		{Name: "N", Default: new("1"), Lines: []int{3}},
		{Name: "NAME", Lines: []int{1, 2}},
		{Name: "NAMES", Lines: []int{3}},
		{Name: "VNET", Default: new("${NAME}-vnet"), Lines: []int{2}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzFill(f *testing.F) {
	for _, s := range []string{"${A}", "${A:=${B}-x}", "$${A}", "${", "${A/b/c}", "${#A}", "${ A }", "${A:1:2}", "a $ b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if utf8.ValidString(s) && !strings.Contains(s, "\x00") { // Fill only accepts text
			judge(t, s, func(string) (string, bool) { return "v", true })
		}
		out, _, err := Fill([]byte(s), func(string) (string, bool) { return "v", true })
		if err == nil && !strings.Contains(s, "$") && string(out) != s {
			t.Errorf("text without variables changed: %q to %q", s, out)
		}
	})
}

// TestEveryWorkerIsRepaired: each group of workers of each flavor has a MachineHealthCheck, its own or its class's,
// with a timeout that is long enough for Windows.
func TestEveryWorkerIsRepaired(t *testing.T) {
	class, err := Class()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all() {
		text, err := Get(f.name)
		if err != nil {
			t.Fatal(err)
		}
		checks := strings.Count(string(text), "kind: MachineHealthCheck\n")
		if f.Topology && !f.Pools {
			checks = strings.Count(string(class), "      healthCheck:\n")
			text = class
		}
		if checks != len(f.Workers()) {
			t.Errorf("flavor %s has %d health checks and %d groups of workers", f.name, checks, len(f.Workers()))
		}
		if slow := strings.Count(string(text), "nodeStartupTimeoutSeconds: 2400\n"); f.Windows && slow != 1 {
			t.Errorf("flavor %s has %d health checks for Windows", f.name, slow)
		}
	}
}

// TestFillIsBounded: the size of the result is limited before it is built, and a template with many variables is parsed once.
func TestFillIsBounded(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	for name, c := range map[string]struct{ template, want string }{
		"100,000 times 100 kB": {strings.Repeat("${LONG}\n", 100_000), "more than 64 MiB"},
		"by defaults":          {strings.Repeat("${NONE:-${LONG}}\n", 100_000), "more than 64 MiB"},
		"by replacement":       {"${LONG//a/${LONG}}", "more than 64 MiB"},
		"by nested ones":       {"${LONG//a/${LONG//a/${LONG}}}", "more than 64 MiB"},
		"deep":                 {strings.Repeat("${A:=", 1_000_000) + strings.Repeat("}", 1_000_000), "deep in each other"},
		"a long one":           {"${LONG}", ""},
		"a replacement":        {"${LONG//b/" + long + "}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Fill([]byte(c.template), func(name string) (string, bool) { return long, name == "LONG" || name == "A" })
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, "a${V%d}b ${#V%d}\n", i, i)
	}
	got, err := Variables([]byte(many.String()))
	if err != nil || len(got) != 100_000 || !slices.Equal(got[99_999].Lines, []int{100_000}) {
		t.Errorf("%d variables, %v", len(got), err)
	}
}

func TestIdentityType(t *testing.T) {
	const capz = "kind: Cluster\nspec: {type: 7}\n---\nkind: AzureClusterIdentity\n" +
		"metadata: {name: cluster-identity}\nspec: {type: WorkloadIdentity}\n"
	for name, c := range map[string]struct{ text, want string }{
		"of another type": {capz, "WorkloadIdentity"},
		"another name":    {strings.Replace(capz, "name: cluster-identity", "name: mine", 1), ""},
		"none":            {"kind: Cluster\n", ""},
		"no YAML":         {"a: [", ""},
	} {
		if got := IdentityType([]byte(c.text), "cluster-identity"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

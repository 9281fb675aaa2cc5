package webhook

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/testing/golden"
)

// TestGolden admits whole manifests as the API server would: the CRD's defaults,
// casement's, casement's validation, the CRD's schema. The golden files contain the stored
// objects.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for document := range strings.SplitSeq(string(data), "\n---\n") {
				stored, warnings := admit(t, document)
				text, err := yaml.Marshal(stored)
				if err != nil {
					t.Fatal(err)
				}
				out.WriteString("---\n")
				for _, w := range warnings {
					out.WriteString("# warning: " + w + "\n")
				}
				out.Write(text)
			}
			golden.Compare(t, strings.TrimSuffix(name, ".yaml")+".golden", out.Bytes())
		})
	}
}

// admit creates one object through admission and returns the result.
func admit(t *testing.T, document string) (stored map[string]any, warnings []string) {
	t.Helper()
	var raw map[string]any
	if err := yaml.UnmarshalStrict([]byte(document), &raw); err != nil {
		t.Fatal(err)
	}
	kind := raw["kind"].(string)
	schema, validator := schemaOf(t, kind)
	defaulting.Default(raw, schema)
	switch kind {
	case "AzureCluster":
		warnings = through(t, raw, &infrav1.AzureCluster{},
			hook[*infrav1.AzureCluster]{kind: kind, defaults: defaultCluster, validate: validateCluster})
	case "AzureClusterTemplate":
		warnings = through(t, raw, &infrav1.AzureClusterTemplate{}, hook[*infrav1.AzureClusterTemplate]{
			kind: kind, defaults: defaultClusterTemplate, validate: validateClusterTemplate,
		})
	case "AzureMachine":
		warnings = through(t, raw, &infrav1.AzureMachine{}, hook[*infrav1.AzureMachine]{
			kind: kind, defaults: defaultMachine, validate: validateMachine, warn: warnMachine,
		})
	case "AzureMachineTemplate":
		warnings = through(t, raw, &infrav1.AzureMachineTemplate{}, hook[*infrav1.AzureMachineTemplate]{
			kind: kind, defaults: defaultMachineTemplate, validate: validateMachineTemplate,
		})
	case "AzureClusterIdentity":
		warnings = through(t, raw, &infrav1.AzureClusterIdentity{},
			hook[*infrav1.AzureClusterIdentity]{kind: kind, validate: validateIdentity, warn: warnIdentity})
	default:
		t.Fatalf("kind %s has no webhook", kind)
	}
	if errs := validation.ValidateCustomResource(field.NewPath(""), raw, validator); len(errs) > 0 {
		t.Errorf("%s: the schema refuses the admitted object: %v", kind, errs)
	}
	return raw, warnings
}

// through decodes, defaults and validates, and applies the fields that defaulting added or removed to raw. Fields that
// only decoding loses are kept, as in controller-runtime.
func through[T client.Object](t *testing.T, raw map[string]any, obj T, h hook[T]) []string {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, obj); err != nil {
		t.Fatal(err)
	}
	before := unstructuredOf(t, obj)
	if h.defaults != nil {
		if err := h.Default(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	warnings, err := h.ValidateCreate(t.Context(), obj)
	if err != nil {
		t.Errorf("refused: %v", err)
	}
	apply(raw, before, unstructuredOf(t, obj))
	hideKey(raw)
	return warnings
}

func unstructuredOf(t *testing.T, obj client.Object) map[string]any {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	delete(m, "status")
	return m
}

func apply(raw, before, after map[string]any) {
	for key := range before {
		if _, ok := after[key]; !ok {
			delete(raw, key)
		}
	}
	for key, value := range after {
		child, isMap := value.(map[string]any)
		into, was := raw[key].(map[string]any)
		if !isMap || !was {
			raw[key] = value
			continue
		}
		old, _ := before[key].(map[string]any)
		apply(into, old, child)
	}
}

// hideKey replaces the random key, which differs each time.
func hideKey(v any) {
	m, _ := v.(map[string]any)
	for key, child := range m {
		if key == "sshPublicKey" && child != "" {
			m[key] = "(generated)"
		}
		hideKey(child)
	}
}

func schemaOf(t *testing.T, kind string) (*structuralschema.Structural, validation.SchemaValidator) {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if crd.Spec.Names.Kind != kind {
			continue
		}
		internal := &apiextensions.CustomResourceValidation{}
		if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(
			crd.Spec.Versions[0].Schema, internal, nil); err != nil {
			t.Fatal(err)
		}
		schema, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
		if err != nil {
			t.Fatal(err)
		}
		validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
		if err != nil {
			t.Fatal(err)
		}
		return schema, validator
	}
	t.Fatalf("no CRD of kind %s", kind)
	return nil, nil
}

// TestShell sends requests like the API server.
func TestShell(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	h := hook[*infrav1.AzureMachine]{kind: "AzureMachine", inherit: inheritMachine, defaults: defaultMachine, validate: validateMachine}
	old := machine(t, nil)
	manifest := old.DeepCopy()
	manifest.Spec.SSHPublicKey = ""
	request := func(dryRun bool, m *infrav1.AzureMachine) admission.Request {
		return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: admissionv1.Update, DryRun: &dryRun, OldObject: rawOf(t, old), Object: rawOf(t, m),
		}}
	}
	t.Run("the key of the stored object is kept", func(t *testing.T) {
		resp := admission.WithDefaulter(scheme, h).Handle(t.Context(), request(false, manifest))
		if !resp.Allowed || len(resp.Patches) != 1 || resp.Patches[0].Path != "/spec/sshPublicKey" ||
			resp.Patches[0].Value != old.Spec.SSHPublicKey {
			t.Errorf("response %+v, want one patch that brings the key back", resp)
		}
	})
	changed := old.DeepCopy()
	changed.Spec.OSDisk.DiskSizeGB = new(int32(64))
	t.Run("a change is refused", func(t *testing.T) {
		if resp := admission.WithValidator(scheme, h).Handle(t.Context(), request(false, changed)); resp.Allowed {
			t.Error("allowed")
		}
	})
	t.Run("the topology controller may try it", func(t *testing.T) {
		tried := changed.DeepCopy()
		tried.Annotations = map[string]string{"topology.cluster.x-k8s.io/dry-run": ""}
		if resp := admission.WithValidator(scheme, h).Handle(t.Context(), request(true, tried)); !resp.Allowed {
			t.Errorf("refused: %v", resp.Result)
		}
		if resp := admission.WithValidator(scheme, h).Handle(t.Context(), request(false, tried)); resp.Allowed {
			t.Error("the annotation alone opens the door")
		}
	})
	t.Run("an object on its way out is left alone", func(t *testing.T) {
		gone := changed.DeepCopy()
		gone.DeletionTimestamp = new(metav1.Unix(1, 0))
		if resp := admission.WithValidator(scheme, h).Handle(t.Context(), request(false, gone)); !resp.Allowed {
			t.Errorf("refused: %v", resp.Result)
		}
	})
}

func rawOf(t *testing.T, m *infrav1.AzureMachine) runtime.RawExtension {
	t.Helper()
	m.SetGroupVersionKind(infrav1.GroupVersion.WithKind("AzureMachine"))
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: data}
}

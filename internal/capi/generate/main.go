// Command generate writes manifests.json.gz: the CRDs and webhook
// configurations of the cluster-api module that go.mod requires.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"casement.dev/casement/internal/capi"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return fmt.Errorf("find the cluster-api module: %w", err)
	}
	root := strings.TrimSpace(string(out))
	var providers []capi.Provider
	for _, p := range []struct{ name, dir string }{
		{"cluster-api", "core"},
		{"bootstrap-kubeadm", "bootstrap/kubeadm"},
		{"control-plane-kubeadm", "controlplane/kubeadm"},
	} {
		provider, err := read(p.name, filepath.Join(root, p.dir, "config"))
		if err != nil {
			return err
		}
		providers = append(providers, provider)
	}
	data, err := json.Marshal(providers)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile("manifests.json.gz", buf.Bytes(), 0o644)
}

func read(name, config string) (capi.Provider, error) {
	p := capi.Provider{Name: name}
	crds, err := filepath.Glob(filepath.Join(config, "crd", "bases", "*.yaml"))
	if err != nil || len(crds) == 0 {
		return p, fmt.Errorf("no CRDs below %s (%v)", config, err)
	}
	for _, file := range append(crds, filepath.Join(config, "webhook", "manifests.yaml")) {
		if err := readFile(file, &p); err != nil {
			return p, fmt.Errorf("%s: %w", file, err)
		}
	}
	return p, nil
}

func readFile(file string, p *capi.Provider) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	dec := yaml.NewYAMLOrJSONDecoder(f, 1<<20)
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var kind struct{ Kind string }
		if err := json.Unmarshal(raw, &kind); err != nil {
			return err
		}
		switch kind.Kind {
		case "CustomResourceDefinition":
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := json.Unmarshal(raw, crd); err != nil {
				return err
			}
			label(p.Name, crd)
			for i := range crd.Spec.Versions {
				strip(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
			}
			p.CRDs = append(p.CRDs, crd)
		case "MutatingWebhookConfiguration":
			w := &admissionv1.MutatingWebhookConfiguration{}
			if err := json.Unmarshal(raw, w); err != nil {
				return err
			}
			p.Mutating = append(p.Mutating, w)
		case "ValidatingWebhookConfiguration":
			w := &admissionv1.ValidatingWebhookConfiguration{}
			if err := json.Unmarshal(raw, w); err != nil {
				return err
			}
			p.Validating = append(p.Validating, w)
		default:
			return fmt.Errorf("unexpected kind %q", kind.Kind)
		}
	}
}

// label adds a CRD's contract labels. Cluster API's own kinds follow the contract of the version in which they are served.
func label(provider string, crd *apiextensionsv1.CustomResourceDefinition) {
	var v1beta1, v1beta2 []string
	for _, v := range crd.Spec.Versions {
		switch {
		case v.Served && v.Name == "v1beta1":
			v1beta1 = append(v1beta1, v.Name)
		case v.Served && v.Name == "v1beta2":
			v1beta2 = append(v1beta2, v.Name)
		}
	}
	if crd.Labels == nil {
		crd.Labels = map[string]string{}
	}
	for k, v := range capi.ContractLabels(provider, v1beta1, v1beta2) {
		crd.Labels[k] = v
	}
}

// strip removes the descriptions below a schema.
func strip(s *apiextensionsv1.JSONSchemaProps) {
	if s == nil {
		return
	}
	s.Description = ""
	for name, child := range s.Properties {
		strip(&child)
		s.Properties[name] = child
	}
	if s.Items != nil {
		strip(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		strip(s.AdditionalProperties.Schema)
	}
}

package config

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestComponents: the objects of a provider have the label by which clusterctl finds them,
// and the webhooks and the Deployment refer to installed objects.
func TestComponents(t *testing.T) {
	data, err := Components("example.com/casement-manager:v0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	names := map[string]bool{}
	for _, document := range strings.Split(string(data), "\n---\n") {
		var o struct {
			Kind     string
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Webhooks []struct {
				ClientConfig struct {
					Service struct{ Name, Namespace string }
				}
			}
			Spec struct {
				Template struct {
					Spec struct {
						ServiceAccountName string
						Containers         []struct{ Image string }
						Volumes            []struct{ Secret struct{ SecretName string } }
					}
				}
				SecretName string
			}
		}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		count[o.Kind]++
		names[o.Kind+"/"+o.Metadata.Name] = true
		if o.Metadata.Labels[ProviderLabel] != Provider {
			t.Errorf("%s %s lacks the label of the provider", o.Kind, o.Metadata.Name)
		}
		for _, w := range o.Webhooks {
			if s := w.ClientConfig.Service; !names["Service/"+s.Name] || s.Namespace != namespace {
				t.Errorf("%s names a service %s/%s that is not installed", o.Metadata.Name, s.Namespace, s.Name)
			}
		}
		if o.Kind == "Certificate" {
			names["Secret/"+o.Spec.SecretName] = true
		}
		if o.Kind == "Deployment" {
			pod := o.Spec.Template.Spec
			if pod.Containers[0].Image != "example.com/casement-manager:v0.0.1" ||
				!names["ServiceAccount/"+pod.ServiceAccountName] ||
				!names["Secret/"+pod.Volumes[0].Secret.SecretName] {
				t.Errorf("the Deployment names what is not installed: %+v", pod)
			}
		}
	}
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	if count["CustomResourceDefinition"] != len(crds) || count["Deployment"] != 1 || count["ClusterRole"] != 2 ||
		count["MutatingWebhookConfiguration"] != 1 || count["ValidatingWebhookConfiguration"] != 2 {
		t.Errorf("installed kinds: %v", count)
	}
}

// TestSelfSignedComponents: nothing of cert-manager is left, the manager makes its
// certificate itself, and may do that for the configurations that are installed.
func TestSelfSignedComponents(t *testing.T) {
	data, err := SelfSignedComponents("example.com/casement-manager:v0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if strings.Contains(text, "cert-manager") {
		t.Error("cert-manager is still needed")
	}
	if strings.Contains(text, "${EXP_") {
		t.Error("variables of clusterctl are left, which kubectl does not know")
	}
	for _, want := range []string{"--webhook-self-signed=casement-system/casement-webhook-service-cert",
		"--webhook-service=casement-system/casement-webhook-service"} {
		if !strings.Contains(text, want) {
			t.Errorf("the manager lacks %s", want)
		}
	}
	if strings.Contains(text, "volumeMounts") {
		t.Error("a Secret is mounted that does not exist before the manager runs")
	}
	var configurations, named []string
	for document := range strings.SplitSeq(text, "\n---\n") {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Rules    []struct{ APIGroups, ResourceNames []string }
		}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(o.Kind, "WebhookConfiguration") {
			configurations = append(configurations, o.Metadata.Name)
		}
		for _, r := range o.Rules {
			if slices.Contains(r.APIGroups, "admissionregistration.k8s.io") {
				named = append(named, r.ResourceNames...)
			}
		}
	}
	slices.Sort(configurations)
	slices.Sort(named)
	if !slices.Equal(configurations, named) {
		t.Errorf("installed are %v, and the manager may change %v", configurations, named)
	}
}

package capi

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/version"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

//go:generate go run ./generate

// manifests contains the CRDs and webhook configurations of the three providers as the cluster-api module publishes
// them, without descriptions, which would cost the API server 200 MB. `go generate` makes the file.
//
//go:embed manifests.json.gz
var manifests []byte

// Provider is the manifests of one provider.
type Provider struct {
	// Name is the value of the provider label, such as cluster-api.
	Name       string
	CRDs       []*apiextensionsv1.CustomResourceDefinition
	Mutating   []*admissionv1.MutatingWebhookConfiguration
	Validating []*admissionv1.ValidatingWebhookConfiguration
}

// Manifests returns the objects that the API server needs, with every webhook and conversion at https://host:port of
// its provider and with caBundle (PEM) as its CA. Unless upstream is set, they are changed so that the API server calls
// webhooks less often.
func Manifests(host string, ports Ports, caBundle []byte, upstream bool) ([]Provider, error) {
	r, err := gzip.NewReader(bytes.NewReader(manifests))
	if err != nil {
		return nil, fmt.Errorf("read the embedded cluster-api manifests: %w", err)
	}
	var providers []Provider
	if err := json.NewDecoder(r).Decode(&providers); err != nil {
		return nil, fmt.Errorf("read the embedded cluster-api manifests: %w", err)
	}
	byName := map[string]int{"cluster-api": ports.Core, "bootstrap-kubeadm": ports.Bootstrap, "control-plane-kubeadm": ports.ControlPlane}
	for _, p := range providers {
		base := fmt.Sprintf("https://%s:%d", host, byName[p.Name])
		for _, crd := range p.CRDs {
			pointConversion(crd, base, caBundle)
			if !upstream {
				serveStored(crd)
			}
		}
		PointWebhooks(p.Name, base, caBundle, p.Mutating, p.Validating)
		if !upstream {
			limitToChanges(p)
		}
	}
	return providers, nil
}

// limitToChanges limits the webhooks to updates that change the fields that Cluster API's admission checks:
// the spec, the labels and the annotations. Its controllers write owners and finalizers, and apply
// unchanged objects, many times for each machine.
func limitToChanges(p Provider) {
	var changed []string
	for _, field := range []string{"spec", "metadata.labels", "metadata.annotations"} {
		changed = append(changed, fmt.Sprintf("has(object.%[1]s) != has(oldObject.%[1]s) || (has(object.%[1]s) "+
			"&& object.%[1]s != oldObject.%[1]s)", field))
	}
	conditions := []admissionv1.MatchCondition{
		{Name: "changes", Expression: "request.operation != 'UPDATE' || " + strings.Join(changed, " || ")},
	}
	for _, w := range p.Mutating {
		for i := range w.Webhooks {
			w.Webhooks[i].MatchConditions = slices.Concat(conditions, exemptOwnManagers(w.Webhooks[i].Rules))
		}
	}
	for _, w := range p.Validating {
		for i := range w.Webhooks {
			w.Webhooks[i].MatchConditions = slices.Concat(conditions, exemptOwnManagers(w.Webhooks[i].Rules))
		}
	}
}

// exemptOwnManagers returns a match condition that exempts updates by Cluster API's own managers from a webhook for Machines or
// KubeadmConfigs: the managers run in the same process, and the webhooks check the input of users. It returns nil for
// webhooks for other kinds.
func exemptOwnManagers(rules []admissionv1.RuleWithOperations) []admissionv1.MatchCondition {
	for _, r := range rules {
		if !slices.Contains(r.Resources, "machines") && !slices.Contains(r.Resources, "kubeadmconfigs") {
			return nil
		}
	}
	return []admissionv1.MatchCondition{{Name: "strangers",
		Expression: fmt.Sprintf("request.operation != 'UPDATE' || request.userInfo.username != '%s'", User)}}
}

// pointConversion makes crd use the conversion webhook of the server at base, and adds the labels with the contract
// versions that Cluster API requires.
func pointConversion(crd *apiextensionsv1.CustomResourceDefinition, base string, caBundle []byte) {
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: new(base + "/convert"), CABundle: caBundle},
		},
	}
	if len(crd.Spec.Versions) == 1 {
		crd.Spec.Conversion = nil
	}
}

// byControllers are the kinds that only Cluster API's controllers write and that no template contains.
var byControllers = []string{"Machine", "MachineSet", "ClusterResourceSetBinding"}

// serveStored makes a kind that only controllers write served only in its stored version. An API server converts every
// change of an object, by webhook, to each served version: 20 times for each machine until its node is ready.
func serveStored(crd *apiextensionsv1.CustomResourceDefinition) {
	if !slices.Contains(byControllers, crd.Spec.Names.Kind) {
		return
	}
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Served = crd.Spec.Versions[i].Storage
	}
}

// webhookTimeout is the timeout of webhook calls in seconds, the maximum that an API server allows: upstream's ten
// seconds are too short for servers that share the processors of a busy machine.
const webhookTimeout int32 = 30

// PointWebhooks replaces the service references of webhook configurations by URLs below base, and their timeouts by
// webhookTimeout. prefix makes the names unique, because all providers use the same names.
func PointWebhooks(prefix, base string, caBundle []byte, mutating []*admissionv1.MutatingWebhookConfiguration,
	validating []*admissionv1.ValidatingWebhookConfiguration) {
	point := func(c *admissionv1.WebhookClientConfig, timeout **int32) {
		if c.Service == nil || c.Service.Path == nil {
			return
		}
		*c = admissionv1.WebhookClientConfig{URL: new(base + *c.Service.Path), CABundle: caBundle}
		*timeout = new(webhookTimeout)
	}
	for _, w := range mutating {
		w.Name = prefix + "-" + w.Name
		for i := range w.Webhooks {
			point(&w.Webhooks[i].ClientConfig, &w.Webhooks[i].TimeoutSeconds)
		}
	}
	for _, w := range validating {
		w.Name = prefix + "-" + w.Name
		for i := range w.Webhooks {
			point(&w.Webhooks[i].ClientConfig, &w.Webhooks[i].TimeoutSeconds)
		}
	}
}

// newestVersion returns the newest of the versions in a contract label, where they are separated by underscores.
func newestVersion(label string) string {
	versions := strings.Split(label, "_")
	return slices.MaxFunc(versions, version.CompareKubeAwareVersionStrings)
}

// ContractLabels returns the labels of a CRD whose kinds follow both contracts in the given
// API versions, oldest first.
func ContractLabels(provider string, v1beta1, v1beta2 []string) map[string]string {
	labels := map[string]string{clusterv1.ProviderNameLabel: provider}
	for contractVersion, served := range map[string][]string{"v1beta1": v1beta1, "v1beta2": v1beta2} {
		if len(served) > 0 {
			labels[clusterv1.GroupVersion.Group+"/"+contractVersion] = strings.Join(served, "_")
		}
	}
	return labels
}

package webhook

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/windows"
)

// Note is a field that is accepted but does not have the effect that its name suggests. Setting it raises a warning at admission.
type Note struct {
	// Kind is the kind with the field. A note on AzureMachine or AzureCluster also applies to its templates.
	Kind string
	// Path is the path of the field, with [] for the items of a list and {} for the values of a map.
	Path string
	// Text explains the reason, and names an alternative.
	Text string
	// OnChange is true if the field has its effect when the object is created, and only a later change has none.
	OnChange bool
}

// Notes returns the notes about the fields of all kinds, for the documentation.
func Notes() []Note {
	const byName = "casement finds resources by name and group, not by this ID"
	const made = "the VM exists and is not changed; only machines that are made later have it"
	return []Note{
		{Kind: "AzureCluster", Path: "spec.failureDomains{}.attributes", Text: "nothing reads it"},
		{Kind: "AzureCluster", Path: "spec.networkSpec.vnet.id", Text: byName},
		{Kind: "AzureCluster", Path: "spec.networkSpec.subnets[].securityGroup.id", Text: byName},
		{Kind: "AzureCluster", Path: "spec.networkSpec.subnets[].routeTable.id", Text: byName},
		{Kind: "AzureCluster", Path: "spec.networkSpec.subnets[].natGateway.id", Text: byName},
		{Kind: "AzureCluster", Path: "spec.networkSpec.apiServerLB.id", Text: byName},
		{Kind: "AzureCluster", Path: "spec.networkSpec.nodeOutboundLB.id", Text: byName},
		{Kind: "AzureCluster", Path: "spec.networkSpec.controlPlaneOutboundLB.id", Text: byName},
		{Kind: "AzureMachine", Path: "spec.failureDomain", Text: "deprecated: failureDomain of the Machine wins"},
		{Kind: "AzureMachine", Path: "spec.image.sharedGallery", Text: "deprecated: use computeGallery"},
		{Kind: "AzureMachine", Path: "spec.dataDisks[].managedDisk.securityProfile",
			Text: "Azure knows it for OS disks only; it is not sent"},
		{Kind: "AzureMachine", Path: "spec.vmSize", Text: made, OnChange: true},
		{Kind: "AzureMachine", Path: "spec.failureDomain", Text: made, OnChange: true},
		{Kind: "AzureMachine", Path: "spec.vmExtensions", Text: made, OnChange: true},
		{Kind: "AzureMachine", Path: "spec.dnsServers", Text: made, OnChange: true},
		{Kind: "AzureMachine", Path: "spec.additionalCapabilities", Text: made, OnChange: true},
		{Kind: "AzureClusterIdentity", Path: "spec.resourceID", Text: "deprecated: clientID alone names the identity"},
		{Kind: "AzureClusterIdentity", Path: "spec.userAssignedIdentityCredentialsCloudType",
			Text: "azureEnvironment of the AzureCluster names the cloud"},
	}
}

// notes returns the notes about the fields of one kind, with their paths in this kind.
func notes(kind string) []Note {
	base := strings.TrimSuffix(kind, "Template")
	var out []Note
	for _, n := range Notes() {
		if n.Kind != base {
			continue
		}
		if base != kind {
			n.Path = "spec.template." + n.Path
		}
		out = append(out, n)
	}
	return out
}

// ignored returns the warnings about an object's fields without effect.
func ignored(kind string, obj any) []string {
	root := document(obj)
	var out []string
	for _, n := range notes(kind) {
		if n.OnChange {
			continue
		}
		for path := range values(root, n.Path) {
			out = append(out, path+": "+n.Text)
		}
	}
	slices.Sort(out)
	return out
}

// withoutEffect returns the warnings about changes that come too late.
func withoutEffect(kind string, old, obj any) []string {
	if kind != "AzureMachine" { // a template cannot change, and a cluster is compared again
		return nil
	}
	was, is := document(old), document(obj)
	if len(values(was, "spec.providerID")) == 0 {
		return nil
	}
	var out []string
	for _, n := range notes(kind) {
		if n.OnChange && !reflect.DeepEqual(values(was, n.Path), values(is, n.Path)) {
			out = append(out, n.Path+": "+n.Text)
		}
	}
	return out
}

// document returns an object as decoded JSON.
func document(obj any) any {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil // parsed JSON can be marshalled, and a warning is no reason to fail
	}
	var root any
	if json.Unmarshal(data, &root) != nil {
		return nil
	}
	return root
}

// values returns the non-empty values at a path, by the path with its indexes.
func values(root any, path string) map[string]any {
	found := map[string]any{"": root}
	for step := range strings.SplitSeq(path, ".") {
		name, list := strings.CutSuffix(step, "[]")
		name, dict := strings.CutSuffix(name, "{}")
		next := map[string]any{}
		for at, value := range found {
			object, _ := value.(map[string]any)
			at = strings.TrimPrefix(at+"."+name, ".")
			switch child := object[name].(type) {
			case []any:
				if !list {
					next[at] = child
				}
				for i := 0; list && i < len(child); i++ {
					next[fmt.Sprintf("%s[%d]", at, i)] = child[i]
				}
			case map[string]any:
				if !dict {
					next[at] = child
					continue
				}
				for key, value := range child {
					next[fmt.Sprintf("%s[%s]", at, key)] = value
				}
			default:
				next[at] = child
			}
		}
		found = next
	}
	maps.DeleteFunc(found, func(_ string, v any) bool { return empty(v) })
	return found
}

func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == nil || reflect.ValueOf(v).IsZero()
}

// warnMachine warns about a machine's name that Windows refuses as a computer name, because it has dots or only digits.
func warnMachine(m *infrav1.AzureMachine) []string {
	if m.Spec.OSDisk.OSType != infrav1.WindowsOS {
		return nil
	}
	digits := strings.Trim(m.Name, "0123456789") == ""
	if m.Name == "" || !digits && !strings.Contains(m.Name, ".") {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: Windows refuses a computer name of digits alone or with dots; "+
		"the VM and its node are called %s", windows.ComputerName(m.Name, nil))}
}

// warnClusterTemplate warns about names and IDs that Azure refuses. They may be placeholders that the patches of a
// ClusterClass replace; a cluster that still has them is refused.
func warnClusterTemplate(t *infrav1.AzureClusterTemplate) []string {
	return placeholders(desired.ClusterNames(&t.Spec.Template.Spec), "spec.template.")
}

func warnMachineTemplate(t *infrav1.AzureMachineTemplate) []string {
	return placeholders(desired.MachineNames(&t.Spec.Template.Spec, "spec.template.spec"), "")
}

func warnPoolTemplate(t *infrav1.AzureMachinePoolTemplate) []string {
	p := &infrav1.AzureMachinePool{Spec: t.Spec.Template.Spec}
	spec := p.MachineSpec()
	return placeholders(desired.MachineNames(&spec, "spec.template.spec.template"), "")
}

func placeholders(wrong []*desired.InvalidError, prefix string) (out []string) {
	for _, w := range wrong {
		out = append(out, prefix+w.Field+": "+w.Reason+"; nothing can be made of the template unless a ClusterClass replaces it")
	}
	return out
}

func warnIdentity(i *infrav1.AzureClusterIdentity) []string {
	var out []string
	if i.Spec.Type == infrav1.ManualServicePrincipal {
		out = append(out, "spec.type: ManualServicePrincipal is deprecated; ServicePrincipal is the same")
	}
	switch allowed := i.Spec.AllowedNamespaces; {
	case allowed == nil:
		out = append(out, "spec.allowedNamespaces: not set, so that no AzureCluster may use this identity; {} allows all namespaces")
	case allowed.Selector != nil && len(allowed.Selector.MatchLabels) == 0 &&
		len(allowed.Selector.MatchExpressions) == 0 && len(allowed.NamespaceList) == 0:
		out = append(out, "spec.allowedNamespaces.selector: an empty selector matches no namespace; allowedNamespaces: {} allows all")
	}
	return out
}

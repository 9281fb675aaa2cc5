package privilege

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/azure/permission"
	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "run clusters with every feature, which takes minutes; make e2e does")

// secrets is the name of the feature that all flavors use.
const secrets = "bootstrap-secrets"

// object is a document of a manifest.
type object = map[string]any

// TestUsed runs clusters with every feature, deletes them, and compares the rights that the manager
// used with the rights that it has.
func TestUsed(t *testing.T) {
	if !*full {
		t.Skip("only with -full")
	}
	p := plane.New(t)
	p.Run(nil, "up", "--audit")
	group := "/resourceGroups/hub"
	for _, name := range []string{"hub", "base", "private", "more"} { // groups that exist before are not deleted as a whole
		p.Put("/resourceGroups/"+name, "2021-04-01", object{"location": "westeurope"})
	}
	p.Put(group+"/providers/Microsoft.Network/virtualNetworks/hub", "2024-05-01", object{"location": "westus",
		"properties": object{"addressSpace": object{"addressPrefixes": []string{"172.16.0.0/16"}}}})
	p.Put(group+"/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes", "2023-01-31", object{"location": "westus"})
	var nodes struct{ Properties struct{ PrincipalID string } }
	p.ARM(group+"/providers/Microsoft.ManagedIdentity/userAssignedIdentities/nodes", "2023-01-31", &nodes)
	p.Put("/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-000000000001", "2022-04-01", object{
		"properties": object{"principalId": nodes.Properties.PrincipalID, "principalType": "ServicePrincipal",
			"roleDefinitionId": "/subscriptions/" + p.Subscription() +
				"/providers/Microsoft.Authorization/roleDefinitions/b24988ac-6180-42a0-ab88-20f7382dd24c"}}) // the role Contributor

	create(t, p, "base", "windows", restrictNamespaces)
	checkGranted(t, p, permission.Base, secrets)
	p.Run(nil, "kubectl", "delete", "cluster", "base", "--timeout=4m")
	checkGranted(t, p, permission.Base, secrets)

	create(t, p, "pools", "machinepool-windows", nil)
	p.Run(nil, "kubectl", "scale", "machinepool", "pools-mp-0", "--replicas=0")
	p.Run(nil, "kubectl", "wait", "azuremachinepool", "pools-mp-0", "--for=jsonpath={.status.replicas}=0", "--timeout=3m")
	p.Run(nil, "kubectl", "delete", "machinepool", "pools-mp-0", "--timeout=3m")
	for _, secret := range []string{"another", p.ClientSecret()} { // a rotation, which the manager must follow
		p.Run(nil, "kubectl", "patch", "secret", "cluster-identity-secret", "--type=merge", "-p",
			`{"stringData":{"clientSecret":"`+secret+`"}}`)
	}
	checkGranted(t, p, permission.Base, secrets, "pools")

	create(t, p, "private", "private", nil)
	checkGranted(t, p, permission.Base, secrets, "pools", "private")
	create(t, p, "more", "windows", func(o object) { everything(o, p.Subscription()) })
	checkGranted(t, p)
	for _, name := range []string{"pools", "private", "more"} {
		p.Run(nil, "kubectl", "delete", "cluster", name, "--timeout=4m")
	}
	checkGranted(t, p)
	checkUsed(t, p)
	checkAudit(t, p.Home)
}

// create creates a cluster of a flavor, after change has been applied to each object, and waits
// until it is available.
func create(t *testing.T, p *plane.Plane, name, flavor string, change func(object)) {
	t.Helper()
	manifest := p.Run(nil, "generate", "cluster", name, "--flavor", flavor)
	var out bytes.Buffer
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		o := object{}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(o)
		}
		data, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "---\n%s", data)
	}
	p.Run(out.Bytes(), "kubectl", "apply", "-f", "-")
	p.Run(nil, "wait", name, "--timeout", "5m")
}

// restrictNamespaces makes the identity select namespaces by label, so that the manager reads the
// labels.
func restrictNamespaces(o object) {
	if o["kind"] == "AzureClusterIdentity" {
		child(o, "spec")["allowedNamespaces"] = object{"selector": object{"matchLabels": object{"kubernetes.io/metadata.name": "default"}}}
	}
}

// everything requests all features except those of pools and private clusters.
func everything(o object, subscription string) {
	hub := "/subscriptions/" + subscription + "/resourceGroups/hub/providers/"
	name, _ := child(o, "metadata")["name"].(string)
	switch o["kind"] {
	case "AzureCluster":
		spec := child(o, "spec")
		spec["location"] = "westus"
		spec["bastionSpec"] = object{"azureBastion": object{"subnet": object{
			"name": "AzureBastionSubnet", "role": "bastion", "cidrBlocks": []any{"10.255.255.192/26"},
		}}}
		child(child(spec, "networkSpec"), "vnet")["peerings"] = []any{object{"resourceGroup": "hub", "remoteVnetName": "hub"}}
	case "AzureMachineTemplate":
		spec := child(child(child(o, "spec"), "template"), "spec")
		switch {
		case strings.HasSuffix(name, "-md-0"):
			spec["identity"] = "SystemAssigned"
			spec["vmExtensions"] = []any{object{"name": "CustomScript", "publisher": "Microsoft.Azure.Extensions",
				"version": "2.1", "settings": object{"commandToExecute": "true"}}}
		case strings.HasSuffix(name, "-control-plane"):
			spec["identity"] = "UserAssigned"
			spec["userAssignedIdentities"] = []any{
				object{"providerID": "azure://" + hub + "Microsoft.ManagedIdentity/userAssignedIdentities/nodes"},
			}
		}
	}
}

// child returns the map under a key, which it creates if it is missing.
func child(o object, key string) object {
	c, ok := o[key].(object)
	if !ok {
		c = object{}
		o[key] = c
	}
	return c
}

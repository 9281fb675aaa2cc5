package desired

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// free are the text fields that are not names in a path: enums, addresses, and fields with a check of their
// own.
var free = []string{"id", "role", "cidrBlocks[0]", "dnsName", "ipTags[0].type", "ipTags[0].tag", "serviceEndpoints[0].service",
	"serviceEndpoints[0].locations[0]", "groupIDs[0]", "requestMessage", "privateIPAddresses[0]", "description", "protocol", "direction",
	"sourcePorts", "destinationPorts", "source", "sources[0]", "destination", "action", "privateIP", "sku", "type", "zones[0]",
	"azureEnvironment", "controlPlaneEndpoint.host", "privateDNSZone", "providerID", "identity", "osType", "option", "placement",
	"storageAccountType", "cachingType", "securityEncryptionType", "securityType", "evictionPolicy", "sshPublicKey", "dnsServers[0]",
	"storageAccountURI", "publisher", "version", "offer", "roleAssignmentName"}

// fill sets every pointer, slice and map of a value, and calls f with each text field's path.
func fill(v reflect.Value, path string, f func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), path, f)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path+"[0]", f)
	case reflect.Struct:
		if strings.HasPrefix(v.Type().PkgPath(), "k8s.io/") {
			return
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name == "" {
				fill(v.Field(i), path, f)
			} else {
				fill(v.Field(i), path+"."+name, f)
			}
		}
	case reflect.String:
		f(path, v)
	}
}

// TestEveryNameIsChecked: each text field of a spec is checked by Azure's rules, or is known not to be a name. A new
// field has to be added to one of them.
func TestEveryNameIsChecked(t *testing.T) {
	skipped := func(path string) bool {
		for _, f := range free {
			if strings.HasSuffix(path, "."+f) && !strings.HasSuffix(path, "identities[0].providerID") &&
				!strings.HasSuffix(path, "diskEncryptionSet.id") && !strings.HasSuffix(path, "image.id") {
				return true
			}
		}
		return strings.HasPrefix(path, "spec.cloudProviderConfigOverrides") || strings.HasPrefix(path, "spec.extendedLocation")
	}
	check := func(spec any, names func() []*InvalidError) {
		var paths []string
		fill(reflect.ValueOf(spec).Elem(), "spec", func(path string, v reflect.Value) {
			if v.SetString(""); !skipped(path) {
				v.SetString("../x?y#z%2f")
				paths = append(paths, path)
			}
		})
		refused := fmt.Sprint(names())
		for _, path := range paths {
			if !strings.Contains(refused, path+": ") {
				t.Errorf("%s takes any text", path)
			}
		}
		if len(paths) < 10 {
			t.Errorf("only %d fields: %v", len(paths), paths)
		}
	}
	c := &infrav1.AzureClusterSpec{}
	check(c, func() []*InvalidError { return ClusterNames(c) })
	m := &infrav1.AzureMachineSpec{}
	check(m, func() []*InvalidError { return MachineNames(m, "spec") })
}

func TestTagsAreChecked(t *testing.T) {
	for _, key := range []string{"a/b", OwnerTag, "CASEMENT_OBJECT", OwnershipTag("other")} {
		c := &infrav1.AzureClusterSpec{}
		c.AdditionalTags = infrav1.Tags{key: "x"}
		if len(ClusterNames(c)) == 0 {
			t.Errorf("a spec may set the tag %s", key)
		}
	}
}

package azuresim

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/schema"
	"casement.dev/casement/azuresim/internal/value"
)

// departures lists the places, as type and path, where recorded answers of real Azure depart from
// Azure's description, so that answers of the local Azure may too.
//
//go:embed testdata/departures.tsv
var departures string

// TestSpecOfRequests: casement's requests conform to Azure's description.
func TestSpecOfRequests(t *testing.T) {
	files, err := filepath.Glob("../internal/azure/desired/testdata/*.golden.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	judged, exact := 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var resources []struct {
			ID, APIVersion string
			Body           map[string]any
		}
		if err := json.Unmarshal(data, &resources); err != nil {
			t.Fatal(err)
		}
		for _, r := range resources {
			id, err := engine.ParseID(r.ID)
			if err != nil {
				t.Fatal(err)
			}
			of := schema.Of(id.FullType(), r.APIVersion)
			if r.Body == nil {
				continue
			}
			if of == nil {
				t.Errorf("%s %s is not described", file, r.ID)
				continue
			}
			judged++
			if slices.Contains(schema.Resources(), value.Lower(id.FullType())+"@"+r.APIVersion) {
				exact++
			}
			for _, p := range of.Check(r.Body) {
				t.Errorf("%s %s: %+v", file, r.ID, p)
			}
		}
	}
	if t.Logf("%d bodies, %d of a version that is described", judged, exact); exact != judged {
		t.Errorf("%d bodies are of versions that are not described", judged-exact)
	}
}

// TestSpecOfAnswers: the local Azure's answers conform to Azure's description, in each described
// version.
func TestSpecOfAnswers(t *testing.T) {
	newest, oldest := map[string]string{}, map[string]string{}
	for _, key := range schema.Resources() { // sorted
		kind, version, _ := strings.Cut(key, "@")
		newest[kind] = version
		if oldest[kind] == "" {
			oldest[kind] = version
		}
	}
	may := departing()
	judged, seen := map[string]int{}, map[string]int{}
	for _, versions := range []map[string]string{newest, oldest} {
		a := start(t, Config{})
		for _, s := range append(samples(), moreSamples()...) {
			id, err := engine.ParseID(s.path)
			if err != nil || !id.IsResource() {
				continue
			}
			version := versions[value.Lower(id.FullType())]
			if version == "" {
				version = versionFor(s.path, "2024-01-01")
			}
			if s.method != "PUT" && s.method != "GET" && !strings.Contains(s.path, "/locks/") || strings.Contains(s.path, "/publishers") {
				continue
			}
			a.speak(s.method, s.path+"?api-version="+version, s.body)
			a.settle()
			of := schema.Of(id.FullType(), version)
			if of == nil {
				continue
			}
			status, answer, _ := a.speak("GET", s.path+"?api-version="+version, "")
			if status != 200 {
				t.Logf("%s in %s: %d %v", s.path, version, status, answer)
				continue
			}
			judged[id.FullType()]++
			for _, p := range of.Judge(answer) {
				path := regexp.MustCompile(`\[\d+\]`).ReplaceAllString(p.Path, "[]")
				at := fmt.Sprintf("%s\t%s", value.Lower(id.FullType()), path)
				if may[at] {
					seen[at]++
					continue
				}
				t.Errorf("%s in %s: kind %d at %s: %s", id.FullType(), version, p.Kind, p.Path, p.Value)
			}
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(judged)) {
		t.Logf("%4d answers of %s", judged[kind], kind)
	}
	if len(judged) < 25 {
		t.Errorf("only %d types were judged", len(judged))
	}
	for at := range may {
		if seen[at] == 0 {
			t.Errorf("nothing departs at %q any more", at)
		}
	}
}

// moreSamples returns valid requests to described types that samples does not contain.
func moreSamples() []sample {
	const space = "/subscriptions/" + engine.DefaultSubscription + "/resourceGroups/g/providers/"
	n, c, k := space+"Microsoft.Network/", space+"Microsoft.Compute/", space+"Microsoft.KeyVault/"
	return []sample{
		{"PUT", n + "applicationSecurityGroups/a", `{"location":"westeurope"}`},
		{"PUT", n + "privateEndpoints/p", `{"location":"westeurope","properties":{"subnet":{"id":"` + n + `virtualNetworks/v/subnets/s"},` +
			`"privateLinkServiceConnections":[{"name":"c","properties":{"privateLinkServiceId":"` + k + `vaults/vlt","groupIds":["vault"]}}]}}`},
		{"PUT", n + "privateEndpoints/p/privateDnsZoneGroups/g", `{"properties":{"privateDnsZoneConfigs":[{"name":"c","properties":` +
			`{"privateDnsZoneId":"` + n + `privateDnsZones/z"}}]}}`},
		{"PUT", n + "loadBalancers/l/inboundNatRules/r", `{"properties":{"frontendIPConfiguration":{"id":"` + n +
			`loadBalancers/l/frontendIPConfigurations/f"},"protocol":"Tcp","frontendPort":22,"backendPort":22}}`},
		{"PUT", c + "proximityPlacementGroups/p", `{"location":"westeurope"}`},
		{"PUT", c + "snapshots/s", `{"location":"westeurope","properties":{"creationData":{"createOption":"Copy","sourceResourceId":"` +
			c + `disks/d"}}}`},
		{"PUT", c + "virtualMachines/m/runCommands/r", `{"location":"westeurope","properties":{"source":{"script":"exit 0"}}}`},
		{"PUT", c + "virtualMachineScaleSets/u", `{"location":"westeurope","sku":{"name":"Standard_D2s_v3","capacity":1},"properties":{` +
			`"orchestrationMode":"Uniform","upgradePolicy":{"mode":"Manual"},"virtualMachineProfile":{"storageProfile":{"imageReference":` +
			`{"publisher":"MicrosoftWindowsServer","offer":"WindowsServer","sku":"2019-Datacenter","version":"latest"},"osDisk":` +
			`{"createOption":"FromImage"}},"osProfile":{"computerNamePrefix":"w","adminUsername":"capi","adminPassword":"Correct-Horse-1"},` +
			`"networkProfile":{"networkInterfaceConfigurations":[{"name":"n","properties":{"primary":true,"ipConfigurations":[{"name":"c",` +
			`"properties":{"subnet":{"id":"` + n + `virtualNetworks/v/subnets/s"}}}]}}]},"extensionProfile":{"extensions":[{"name":"e",` +
			`"properties":{"publisher":"Microsoft.Azure.ContainerUpstream","type":"CAPZ.Windows.Bootstrapping","typeHandlerVersion":"1.0",` +
			`"settings":{}}}]}}}}`},
		{"GET", c + "virtualMachineScaleSets/u/virtualMachines/0", ""},
		{"GET", c + "virtualMachineScaleSets/u/extensions/e", ""},
		{"PUT", k + "vaults/vlt/secrets/s", `{"properties":{"value":"x"}}`},
	}
}

func departing() map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(departures) {
		if kind, rest, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !strings.HasPrefix(line, "#") {
			path, _, _ := strings.Cut(rest, "\t")
			out[kind+"\t"+path] = true
		}
	}
	return out
}

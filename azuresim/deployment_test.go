package azuresim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const (
	deploymentPath = "resourcegroups/g/providers/Microsoft.Resources/deployments/d"
	templateHead   = `"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", ` +
		`"contentVersion": "1.0.0.0", `
)

// deploymentOf returns the body of a deployment of a template.
func deploymentOf(template string) string {
	return `{"properties": {"mode": "Incremental", "template": {` + templateHead + template + `}}}`
}

const networkTemplate = `"languageVersion": "2.0", "resources": {
	"rt": {"type": "Microsoft.Network/routeTables", "apiVersion": "2023-09-01", "name": "rt", "location": "westeurope",
		"tags": {"a": "1"},
		"properties": {"routes": [{"name": "r", "properties": {"addressPrefix": "10.9.0.0/16", "nextHopType": "VnetLocal"}}]}},
	"v": {"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2023-09-01", "name": "v", "location": "[resourceGroup().location]",
		"properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": [{"name": "s", "properties": {
			"addressPrefix": "10.0.0.0/24", "routeTable": {"id": "[resourceInfo('rt').id]"}}}]}, "dependsOn": ["rt"]}},
	"outputs": {"big": {"type": "int", "value": 9007199254740993}, "order": {"type": "object", "value": {"z": 1, "a": 2}}}`

// whatIf returns the final answer of Azure to a what-if request.
func whatIf(a *azure, body string) value.Object {
	a.t.Helper()
	status, answer, h := a.speak("POST", deploymentPath+"/whatIf", body)
	if status != http.StatusAccepted {
		a.t.Fatalf("whatIf: status %d, %v", status, answer)
	}
	if e := a.ended(h); e != nil {
		a.t.Fatal(e)
	}
	at, err := url.Parse(h.Get("Location"))
	if err != nil {
		a.t.Fatal(err)
	}
	return a.carried("GET", at.RequestURI(), "")
}

// changesOf returns the predicted change of each resource of a deployment, by resource name.
func changesOf(a *azure, template string) map[string]string {
	got := whatIf(a, deploymentOf(template))
	out := map[string]string{}
	for _, c := range value.Items(got, "properties", "changes") {
		id := value.Str(c, "resourceId")
		what := value.Str(c, "changeType")
		for _, d := range value.Items(c, "delta") {
			what += " " + value.Str(d, "path")
		}
		out[id[strings.LastIndexByte(id, '/')+1:]] = what
	}
	return out
}

// TestWhatIf requests the changes of a deployment before the deployment, after it, and with another
// template.
func TestWhatIf(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	a.carried("PUT", "resourcegroups/g/providers/Microsoft.Network/networkSecurityGroups/other", `{"location": "westeurope"}`)
	check := func(when, template string, want map[string]string) {
		t.Helper()
		if got := changesOf(a, template); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	check("before", networkTemplate, map[string]string{"rt": "Create", "v": "Create", "other": "Ignore"})
	a.carried("PUT", deploymentPath, deploymentOf(networkTemplate))
	check("after", networkTemplate, map[string]string{"rt": "NoChange", "v": "NoChange", "other": "Ignore"})
	check("changed", strings.NewReplacer(`"a": "1"`, `"b": "2"`, "10.9.0.0/16", "10.8.0.0/16").Replace(networkTemplate),
		map[string]string{"rt": "Modify properties.routes tags.b tags.a", "v": "NoChange", "other": "Ignore"})
	d := a.carried("GET", deploymentPath, "")
	text, err := json.Marshal(value.At(d, "properties", "outputs"))
	if err != nil || !strings.Contains(string(text), "order") {
		t.Errorf("outputs %s, %v", text, err)
	}
}

// TestFailsInTheMiddle: resources deployed before a failure remain, resources that depend on the
// failed one are not begun, and the failed operation contains the error.
func TestFailsInTheMiddle(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	resource := func(typ, name, on, properties string) string {
		return fmt.Sprintf(`{"type": "Microsoft.Network/%s", "apiVersion": "2023-09-01", "name": "%s", "location": "westeurope",
			"dependsOn": [%s], "properties": {%s}}`, typ, name, on, properties)
	}
	_, _, h := a.speak("PUT", deploymentPath, deploymentOf(`"resources": [`+resource("networkSecurityGroups", "before", "", "")+","+
		resource("virtualNetworks", "fails", `"before"`, `"addressSpace": {"addressPrefixes": ["nonsense"]}`)+","+
		resource("routeTables", "after", `"fails"`, "")+`]`))
	at, _, _ := strings.Cut(h.Get("Azure-AsyncOperation"), "?")
	if e := a.Server.Ended(t.Context(), at[strings.LastIndex(at, "/")+1:]); e == nil || e.Code != "DeploymentFailed" {
		t.Errorf("the deployment ended with %v", e)
	}
	got := map[string]string{}
	for _, o := range value.Items(a.carried("GET", "resourcegroups/g/deployments/d/operations", ""), "value") {
		got[value.Str(o, "properties", "targetResource", "resourceName")] = value.Str(o, "properties", "provisioningState") + " " +
			value.Str(o, "properties", "statusCode")
	}
	if want := map[string]string{"before": "Succeeded OK", "fails": "Failed BadRequest"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("operations %v, want %v", got, want)
	}
	for path, want := range map[string]int{"networkSecurityGroups/before": 200, "virtualNetworks/fails": 404, "routeTables/after": 404} {
		if status, _, _ := a.speak("GET", "resourcegroups/g/providers/Microsoft.Network/"+path, ""); status != want {
			t.Errorf("%s: status %d, want %d", path, status, want)
		}
	}
}

// TestWhatIfBySDK sends what-if requests with Azure's SDK, also for a deployment to the
// subscription.
func TestWhatIfBySDK(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	c, err := armresources.NewDeploymentsClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		t.Fatal(err)
	}
	var template any
	if err := json.Unmarshal([]byte(`{`+templateHead+networkTemplate+`}`), &template); err != nil {
		t.Fatal(err)
	}
	properties := &armresources.DeploymentWhatIfProperties{Mode: new(armresources.DeploymentModeIncremental), Template: template}
	poller, err := c.BeginWhatIf(t.Context(), "g", "d", armresources.DeploymentWhatIf{Properties: properties}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := poller.PollUntilDone(t.Context(), nil)
	if err != nil || len(got.Properties.Changes) != 2 || *got.Properties.Changes[0].ChangeType != armresources.ChangeTypeCreate {
		t.Errorf("changes %+v, %v", got.Properties, err)
	}
	group := map[string]any{"$schema": "https://schema.management.azure.com/schemas/2018-05-01/subscriptionDeploymentTemplate.json#",
		"contentVersion": "1.0.0.0", "resources": []any{map[string]any{"type": "Microsoft.Resources/resourceGroups",
			"apiVersion": "2022-09-01", "name": "made", "location": "[deployment().location]"}}}
	made, err := c.BeginCreateOrUpdateAtSubscriptionScope(t.Context(), "s", armresources.Deployment{Location: new("northeurope"),
		Properties: &armresources.DeploymentProperties{Mode: new(armresources.DeploymentModeIncremental), Template: group}}, nil)
	if err == nil {
		_, err = made.PollUntilDone(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if g := a.carried("GET", "resourcegroups/made", ""); value.Str(g, "location") != "northeurope" {
		t.Errorf("the group that the deployment made: %v", g)
	}
	o, err := armresources.NewDeploymentOperationsClient(engine.DefaultSubscription, a.credential, a.options)
	if err != nil {
		t.Fatal(err)
	}
	operations, err := o.NewListAtSubscriptionScopePager("s", nil).NextPage(t.Context())
	if err != nil || len(operations.Value) != 1 {
		t.Errorf("operations of the deployment: %v, %v", operations.Value, err)
	}
	pager := c.NewListAtSubscriptionScopePager(nil)
	page, err := pager.NextPage(t.Context())
	if err != nil || len(page.Value) != 1 {
		t.Errorf("deployments of the subscription: %v, %v", page.Value, err)
	}
}

// TestExportDeploysAgain exports a group, deletes it and deploys the exported template.
func TestExportDeploysAgain(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	a.carried("PUT", deploymentPath, deploymentOf(networkTemplate))
	before := a.carried("GET", vnetPath("v"), "")
	got := a.carried("POST", "resourcegroups/g/exportTemplate", `{"resources": ["*"]}`)
	template, err := json.Marshal(got["template"])
	if err != nil {
		t.Fatal(err)
	}
	a.carried("DELETE", "resourcegroups/g", "")
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	a.carried("PUT", deploymentPath, `{"properties": {"mode": "Incremental", "template": `+string(template)+`}}`)
	if d := a.carried("GET", deploymentPath, ""); value.Str(d, "properties", "provisioningState") != "Succeeded" {
		t.Fatalf("the exported template fails: %v\n%s", value.At(d, "properties", "error"), template)
	}
	after := a.carried("GET", vnetPath("v"), "")
	for _, path := range [][]string{{"properties", "addressSpace"}, {"location"}} {
		if fmt.Sprint(value.At(before, path...)) != fmt.Sprint(value.At(after, path...)) {
			t.Errorf("%v: %v, want %v", path, value.At(after, path...), value.At(before, path...))
		}
	}
}

// TestFailedDeployment: resources that a template deployed before its failure remain, and the
// failed operation is listed.
func TestFailedDeployment(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	_, _, headers := a.speak("PUT", deploymentPath, deploymentOf(`"resources": [
		{"type": "Microsoft.Network/routeTables", "apiVersion": "2023-09-01", "name": "first", "location": "westeurope"},
		{"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2023-09-01", "name": "bad", "location": "westeurope",
			"dependsOn": ["first"], "properties": {"addressSpace": {"addressPrefixes": ["300.0.0.0/8"]}}},
		{"type": "Microsoft.Network/routeTables", "apiVersion": "2023-09-01", "name": "never", "location": "westeurope", "dependsOn": ["bad"]}]`))
	at, _, _ := strings.Cut(headers.Get("Azure-AsyncOperation"), "?")
	if e := a.Server.Ended(t.Context(), at[strings.LastIndex(at, "/")+1:]); e == nil {
		t.Error("the operation succeeded")
	}
	if d := a.carried("GET", deploymentPath, ""); value.Str(d, "properties", "provisioningState") != "Failed" {
		t.Fatalf("the deployment is %s", value.Str(d, "properties", "provisioningState"))
	}
	states := map[string]string{}
	for _, o := range value.Items(a.carried("GET", "resourcegroups/g/deployments/d/operations", ""), "value") {
		states[value.Str(o, "properties", "targetResource", "resourceName")] = value.Str(o, "properties", "provisioningState")
	}
	if states["first"] != "Succeeded" || states["bad"] != "Failed" || len(states) != 2 {
		t.Errorf("operations %v", states)
	}
}

// TestNestedDeployments deploys nested deployments of inner and outer scope inside one of outer
// scope, and one whose outputs, which are known only after the deployment of its resource, become
// outputs of the outermost template.
func TestNestedDeployments(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	nested := func(name, scope, parameters, template string) string {
		return fmt.Sprintf(`{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "%s", "properties": {
			"mode": "Incremental", "expressionEvaluationOptions": {"scope": "%s"}, "parameters": {%s}, "template": {%s%s}}}`,
			name, scope, parameters, templateHead, template)
	}
	group := func(name, tag string) string {
		return fmt.Sprintf(`"resources": [{"type": "Microsoft.Network/networkSecurityGroups", "apiVersion": "2023-09-01", "name": "%s",
			"location": "westeurope", "tags": {"t": "%s"}}]`, name, tag)
	}
	inner := `"parameters": {"p": {"type": "string"}}, ` + group("[concat('in-', parameters('p'))]", "[[text]") + `, "outputs": {
		"name": {"type": "string", "value": "[concat('in-', parameters('p'))]"},
		"state": {"type": "string", "value": "[reference(concat('in-', parameters('p'))).provisioningState]"}}`
	a.carried("PUT", deploymentPath, deploymentOf(`"variables": {"v": "top"}, "resources": [`+nested("outer", "outer", "", `"resources": [`+
		nested("inner", "inner", `"p": {"value": "[variables('v')]"}`, inner)+","+
		nested("outer2", "outer", "", group("[concat('out-', variables('v'))]", "[variables('v')]"))+`]`)+","+
		nested("second", "inner", `"p": {"value": "second"}`, inner)+`], "outputs": {
			"state": {"type": "string", "value": "[reference('second').outputs.state.value]"}}`))
	d := a.carried("GET", deploymentPath, "")
	if state := value.Str(d, "properties", "outputs", "state", "value"); state != "Succeeded" {
		t.Errorf("the state is %q: %v", state, value.At(d, "properties", "error"))
	}
	for name, want := range map[string]string{"in-top": "[text]", "out-top": "top"} {
		g := a.carried("GET", "resourcegroups/g/providers/Microsoft.Network/networkSecurityGroups/"+name, "")
		if got := value.Str(g, "tags", "t"); got != want {
			t.Errorf("%s has the tag %q, want %q", name, got, want)
		}
	}
}

// TestVersionOfProvider: the reference at the end of the template of az vmss create, to a resource
// at the newest API version of its type.
func TestVersionOfProvider(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	a.carried("PUT", deploymentPath, deploymentOf(`"resources": [{"type": "Microsoft.Network/networkSecurityGroups",
		"apiVersion": "2023-09-01", "name": "n", "location": "westeurope"}], "outputs": {"n": {"type": "object", "value":
		"[reference(resourceId('Microsoft.Network/networkSecurityGroups', 'n'),
			providers('Microsoft.Network', 'networkSecurityGroups').apiVersions[0])]"}}`))
	d := a.carried("GET", deploymentPath, "")
	if state := value.Str(d, "properties", "outputs", "n", "value", "provisioningState"); state != "Succeeded" {
		t.Errorf("the state is %q: %v", state, d["properties"])
	}
}

// TestExampleTemplates deploys the templates of the documentation, and requests what-if changes after that.
func TestExampleTemplates(t *testing.T) {
	for _, name := range []string{"windows-vm", "scale-sets", "image-build"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("../examples/templates/" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			a := start(t, Config{})
			defer a.Close()
			a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
			body := `{"properties": {"mode": "Incremental", "template": ` + string(text) + `,
				"parameters": {"adminPassword": {"value": "Not-A-Secret-1"}}}}`
			a.carried("POST", deploymentPath+"/validate", body)
			a.carried("PUT", deploymentPath, body)
			d := a.carried("GET", deploymentPath, "")
			state, made := value.Str(d, "properties", "provisioningState"), value.Items(d, "properties", "outputResources")
			if state != "Succeeded" || len(made) == 0 {
				t.Fatalf("the deployment is %s: %v", state, value.At(d, "properties", "error"))
			}
			for _, c := range value.Items(whatIf(a, body), "properties", "changes") {
				if change := value.Str(c, "changeType"); change != "NoChange" && change != "Ignore" && len(value.Items(c, "delta")) > 1 {
					t.Errorf("%s: %s %v", value.Str(c, "resourceId"), change, c["delta"])
				}
			}
		})
	}
}

// TestOldTemplates deploys the content of ten-year-old templates: an account without a kind, an old
// size, disks without names in a loop, and disks that are blobs.
func TestOldTemplates(t *testing.T) {
	a := start(t, Config{Clock: shifted{by: -8 * 365 * 24 * time.Hour}}) // before the retirement of these features
	defer a.Close()
	a.carried("PUT", "resourcegroups/g", `{"location": "westeurope"}`)
	a.carried("PUT", deploymentPath, deploymentOf(`"variables": {"account": "[concat('st', uniqueString(resourceGroup().id))]"}, "resources": [
		{"type": "Microsoft.Storage/storageAccounts", "apiVersion": "2015-06-15", "name": "[variables('account')]", "location": "westeurope",
			"properties": {"accountType": "Standard_LRS"}},
		{"type": "Microsoft.Network/virtualNetworks", "apiVersion": "2015-06-15", "name": "v", "location": "westeurope", "properties": {
			"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": [{"name": "s", "properties": {"addressPrefix": "10.0.0.0/24"}}]}},
		{"type": "Microsoft.Network/networkInterfaces", "apiVersion": "2015-06-15", "name": "[concat('nic', copyIndex())]",
			"location": "westeurope", "copy": {"name": "nics", "count": 2}, "dependsOn": ["v"], "properties": {"ipConfigurations": [{
				"name": "ip", "properties": {"privateIpAddress": "[concat('10.0.0.', copyIndex(10))]", "privateIPAllocationMethod": "Static",
				"subnet": {"id": "[resourceId('Microsoft.Network/virtualNetworks/subnets', 'v', 's')]"}}}]}},
		{"type": "Microsoft.Compute/virtualMachines", "apiVersion": "2015-06-15", "name": "[concat('vm', copyIndex())]",
			"location": "westeurope", "copy": {"name": "vms", "count": 2}, "dependsOn": ["nics", "[variables('account')]"], "properties": {
			"hardwareProfile": {"vmSize": "Standard_A1"},
			"osProfile": {"computerName": "[concat('vm', copyIndex())]", "adminUsername": "casement", "adminPassword": "Not-A-Secret-1"},
			"storageProfile": {
				"imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2012-R2-Datacenter", "version": "latest"},
				"osDisk": {"name": "osdisk", "createOption": "FromImage", "vhd": {
					"uri": "[concat(reference(variables('account')).primaryEndpoints.blob, 'vhds/os', copyIndex(), '.vhd')]"}},
				"dataDisks": [{"lun": 0, "createOption": "Empty", "diskSizeGB": 8}, {"lun": 1, "createOption": "Empty", "diskSizeGB": 8}]},
			"networkProfile": {"networkInterfaces": [{
				"id": "[resourceId('Microsoft.Network/networkInterfaces', concat('nic', copyIndex()))]"}]}}}],
		"outputs": {"key": {"type": "string", "value": "[listKeys(variables('account'), '2015-06-15').key1]"}}`))
	d := a.carried("GET", deploymentPath, "")
	if value.Str(d, "properties", "provisioningState") != "Succeeded" || value.Str(d, "properties", "outputs", "key", "value") == "" {
		t.Fatalf("the deployment: %v", d["properties"])
	}
	if disks := value.Items(a.carried("GET", "resourcegroups/g/providers/Microsoft.Compute/disks", ""), "value"); len(disks) != 4 {
		t.Errorf("%d managed disks, want the 4 for data", len(disks))
	}
	for i, want := range []string{"10.0.0.10", "10.0.0.11"} {
		nic := a.carried("GET", fmt.Sprintf("resourcegroups/g/providers/Microsoft.Network/networkInterfaces/nic%d", i), "")
		if got := fmt.Sprint(nic["properties"]); !strings.Contains(got, want) {
			t.Errorf("nic%d has not the address %s: %s", i, want, got)
		}
	}
}

package azuresim

import (
	"errors"
	"net/http"
	"testing"

	"casement.dev/casement/azuresim/internal/value"
)

const (
	managementPath = "/providers/Microsoft.Management/managementGroups/top"
	blankTemplate  = `{"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", ` +
		`"contentVersion": "1.0.0.0", "resources": [], "outputs": {"n": {"type": "int", "value": 7}}}`
)

// TestManagementGroups deploys a linked template to a management group and checks the refused
// requests there.
func TestManagementGroups(t *testing.T) {
	a := start(t, Config{Linked: func(uri string) ([]byte, error) {
		if uri != "https://templates.test/blank.json" {
			return nil, errors.New("no such document")
		}
		return []byte(blankTemplate), nil
	}})
	defer a.Close()
	deployment := managementPath + "/providers/Microsoft.Resources/deployments/d"
	linked := func(uri string) string {
		return `{"location": "West US", "properties": {"mode": "Incremental", "templateLink": {"uri": "` + uri + `"}}}`
	}
	refused := func(method, path, body, code string) {
		t.Helper()
		if got := a.refusal(method, path, body); got != code {
			t.Errorf("%s %s: the code %s, want %s", method, path, got, code)
		}
	}
	refused("GET", managementPath, "", "NotFound")
	refused("PUT", deployment, linked("https://templates.test/blank.json"), "ManagementGroupNotFound")
	refused("PUT", managementPath,
		`{"properties": {"details": {"parent": {"id": "/providers/Microsoft.Management/managementGroups/no"}}}}`, "BadRequest")

	status, answer, h := a.speak("PUT", managementPath, `{"name": "top"}`)
	if status != http.StatusAccepted || answer["status"] != "NotStarted" || a.ended(h) != nil {
		t.Fatalf("create: status %d, %v", status, answer)
	}
	a.carried("PUT", managementPath+"below",
		`{"properties": {"displayName": "Below", "details": {"parent": {"id": "`+managementPath+`"}}}}`)
	_, list, _ := a.speak("GET", "/providers/Microsoft.Management/managementGroups", "")
	if groups := value.Items(list, "value"); len(groups) != 2 || value.Str(groups[1], "properties", "details", "parent", "name") != "top" {
		t.Errorf("list: %v", list)
	}
	refused("DELETE", managementPath, "", "BadRequest")

	refused("PUT", deployment, linked("https://templates.test/other.json"), "InvalidContentLink")
	refused("PUT", deployment, `{"location": "westus", "properties": {"mode": "Incremental", "template": {`+templateHead+`"resources": [
		{"type": "Microsoft.Network/routeTables", "apiVersion": "2023-09-01", "name": "rt", "location": "westus"}]}}}`,
		"NotSupportedByLocalAzure")
	refused("PUT", "/providers/Microsoft.Resources/deployments/d", linked("https://templates.test/blank.json"), "AuthorizationFailed")
	status, answer, h = a.speak("PUT", deployment, linked("https://templates.test/blank.json"))
	if status != http.StatusCreated || a.ended(h) != nil {
		t.Fatalf("deploy: status %d, %v", status, answer)
	}
	_, answer, _ = a.speak("GET", deployment, "")
	if value.Str(answer, "properties", "templateLink", "contentVersion") != "1.0.0.0" || answer["location"] != "westus" ||
		value.At(answer, "properties", "outputs", "n", "value") != 7.0 {
		t.Errorf("the deployment: %v", answer)
	}
	if status, _, h := a.speak("DELETE", deployment, ""); status != http.StatusAccepted || a.ended(h) != nil {
		t.Errorf("delete of the deployment: status %d", status)
	}
	if status, answer, h := a.speak("DELETE", managementPath+"below", ""); status != http.StatusAccepted ||
		answer["status"] != "NotStarted" || a.ended(h) != nil {
		t.Errorf("delete of the group: status %d, %v", status, answer)
	}
	refused("GET", managementPath+"below", "", "NotFound")
}

// TestOperations lists the operations of a provider without a subscription.
func TestOperations(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	_, list, _ := a.speak("GET", "/providers/Microsoft.Compute/operations?api-version=2024-03-01", "")
	names := map[string]bool{}
	for _, o := range value.Items(list, "value") {
		names[value.Str(o, "name")] = true
	}
	for _, want := range []string{"Microsoft.Compute/virtualMachines/read", "Microsoft.Compute/virtualMachines/start/action"} {
		if !names[want] {
			t.Errorf("%s is not listed", want)
		}
	}
}

// TestTagNames writes names and values of tags; no delete removes one that a resource has.
func TestTagNames(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	for _, step := range []struct {
		method, path string
		status       int
	}{
		{"PUT", "tagNames/cost/tagValues/a", http.StatusNotFound},
		{"PUT", "tagNames/cost", http.StatusCreated},
		{"PUT", "tagNames/cost", http.StatusOK},
		{"PUT", "tagNames/cost/tagValues/a", http.StatusCreated},
		{"PUT", "tagNames/cost/tagValues/b", http.StatusCreated},
		{"DELETE", "tagNames/cost/tagValues/b", http.StatusOK},
		{"DELETE", "tagNames/cost/tagValues/b", http.StatusNoContent},
		{"DELETE", "tagNames/other", http.StatusNoContent},
		{"PATCH", "tagNames/cost", http.StatusMethodNotAllowed},
	} {
		if status, answer, _ := a.speak(step.method, step.path, ""); status != step.status {
			t.Errorf("%s %s: status %d, %v, want %d", step.method, step.path, status, answer, step.status)
		}
	}
	a.speak("PUT", "resourcegroups/g", `{"location": "westeurope", "tags": {"cost": "a"}}`)
	_, list, _ := a.speak("GET", "tagNames", "")
	names := value.Items(list, "value")
	if len(names) != 1 || value.At(names[0], "count", "value") != 1.0 || len(value.Items(names[0], "values")) != 1 {
		t.Errorf("the names: %v", list)
	}
	if status, answer, _ := a.speak("DELETE", "tagNames/cost", ""); status != http.StatusConflict {
		t.Errorf("delete of a tag in use: status %d, %v", status, answer)
	}
}

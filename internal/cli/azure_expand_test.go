package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"casement.dev/casement/internal/cli/app"
)

const expandTemplate = `{"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
	"contentVersion": "1.0.0.0", // a comment
	"parameters": {"name": {"type": "string"}, "secret": {"type": "secureString", "defaultValue": ""}},
	"resources": [{"type": "Contoso.Things/widgets", "apiVersion": "2020-01-01", "name": "[parameters('name')]",
		"location": "[resourceGroup().location]", "properties": {"later": "[reference('x').y]", "secret": "[parameters('secret')]"}}],
	"outputs": {"id": {"type": "string", "value": "[resourceId('Contoso.Things/widgets', parameters('name'))]"}}}`

// expandWith runs the command on files of a directory.
func expandWith(t *testing.T, files map[string]string, args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if Main(append([]string{"casement", "azure", "expand"}, args...),
		app.Streams{In: strings.NewReader(expandTemplate), Out: &stdout, Err: &stderr}) != app.ExitDone {
		return stdout.String(), errors.New(stderr.String())
	}
	return stdout.String(), nil
}

func TestExpand(t *testing.T) {
	bad := strings.NewReplacer("[reference", "[nope", `"name": {"type": "string"}`, `"name": {"type": "string", "defaultValue": "n"}`)
	files := map[string]string{"main.json": expandTemplate, "flat.json": `{"name": "flat"}`, "bad.json": bad.Replace(expandTemplate),
		"main.parameters.json": `{"parameters": {"name": {"value": "w"}, "secret": {"value": "hidden"}}}`, "main.bicep": "x"}
	for name, tc := range map[string]struct {
		args []string
		want string
		err  string
	}{
		"with parameters": {[]string{"main.json", "--parameters", "main.parameters.json"}, `"name": "w"`, "'x' is not defined"},
		"a flat file": {[]string{"main.json", "--parameters", "flat.json", "--resource-group", "other"},
			"resourceGroups/other/providers", "'x' is not defined"},
		"as a table":        {[]string{"main.json", "--parameters", "flat.json", "-o", "table"}, "Contoso.Things/widgets", "'x' is not defined"},
		"nothing given":     {[]string{"main.json"}, "", "'name' is not provided"},
		"from a pipe":       {[]string{"-"}, "", "'name' is not provided"},
		"Bicep":             {[]string{"main.bicep"}, "", "bicep build main.bicep"},
		"a directory":       {[]string{"."}, `"error": "bad.json`, "nope"},
		"no file":           {[]string{"missing.json"}, "", "not exist"},
		"parameters of two": {[]string{"main.json", "bad.json", "--parameters", "flat.json"}, "", "for one template"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := expandWith(t, files, tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(out, tc.want) {
				t.Errorf("error %v, want %q; output %s, want %q", err, tc.err, out, tc.want)
			}
			if strings.Contains(out, "hidden") {
				t.Error("a secure parameter is shown")
			}
		})
	}
	out, err := expandWith(t, map[string]string{"main.json": strings.Replace(expandTemplate, "reference('x').y", "toUpper('y')", 1)},
		"main.json", "--parameters", "main.json")
	if err == nil {
		t.Errorf("a template is no file of parameters: %s", out)
	}
	files["main.json"] = strings.Replace(expandTemplate, "reference('x').y", "toUpper('y')", 1)
	out, err = expandWith(t, files, "main.json", "--parameters", "flat.json")
	var got struct {
		PredictedResources []struct{ Properties struct{ Later string } }
		Outputs            map[string]any
		Diagnostics        []any
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &got)
	}
	if err != nil || len(got.PredictedResources) != 1 || got.PredictedResources[0].Properties.Later != "Y" ||
		got.Diagnostics == nil || got.Outputs["id"] == nil {
		t.Errorf("%v: %s", err, out)
	}
}

package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"casement.dev/casement/internal/cli/app"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      nodeSelector:
        kubernetes.io/os: windows
      containers:
      - name: web
        image: contoso.example/web:1
        resources:
          limits:
            memory: 800m
`

// kustomized returns the output of kustomize for a base and an overlay.
func kustomized(t *testing.T) string {
	t.Helper()
	disk := filesys.MakeFsInMemory()
	for name, text := range map[string]string{
		"base/kustomization.yaml": "resources: [web.yaml]\n",
		"base/web.yaml":           deployment,
		"overlay/kustomization.yaml": "resources: [../base, class.yaml]\nnamespace: shop\nnamePrefix: prod-\n" +
			"commonAnnotations: {team: a}\npatches:\n- target: {kind: Deployment}\n  patch: |\n" +
			"    - {op: add, path: /spec/template/spec/hostNetwork, value: true}\n",
		"overlay/class.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: '{{ not a template }}'}\n",
	} {
		if err := disk.WriteFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "overlay")
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLintStandardInput: the output of other programs is accepted unchanged on standard input, and findings have
// positions in it.
func TestLintStandardInput(t *testing.T) {
	helm, err := os.ReadFile("testdata/helm-template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s"},
  "spec": {"nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [
  {"name": "a", "image": "contoso.example/a:1", "resources": {"limits": {"memory": "800m"}}}]}}`
	list := "apiVersion: v1\nkind: List\nitems:\n" + "-   " +
		strings.ReplaceAll(strings.TrimSuffix(deployment, "\n"), "\n", "\n    ") + "\n" + "- " +
		"apiVersion: v1\n  kind: PodList\n  items:\n  - {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " +
		"{nodeSelector: {kubernetes.io/os: windows}, containers: [{name: a, resources: {limits: {memory: " +
		"800m}}}]}}\n"
	for name, c := range map[string]struct {
		text string
		// objects are the names of the objects with finding WIN201.
		objects []string
	}{
		"helm template":   {string(helm), []string{"Deployment/shop/release-web", "Job/shop/release-migrate"}},
		"kustomize build": {kustomized(t), []string{"Deployment/shop/prod-web"}},
		"a List":          {list, []string{"Deployment/web", "Pod/p"}},
		"kubectl get -o json": {`{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [` +
			fmt.Sprintf(pod, "a") + ",\n" + fmt.Sprintf(pod, "b") + "]}", []string{"Pod/a", "Pod/b"}},
		"objects of JSON in a row":  {fmt.Sprintf(pod, "a") + "\n" + fmt.Sprintf(pod, "b") + "\n", []string{"Pod/a", "Pod/b"}},
		"YAML and JSON in one file": {deployment + "---\n" + fmt.Sprintf(pod, "a") + "\n", []string{"Deployment/web", "Pod/a"}},
		"lines of Windows":          {strings.ReplaceAll(deployment, "\n", "\r\n"), []string{"Deployment/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := runLint(t, nil, c.text, "-o", "json", "-")
			if code != app.ExitFailed || errs != "" {
				t.Fatalf("exit code %d, %s", code, errs)
			}
			lines := strings.Split(c.text, "\n")
			var got []string
			for _, f := range findings(t, out) {
				if f.Rule != "WIN201" {
					continue
				}
				got = append(got, f.Object)
				line := lines[f.Line-1]
				if at := line[f.Column-1:]; f.File != "-" ||
					!strings.HasPrefix(strings.TrimPrefix(at, `"`), "memory") || !strings.Contains(line, "800m") {
					t.Errorf("%s:%d:%d is not the memory limit: %s", f.File, f.Line, f.Column, line)
				}
			}
			if slices.Sort(got); !slices.Equal(got, c.objects) {
				t.Errorf("found in %v, not %v", got, c.objects)
			}
		})
	}
}

package config

import (
	"fmt"
	"strings"
)

// ChartName is the name of the Helm chart and of its directory.
const ChartName = "casement"

// chartValues are the chart's default values, each with a comment that explains it.
const chartValues = `# The manager's image.
image: IMAGE
# Several replicas: one works, the others wait.
replicas: 1
# true: cert-manager, which has to be there, makes the webhooks' certificate.
# false: the manager makes it itself.
certManager: true
# AzureMachinePools (the feature gate MachinePool).
machinePools: true
# Move pools to newer versions of their images, as annotations ask.
patchDay: false
# More arguments of the manager, such as --namespace=team-a or -v=4.
args: []
`

// Chart returns, by file name, a Helm chart of the objects that Components and SelfSignedComponents return. version is
// a release's, such as v0.1.0.
func Chart(image, version string) (map[string][]byte, error) {
	kinds, err := components(image, func(object map[string]any) bool {
		// Objects of these kinds outlive a release of the chart.
		child(child(object, "metadata"), "annotations")["helm.sh/resource-policy"] = "keep"
		return isCRD(object)
	})
	if err != nil {
		return nil, err
	}
	withCertManager, err := components(image, func(object map[string]any) bool {
		injectCertificate(object)
		return ofChart(object)
	})
	if err != nil {
		return nil, err
	}
	alone, err := components(image, func(object map[string]any) bool { return selfSigned(object) && ofChart(object) }, selfSignedRights)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"Chart.yaml": fmt.Appendf(nil, "apiVersion: v2\nname: %s\n"+
			"description: Windows and Linux nodes on Azure, an infrastructure provider of Cluster API\n"+
			"type: application\nversion: %s\nappVersion: %s\n",
			ChartName, strings.TrimPrefix(version, "v"), version),
		"values.yaml":          []byte(strings.Replace(chartValues, "IMAGE", image, 1)),
		"templates/kinds.yaml": []byte(literal(string(kinds))),
	}
	for name, part := range map[string]struct {
		condition string
		objects   []byte
	}{"cert-manager": {".Values.certManager", withCertManager}, "self-signed": {"not .Values.certManager", alone}} {
		text, err := template(string(part.objects), image)
		if err != nil {
			return nil, fmt.Errorf("chart, templates/%s.yaml: %w", name, err)
		}
		files["templates/"+name+".yaml"] = []byte("{{- if " + part.condition + " }}\n" + text + "{{- end }}\n")
	}
	return files, nil
}

func isCRD(object map[string]any) bool { return object["kind"] == "CustomResourceDefinition" }

// ofChart reports whether an object belongs in the chart's template. CRDs do not, because they are in another file; nor
// does the Namespace, because it is the release's.
func ofChart(object map[string]any) bool { return !isCRD(object) && object["kind"] != "Namespace" }

// literal escapes text so that the template engine prints it unchanged.
func literal(text string) string { return strings.ReplaceAll(text, "{{", "{{ `{{` }}") }

// template puts the chart's values into manifests.
func template(manifests, image string) (string, error) {
	text := literal(manifests)
	for _, r := range []struct{ old, with string }{
		{"image: " + image + "\n", "image: {{ .Values.image }}\n"},
		{"replicas: 1\n", "replicas: {{ .Values.replicas }}\n"},
		{"=${EXP_MACHINE_POOL:=true}", "={{ .Values.machinePools }}"},
		{"=${EXP_PATCH_DAY:=false}", "={{ .Values.patchDay }}"},
		{"        - --diagnostics-address=${CAPZ_DIAGNOSTICS_ADDRESS:=:8443}\n", ""},
		{"        - --insecure-diagnostics=${CAPZ_INSECURE_DIAGNOSTICS:=false}\n", ""},
		{"        - --leader-elect\n", "        - --leader-elect\n        {{- range .Values.args }}\n" +
			"        - {{ printf \"%q\" . }}\n        {{- end }}\n"},
	} {
		if n := strings.Count(text, r.old); n != 1 {
			return "", fmt.Errorf("%q is there %d times, want once", r.old, n)
		}
		text = strings.Replace(text, r.old, r.with, 1)
	}
	return strings.ReplaceAll(text, namespace, "{{ .Release.Namespace }}"), nil
}

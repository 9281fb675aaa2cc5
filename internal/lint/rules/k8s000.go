package rules

import (
	"casement.dev/casement/internal/lint"
)

// k8s001: A field that is unknown to Kubernetes.
var k8s001 = lint.Rule{
	ID:       "K8S001",
	Severity: lint.Error,
	Title:    "A field that Kubernetes does not know",
	Oracle:   lint.APIServerWarning,
	Doc: "The field is not part of the kind, occurs twice, or has a value of the wrong type. kubectl refuses it by " +
		"default; other clients drop it without a word. A key that occurs twice is a warning: kubectl makes JSON of YAML " +
		"first, and the last one counts. The kinds of Kubernetes, Cluster API and casement are known; a variable that is " +
		"not filled in has the right type. Source: kubernetes.io/docs/reference/using-api/api-concepts, field validation.",
	Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  containers:\n  - name: app\n    image: " +
		"nginx\n    imagePullpolicy: Always\n",
	Good:  windowsPod + container,
	Check: checkK8S001,
}

func checkK8S001(p *lint.Pass) {
	for _, o := range p.Set.Objects {
		if o.Stored() {
			continue // the API server, which may be newer than these types, accepted it
		}
		for _, problem := range decoder.Problems(o) {
			severity := lint.Error
			if problem.Twice {
				severity = lint.Warning
			}
			p.ReportAs(severity, o, problem.At, problem.Message, say("see the field's name in kubectl explain"))
		}
	}
}

package rules

import (
	"k8s.io/client-go/kubernetes/scheme"

	"casement.dev/casement/internal/lint"
)

// known are the rules about what Kubernetes itself can read.
func known() []lint.Rule {
	decoder := lint.Decoder{Scheme: scheme.Scheme}
	return []lint.Rule{{
		ID: "K8S001", Severity: lint.Error, Title: "A field that Kubernetes does not know", Oracle: lint.APIServerWarning,
		Doc: "The field is not part of the kind, occurs twice, or has a value of the wrong type. kubectl refuses it by default; other clients drop it without a word. Source: kubernetes.io/docs/reference/using-api/api-concepts, field validation.",
		Bad: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: example\nspec:\n  containers:\n  - name: app\n    image: nginx\n    imagePullpolicy: Always\n", Good: windowsPod + container,
		Check: func(p *lint.Pass) {
			for _, o := range p.Set.Objects {
				if o.Stored() {
					continue // its API server, which may be newer than these types, took it
				}
				for _, problem := range decoder.Problems(o) {
					p.Report(o, problem.At, problem.Message, say("see the field's name in kubectl explain"))
				}
			}
		},
	}}
}

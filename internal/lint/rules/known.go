package rules

import (
	"k8s.io/client-go/kubernetes/scheme"

	"casement.dev/casement/internal/lint"
)

// decoder knows the fields of Kubernetes' own kinds.
var decoder = lint.Decoder{Scheme: scheme.Scheme}

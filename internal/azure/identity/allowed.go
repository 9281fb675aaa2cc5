package identity

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// AllowedNamespaces has the same fields as AzureClusterIdentity's spec.allowedNamespaces, so that the types are
// convertible.
type AllowedNamespaces struct {
	NamespaceList []string
	Selector      *metav1.LabelSelector
}

// Allowed reports whether clusters of a namespace may use an identity: nil allows no
// namespace and an empty value all; otherwise the list or the selector has to match, and a
// selector without requirements matches nothing. The identity's own namespace is no
// exception. The error means that the selector is invalid.
func Allowed(a *AllowedNamespaces, namespace string, namespaceLabels map[string]string) (bool, error) {
	switch {
	case a == nil:
		return false, nil
	case len(a.NamespaceList) == 0 && a.Selector == nil:
		return true, nil
	case slices.Contains(a.NamespaceList, namespace):
		return true, nil
	case a.Selector == nil:
		return false, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(a.Selector)
	if err != nil {
		return false, fmt.Errorf("spec.allowedNamespaces.selector: %w", err)
	}
	return !selector.Empty() && selector.Matches(labels.Set(namespaceLabels)), nil
}

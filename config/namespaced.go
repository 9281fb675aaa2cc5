package config

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// OverlayName is the directory of NamespacedOverlay.
const OverlayName = "casement-namespaced"

// exampleNamespace is the namespace that the overlay is written for.
const exampleNamespace = "team-a"

// NamespacedOverlay returns, by file name, a kustomize directory with a manager for some namespaces only. The manager
// has permissions in these namespaces; cluster-wide it may only read Namespaces and ask the API server about users.
// Another namespace needs a copy of the example's directory, and another argument.
func NamespacedOverlay(image string) (map[string][]byte, error) {
	components, err := SelfSignedComponents(image)
	if err != nil {
		return nil, err
	}
	everywhere, inside, err := splitRights()
	if err != nil {
		return nil, err
	}
	files := map[string]any{
		"kustomization.yaml": map[string]any{
			"resources": []string{"components.yaml", exampleNamespace},
			"patches": []any{
				patch("ClusterRole", "casement-manager", map[string]any{"op": "replace", "path": "/rules", "value": everywhere}),
				patch("Deployment", "casement-controller-manager", map[string]any{"op": "add",
					"path": "/spec/template/spec/containers/0/args/-", "value": "--namespace=" + exampleNamespace}),
			},
		},
		exampleNamespace + "/kustomization.yaml": map[string]any{"namespace": exampleNamespace, "resources": []string{"../rights"}},
		"rights/kustomization.yaml":              map[string]any{"resources": []string{"role.yaml", "binding.yaml"}},
		"rights/role.yaml": rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: metav1.ObjectMeta{Name: "casement-manager", Labels: map[string]string{ProviderLabel: Provider}}, Rules: inside,
		},
		"rights/binding.yaml": rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: metav1.ObjectMeta{Name: "casement-manager", Labels: map[string]string{ProviderLabel: Provider}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "casement-manager"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "casement-manager", Namespace: namespace}},
		},
	}
	out := map[string][]byte{"components.yaml": components}
	for name, content := range files {
		if out[name], err = yaml.Marshal(content); err != nil {
			return nil, fmt.Errorf("overlay, %s: %w", name, err)
		}
	}
	return out, nil
}

func patch(kind, name string, operation map[string]any) map[string]any {
	text, _ := yaml.Marshal([]any{operation}) // maps and rules can always be marshalled
	return map[string]any{"target": map[string]string{"kind": kind, "name": name}, "patch": string(text)}
}

// splitRights splits the manager's rules into rules for cluster-scoped resources and rules that a single namespace can grant.
func splitRights() (everywhere, inside []rbacv1.PolicyRule, err error) {
	roles, err := documents("rbac/role.yaml")
	if err != nil {
		return nil, nil, err
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(roles[0], role); err != nil {
		return nil, nil, fmt.Errorf("embedded rbac/role.yaml: %w", err)
	}
	unscoped := []string{"namespaces", "tokenreviews", "subjectaccessreviews"}
	for _, rule := range role.Rules {
		if slices.ContainsFunc(rule.Resources, func(r string) bool { return slices.Contains(unscoped, r) }) {
			everywhere = append(everywhere, rule)
		} else {
			inside = append(inside, rule)
		}
	}
	return everywhere, inside, nil
}

package config

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// User is the name under which the API server knows an installed manager.
const User = "system:serviceaccount:" + namespace + ":casement-manager"

// Rights returns the objects that give User its permissions, in the order in which they have to be created: the
// manager's namespace, the generated roles and their bindings.
func Rights() ([]client.Object, error) {
	var out []client.Object
	for _, name := range []string{"manager/manager.yaml", "rbac/role.yaml"} {
		parts, err := documents(name)
		if err != nil {
			return nil, err
		}
		for _, document := range parts {
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal(document, &kind); err != nil {
				return nil, fmt.Errorf("embedded %s: %w", name, err)
			}
			object := rightOf(kind.Kind)
			if object == nil {
				continue
			}
			if err := yaml.UnmarshalStrict(document, object); err != nil {
				return nil, fmt.Errorf("embedded %s: %w", name, err)
			}
			if object.GetName() == namespace || object.GetName() == "casement-manager" {
				out = append(out, object)
			}
		}
	}
	return out, nil
}

// rightOf returns an empty object of a kind that grants permissions, nil for other kinds.
func rightOf(kind string) client.Object {
	switch kind {
	case "Namespace":
		return &corev1.Namespace{}
	case "ClusterRole":
		return &rbacv1.ClusterRole{}
	case "ClusterRoleBinding":
		return &rbacv1.ClusterRoleBinding{}
	case "Role":
		return &rbacv1.Role{}
	case "RoleBinding":
		return &rbacv1.RoleBinding{}
	}
	return nil
}

// documents returns the non-empty documents of an embedded YAML stream.
func documents(name string) ([][]byte, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, document := range bytes.Split(append([]byte("\n"), data...), []byte("\n---\n")) {
		if len(bytes.TrimSpace(document)) > 0 {
			out = append(out, document)
		}
	}
	return out, nil
}

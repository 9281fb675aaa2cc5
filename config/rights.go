package config

import (
	"bytes"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// User is the name under which the API server knows an installed manager.
const User = "system:serviceaccount:" + namespace + ":casement-manager"

// Rights returns what gives User its rights in the whole cluster: the generated role
// and its binding. Those in the manager's own namespace are for several replicas, and
// only an installation has them.
func Rights() ([]client.Object, error) {
	roles, err := documents("rbac/role.yaml")
	if err != nil {
		return nil, err
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(roles[0], role); err != nil {
		return nil, fmt.Errorf("embedded rbac/role.yaml: %w", err)
	}
	manager, err := documents("manager/manager.yaml")
	if err != nil {
		return nil, err
	}
	for _, document := range manager {
		binding := &rbacv1.ClusterRoleBinding{}
		if err := yaml.Unmarshal(document, binding); err == nil && binding.Kind == "ClusterRoleBinding" {
			return []client.Object{role, binding}, nil
		}
	}
	return nil, fmt.Errorf("embedded manager/manager.yaml has no ClusterRoleBinding")
}

// documents returns the documents of an embedded YAML stream that hold something.
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

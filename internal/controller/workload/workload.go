// Package workload configures the controllers' connections to a workload cluster: by the kubeconfig that its control
// plane provider stores in a Secret.
//
// It keeps no connections. The controllers import it.
package workload

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/kubeconfig"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Config returns the configuration of connections to a cluster. Source: Cluster API's contract for control plane
// providers, "Cluster kubeconfig management".
func Config(ctx context.Context, reader client.Reader, cluster client.ObjectKey) (*rest.Config, error) {
	secret := &corev1.Secret{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Name + "-kubeconfig"}, secret); err != nil {
		return nil, fmt.Errorf("read the kubeconfig of Cluster %s: %w", cluster.Name, err)
	}
	cfg, err := kubeconfig.Config(secret.Data["value"])
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of Cluster %s: %w", cluster.Name, err)
	}
	return cfg, nil
}

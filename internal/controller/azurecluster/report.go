package azurecluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/pass"
)

const (
	defaultAPIServerPort       = 6443
	waitingForEndpoint         = "WaitingForControlPlaneEndpoint"
	externallyManagedEndpoint  = "ExternallyManagedControlPlane"
	externallyManagedGuideline = "spec.controlPlaneEnabled is false and spec.controlPlaneEndpoint is empty: set " +
		"the host and port of the control plane that somebody else runs"
)

// soon is the wait before a public IP without an address is read again.
const soon = 5 * time.Second

// report sets the API server's endpoint, which marks the cluster's infrastructure as provisioned. It never changes an
// endpoint that is set.
func (r *Reconciler) report(ctx context.Context, s *scope) pass.Result {
	endpoint := &s.AzureCluster.Spec.ControlPlaneEndpoint
	if endpoint.Host == "" {
		host, err := r.host(ctx, s)
		if err != nil {
			return pass.Unread(err, "read the API server's public IP")
		}
		if host == "" {
			return pass.Wait(soon)
		}
		endpoint.Host = host
	}
	endpoint.Port = cmp.Or(endpoint.Port, s.Cluster.Spec.ClusterNetwork.APIServerPort, defaultAPIServerPort)
	s.AzureCluster.Status.Initialization.Provisioned = new(true)
	s.AzureCluster.Status.Ready = true
	return pass.Next()
}

// host returns the name or address of the API server. While there is none, it returns "" and sets a condition with the reason.
func (r *Reconciler) host(ctx context.Context, s *scope) (string, error) {
	if !s.AzureCluster.Spec.ControlPlaneEnabled {
		condition.False(s.AzureCluster, infrav1.NetworkInfrastructureReadyCondition, externallyManagedEndpoint, externallyManagedGuideline)
		return "", nil
	}
	ip := desired.APIServerPublicIPID(s.AzureCluster)
	if ip == "" {
		// This is also valid without a private DNS zone: then the user makes the name resolve.
		return desired.APIServerRecord + "." + desired.PrivateZone(s.AzureCluster, s.Cluster.Name), nil
	}
	live, err := s.Azure.Live(ctx, ip)
	if err != nil {
		return "", err
	}
	host, err := publicHost(live)
	if err != nil {
		return "", fmt.Errorf("public IP %s: %w", ip, err)
	}
	if host == "" {
		s.Azure.Refresh(ip) // the cached address may be outdated
		condition.False(s.AzureCluster, infrav1.NetworkInfrastructureReadyCondition, waitingForEndpoint,
			"public IP "+desired.LastSegment(ip)+" has neither a name nor an address yet")
	}
	return host, nil
}

// publicHost returns the DNS name that Azure gave a public IP, or its address.
func publicHost(live json.RawMessage) (string, error) {
	if live == nil {
		return "", nil
	}
	var ip struct {
		Properties struct {
			IPAddress   string `json:"ipAddress"`
			DNSSettings struct {
				FQDN string `json:"fqdn"`
			} `json:"dnsSettings"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(live, &ip); err != nil {
		return "", err
	}
	return cmp.Or(ip.Properties.DNSSettings.FQDN, ip.Properties.IPAddress), nil
}

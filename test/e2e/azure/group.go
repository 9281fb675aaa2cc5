package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"
)

// group is the resource group of the run, seen without casement and its recorder.
type group struct {
	name      string
	groups    *armresources.ResourceGroupsClient
	resources *armresources.Client
}

func openGroup(s settings) (*group, error) {
	transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	options := azcore.ClientOptions{Transport: &http.Client{
		Transport: transport,
	}, Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: s.authority,
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: {Endpoint: s.endpoint, Audience: s.audience}}}}
	credential, err := azidentity.NewClientSecretCredential(s.tenant, s.client, s.secret, &azidentity.ClientSecretCredentialOptions{
		ClientOptions: options, DisableInstanceDiscovery: true})
	if err != nil {
		return nil, fmt.Errorf("log in: %w", err)
	}
	factory, err := armresources.NewClientFactory(s.subscription, credential,
		&arm.ClientOptions{ClientOptions: options, DisableRPRegistration: true})
	if err != nil {
		return nil, err
	}
	return &group{name: s.name, groups: factory.NewResourceGroupsClient(), resources: factory.NewClient()}, nil
}

// transport trusts the system's certificates and those of AZURE_CA_FILE.
func (s settings) transport() (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if s.ca == "" {
		return t, nil
	}
	pem, err := os.ReadFile(s.ca)
	if err != nil {
		return nil, fmt.Errorf("AZURE_CA_FILE: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(pem)
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// watch counts the machines until ctx ends, and ends the run when there are more than
// the budget has. It returns the most that were there.
func (g *group) watch(ctx context.Context, budget int, over context.CancelCauseFunc) int {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	most := 0
	for {
		select {
		case <-ctx.Done():
			return most
		case <-tick.C:
		}
		n, err := g.machines(ctx)
		if err != nil {
			continue // the next look counts; the deadline holds without one
		}
		if most = max(most, n); n > budget {
			over(fmt.Errorf("there are %d machines, and the budget has %d", n, budget))
		}
	}
}

func (g *group) machines(ctx context.Context) (int, error) {
	n := 0
	filter := "resourceType eq 'Microsoft.Compute/virtualMachines'"
	for pages := g.resources.NewListByResourceGroupPager(g.name,
		&armresources.ClientListByResourceGroupOptions{Filter: &filter}); pages.More(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, err
		}
		n += len(page.Value)
	}
	return n, nil
}

// delete deletes the group with all that is in it, and reports whether it was there.
func (g *group) delete(ctx context.Context) (bool, error) {
	operation, err := g.groups.BeginDelete(ctx, g.name, nil)
	if refused, ok := errors.AsType[*azcore.ResponseError](err); ok && refused.StatusCode == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	_, err = operation.PollUntilDone(ctx, nil)
	return true, err
}

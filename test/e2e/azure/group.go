package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"
)

// groups accesses the resource groups of a run without casement and its recorder.
type groups struct {
	names     []string
	groups    *armresources.ResourceGroupsClient
	resources *armresources.Client
}

func openGroups(s settings) (*groups, error) {
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
	return &groups{names: s.groups(), groups: factory.NewResourceGroupsClient(), resources: factory.NewClient()}, nil
}

// transport returns an HTTP transport that trusts the system's certificates and those in
// AZURE_CA_FILE.
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

// Rates of the cost estimate, in dollars an hour: of a machine of four processors with Windows and
// its disk, and of the other resources of a cluster (load balancers, addresses, a NAT gateway).
// They are meant to be too high, and are assumptions, not Azure's price list.
const (
	machineRate = 0.50
	clusterRate = 0.20
)

// use is the usage of a run: the largest number of machines at the same time, and the estimate of
// their cost.
type use struct {
	Machines int
	Dollars  float64
}

// watch counts the machines until ctx ends, and ends the run if there are more machines, or a
// higher cost, than the budget allows.
func (g *groups) watch(ctx context.Context, s settings, over context.CancelCauseFunc) use {
	const every = 10 * time.Second
	tick := time.NewTicker(every)
	defer tick.Stop()
	var u use
	n := 0
	for {
		select {
		case <-ctx.Done():
			return u
		case <-tick.C:
		}
		if now, err := g.machines(ctx); err == nil {
			n = now // after an error, the last number counts until the next attempt
		}
		if u.add(n, len(g.names), every); n > s.machines {
			over(fmt.Errorf("there are %d machines, and the budget has %d", n, s.machines))
		}
		if u.Dollars > s.dollars {
			over(fmt.Errorf("by the estimate the run has cost %.2f dollars, and the budget has %.2f", u.Dollars, s.dollars))
		}
	}
}

// add adds the cost of machines and clusters for a duration.
func (u *use) add(machines, clusters int, d time.Duration) {
	u.Machines = max(u.Machines, machines)
	u.Dollars += (float64(machines)*machineRate + float64(clusters)*clusterRate) * d.Hours()
}

// machines counts virtual machines and instances of scale sets.
func (g *groups) machines(ctx context.Context) (int, error) {
	n := 0
	for _, name := range g.names {
		for pages := g.resources.NewListByResourceGroupPager(name, nil); pages.More(); {
			page, err := pages.NextPage(ctx)
			if missing(err) {
				break // not created yet, or deleted
			}
			if err != nil {
				return 0, err
			}
			for _, r := range page.Value {
				switch {
				case strings.EqualFold(*r.Type, "Microsoft.Compute/virtualMachines"):
					n++
				case strings.EqualFold(*r.Type, "Microsoft.Compute/virtualMachineScaleSets") && r.SKU != nil && r.SKU.Capacity != nil:
					n += int(*r.SKU.Capacity)
				}
			}
		}
	}
	return n, nil
}

// delete deletes the groups with all their resources, and returns the groups that existed.
func (g *groups) delete(ctx context.Context) (found []string, err error) {
	var errs []error
	var wait sync.WaitGroup
	var mu sync.Mutex
	for _, name := range g.names {
		wait.Go(func() {
			operation, err := g.groups.BeginDelete(ctx, name, nil)
			if missing(err) {
				return
			}
			if err == nil {
				_, err = operation.PollUntilDone(ctx, nil)
			}
			mu.Lock()
			defer mu.Unlock()
			if found = append(found, name); err != nil {
				errs = append(errs, fmt.Errorf("DELETE THE RESOURCE GROUP %s BY HAND, it costs money: %w", name, err))
			}
		})
	}
	wait.Wait()
	return found, errors.Join(errs...)
}

// deleteVM deletes a machine of a cluster without casement, as a user of the portal could.
func (g *groups) deleteVM(ctx context.Context, group, name string) error {
	for pages := g.resources.NewListByResourceGroupPager(group, nil); pages.More(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, r := range page.Value {
			if !strings.EqualFold(*r.Type, "Microsoft.Compute/virtualMachines") || !strings.EqualFold(*r.Name, name) {
				continue
			}
			operation, err := g.resources.BeginDeleteByID(ctx, *r.ID, computeVersion, nil)
			if err != nil {
				return err
			}
			_, err = operation.PollUntilDone(ctx, nil)
			return err
		}
	}
	return fmt.Errorf("there is no machine %s in %s", name, group)
}

const computeVersion = "2024-07-01"

func missing(err error) bool {
	refused, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && refused.StatusCode == http.StatusNotFound
}

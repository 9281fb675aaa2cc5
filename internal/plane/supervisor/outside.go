package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"casement.dev/casement/internal/azure/identity"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/sim/host"
)

// Outside is an Azure that this plane does not simulate. The plane connects to its machines by their actual addresses.
type Outside struct {
	manager.Endpoints
	// CAFile contains certificate authorities that are trusted in addition to the system's; "" means none.
	CAFile string
	// SubscriptionID is the subscription in which clusters may be created; the other fields are the service principal
	// that creates them.
	SubscriptionID, TenantID, ClientID, ClientSecret string
}

// settleOutside marks the state directory of a plane with an outside Azure, or checks the mark: its
// clusters must not be reconciled against another Azure, where their resources do not exist.
func (o *Options) settleOutside() error {
	mark := o.Dir.Path(plane.OutsideMark)
	data, err := os.ReadFile(mark)
	switch {
	case err == nil && o.Outside == nil:
		return fmt.Errorf("the clusters of %s are in the Azure subscription %s; start it with 'casement up "+
			"--azure env', or name another directory with --state", o.Dir, data)
	case err == nil && string(data) != o.Outside.SubscriptionID:
		return fmt.Errorf("the clusters of %s are in the Azure subscription %s, not in %s", o.Dir, data, o.Outside.SubscriptionID)
	case err == nil || o.Outside == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, err := os.Stat(o.Dir.Path("management")); err == nil {
		return fmt.Errorf("%s holds a plane with a local Azure; end it with 'casement down --purge', or name "+
			"another directory with --state", o.Dir)
	}
	return os.WriteFile(mark, []byte(o.Outside.SubscriptionID), 0o600)
}

// useOutside uses the outside Azure as the plane's Azure.
func (s *supervisor) useOutside(context.Context, chan<- error) (func(context.Context), error) {
	o, dir := s.opts.Outside, s.opts.Dir
	key, err := dir.SSHPublicKey()
	if err != nil {
		return nil, err
	}
	secret := dir.Path("client-secret")
	if err := os.WriteFile(secret, []byte(o.ClientSecret), 0o600); err != nil {
		return nil, fmt.Errorf("keep the service principal's secret: %w", err)
	}
	s.mu.Lock()
	s.borrowed = &plane.Azure{Outside: true, Endpoint: o.ResourceManagerEndpoint, Authority: o.AuthorityHost,
		Audience: o.ResourceManagerAudience, CAFile: o.CAFile,
		TenantID: o.TenantID, SubscriptionID: o.SubscriptionID, ClientID: o.ClientID, SecretFile: secret, SSHPublicKey: key}
	s.mu.Unlock()
	return nil, nil
}

// managerAzure returns the configuration of Azure's endpoints for casement's manager.
func (s *supervisor) managerAzure() manager.Azure {
	if o := s.opts.Outside; o != nil {
		return manager.Azure{Endpoints: o.Endpoints, CAFile: o.CAFile}
	}
	at := manager.Endpoints{AuthorityHost: s.azure.endpoint + "/", ResourceManagerEndpoint: s.azure.endpoint,
		ResourceManagerAudience: s.azure.endpoint}
	return manager.Azure{Endpoints: at, CAFile: s.azure.server.CAFile(), TokenFile: s.tokenFile(), Local: &identity.Local{
		IdentityEndpoint: s.azure.endpoint + host.IdentityPath, IdentitySecret: s.azure.server.Client().Secret}}
}

// simulatedHere lists the simulated parts of the plane.
func (o Options) simulatedHere() []string {
	switch {
	case o.Outside != nil:
		return []string{"nothing: Azure is at " + strings.TrimSuffix(o.Outside.ResourceManagerEndpoint, "/")}
	case o.Bare:
		return append(append([]string{}, simulated...), bareSimulated...)
	}
	return simulated
}

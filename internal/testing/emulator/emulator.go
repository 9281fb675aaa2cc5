// Package emulator serves a local Azure to tests over TLS, and creates the provider's clients for it. Only tests import it.
package emulator

import (
	"context"
	"net"
	"testing"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/identity"
)

// Azure is a running local Azure.
type Azure struct {
	*azuresim.Azure
	// Cloud has the endpoints of the local Azure and the CA that clients have to trust.
	Cloud identity.Cloud
	stop  context.CancelFunc
	ended chan error
}

// Start serves a local Azure until Close is called.
func Start(cfg azuresim.Config) (*Azure, error) {
	server, err := azuresim.New(cfg)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	url := "https://" + listener.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	a := &Azure{
		Azure: server, stop: stop, ended: make(chan error, 1),
		Cloud: identity.Cloud{AuthorityHost: url, ResourceManagerEndpoint: url, CAFile: server.CAFile(), DisableInstanceDiscovery: true},
	}
	go func() { a.ended <- server.Serve(ctx, listener) }()
	return a, nil
}

// Close stops the server.
func (a *Azure) Close() error {
	a.stop()
	<-a.ended
	return a.Azure.Close()
}

// Client returns a client of one subscription, as the owner of the local Azure.
func (a *Azure) Client(tenant, subscription string) (*arm.Client, error) {
	pool := identity.New(identity.Config{Clouds: map[string]identity.Cloud{identity.PublicCloud: a.Cloud}})
	return pool.Client("", subscription, identity.Source{Type: identity.ServicePrincipal, TenantID: tenant,
		ClientID: a.Azure.Client().ID, ClientSecret: a.Azure.Client().Secret})
}

// Serve serves a local Azure in a directory of its own until the test ends.
func Serve(t *testing.T, cfg azuresim.Config) *Azure {
	t.Helper()
	cfg.Dir = t.TempDir()
	a, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// Client returns a client of the default subscription of a local Azure that runs until the test ends.
func Client(t *testing.T, cfg azuresim.Config) *arm.Client {
	t.Helper()
	client, err := Serve(t, cfg).Client(azuresim.DefaultTenant, azuresim.DefaultSubscription)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Package identity turns what an AzureClusterIdentity says into credentials and
// into the ARM clients that all objects of one subscription share.
//
// It refuses to read Kubernetes: the caller resolves secrets and hands the material
// in. Material never appears in an error. Controllers and the manager import it.
package identity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/go-logr/logr"

	"casement.dev/casement/internal/azure/arm"
)

// Type is how an identity proves itself, as AzureClusterIdentity spells it.
type Type string

const (
	ServicePrincipal               Type = "ServicePrincipal"
	ManualServicePrincipal         Type = "ManualServicePrincipal"
	ServicePrincipalCertificate    Type = "ServicePrincipalCertificate"
	UserAssignedMSI                Type = "UserAssignedMSI"
	WorkloadIdentity               Type = "WorkloadIdentity"
	UserAssignedIdentityCredential Type = "UserAssignedIdentityCredential"
)

// Source is an identity with its material.
type Source struct {
	Type               Type
	TenantID, ClientID string
	// ResourceID names a managed identity instead of ClientID.
	ResourceID string
	// ClientSecret is a service principal's password.
	ClientSecret string
	// Certificate is PEM or PKCS#12 with its key; CertificatePath is read instead
	// when it is empty. Password opens an encrypted one.
	Certificate     []byte
	CertificatePath string
	Password        string
	// TokenFile holds the federated token of a workload identity; empty means the
	// pool's.
	TokenFile string
	// CredentialsPath is the JSON file of a managed identity's data plane.
	CredentialsPath string
}

// Cloud is where an Azure environment is reached. Empty fields keep what the
// environment has by itself.
type Cloud struct {
	// AuthorityHost is where tokens are issued, such as
	// https://login.microsoftonline.com/.
	AuthorityHost string
	// ResourceManagerEndpoint and ResourceManagerAudience are ARM's address and
	// the audience of its tokens; the audience is the endpoint when empty.
	ResourceManagerEndpoint, ResourceManagerAudience string
	// CAFile and CAData are PEM certificates that are trusted beside the system's.
	CAFile string
	CAData []byte
	// DisableInstanceDiscovery keeps the authority from being checked against
	// Microsoft's list, which a private one is not on.
	DisableInstanceDiscovery bool
	// Local, where it is set, lets no connection leave this machine.
	Local *Local
}

// Config of a Pool.
type Config struct {
	// Clouds overrides environments by name ("AzurePublicCloud").
	Clouds map[string]Cloud
	// TokenFile holds the federated token of workload identities; empty means the
	// file that AZURE_FEDERATED_TOKEN_FILE names.
	TokenFile string
	// Log and Observe are handed to each client; see arm.Config.
	Log     logr.Logger
	Observe func(arm.Observation)
}

// Pool keeps credentials and clients: one per environment, subscription and
// identity. When an identity's material changes, the next call gets new ones. It
// is safe for concurrent use.
type Pool struct {
	config Config

	mu          sync.Mutex
	clouds      map[string]environment
	credentials map[string]kept[azcore.TokenCredential]
	clients     map[string]kept[*arm.Client]
}

// kept is a value and the hash of the material that it was made from.
type kept[T any] struct {
	hash  string
	value T
}

// environment is a Cloud made ready.
type environment struct {
	cloud     cloud.Configuration
	transport policy.Transporter
	// private says that the authority is not one of Microsoft's.
	private bool
	local   *Local
}

// New makes a pool.
func New(c Config) *Pool {
	return &Pool{
		config: c, clouds: map[string]environment{},
		credentials: map[string]kept[azcore.TokenCredential]{}, clients: map[string]kept[*arm.Client]{},
	}
}

// Client returns the client of a subscription for an identity. environment is
// AzureCluster's spec.azureEnvironment; empty means AzurePublicCloud. The same
// client is returned until the identity's material changes.
func (p *Pool) Client(environment, subscriptionID string, s Source) (*arm.Client, error) {
	environment = cmp.Or(environment, PublicCloud)
	p.mu.Lock()
	defer p.mu.Unlock()
	credential, hash, err := p.credential(environment, s)
	if err != nil {
		return nil, err
	}
	slot := environment + "\n" + subscriptionID + "\n" + s.slot()
	if k, ok := p.clients[slot]; ok && k.hash == hash {
		return k.value, nil
	}
	env, err := p.environment(environment)
	if err != nil {
		return nil, err
	}
	client, err := arm.New(arm.Config{
		Cloud: env.cloud, SubscriptionID: subscriptionID, TenantID: s.TenantID,
		Credential: credential, Transport: env.transport, Log: p.config.Log, Observe: p.config.Observe,
	})
	if err != nil {
		return nil, err
	}
	p.clients[slot] = kept[*arm.Client]{hash, client}
	return client, nil
}

// Transport carries what is asked of a cloud without its tokens, as signed addresses
// of storage; nil is the default one.
func (p *Pool) Transport(environment string) (policy.Transporter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	env, err := p.environment(cmp.Or(environment, PublicCloud))
	return env.transport, err
}

// Credential returns the token credential of an identity.
func (p *Pool) Credential(environment string, s Source) (azcore.TokenCredential, error) {
	environment = cmp.Or(environment, PublicCloud)
	p.mu.Lock()
	defer p.mu.Unlock()
	credential, _, err := p.credential(environment, s)
	return credential, err
}

func (p *Pool) credential(environment string, s Source) (azcore.TokenCredential, string, error) {
	s.TokenFile = cmp.Or(s.TokenFile, p.config.TokenFile)
	if err := s.load(); err != nil {
		return nil, "", err
	}
	slot, hash := environment+"\n"+s.slot(), s.hash()
	if k, ok := p.credentials[slot]; ok && k.hash == hash {
		return k.value, hash, nil
	}
	env, err := p.environment(environment)
	if err != nil {
		return nil, "", err
	}
	credential, err := s.credential(env)
	if err != nil {
		return nil, "", err
	}
	p.credentials[slot] = kept[azcore.TokenCredential]{hash, credential}
	return credential, hash, nil
}

// slot distinguishes identities, hash distinguishes their material.
func (s Source) slot() string {
	return string(s.Type) + "\n" + s.TenantID + "\n" + s.ClientID + "\n" + s.ResourceID + "\n" + s.CredentialsPath
}

func (s Source) hash() string {
	h := sha256.New()
	for _, part := range []string{s.ClientSecret, string(s.Certificate), s.Password, s.TokenFile} {
		fmt.Fprintf(h, "%d\n%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// transporter trusts further certificates; nil certificates mean the SDK's own.
func transporter(c Cloud) (policy.Transporter, error) {
	pool, err := trusted(c)
	if err != nil || pool == nil && c.Local == nil {
		return nil, err
	}
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the process has replaced net/http's default transport")
	}
	t := base.Clone()
	t.TLSClientConfig = tlsConfig(pool)
	t.MaxIdleConnsPerHost = idleConnections
	dial := t.DialContext
	if c.Local != nil {
		t.Proxy, dial = nil, c.Local.dial
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, network, loopback(address))
	}
	return &http.Client{Transport: t}, nil
}

// loopback leads names below localhost to this machine, as RFC 6761, section 6.3 asks
// of resolvers, which not all do. The vaults of a local Azure have such names.
func loopback(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err == nil && strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// idleConnections is how many connections to ARM are kept; a pass makes up to
// eight calls at a time, and several passes run at once.
const idleConnections = 32

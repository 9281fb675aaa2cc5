// Package identity turns the spec of an AzureClusterIdentity into credentials and into the ARM clients that all objects
// of one subscription share.
//
// It does not read Kubernetes objects: the caller reads the secrets and passes their content. Secret content never
// appears in an error. Controllers, the manager, internal/azure/rescue, the local plane and the command line import it.
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

// Type is the kind of authentication of an identity, as AzureClusterIdentity spells it.
type Type string

const (
	ServicePrincipal               Type = "ServicePrincipal"
	ManualServicePrincipal         Type = "ManualServicePrincipal"
	ServicePrincipalCertificate    Type = "ServicePrincipalCertificate"
	UserAssignedMSI                Type = "UserAssignedMSI"
	WorkloadIdentity               Type = "WorkloadIdentity"
	UserAssignedIdentityCredential Type = "UserAssignedIdentityCredential"
)

// Source is an identity with its credentials.
type Source struct {
	Type               Type
	TenantID, ClientID string
	// ResourceID identifies a managed identity instead of ClientID.
	ResourceID string
	// ClientSecret is a service principal's password.
	ClientSecret string
	// Certificate is a certificate with its key, in PEM or PKCS#12; if it is empty, CertificatePath is read. Password
	// decrypts it.
	Certificate     []byte
	CertificatePath string
	Password        string
	// TokenFile contains the federated token of a workload identity; "" means the Pool's TokenFile.
	TokenFile string
	// CredentialsPath is the JSON file of the data plane of managed identities.
	CredentialsPath string
}

// Cloud has the endpoints of an Azure environment. Empty fields keep the environment's own values.
type Cloud struct {
	// AuthorityHost is the host that issues tokens, such as
	// https://login.microsoftonline.com/.
	AuthorityHost string
	// ResourceManagerEndpoint is ARM's address. ResourceManagerAudience is the audience of its tokens; it defaults to
	// the endpoint.
	ResourceManagerEndpoint, ResourceManagerAudience string
	// CAFile and CAData are PEM certificates that are trusted in addition to the system's.
	CAFile string
	CAData []byte
	// DisableInstanceDiscovery skips the check of the authority against Microsoft's list,
	// which does not contain a private authority.
	DisableInstanceDiscovery bool
	// Local, if set, allows connections to this computer only.
	Local *Local
}

// Config configures a Pool.
type Config struct {
	// Clouds has overrides by name of the environment ("AzurePublicCloud").
	Clouds map[string]Cloud
	// TokenFile contains the federated token of workload identities; empty means the file
	// in AZURE_FEDERATED_TOKEN_FILE.
	TokenFile string
	// Log and Observe are passed to each client; see arm.Config.
	Log     logr.Logger
	Observe func(arm.Observation)
}

// Pool keeps credentials and clients: one per environment, subscription and identity. After
// a change of an identity's credentials, the next call returns new ones. It is safe for
// concurrent use.
type Pool struct {
	config Config

	mu          sync.Mutex
	clouds      map[string]environment
	credentials map[string]kept[azcore.TokenCredential]
	clients     map[string]kept[*arm.Client]
}

// kept is a cached value with the hash of the credentials from which it was created.
type kept[T any] struct {
	hash  string
	value T
}

// environment is a Cloud with its parsed configuration and transport.
type environment struct {
	cloud     cloud.Configuration
	transport policy.Transporter
	// private is true if the authority is not Microsoft's.
	private bool
	local   *Local
}

// New returns a new Pool.
func New(c Config) *Pool {
	return &Pool{
		config: c, clouds: map[string]environment{},
		credentials: map[string]kept[azcore.TokenCredential]{}, clients: map[string]kept[*arm.Client]{},
	}
}

// Client returns the client of a subscription for an identity. environment is AzureCluster's spec.azureEnvironment;
// empty means AzurePublicCloud. The same client is returned until the identity's credentials change.
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

// Transport returns the transport for requests to a cloud that have no token, such as to
// signed URLs of storage; nil means the default one.
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

// slot returns the key of an identity in the pool; unlike hash, it does not depend on the credentials.
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

// transporter returns a transport that trusts the Cloud's additional certificates; nil for the SDK's own transport if
// there are none.
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

// loopback returns the address for this computer if the name is below localhost. RFC 6761, section 6.3 requires this of
// resolvers, but not all do it. The vaults of a local Azure have such names.
func loopback(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err == nil && strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// idleConnections is the number of idle connections to ARM that are kept; a pass makes up to eight calls at
// a time, and several passes run concurrently.
const idleConnections = 32

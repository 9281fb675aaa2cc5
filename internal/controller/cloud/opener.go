// Package cloud connects an AzureCluster to its subscription: it resolves the identity, opens sessions that share
// reads, clients and catalogs, and passes operations between a status and the planner.
//
// It decides nothing about resources. The controllers and the packages that they share import it, and the manager and the
// command line create the Opener.
package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/azure/identity"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/azure/vault"
	"casement.dev/casement/internal/controller/credential"
)

// AbandonAnnotation on an AzureCluster or AzureMachine with the value "true" allows its deletion without its Azure
// resources, for the case that its credentials cannot be restored.
const AbandonAnnotation = "infrastructure.cluster.x-k8s.io/abandon-azure-resources"

// Abandoned reports whether a user has given up an object's Azure resources.
func Abandoned(o client.Object) bool { return o.GetAnnotations()[AbandonAnnotation] == "true" }

// Opener opens sessions. There is one per manager, because sessions for the same
// subscription share their caches. It is safe for concurrent use.
type Opener struct {
	// Reader reads the credentials of identities.
	*credential.Reader

	client  client.Client
	pool    *identity.Pool
	readTTL time.Duration

	mu     sync.Mutex
	shared map[string]shared

	changing sync.Mutex
	// changed are the identities that this Opener changed last, by their name.
	changed map[client.ObjectKey]changed
}

// changed is an identity after a change, with the earlier versions that a cache may still return.
type changed struct {
	identity *infrav1.AzureClusterIdentity
	before   map[string]bool
}

// shared is the state of all clusters with the same identity and subscription.
type shared struct {
	client  *arm.Client
	planner *plan.Planner
	catalog *catalog.Catalog
	// storage sends requests to signed URLs; nil means the default client.
	storage policy.Transporter
	// vault writes bootstrap secrets; tenantID is the identity's tenant and may be "".
	vault    *vault.Client
	tenantID string
}

// Config is the configuration of an Opener.
type Config struct {
	// Client reads identities, secrets and namespaces.
	Client client.Client
	// Versions, if set, is a cache of the metadata of secrets: a secret is then read again only if its version has changed.
	Versions client.Reader
	// Grants decides whether an identity may use a secret of another namespace.
	Grants credential.Grants
	// Clouds has the overrides of the endpoints of Azure environments, by name.
	Clouds map[string]identity.Cloud
	// TokenFile contains the federated token of workload identities; empty means the file
	// in AZURE_FEDERATED_TOKEN_FILE.
	TokenFile string
	// Log gets a line per ARM call at V(4).
	Log logr.Logger
	// Observe, if set, is called for every ARM call. It must not block.
	Observe func(arm.Observation)
	// ReadTTL is the maximum age of a shared list of Azure resources; 0 means one minute.
	ReadTTL time.Duration
}

// NewOpener returns a new Opener.
func NewOpener(c Config) *Opener {
	return &Opener{
		Reader:  credential.NewReader(c.Client, c.Versions, c.Grants),
		client:  c.Client,
		pool:    identity.New(identity.Config{Clouds: c.Clouds, TokenFile: c.TokenFile, Log: c.Log, Observe: c.Observe}),
		readTTL: c.ReadTTL, shared: map[string]shared{}, changed: map[client.ObjectKey]changed{},
	}
}

// Open returns the session of a cluster. It makes no call to Azure. The error is a *credential.IdentityError if the
// user has to repair the identity.
func (o *Opener) Open(ctx context.Context, c *infrav1.AzureCluster) (*Session, error) {
	source, err := o.Source(ctx, c)
	if err != nil {
		return nil, err
	}
	armClient, err := o.pool.Client(c.Spec.AzureEnvironment, c.Spec.SubscriptionID, source)
	if err != nil {
		return nil, credential.Unusable(c, err)
	}
	transport, err := o.pool.Transport(c.Spec.AzureEnvironment)
	if err != nil {
		return nil, err
	}
	session := &Session{shared: o.share(c, armClient), owner: o.owner(c)}
	session.storage = transport
	token, err := o.pool.Credential(c.Spec.AzureEnvironment, source)
	if err != nil {
		return nil, credential.Unusable(c, err)
	}
	session.vault, session.tenantID = vault.New(token, transport), source.TenantID
	return session, nil
}

// Client returns the ARM client of a cluster's subscription, for tools that read with the cluster's identity. Its
// errors are the same as Open's.
func (o *Opener) Client(ctx context.Context, c *infrav1.AzureCluster) (*arm.Client, error) {
	session, err := o.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return session.client, nil
}

// share returns the caches that all users of an ARM client share; it creates them for a new
// client.
func (o *Opener) share(c *infrav1.AzureCluster, armClient *arm.Client) shared {
	slot := fmt.Sprintf("%s/%s/%s", c.Spec.AzureEnvironment, c.Spec.SubscriptionID, credential.Key(c))
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, known := range o.shared {
		if known.client == armClient {
			return known
		}
	}
	made := shared{client: armClient, planner: plan.New(armClient, plan.Options{TTL: o.readTTL}), catalog: catalog.New(armClient, nil)}
	o.shared[slot] = made
	return made
}

// Hold adds a finalizer to the cluster's identity, so that the identity is not deleted before the cluster. The error is
// a *credential.IdentityError if the identity is being deleted.
func (o *Opener) Hold(ctx context.Context, c *infrav1.AzureCluster) error {
	if c.Spec.IdentityRef == nil {
		return nil
	}
	found := &infrav1.AzureClusterIdentity{}
	if err := o.client.Get(ctx, credential.Key(c), found); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !found.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(found, identityFinalizer(c)) {
		// The API server refuses new finalizers on an object that is being deleted.
		return &credential.IdentityError{Reason: credential.IdentityDeleting,
			Message: fmt.Sprintf("spec.identityRef: AzureClusterIdentity %s is being deleted, and would "+
				"not outlive the cluster: name another, or let it be deleted and create it again", credential.Key(c))}
	}
	return o.change(ctx, c, found, controllerutil.AddFinalizer)
}

// Release removes the cluster's finalizer from all identities that have it: the cluster may have used another identity before.
func (o *Opener) Release(ctx context.Context, c *infrav1.AzureCluster) error {
	var all infrav1.AzureClusterIdentityList
	if err := o.client.List(ctx, &all); err != nil {
		return fmt.Errorf("find the identities that AzureCluster %s holds: %w", c.Name, err)
	}
	var errs []error
	for i := range all.Items {
		errs = append(errs, o.change(ctx, c, &all.Items[i], controllerutil.RemoveFinalizer))
	}
	return errors.Join(errs...)
}

// change changes the finalizers of an identity. It is no error if the identity does not exist. Changes for several
// clusters are made one after the other, each on the result of the previous one: with only the cache, all but one would
// fail with a conflict and be retried.
func (o *Opener) change(ctx context.Context, c *infrav1.AzureCluster, found *infrav1.AzureClusterIdentity,
	change func(client.Object, string) bool) error {
	o.changing.Lock()
	defer o.changing.Unlock()
	key := client.ObjectKeyFromObject(found)
	last := o.changed[key]
	if last.before[found.ResourceVersion] {
		found = last.identity.DeepCopy()
	} else {
		last = changed{before: map[string]bool{}}
		delete(o.changed, key)
	}
	before := found.DeepCopy()
	if !change(found, identityFinalizer(c)) {
		return nil
	}
	// Other writers change the same list.
	err := o.client.Patch(ctx, found, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		delete(o.changed, key)
		if err := client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("change the finalizers of AzureClusterIdentity %s: %w", key, err)
		}
		return nil
	}
	last.identity, last.before[before.ResourceVersion] = found, true
	o.changed[key] = last
	return nil
}

// identityFinalizer returns the cluster's finalizer on its identity, with CAPZ's name: a hash, because the names of a
// cluster may be longer than a finalizer.
func identityFinalizer(c *infrav1.AzureCluster) string {
	sum := sha256.Sum224([]byte(c.Namespace + "-" + c.Name))
	return infrav1.ClusterFinalizer + "/" + hex.EncodeToString(sum[:])
}

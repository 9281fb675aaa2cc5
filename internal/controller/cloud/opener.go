// Package cloud joins an AzureCluster to the subscription that it lives in: it
// resolves the identity, hands out sessions that share reads, clients and
// catalogs, and carries operations between a status and the planner.
//
// It decides nothing about resources. The controllers and what they share import it, and the manager and the
// command line make the Opener.
package cloud

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/azure/identity"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/azure/vault"
	"casement.dev/casement/internal/grant"
)

// AbandonAnnotation on an AzureCluster or AzureMachine with the value "true" lets it be
// deleted without its Azure resources, for the case that its credentials cannot be
// restored.
const AbandonAnnotation = "infrastructure.cluster.x-k8s.io/abandon-azure-resources"

// Abandoned reports whether a user gave an object's Azure resources up.
func Abandoned(o client.Object) bool { return o.GetAnnotations()[AbandonAnnotation] == "true" }

// Reasons of an IdentityError.
const (
	IdentityNotSet        = "IdentityNotSet"
	IdentityNotFound      = "IdentityNotFound"
	IdentityInvalid       = "IdentityInvalid"
	IdentityDeleting      = "IdentityBeingDeleted"
	IdentitySecretMissing = "IdentitySecretNotFound"
	NamespaceNotAllowed   = "NamespaceNotAllowedByIdentity"
	SecretNotAllowed      = "IdentitySecretNotAllowed"
	SecretNotReadable     = "ClientSecretNotReadable"
)

// IdentityError explains why a cluster has no credentials. Identities, their secrets and
// clusters are watched, so that a repair triggers a reconcile.
type IdentityError struct{ Reason, Message string }

func (e *IdentityError) Error() string { return e.Message }

// Opener opens sessions. There is one per manager, because sessions for the same
// subscription share their caches. It is safe for concurrent use.
type Opener struct {
	client  client.Client
	grants  Grants
	pool    *identity.Pool
	readTTL time.Duration
	// versions reads the metadata of secrets; it may be nil.
	versions client.Reader

	mu      sync.Mutex
	shared  map[string]shared
	secrets map[types.NamespacedName]*corev1.Secret // as last read
}

// shared is what all clusters with one identity in one subscription share.
type shared struct {
	client  *arm.Client
	planner *plan.Planner
	catalog *catalog.Catalog
	// storage sends requests to signed URLs; nil means the default client.
	storage policy.Transporter
	// vault writes bootstrap secrets; tenantID is the identity's tenant and may be empty.
	vault    *vault.Client
	tenantID string
}

// Grants reports whether an identity may use a Secret of another namespace, because a user
// who can read the Secret wrote the reference.
type Grants interface {
	Holds(ctx context.Context, i *infrav1.AzureClusterIdentity) (bool, error)
}

// AsReader implements Grants for a program whose client has its user's permissions: it may
// use what it can read.
type AsReader struct{}

// Holds implements Grants.
func (AsReader) Holds(context.Context, *infrav1.AzureClusterIdentity) (bool, error) { return true, nil }

// Config of an Opener.
type Config struct {
	// Client reads identities, secrets and namespaces.
	Client client.Client
	// Versions, if set, is a cache of the metadata of secrets: a secret is read again only
	// when its version changes.
	Versions client.Reader
	// Grants decides about secrets in other namespaces than their identity's.
	Grants Grants
	// Clouds overrides the endpoints of Azure environments, by name.
	Clouds map[string]identity.Cloud
	// TokenFile contains the federated token of workload identities; empty means the file
	// in AZURE_FEDERATED_TOKEN_FILE.
	TokenFile string
	// Log gets a line per ARM call at V(4).
	Log logr.Logger
	// Observe, if set, is called for every ARM call. It must not block.
	Observe func(arm.Observation)
	// ReadTTL is how old a shared list of Azure resources may be; 0 means one minute.
	ReadTTL time.Duration
}

// NewOpener returns a new Opener.
func NewOpener(c Config) *Opener {
	return &Opener{
		client:  c.Client,
		grants:  c.Grants,
		pool:    identity.New(identity.Config{Clouds: c.Clouds, TokenFile: c.TokenFile, Log: c.Log, Observe: c.Observe}),
		readTTL: c.ReadTTL, versions: c.Versions,
		shared: map[string]shared{}, secrets: map[types.NamespacedName]*corev1.Secret{},
	}
}

// IdentityKey returns the name of the identity that a cluster refers to; its namespace
// defaults to the cluster's.
func IdentityKey(c *infrav1.AzureCluster) types.NamespacedName {
	ref := c.Spec.IdentityRef
	if ref == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, c.Namespace), Name: ref.Name}
}

// Open returns the session of a cluster. It makes no call to Azure. The error is an
// *IdentityError if the user has to repair the identity.
func (o *Opener) Open(ctx context.Context, c *infrav1.AzureCluster) (*Session, error) {
	source, err := o.source(ctx, c)
	if err != nil {
		return nil, err
	}
	armClient, err := o.pool.Client(c.Spec.AzureEnvironment, c.Spec.SubscriptionID, source)
	if err != nil {
		return nil, &IdentityError{IdentityInvalid, fmt.Sprintf("AzureClusterIdentity %s cannot be used: %v", IdentityKey(c), err)}
	}
	transport, err := o.pool.Transport(c.Spec.AzureEnvironment)
	if err != nil {
		return nil, err
	}
	session := &Session{shared: o.share(c, armClient), owner: o.owner(c)}
	session.storage = transport
	credential, err := o.pool.Credential(c.Spec.AzureEnvironment, source)
	if err != nil {
		return nil, &IdentityError{IdentityInvalid, fmt.Sprintf("AzureClusterIdentity %s cannot be used: %v", IdentityKey(c), err)}
	}
	session.vault, session.tenantID = vault.New(credential, transport), source.TenantID
	return session, nil
}

// Client returns the ARM client of a cluster's subscription, for tools that read what the
// cluster's identity may read. Its errors are those of Open.
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
	slot := fmt.Sprintf("%s/%s/%s", c.Spec.AzureEnvironment, c.Spec.SubscriptionID, IdentityKey(c))
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

// Credentials are the parts of an identity that azure.json may need. They are secret.
type Credentials struct{ TenantID, ClientID, ClientSecret string }

// Credentials returns the credentials of a cluster's identity. Its errors are those of
// Open.
func (o *Opener) Credentials(ctx context.Context, c *infrav1.AzureCluster) (Credentials, error) {
	s, err := o.source(ctx, c)
	return Credentials{TenantID: s.TenantID, ClientID: s.ClientID, ClientSecret: s.ClientSecret}, err
}

// Readable returns nil if the client secret of a cluster's identity may be written in clear
// into Secrets of the cluster's namespace: who may use an identity may not, for that, read its
// secret. Otherwise the error is an *IdentityError.
func (o *Opener) Readable(ctx context.Context, c *infrav1.AzureCluster) error {
	i := &infrav1.AzureClusterIdentity{}
	if err := o.client.Get(ctx, IdentityKey(c), i); err != nil {
		return fmt.Errorf("read AzureClusterIdentity %s: %w", IdentityKey(c), err)
	}
	key := grant.SecretOf(i)
	if key.Name == "" || key.Namespace == c.Namespace {
		return nil
	}
	secret, err := o.secret(ctx, key)
	if err != nil {
		return fmt.Errorf("read secret %s of AzureClusterIdentity %s: %w", key, IdentityKey(c), err)
	}
	allowed := strings.Split(secret.Annotations[infrav1.ClientSecretNamespacesAnnotation], ",")
	where := "secret " + key.String()
	if i.Namespace == key.Namespace {
		allowed = append(allowed, strings.Split(i.Annotations[infrav1.ClientSecretNamespacesAnnotation], ",")...)
		where = "AzureClusterIdentity " + IdentityKey(c).String()
	}
	if slices.ContainsFunc(allowed, func(n string) bool { n = strings.TrimSpace(n); return n == "*" || n == c.Namespace }) {
		return nil
	}
	return &IdentityError{SecretNotReadable, fmt.Sprintf("the machines have no identity of their own, and the client secret of "+
		"AzureClusterIdentity %s, which is in namespace %s, may not be read in namespace %s: set identity UserAssigned and "+
		"userAssignedIdentities in the machine template, use an identity of type WorkloadIdentity or UserAssignedMSI, "+
		"or have who owns the secret annotate %s with %s=%s",
		IdentityKey(c), key.Namespace, c.Namespace, where, infrav1.ClientSecretNamespacesAnnotation, c.Namespace)}
}

// source reads the identity, checks that the cluster may use it, and reads its
// secret.
func (o *Opener) source(ctx context.Context, c *infrav1.AzureCluster) (identity.Source, error) {
	if c.Spec.IdentityRef == nil {
		return identity.Source{}, &IdentityError{IdentityNotSet, "spec.identityRef is not set: name the AzureClusterIdentity to use"}
	}
	found := &infrav1.AzureClusterIdentity{}
	key := IdentityKey(c)
	if err := o.client.Get(ctx, key, found); apierrors.IsNotFound(err) {
		return identity.Source{}, &IdentityError{IdentityNotFound,
			fmt.Sprintf("spec.identityRef: AzureClusterIdentity %s does not exist: create it or name another", key)}
	} else if err != nil {
		return identity.Source{}, fmt.Errorf("read AzureClusterIdentity %s: %w", key, err)
	}
	if err := o.allowed(ctx, found, c); err != nil {
		return identity.Source{}, err
	}
	s := identity.Source{
		Type:     identity.Type(found.Spec.Type),
		TenantID: found.Spec.TenantID, ClientID: found.Spec.ClientID, ResourceID: found.Spec.ResourceID,
		CertificatePath: found.Spec.CertPath, CredentialsPath: found.Spec.UserAssignedIdentityCredentialsPath,
	}
	return s, o.readSecret(ctx, found, &s)
}

// allowed checks that the identity may be used in the cluster's namespace.
func (o *Opener) allowed(ctx context.Context, i *infrav1.AzureClusterIdentity, c *infrav1.AzureCluster) error {
	given := i.Spec.AllowedNamespaces
	var namespaceLabels map[string]string
	if given != nil && given.Selector != nil {
		namespace := &corev1.Namespace{}
		if err := o.client.Get(ctx, types.NamespacedName{Name: c.Namespace}, namespace); err != nil {
			return fmt.Errorf("read namespace %s: %w", c.Namespace, err)
		}
		namespaceLabels = namespace.Labels
	}
	ok, err := identity.Allowed((*identity.AllowedNamespaces)(given), c.Namespace, namespaceLabels)
	if err != nil {
		return &IdentityError{IdentityInvalid, fmt.Sprintf("AzureClusterIdentity %s: %v", IdentityKey(c), err)}
	}
	if !ok {
		return &IdentityError{NamespaceNotAllowed, fmt.Sprintf("AzureClusterIdentity %s does not allow "+
			"namespace %s: add it to its spec.allowedNamespaces", IdentityKey(c), c.Namespace)}
	}
	return nil
}

// readSecret sets the fields that the identity keeps in a secret.
func (o *Opener) readSecret(ctx context.Context, i *infrav1.AzureClusterIdentity, s *identity.Source) error {
	key := grant.SecretOf(i)
	if key.Name == "" {
		return nil
	}
	secret, err := o.secret(ctx, key)
	if client.IgnoreNotFound(err) == nil {
		// The check comes before any message about the secret, even that it does not exist.
		if refused := o.mayUse(ctx, i, secret); refused != nil {
			return refused
		}
	}
	if apierrors.IsNotFound(err) {
		return &IdentityError{IdentitySecretMissing, fmt.Sprintf("spec.clientSecret of AzureClusterIdentity %s "+
			"names secret %s, which does not exist: create it with the key "+
			"clientSecret", client.ObjectKeyFromObject(i), key)}
	} else if err != nil {
		return fmt.Errorf("read secret %s of AzureClusterIdentity %s: %w", key, client.ObjectKeyFromObject(i), err)
	}
	if s.Type == identity.ServicePrincipalCertificate {
		s.Certificate, s.Password = secret.Data["certificate"], string(secret.Data["password"])
		if len(s.Certificate) == 0 {
			s.Certificate = secret.Data["clientSecret"]
		}
		return nil
	}
	s.ClientSecret = string(secret.Data["clientSecret"])
	return nil
}

// secret reads a secret, unless its version is the one that was read last.
func (o *Opener) secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	newest := &metav1.PartialObjectMetadata{}
	newest.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if o.versions != nil && o.versions.Get(ctx, key, newest) == nil {
		o.mu.Lock()
		known := o.secrets[key]
		o.mu.Unlock()
		if known != nil && known.UID == newest.UID && known.ResourceVersion == newest.ResourceVersion {
			return known, nil
		}
	}
	secret := &corev1.Secret{}
	err := o.client.Get(ctx, key, secret)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.secrets, key)
	if err == nil && o.versions != nil {
		o.secrets[key] = secret
	}
	return secret, err
}

// mayUse checks that the author of an identity did not refer to a secret of another
// namespace without being allowed to read it.
func (o *Opener) mayUse(ctx context.Context, i *infrav1.AzureClusterIdentity, secret *corev1.Secret) error {
	if !grant.Foreign(i) || grant.Names(secret, i) {
		return nil
	}
	if o.grants != nil {
		if granted, err := o.grants.Holds(ctx, i); err != nil || granted {
			return err
		}
	}
	return &IdentityError{SecretNotAllowed, fmt.Sprintf("spec.clientSecret of AzureClusterIdentity %s/%s names "+
		"secret %s of another namespace, and it is not known that who wrote this may read it: "+
		"keep the secret in namespace %s, annotate it with %s=%s/%s, or create the identity as a user who may read it",
		i.Namespace, i.Name, grant.SecretOf(i), i.Namespace, grant.IdentitiesAnnotation, i.Namespace, i.Name)}
}

// Hold adds a finalizer to the cluster's identity, so that it outlives the cluster. The error
// is an *IdentityError if the identity is being deleted.
func (o *Opener) Hold(ctx context.Context, c *infrav1.AzureCluster) error {
	if c.Spec.IdentityRef == nil {
		return nil
	}
	found := &infrav1.AzureClusterIdentity{}
	if err := o.client.Get(ctx, IdentityKey(c), found); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !found.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(found, identityFinalizer(c)) {
		// The API server takes no new finalizer of what is being deleted.
		return &IdentityError{IdentityDeleting, fmt.Sprintf("spec.identityRef: AzureClusterIdentity %s is being deleted, and would "+
			"not outlive the cluster: name another, or let it be deleted and create it again", IdentityKey(c))}
	}
	return o.change(ctx, c, found, controllerutil.AddFinalizer)
}

// Release removes the finalizer from all identities that have it: the cluster may have used
// another identity before.
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

// change changes the finalizers of an identity. It is no error if the identity does not
// exist.
func (o *Opener) change(ctx context.Context, c *infrav1.AzureCluster, found *infrav1.AzureClusterIdentity,
	change func(client.Object, string) bool) error {
	before := found.DeepCopy()
	if !change(found, identityFinalizer(c)) {
		return nil
	}
	// Other clusters change the same list.
	err := o.client.Patch(ctx, found, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("change the finalizers of AzureClusterIdentity %s: %w", client.ObjectKeyFromObject(found), err)
	}
	return nil
}

// identityFinalizer returns the cluster's finalizer on its identity, with CAPZ's name:
// names may be longer than a finalizer.
func identityFinalizer(c *infrav1.AzureCluster) string {
	sum := sha256.Sum224([]byte(c.Namespace + "-" + c.Name))
	return infrav1.ClusterFinalizer + "/" + hex.EncodeToString(sum[:])
}

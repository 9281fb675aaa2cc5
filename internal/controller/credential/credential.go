// Package credential reads the AzureClusterIdentity that a cluster refers to, with its secret, and decides whether the
// cluster may use it.
//
// It makes no call to Azure. Package cloud opens sessions with the credentials, and the command line calls Azure with
// them; the controllers handle its errors.
package credential

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/identity"
	"casement.dev/casement/internal/grant"
)

// Reader reads credentials. It is safe for concurrent use.
type Reader struct {
	client client.Reader
	grants Grants
	// versions reads the metadata of secrets; it may be nil.
	versions client.Reader

	mu      sync.Mutex
	secrets map[types.NamespacedName]*corev1.Secret // each secret as it was last read
}

// NewReader returns a Reader of identities, secrets and namespaces. With versions, a cache of the metadata of secrets,
// a secret is read again only when its version changes. grants decides whether an identity may use a secret of another
// namespace.
func NewReader(c client.Reader, versions client.Reader, grants Grants) *Reader {
	return &Reader{client: c, grants: grants, versions: versions, secrets: map[types.NamespacedName]*corev1.Secret{}}
}

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

// IdentityError is the reason why a cluster has no credentials. Identities, their secrets and clusters are watched, so
// that a repair triggers a reconcile.
type IdentityError struct{ Reason, Message string }

func (e *IdentityError) Error() string { return e.Message }

// Unusable returns the error for a cluster's identity with which no client can be created.
func Unusable(c *infrav1.AzureCluster, err error) *IdentityError {
	return &IdentityError{IdentityInvalid, fmt.Sprintf("AzureClusterIdentity %s cannot be used: %v", Key(c), err)}
}

// Grants reports whether an identity may use a Secret of another namespace, because a user
// who can read the Secret wrote the reference.
type Grants interface {
	Holds(ctx context.Context, i *infrav1.AzureClusterIdentity) (bool, error)
}

// AsReader implements Grants for a program whose client has its user's permissions: the program may use every secret
// that it can read.
type AsReader struct{}

// Holds implements Grants.
func (AsReader) Holds(context.Context, *infrav1.AzureClusterIdentity) (bool, error) { return true, nil }

// Key returns the name of the identity that a cluster refers to; its namespace
// defaults to the cluster's.
func Key(c *infrav1.AzureCluster) types.NamespacedName {
	ref := c.Spec.IdentityRef
	if ref == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, c.Namespace), Name: ref.Name}
}

// Credentials are the parts of an identity that azure.json may need. They are secret.
type Credentials struct{ TenantID, ClientID, ClientSecret string }

// Credentials returns the credentials of a cluster's identity. Its errors are those of Source.
func (r *Reader) Credentials(ctx context.Context, c *infrav1.AzureCluster) (Credentials, error) {
	s, err := r.Source(ctx, c)
	return Credentials{TenantID: s.TenantID, ClientID: s.ClientID, ClientSecret: s.ClientSecret}, err
}

// CheckSecretReadable returns nil if the client secret of a cluster's identity may be copied in plain text into Secrets of the
// cluster's namespace. Permission to use an identity does not include permission to read its secret. Otherwise the
// error is an *IdentityError.
func (r *Reader) CheckSecretReadable(ctx context.Context, c *infrav1.AzureCluster) error {
	i := &infrav1.AzureClusterIdentity{}
	if err := r.client.Get(ctx, Key(c), i); err != nil {
		return fmt.Errorf("read AzureClusterIdentity %s: %w", Key(c), err)
	}
	key := grant.SecretOf(i)
	if key.Name == "" || key.Namespace == c.Namespace {
		return nil
	}
	secret, err := r.secret(ctx, key)
	if err != nil {
		return fmt.Errorf("read secret %s of AzureClusterIdentity %s: %w", key, Key(c), err)
	}
	allowed := strings.Split(secret.Annotations[infrav1.ClientSecretNamespacesAnnotation], ",")
	where := "secret " + key.String()
	if i.Namespace == key.Namespace {
		allowed = append(allowed, strings.Split(i.Annotations[infrav1.ClientSecretNamespacesAnnotation], ",")...)
		where = "AzureClusterIdentity " + Key(c).String()
	}
	if slices.ContainsFunc(allowed, func(n string) bool { n = strings.TrimSpace(n); return n == "*" || n == c.Namespace }) {
		return nil
	}
	return &IdentityError{SecretNotReadable, fmt.Sprintf("the machines have no identity of their own, and the client secret of "+
		"AzureClusterIdentity %s, which is in namespace %s, may not be read in namespace %s: set identity UserAssigned and "+
		"userAssignedIdentities in the machine template, use an identity of type WorkloadIdentity or UserAssignedMSI, "+
		"or have who owns the secret annotate %s with %s=%s",
		Key(c), key.Namespace, c.Namespace, where, infrav1.ClientSecretNamespacesAnnotation, c.Namespace)}
}

// Source reads the identity, checks that the cluster may use it, and reads its
// secret. The error is an *IdentityError if the user has to repair the identity.
func (r *Reader) Source(ctx context.Context, c *infrav1.AzureCluster) (identity.Source, error) {
	if c.Spec.IdentityRef == nil {
		return identity.Source{}, &IdentityError{IdentityNotSet, "spec.identityRef is not set: name the AzureClusterIdentity to use"}
	}
	found := &infrav1.AzureClusterIdentity{}
	key := Key(c)
	if err := r.client.Get(ctx, key, found); apierrors.IsNotFound(err) {
		return identity.Source{}, &IdentityError{IdentityNotFound,
			fmt.Sprintf("spec.identityRef: AzureClusterIdentity %s does not exist: create it or name another", key)}
	} else if err != nil {
		return identity.Source{}, fmt.Errorf("read AzureClusterIdentity %s: %w", key, err)
	}
	if err := r.allowed(ctx, found, c); err != nil {
		return identity.Source{}, err
	}
	s := identity.Source{
		Type:     identity.Type(found.Spec.Type),
		TenantID: found.Spec.TenantID, ClientID: found.Spec.ClientID, ResourceID: found.Spec.ResourceID,
		CertificatePath: found.Spec.CertPath, CredentialsPath: found.Spec.UserAssignedIdentityCredentialsPath,
	}
	return s, r.readSecret(ctx, found, &s)
}

// allowed checks that the identity may be used in the cluster's namespace.
func (r *Reader) allowed(ctx context.Context, i *infrav1.AzureClusterIdentity, c *infrav1.AzureCluster) error {
	given := i.Spec.AllowedNamespaces
	var namespaceLabels map[string]string
	if given != nil && given.Selector != nil {
		namespace := &corev1.Namespace{}
		if err := r.client.Get(ctx, types.NamespacedName{Name: c.Namespace}, namespace); err != nil {
			return fmt.Errorf("read namespace %s: %w", c.Namespace, err)
		}
		namespaceLabels = namespace.Labels
	}
	ok, err := identity.Allowed((*identity.AllowedNamespaces)(given), c.Namespace, namespaceLabels)
	if err != nil {
		return &IdentityError{IdentityInvalid, fmt.Sprintf("AzureClusterIdentity %s: %v", Key(c), err)}
	}
	if !ok {
		return &IdentityError{NamespaceNotAllowed, fmt.Sprintf("AzureClusterIdentity %s does not allow "+
			"namespace %s: add it to its spec.allowedNamespaces", Key(c), c.Namespace)}
	}
	return nil
}

// readSecret sets the fields that the identity stores in a secret.
func (r *Reader) readSecret(ctx context.Context, i *infrav1.AzureClusterIdentity, s *identity.Source) error {
	key := grant.SecretOf(i)
	if key.Name == "" {
		return nil
	}
	secret, err := r.secret(ctx, key)
	if client.IgnoreNotFound(err) == nil {
		// This check is before any message about the secret, even about a missing one.
		if refused := r.mayUse(ctx, i, secret); refused != nil {
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

// secret returns a secret, which it reads again only if the version has changed.
func (r *Reader) secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	newest := &metav1.PartialObjectMetadata{}
	newest.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if r.versions != nil && r.versions.Get(ctx, key, newest) == nil {
		r.mu.Lock()
		known := r.secrets[key]
		r.mu.Unlock()
		if known != nil && known.UID == newest.UID && known.ResourceVersion == newest.ResourceVersion {
			return known, nil
		}
	}
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, key, secret)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.secrets, key)
	if err == nil && r.versions != nil {
		r.secrets[key] = secret
	}
	return secret, err
}

// mayUse returns an error if an identity refers to a secret of another namespace that its author may not be permitted to read.
func (r *Reader) mayUse(ctx context.Context, i *infrav1.AzureClusterIdentity, secret *corev1.Secret) error {
	if !grant.Foreign(i) || grant.Names(secret, i) {
		return nil
	}
	if r.grants != nil {
		if granted, err := r.grants.Holds(ctx, i); err != nil || granted {
			return err
		}
	}
	return &IdentityError{SecretNotAllowed, fmt.Sprintf("spec.clientSecret of AzureClusterIdentity %s/%s names "+
		"secret %s of another namespace, and it is not known that who wrote this may read it: "+
		"keep the secret in namespace %s, annotate it with %s=%s/%s, or create the identity as a user who may read it",
		i.Namespace, i.Name, grant.SecretOf(i), i.Namespace, grant.IdentitiesAnnotation, i.Namespace, i.Name)}
}

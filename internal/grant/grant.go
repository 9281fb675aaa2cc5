// Package grant decides which Secrets of other namespaces an AzureClusterIdentity may use, and records admission's
// findings about it.
//
// A user who may write an identity in one namespace must not thereby make the manager read a Secret in another. A
// record means that the author of the reference could read the Secret. It is a ConfigMap in the manager's own
// namespace, where users do not write, and belongs to one identity by its UID and to one Secret, so that it can be
// neither forged nor copied. The package never reads a Secret's data. The webhooks write records,
// internal/controller/credential reads them, and the manager creates the Book.
package grant

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
)

const (
	// IdentitiesAnnotation on a Secret lists the identities of other namespaces that may use it, as namespace/name,
	// separated by commas.
	IdentitiesAnnotation = "infrastructure.cluster.x-k8s.io/identities"

	recordLabel = "infrastructure.cluster.x-k8s.io/grant"
	recordKind  = "identity-secret"

	// Keys of a record.
	identityKey = "identity"
	uidKey      = "uid"
	secretKey   = "secret"
	userKey     = "user"
)

// SecretOf returns the name of the Secret with an identity's credentials; it is empty if the identity has none.
func SecretOf(i *infrav1.AzureClusterIdentity) types.NamespacedName {
	ref := i.Spec.ClientSecret
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, i.Namespace), Name: ref.Name}
}

// Foreign reports whether an identity's credentials are in another namespace.
func Foreign(i *infrav1.AzureClusterIdentity) bool {
	secret := SecretOf(i)
	return secret.Name != "" && secret.Namespace != i.Namespace
}

// Names reports whether a Secret's annotation permits an identity to use it.
func Names(secret *corev1.Secret, i *infrav1.AzureClusterIdentity) bool {
	names := strings.Split(secret.Annotations[IdentitiesAnnotation], ",")
	return slices.ContainsFunc(names, func(name string) bool { return strings.TrimSpace(name) == i.Namespace+"/"+i.Name })
}

// Book stores the records. A nil Book has none.
type Book struct {
	client    client.Client
	namespace string
	log       logr.Logger
}

// New returns the book in a namespace to which only administrators and the manager write. The client has to read
// ConfigMaps from the API server, not from a cache.
func New(c client.Client, namespace string, log logr.Logger) *Book {
	return &Book{client: c, namespace: namespace, log: log}
}

// recordName returns the name of a record, derived from the identity and its secret.
func recordName(i *infrav1.AzureClusterIdentity) string {
	sum := sha256.Sum256([]byte(string(i.UID) + "\n" + SecretOf(i).String()))
	return recordKind + "-" + hex.EncodeToString(sum[:16])
}

// Write records that the user who wrote an identity's reference to a Secret may read the Secret.
func (b *Book) Write(ctx context.Context, i *infrav1.AzureClusterIdentity, user string) error {
	if i.UID == "" {
		return fmt.Errorf("record the reference of AzureClusterIdentity %s: it has no UID yet", i.Name)
	}
	record := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: recordName(i), Labels: map[string]string{recordLabel: recordKind}},
		Data: map[string]string{identityKey: i.Namespace + "/" + i.Name, uidKey: string(i.UID),
			secretKey: SecretOf(i).String(), userKey: user},
		Immutable: new(true),
	}
	if err := b.client.Create(ctx, record); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("record in namespace %s that %s may read secret %s: %w", b.namespace, user, SecretOf(i), err)
	}
	return nil
}

// Holds reports whether there is a record for the current reference of an identity.
func (b *Book) Holds(ctx context.Context, i *infrav1.AzureClusterIdentity) (bool, error) {
	if b == nil {
		return false, nil
	}
	record := &corev1.ConfigMap{}
	err := b.client.Get(ctx, types.NamespacedName{Namespace: b.namespace, Name: recordName(i)}, record)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read what is recorded of AzureClusterIdentity %s/%s in namespace %s: %w",
			i.Namespace, i.Name, b.namespace, err)
	}
	return record.Data[uidKey] == string(i.UID) && record.Data[secretKey] == SecretOf(i).String(), nil
}

const (
	// sweepEvery is the interval at which records are checked; sweepAge is the time for which a record without an
	// identity is kept, because admission writes records before the object is stored.
	sweepEvery = time.Hour
	sweepAge   = time.Hour
)

// Start deletes records of deleted identities, until ctx ends. It implements manager.Runnable, for the leader only.
func (b *Book) Start(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := b.sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			b.log.Info("Records of identities that are gone were not deleted; it is tried again", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (b *Book) sweep(ctx context.Context, now time.Time) error {
	var records corev1.ConfigMapList
	if err := b.client.List(ctx, &records, client.InNamespace(b.namespace), client.MatchingLabels{recordLabel: recordKind}); err != nil {
		return err
	}
	if len(records.Items) == 0 {
		return nil
	}
	var identities infrav1.AzureClusterIdentityList
	if err := b.client.List(ctx, &identities); err != nil {
		return err
	}
	alive := map[string]bool{}
	for _, i := range identities.Items {
		alive[string(i.UID)] = true
	}
	for i := range records.Items {
		r := &records.Items[i]
		if alive[r.Data[uidKey]] || now.Sub(r.CreationTimestamp.Time) < sweepAge {
			continue
		}
		if err := b.client.Delete(ctx, r); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

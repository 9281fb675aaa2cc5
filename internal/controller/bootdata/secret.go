package bootdata

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/loader"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/azure/vault"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/record"
)

const (
	// secretLife is the time until a bootstrap secret expires. Key Vault returns even expired secrets; the actual
	// protection is that the secret is deleted.
	secretLife = 2 * time.Hour

	// Reasons of BootstrapSecretReady.
	SecretStored  = "Stored"
	SecretRemoved = "Removed"
	secretFailed  = "VaultRefused"

	// secretNameAnnotation has the name of a machine's or pool's secret and of the identity that reads the secret. A
	// name is never used twice, because Key Vault keeps the names of deleted secrets.
	secretNameAnnotation = "infrastructure.cluster.x-k8s.io/bootstrap-secret"
)

// inVault reports whether bootstrap data is stored in the cluster's key vault, by the annotation of the machine or
// pool, or of the cluster. The error means that the annotation has an unknown value.
func inVault(c *infrav1.AzureCluster, o client.Object) (bool, error) {
	value, of := o.GetAnnotations()[infrav1.BootstrapSecretsAnnotation], o.GetName()
	if value == "" {
		value, of = c.Annotations[infrav1.BootstrapSecretsAnnotation], c.Name
	}
	switch value {
	case "", infrav1.BootstrapSecretsInCustomData:
		return false, nil
	case infrav1.BootstrapSecretsInKeyVault:
		return true, nil
	}
	return false, fmt.Errorf("annotation %s of %s is %q; set it to %s or %s", infrav1.BootstrapSecretsAnnotation,
		of, value, infrav1.BootstrapSecretsInKeyVault, infrav1.BootstrapSecretsInCustomData)
}

// Vault returns the desired key vault of a cluster; its name is empty if there is none. The
// name is chosen at the first call and kept.
func Vault(ctx context.Context, s *cloud.Session, c client.Client, azureCluster *infrav1.AzureCluster) (desired.Vault, error) {
	wanted, err := inVault(azureCluster, azureCluster)
	if err != nil || !wanted {
		return desired.Vault{}, err
	}
	if s.TenantID() == "" {
		return desired.Vault{}, errors.New("a key vault needs the tenant's ID: set spec.tenantID of the AzureClusterIdentity")
	}
	name, err := keptName(ctx, c, azureCluster, infrav1.BootstrapVaultAnnotation, "casement")
	return desired.Vault{Name: name, TenantID: s.TenantID()}, err
}

var noName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// maxSecretName is shorter than the maximum for an identity's name (128), because the reader has the secret's name.
const maxSecretName = 100

// keptName returns the name in an annotation of an object. If there is none, it sets the annotation to a prefix with a
// random suffix.
func keptName(ctx context.Context, c client.Client, o client.Object, annotation, prefix string) (string, error) {
	if name := o.GetAnnotations()[annotation]; name != "" {
		return name, nil
	}
	name := newName(prefix)
	return name, record.Annotate(ctx, c, o, annotation, name)
}

// newName returns a prefix, without the characters that Key Vault refuses in names, with a random suffix.
func newName(prefix string) string {
	var chance [6]byte
	_, _ = rand.Read(chance[:]) // never fails (crypto/rand)
	prefix = strings.Trim(noName.ReplaceAllString(prefix, "-"), "-")
	return strings.TrimRight(prefix[:min(len(prefix), maxSecretName)], "-") + "-" + hex.EncodeToString(chance[:])
}

// Input is the bootstrap data of a machine or pool.
type Input struct {
	Cluster     *infrav1.AzureCluster
	ClusterName string
	// Owner is the AzureMachine or AzureMachinePool.
	Owner condition.Object
	// Tags are the owner's additional tags.
	Tags    infrav1.Tags
	Windows bool
	// Secret is the secret with the data that the bootstrap provider rendered.
	Secret client.ObjectKey
	// Renewed is true if new data, with a new token, replaces the old data.
	Renewed bool
}

// Data is the bootstrap data of one guest.
type Data struct {
	// Rendered is the bootstrap data. Custom is the custom data of the guest: the same data or, if the data is in the
	// cluster's key vault, a loader that downloads it.
	Rendered, Custom []byte
	// Secret is the secret with the data in the vault; nil if the data is not in the vault.
	Secret *desired.BootstrapSecret
}

// Read returns the bootstrap data of a guest, and stores it in the cluster's key vault if the cluster uses one. The
// error is an *Error if something has to change first.
func Read(ctx context.Context, s *cloud.Session, c client.Client, b Input) (Data, error) {
	data, err := rendered(ctx, c, b.Secret, b.Windows)
	if err != nil {
		return Data{}, err
	}
	wanted, err := inVault(b.Cluster, b.Owner)
	if err != nil {
		return Data{}, &Error{Reason: cloud.InvalidConfiguration, Message: err.Error()}
	}
	if !wanted {
		return Data{Rendered: data, Custom: data}, nil
	}
	custom, secret, err := hide(ctx, s, c, b, data)
	return Data{Rendered: data, Custom: custom, Secret: secret}, err
}

// hide stores bootstrap data in the cluster's key vault, once, and creates the identity
// that reads it. The caller creates the role assignment for it.
func hide(ctx context.Context, s *cloud.Session, c client.Client, b Input, data []byte) ([]byte, *desired.BootstrapSecret, error) {
	uri, err := vaultURI(ctx, s, b.Cluster, b.ClusterName)
	if err != nil {
		return nil, nil, err
	}
	name, err := keptName(ctx, c, b.Owner, secretNameAnnotation, b.Owner.GetName())
	if err != nil {
		return nil, nil, err
	}
	secret := &desired.BootstrapSecret{Vault: b.Cluster.Annotations[infrav1.BootstrapVaultAnnotation], Secret: name}
	if secret.PrincipalID, err = reader(ctx, s, b, *secret); err != nil {
		return nil, nil, err
	}
	made, err := loader.Make(loader.Input{Windows: b.Windows, Data: data, SecretURL: vault.SecretURL(uri, name),
		IdentityID: secret.ReaderID(b.Cluster)})
	if refused, ok := errors.AsType[*loader.Error](err); ok {
		return nil, nil, &Error{Reason: invalidBootstrapData, Message: fmt.Sprintf("the bootstrap data "+
			"cannot be kept in a key vault: %v (annotation %s: "+
			"%s)", refused, infrav1.BootstrapSecretsAnnotation, infrav1.BootstrapSecretsInCustomData)}
	}
	if err != nil {
		return nil, nil, err
	}
	version := ""
	if b.Renewed {
		sum := sha256.Sum256(data)
		version = "version " + hex.EncodeToString(sum[:6])
	}
	return made.CustomData, secret, store(ctx, s, b.Owner, version, vault.SecretURL(uri, name), made.Secret)
}

// vaultURI returns the address of the cluster's key vault.
func vaultURI(ctx context.Context, s *cloud.Session, c *infrav1.AzureCluster, clusterName string) (string, error) {
	name := c.Annotations[infrav1.BootstrapVaultAnnotation]
	if name == "" {
		return "", &Error{Reason: infrav1.WaitingForClusterInfraReason, Message: fmt.Sprintf("AzureCluster "+
			"%s has no key vault: annotate it with "+
			"%s=%s", c.Name, infrav1.BootstrapSecretsAnnotation, infrav1.BootstrapSecretsInKeyVault)}
	}
	live, err := s.Live(ctx, desired.VaultID(c, name))
	if err != nil {
		after, reason := cloud.RetryOf(err)
		return "", &Error{Reason: reason, Message: fmt.Sprintf("cannot read key vault %s: %v", name, err), After: after}
	}
	var body struct {
		Tags       map[string]string `json:"tags"`
		Properties struct {
			VaultURI string `json:"vaultUri"`
		} `json:"properties"`
	}
	if live != nil {
		err = json.Unmarshal(live, &body)
	}
	if live != nil && err == nil && !s.Owns(ctx, body.Tags, clusterName, true) {
		return "", &Error{Reason: infrav1.OwnedByAnotherReason, Message: fmt.Sprintf("key vault %s does not belong to the cluster: "+
			"remove the annotation %s from AzureCluster %s", name, infrav1.BootstrapVaultAnnotation, c.Name)}
	}
	if err != nil || body.Properties.VaultURI == "" {
		return "", &Error{Reason: infrav1.WaitingForClusterInfraReason,
			Message: "key vault " + name + " is not there yet; see AzureCluster " + c.Name, After: cloud.TransientWait}
	}
	return body.Properties.VaultURI, nil
}

// reader creates the identity that reads a secret and returns its principal.
func reader(ctx context.Context, s *cloud.Session, b Input, secret desired.BootstrapSecret) (string, error) {
	id := secret.ReaderID(b.Cluster)
	live, err := s.Live(ctx, id)
	if err != nil {
		after, reason := cloud.RetryOf(err)
		return "", &Error{Reason: reason, Message: fmt.Sprintf("cannot read identity %s: %v", secret.Secret, err), After: after}
	}
	if live == nil {
		outcome := s.Apply(ctx, b.ClusterName, []desired.Resource{secret.Reader(b.Cluster, b.ClusterName, s.ObjectMark(), b.Tags)}, nil)
		if outcome.State != plan.Done {
			reason, message := cloud.Explain(outcome, infrav1.CreatingReason)
			return "", &Error{
				Reason: reason, Message: "the identity that reads the bootstrap secret is not there: " + message,
				After: max(outcome.RequeueAfter, time.Second),
			}
		}
		live = outcome.Live[id]
	}
	var body struct {
		Tags       map[string]string `json:"tags"`
		Properties struct {
			PrincipalID string `json:"principalId"`
		} `json:"properties"`
	}
	if json.Unmarshal(live, &body) == nil && !s.Owns(ctx, body.Tags, b.ClusterName, false) {
		return "", &Error{Reason: infrav1.OwnedByAnotherReason, Message: fmt.Sprintf("the bootstrap secret %s is that of "+
			"another machine: remove the annotation %s", secret.Secret, secretNameAnnotation)}
	}
	if err := json.Unmarshal(live, &body); err != nil || body.Properties.PrincipalID == "" {
		s.Refresh(id)
		return "", &Error{Reason: infrav1.CreatingReason,
			Message: "identity " + secret.Secret + " has no principal yet", After: cloud.TransientWait}
	}
	return body.Properties.PrincipalID, nil
}

// store writes the secret unless the owner's condition says that this version is already stored.
func store(ctx context.Context, s *cloud.Session, owner condition.Object, version, address, value string) error {
	was := conditions.Get(owner, infrav1.BootstrapSecretReadyCondition)
	if was != nil && was.Reason == SecretStored && was.Message == version {
		return nil
	}
	if err := s.Vault().Set(ctx, address, value, time.Now().Add(secretLife)); err != nil {
		return vaultError(err, "write the bootstrap secret")
	}
	condition.TrueWith(owner, infrav1.BootstrapSecretReadyCondition, SecretStored, version)
	return nil
}

// vaultError returns the Error for an error of the vault during an action.
func vaultError(err error, doing string) *Error {
	e := &Error{Reason: secretFailed, Message: fmt.Sprintf("cannot %s: %v", doing, err), After: cloud.TransientWait}
	if refused, ok := errors.AsType[*vault.Error](err); ok {
		e.After = max(refused.RetryAfter, cloud.TransientWait)
		if refused.Denied() {
			e.After = cloud.DeniedWait
			e.Message += "; give the identity of the AzureClusterIdentity the role Key Vault Secrets Officer on the resource group"
		}
	}
	return e
}

// hasSecret reports whether a machine or pool may have a secret in the vault, with its
// identity and role assignment.
func hasSecret(o condition.Object) bool {
	c := conditions.Get(o, infrav1.BootstrapSecretReadyCondition)
	return o.GetAnnotations()[secretNameAnnotation] != "" && (c == nil || c.Reason != SecretRemoved)
}

// SecretOf returns the secret of a machine or pool, by its annotation. A name that Key Vault does not allow is treated as none.
func SecretOf(c *infrav1.AzureCluster, o client.Object) (desired.BootstrapSecret, bool) {
	s := desired.BootstrapSecret{Vault: c.Annotations[infrav1.BootstrapVaultAnnotation], Secret: o.GetAnnotations()[secretNameAnnotation]}
	return s, vaultPattern.MatchString(s.Vault) && secretPattern.MatchString(s.Secret)
}

// Patterns of the names of vaults and secrets.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules#microsoftkeyvault.
var (
	vaultPattern  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{2,23}$`)
	secretPattern = regexp.MustCompile(`^[A-Za-z0-9-]{1,127}$`)
)

// Unhide deletes the secret of a machine or pool and its role assignment, because the node has joined or is being
// deleted. The identity of the reader exists as long as the machine. The error is an *Error if another attempt is
// needed.
func Unhide(ctx context.Context, s *cloud.Session, c *infrav1.AzureCluster, clusterName string, o condition.Object) error {
	secret, ok := SecretOf(c, o)
	if !ok || !hasSecret(o) {
		return nil
	}
	live, err := s.Live(ctx, desired.VaultID(c, secret.Vault))
	if err != nil {
		after, reason := cloud.RetryOf(err)
		return &Error{Reason: reason, Message: fmt.Sprintf("cannot read key vault %s: %v", secret.Vault, err), After: after}
	}
	reader, err := s.Live(ctx, secret.ReaderID(c))
	if err != nil {
		after, reason := cloud.RetryOf(err)
		return &Error{Reason: reason, Message: fmt.Sprintf("cannot read identity %s: %v", secret.Secret, err), After: after}
	}
	if s.Foreign(ctx, live, clusterName, true) || s.Foreign(ctx, reader, clusterName, false) {
		return nil // the annotations of a copied object name the secret of the original
	}
	if live != nil {
		uri, err := vaultURI(ctx, s, c, clusterName)
		if err != nil {
			return err
		}
		if err := s.Vault().Delete(ctx, vault.SecretURL(uri, secret.Secret)); err != nil {
			return vaultError(err, "delete the bootstrap secret")
		}
	}
	outcome := s.Delete(ctx, clusterName, []desired.Resource{secret.Right(c)}, nil)
	if outcome.State != plan.Done {
		reason, message := cloud.Explain(outcome, infrav1.DeletingReason)
		return &Error{Reason: reason, Message: "the right to the bootstrap secret is not gone: " + message,
			After: max(outcome.RequeueAfter, time.Second)}
	}
	condition.True(o, infrav1.BootstrapSecretReadyCondition, SecretRemoved)
	return nil
}

// Package certificate creates and renews the certificate of the admission server if cert-manager does not: a
// certificate authority and a serving certificate in a Secret that all replicas share, and the authority in the webhook
// configurations.
//
// There is no leader. Each replica reads the Secret periodically and writes it if it is due for renewal; with the API
// server's optimistic locking, only one replica succeeds. A replica serves a certificate only when the configurations
// trust its authority, and a new authority is published for months before it signs, so that no two changes have to
// happen at the same moment and no process has to restart. It serves no requests itself. Only internal/manager imports
// it.
package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Config is the configuration of a Keeper.
type Config struct {
	// Client accesses the API server itself, without a cache.
	Client client.Client
	// Secret is the Secret in which the certificate is stored.
	Secret client.ObjectKey
	// DNSNames are the names under which the API server connects to the admission server.
	DNSNames []string
	// Mutating and Validating are the names of the webhook configurations that have to trust the certificate.
	Mutating, Validating []string
	// Log receives a line for each renewal.
	Log logr.Logger
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
	// Period is the interval at which the Secret is read; 0 means a minute.
	Period time.Duration
}

// Keeper keeps the certificate valid. It is a manager.Runnable of every replica.
type Keeper struct {
	cfg     Config
	serving atomic.Pointer[tls.Certificate]
}

// New returns a keeper, which has no certificate before it is started.
func New(cfg Config) *Keeper {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Period == 0 {
		cfg.Period = time.Minute
	}
	return &Keeper{cfg: cfg}
}

// GetCertificate implements the function of that name in tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := k.serving.Load(); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("the certificate in Secret %s is not there yet", k.cfg.Secret)
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*Keeper) NeedLeaderElection() bool { return false }

// retry is the pause after a failure while there is no certificate.
const retry = 2 * time.Second

// Start implements manager.Runnable: it keeps the certificate valid until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	for {
		wait := k.cfg.Period
		if err := k.Keep(ctx); err != nil && ctx.Err() == nil {
			k.cfg.Log.Error(err, "The webhook certificate could not be kept", "secret", k.cfg.Secret.String())
			if k.serving.Load() == nil {
				wait = retry
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// attempts is the maximum number of attempts after conflicts with other replicas.
const attempts = 5

// Keep reads the Secret once, renews the certificates that are due, writes the CAs into the webhook
// configurations, and serves the certificate from then on.
func (k *Keeper) Keep(ctx context.Context) error {
	var data map[string][]byte
	var err error
	for range attempts {
		if data, err = k.settle(ctx); err == nil {
			err = k.publish(ctx, data[caBundle])
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	now := read(data).serving
	if now == nil {
		return fmt.Errorf("secret %s holds no certificate", k.cfg.Secret)
	}
	if before := k.serving.Swap(now); before == nil || !before.Leaf.Equal(now.Leaf) {
		k.cfg.Log.Info("Serving a webhook certificate", "secret", k.cfg.Secret.String(), "notAfter", now.Leaf.NotAfter)
	}
	return nil
}

// settle returns the Secret's data, after any due renewal.
func (k *Keeper) settle(ctx context.Context) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := k.cfg.Client.Get(ctx, k.cfg.Secret, secret)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, fmt.Errorf("read the webhook certificate: %w", err)
	}
	data, changed, err := renew(secret.Data, k.cfg.DNSNames, k.cfg.Now())
	if err != nil {
		return nil, err
	}
	if !changed {
		return data, nil
	}
	secret.Data = data
	if missing {
		secret.ObjectMeta = metav1.ObjectMeta{Namespace: k.cfg.Secret.Namespace, Name: k.cfg.Secret.Name}
		secret.Type = corev1.SecretTypeTLS
		err = k.cfg.Client.Create(ctx, secret)
	} else {
		err = k.cfg.Client.Update(ctx, secret)
	}
	if err != nil {
		return nil, fmt.Errorf("write the webhook certificate: %w", err)
	}
	k.cfg.Log.Info("Renewed the webhook certificate", "secret", k.cfg.Secret.String())
	return data, nil
}

// publish makes every configuration trust the authorities.
func (k *Keeper) publish(ctx context.Context, bundle []byte) error {
	for _, name := range k.cfg.Mutating {
		if err := k.trust(ctx, name, &admissionv1.MutatingWebhookConfiguration{}, bundle); err != nil {
			return err
		}
	}
	for _, name := range k.cfg.Validating {
		if err := k.trust(ctx, name, &admissionv1.ValidatingWebhookConfiguration{}, bundle); err != nil {
			return err
		}
	}
	return nil
}

// clients returns the client configurations of the webhooks in a webhook configuration.
func clients(configuration client.Object) (all []*admissionv1.WebhookClientConfig) {
	switch c := configuration.(type) {
	case *admissionv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			all = append(all, &c.Webhooks[i].ClientConfig)
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			all = append(all, &c.Webhooks[i].ClientConfig)
		}
	}
	return all
}

// trust writes the bundle to a configuration with another bundle. It ignores a configuration that is not installed.
func (k *Keeper) trust(ctx context.Context, name string, c client.Object, bundle []byte) error {
	if err := k.cfg.Client.Get(ctx, client.ObjectKey{Name: name}, c); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := c.DeepCopyObject().(client.Object)
	changed := false
	for _, hook := range clients(c) {
		if !bytes.Equal(hook.CABundle, bundle) {
			hook.CABundle, changed = bundle, true
		}
	}
	if !changed {
		return nil
	}
	if err := k.cfg.Client.Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("let %s trust the webhook certificate: %w", name, err)
	}
	return nil
}

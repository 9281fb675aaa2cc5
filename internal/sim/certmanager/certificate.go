package certmanager

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/pki"
)

// The lifetime of a certificate and the time of its renewal: cert-manager's defaults (90 days,
// renewed at two thirds). Source: cert-manager.io/docs/usage/certificate.
const (
	life    = 90 * 24 * time.Hour
	renewAt = life / 3 * 2
)

// certificate is the reconciler of Certificates: it issues them into Secrets.
type certificate struct{ client client.Client }

func (c *certificate) setUp(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("certificate").For(object("Certificate")).Complete(c)
}

// spec contains the fields of a Certificate's spec that are used here.
type spec struct {
	SecretName string   `json:"secretName"`
	DNSNames   []string `json:"dnsNames"`
	CommonName string   `json:"commonName"`
	IssuerRef  struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	} `json:"issuerRef"`
}

// retry is the interval at which a Certificate that waits for its issuer is reconciled.
const retry = time.Second

// Reconcile implements reconcile.Reconciler.
func (c *certificate) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	u := object("Certificate")
	if err := c.client.Get(ctx, req.NamespacedName, u); err != nil || u.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var s spec
	content, _, err := unstructured.NestedMap(u.Object, "spec")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, &s)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read its spec: %w", err)
	}
	if problem, err := c.issuerProblem(ctx, u.GetNamespace(), s); err != nil {
		return ctrl.Result{}, err
	} else if problem != "" {
		return ctrl.Result{RequeueAfter: retry}, setReady(ctx, c.client, u, false, "Pending", problem)
	}
	expires, err := c.issue(ctx, u, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := setReady(ctx, c.client, u, true, "Ready", "the certificate is issued (by casement's stub for cert-manager)"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: max(retry, time.Until(expires.Add(renewAt-life)))}, nil
}

// issuerProblem returns the reason why the issuer cannot sign, or "".
func (c *certificate) issuerProblem(ctx context.Context, namespace string, s spec) (string, error) {
	kind := s.IssuerRef.Kind
	if kind == "" {
		kind = "Issuer"
	}
	if kind == "ClusterIssuer" {
		namespace = ""
	}
	u := object(kind)
	err := c.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: s.IssuerRef.Name}, u)
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("%s %s does not exist", kind, s.IssuerRef.Name), nil
	}
	if err != nil {
		return "", err
	}
	if !selfSigned(u) {
		return fmt.Sprintf("%s %s is not of type selfSigned, which alone this stub knows", kind, s.IssuerRef.Name), nil
	}
	return "", nil
}

// issue writes the Secret unless it has a valid certificate, and returns its expiry.
func (c *certificate) issue(ctx context.Context, u *unstructured.Unstructured, s spec) (time.Time, error) {
	secret := &corev1.Secret{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: u.GetNamespace(), Name: s.SecretName}, secret)
	exists := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return time.Time{}, err
	}
	if exists {
		if leaf := usable(secret.Data, s, time.Now()); leaf != nil {
			return leaf.NotAfter, nil
		}
	}
	data, leaf, err := sign(s, time.Now())
	if err != nil {
		return time.Time{}, err
	}
	secret.Namespace, secret.Name, secret.Type, secret.Data = u.GetNamespace(), s.SecretName, corev1.SecretTypeTLS, data
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, "cert-manager.io/certificate-name", u.GetName())
	if exists {
		return leaf.NotAfter, c.client.Update(ctx, secret)
	}
	return leaf.NotAfter, c.client.Create(ctx, secret)
}

// usable returns the certificate in a Secret if it need not be replaced, otherwise nil.
func usable(data map[string][]byte, s spec, now time.Time) *x509.Certificate {
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil || len(data["ca.crt"]) == 0 || !slices.Equal(pair.Leaf.DNSNames, s.DNSNames) ||
		now.After(pair.Leaf.NotAfter.Add(renewAt-life)) {
		return nil
	}
	return pair.Leaf
}

// sign returns a self-signed certificate, which is its own CA.
func sign(s spec, now time.Time) (map[string][]byte, *x509.Certificate, error) {
	pair, err := pki.Issue(x509.Certificate{
		Subject: pkix.Name{CommonName: s.CommonName}, DNSNames: s.DNSNames,
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, 0, nil)
	if err != nil {
		return nil, nil, err
	}
	cert, key, err := pki.PEM(pair)
	return map[string][]byte{corev1.TLSCertKey: cert, "ca.crt": cert, corev1.TLSPrivateKeyKey: key}, pair.Leaf, err
}

// issuer is the reconciler of issuers: its condition reports whether an issuer is of the
// supported type.
type issuer struct{ client client.Client }

func (i *issuer) setUp(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("issuer").For(object("Issuer")).Complete(i)
}

// Reconcile implements reconcile.Reconciler.
func (i *issuer) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	u := object("Issuer")
	if err := i.client.Get(ctx, req.NamespacedName, u); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if selfSigned(u) {
		return ctrl.Result{}, setReady(ctx, i.client, u, true, "IsReady", "")
	}
	return ctrl.Result{}, setReady(ctx, i.client, u, false, "NotKnown", "this stub for cert-manager knows the type selfSigned only")
}

func selfSigned(issuer *unstructured.Unstructured) bool {
	_, ok, err := unstructured.NestedMap(issuer.Object, "spec", "selfSigned")
	return err == nil && ok
}

// setReady writes the condition Ready when it differs.
func setReady(ctx context.Context, c client.Client, u *unstructured.Unstructured, ready bool, reason, message string) error {
	status := metav1.ConditionFalse
	if ready {
		status = metav1.ConditionTrue
	}
	have, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions") // none if the field has another form
	if len(have) == 1 {
		if m, ok := have[0].(map[string]any); ok && m["status"] == string(status) && m["message"] == message &&
			m["observedGeneration"] == u.GetGeneration() {
			return nil
		}
	}
	before := u.DeepCopy()
	condition := map[string]any{
		"type": "Ready", "status": string(status), "reason": reason, "message": message,
		"observedGeneration": u.GetGeneration(), "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}
	if err := unstructured.SetNestedSlice(u.Object, []any{condition}, "status", "conditions"); err != nil {
		return err
	}
	return client.IgnoreNotFound(c.Status().Patch(ctx, u, client.MergeFrom(before)))
}

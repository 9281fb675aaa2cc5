package kubelet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const currentCert = pkiFolder + "/kubelet-client-current.pem"

// identity is the node's client certificate and the connection made with it.
type identity struct {
	k      *Kubelet
	cert   atomic.Pointer[tls.Certificate]
	server string
	ca     []byte
}

func newIdentity(k *Kubelet) *identity { return &identity{k: k} }

// bootstrap waits for a kubeconfig and connects. If there is only a bootstrap token, it first gets
// a client certificate by a CertificateSigningRequest.
func (i *identity) bootstrap(ctx context.Context) error {
	for first := true; ; first = false {
		err := i.try(ctx)
		if err == nil {
			return nil
		}
		if first {
			i.k.log.Info("Waiting for an identity", "err", err)
		}
		if !i.k.sleep(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

func (i *identity) try(ctx context.Context) error {
	err := i.load()
	if err != nil {
		if err = i.request(ctx, err); err != nil {
			return err
		}
	}
	c, err := i.k.newClient(i.server, i.ca, i.cert.Load, "")
	if err != nil {
		return err
	}
	i.k.api.Store(c)
	return nil
}

// load reads kubelet.conf and the certificate that it names.
func (i *identity) load() error {
	cluster, user, err := i.kubeconfig(kubeletConf)
	if err != nil {
		return err
	}
	certPEM, keyPEM := user.ClientCertificateData, user.ClientKeyData
	if user.ClientCertificate != "" {
		if certPEM, err = i.k.c.Files.ReadFile(noDrive(user.ClientCertificate)); err != nil {
			return err
		}
	}
	if user.ClientKey != "" {
		if keyPEM, err = i.k.c.Files.ReadFile(noDrive(user.ClientKey)); err != nil {
			return err
		}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return fmt.Errorf("%s: client certificate: %w", kubeletConf, err)
	}
	if i.k.c.Clock.Now().After(pair.Leaf.NotAfter) {
		return fmt.Errorf("%s: client certificate expired at %s", kubeletConf, pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	i.server, i.ca = cluster.Server, cluster.CertificateAuthorityData
	i.cert.Store(&pair)
	return nil
}

// request gets a certificate with the token of bootstrap-kubelet.conf.
func (i *identity) request(ctx context.Context, why error) error {
	cluster, user, err := i.kubeconfig(bootstrapConf)
	if err != nil {
		return fmt.Errorf("no usable %s (%w) and no %s", kubeletConf, why, bootstrapConf)
	}
	boot := &identity{k: i.k}
	if len(user.ClientCertificateData) > 0 {
		pair, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
		if err != nil {
			return fmt.Errorf("%s: client certificate: %w", bootstrapConf, err)
		}
		boot.cert.Store(&pair)
	}
	c, err := i.k.newClient(cluster.Server, cluster.CertificateAuthorityData, boot.cert.Load, user.Token)
	if err != nil {
		return err
	}
	defer c.close()
	pair, err := i.k.requestCertificate(ctx, c, certificatesv1.KubeAPIServerClientKubeletSignerName)
	if err != nil {
		return err
	}
	i.server, i.ca = cluster.Server, cluster.CertificateAuthorityData
	return i.keep(pair)
}

// keep stores a new certificate and then the kubelet.conf that names it.
func (i *identity) keep(pair *tls.Certificate) error {
	data, err := encodePair(pair)
	if err != nil {
		return err
	}
	if err := i.k.c.Files.Replace(currentCert, data, 0o600); err != nil {
		return fmt.Errorf("store client certificate: %w", err)
	}
	conf := clientcmdapi.NewConfig()
	conf.Clusters["default-cluster"] = &clientcmdapi.Cluster{Server: i.server, CertificateAuthorityData: i.ca}
	conf.AuthInfos["default-auth"] = &clientcmdapi.AuthInfo{ClientCertificate: currentCert, ClientKey: currentCert}
	conf.Contexts["default-context"] = &clientcmdapi.Context{Cluster: "default-cluster", AuthInfo: "default-auth"}
	conf.CurrentContext = "default-context"
	out, err := clientcmd.Write(*conf)
	if err != nil {
		return err
	}
	if err := i.k.c.Files.Replace(kubeletConf, out, 0o600); err != nil {
		return fmt.Errorf("store %s: %w", kubeletConf, err)
	}
	i.cert.Store(pair)
	return nil
}

// rotate renews the certificate after 70 to 90 per cent of its life, as the kubelet does; the
// fraction depends on the node's name.
func (i *identity) rotate(ctx context.Context) error {
	for {
		leaf := i.cert.Load().Leaf
		life := leaf.NotAfter.Sub(leaf.NotBefore)
		fraction := 0.7 + 0.2*float64(hash32(i.k.nodeName)%1000)/1000
		due := leaf.NotBefore.Add(time.Duration(float64(life) * fraction))
		wait := due.Sub(i.k.c.Clock.Now())
		if wait > 0 && !i.k.sleep(ctx, wait) {
			return nil
		}
		pair, err := i.k.requestCertificate(ctx, i.k.api.Load(), certificatesv1.KubeAPIServerClientKubeletSignerName)
		if err == nil {
			err = i.keep(pair)
		}
		if err != nil {
			i.k.log.Error("Certificate rotation failed", "err", err)
			if !i.k.sleep(ctx, time.Minute) {
				return nil
			}
			continue
		}
		i.k.api.Load().close()
		i.k.log.Info("Rotated the client certificate", "notAfter", pair.Leaf.NotAfter)
	}
}

func (i *identity) close() { i.k.api.Load().close() }

// kubeconfig returns the cluster and the user of the current context in a guest's kubeconfig, with
// the CA loaded.
func (i *identity) kubeconfig(guest string) (*clientcmdapi.Cluster, *clientcmdapi.AuthInfo, error) {
	data, err := i.k.c.Files.ReadFile(guest)
	if err != nil {
		return nil, nil, err
	}
	conf, err := clientcmd.Load(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read as a kubeconfig", guest)
	}
	c := conf.Contexts[conf.CurrentContext]
	if c == nil || conf.Clusters[c.Cluster] == nil || conf.AuthInfos[c.AuthInfo] == nil {
		return nil, nil, fmt.Errorf("%s: the current context is incomplete", guest)
	}
	cluster, user := conf.Clusters[c.Cluster], conf.AuthInfos[c.AuthInfo]
	if cluster.CertificateAuthority != "" {
		if cluster.CertificateAuthorityData, err = i.k.c.Files.ReadFile(noDrive(cluster.CertificateAuthority)); err != nil {
			return nil, nil, err
		}
	}
	return cluster, user, nil
}

// requestCertificate requests a certificate of this node from a signer and waits for it. The key
// never leaves the machine.
func (k *Kubelet) requestCertificate(ctx context.Context, c *client, signer string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.CertificateRequest{
		Subject: pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + k.nodeName},
	}
	usages := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	if signer == certificatesv1.KubeletServingSignerName {
		template.DNSNames, template.IPAddresses = []string{k.nodeName}, []net.IP{k.c.InternalIP.AsSlice()}
		usages[1] = certificatesv1.UsageServerAuth
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, err
	}
	csr, err := c.certs.CertificateSigningRequests().Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: signer, Usages: usages,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create CertificateSigningRequest: %w", err)
	}
	k.log.Info("Requested a certificate", "csr", csr.Name, "signer", signer)
	certPEM, err := k.awaitCertificate(ctx, c, csr.Name)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}))
	if err != nil {
		return nil, fmt.Errorf("CertificateSigningRequest %s: issued certificate: %w", csr.Name, err)
	}
	return &pair, nil
}

// awaitCertificate polls, at increasing intervals, for at most fifteen minutes (the kubelet's own
// limit).
func (k *Kubelet) awaitCertificate(ctx context.Context, c *client, name string) ([]byte, error) {
	deadline := k.c.Clock.Now().Add(15 * time.Minute)
	for wait := 150 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		if !k.sleep(ctx, wait) {
			return nil, ctx.Err()
		}
		csr, err := c.certs.CertificateSigningRequests().Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			return nil, fmt.Errorf("CertificateSigningRequest %s: %w", name, err)
		case err != nil:
			continue
		}
		for _, cond := range csr.Status.Conditions {
			if cond.Type == certificatesv1.CertificateDenied || cond.Type == certificatesv1.CertificateFailed {
				return nil, fmt.Errorf("CertificateSigningRequest %s: %s: %s", name, cond.Type, cond.Message)
			}
		}
		if len(csr.Status.Certificate) > 0 {
			return csr.Status.Certificate, nil
		}
		if k.c.Clock.Now().After(deadline) {
			return nil, fmt.Errorf("CertificateSigningRequest %s was neither approved nor denied within 15m", name)
		}
	}
}

// encodePair returns a certificate chain and its key as one PEM file.
func encodePair(pair *tls.Certificate) ([]byte, error) {
	var out []byte
	for _, der := range pair.Certificate {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the private key is not an ECDSA key")
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(out, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...), nil
}

// hash32 returns the FNV-1a hash of a text.
func hash32(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

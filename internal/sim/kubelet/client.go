package kubelet

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	authzv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	certsv1 "k8s.io/client-go/kubernetes/typed/certificates/v1"
	coordv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	storagev1 "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/connrotation"
)

// client talks to the API server as one identity, over one connection. It contains only the five
// API groups that a kubelet needs and caches nothing, so that a thousand clients fit into one
// process.
type client struct {
	core  corev1client.CoreV1Interface
	coord coordv1.CoordinationV1Interface
	certs certsv1.CertificatesV1Interface
	authz authzv1.AuthorizationV1Interface
	// storage is the API of volumes.
	storage storagev1.StorageV1Interface
	http    *http.Transport
	dials   *connrotation.Dialer
}

// newClient returns a client of server that trusts ca. cert is called at each handshake; token is
// used unless it is empty.
func (k *Kubelet) newClient(server string, ca []byte, cert func() *tls.Certificate, token string) (*client, error) {
	roots, err := pool(ca)
	if err != nil {
		return nil, err
	}
	dials := connrotation.NewDialer(k.c.Dial)
	tr := &http.Transport{
		DialContext:         dials.DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConns:        2,
		TLSClientConfig: &tls.Config{
			RootCAs: roots,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if cert != nil {
					if c := cert(); c != nil {
						return c, nil
					}
				}
				return &tls.Certificate{}, nil
			},
		},
		HTTP2: connectionPings(),
	}
	rt := transport.NewUserAgentRoundTripper(k.agent(), tr)
	if token != "" {
		rt = transport.NewBearerAuthRoundTripper(token, rt)
	}
	cfg := &rest.Config{
		Host: server,
		QPS:  -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"},
	}
	hc := &http.Client{Transport: rt}
	c := &client{http: tr, dials: dials}
	if c.core, err = corev1client.NewForConfigAndClient(cfg, hc); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", server, err)
	}
	if c.coord, err = coordv1.NewForConfigAndClient(cfg, hc); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", server, err)
	}
	if c.certs, err = certsv1.NewForConfigAndClient(cfg, hc); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", server, err)
	}
	if c.storage, err = storagev1.NewForConfigAndClient(cfg, hc); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", server, err)
	}
	if c.authz, err = authzv1.NewForConfigAndClient(cfg, hc); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", server, err)
	}
	return c, nil
}

// agent returns the User-Agent of the kubelet's client.
func (k *Kubelet) agent() string { return "kubelet/" + k.c.Version + " (simulated)" }

// pool returns a pool with the CA certificates of a kubeconfig.
func pool(ca []byte) (*x509.CertPool, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the kubeconfig holds no CA certificate")
	}
	return roots, nil
}

// connectionPings returns HTTP/2 settings that detect a lost connection.
func connectionPings() *http.HTTP2Config {
	return &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
}

// close closes every connection; the next request opens a new one, with the current certificate.
func (c *client) close() {
	if c != nil {
		c.dials.CloseAll()
		c.http.CloseIdleConnections()
	}
}

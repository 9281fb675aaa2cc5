package kubeadm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cluster-bootstrap/token/jws"
)

// discoveryInterval and discoveryLimit are the interval and the limit of kubeadm's retries.
const (
	discoveryInterval = 5 * time.Second
	discoveryLimit    = 5 * time.Minute
)

const clusterInfoPath = "/api/v1/namespaces/kube-public/configmaps/cluster-info"

// cluster is a cluster whose identity discovery has verified.
type cluster struct {
	server string
	ca     []byte
	// token, or the user of a discovery file, is the credential for the join.
	token string
	user  *kubeconfigUser
	http  *http.Client
}

// discover finds and verifies the cluster by token or file.
func (j *join) discover(ctx context.Context) (*cluster, error) {
	if j.cfg.Discovery.File != "" {
		return j.discoverByFile()
	}
	d := j.cfg.Discovery
	id, secret, _ := strings.Cut(d.Token, ".")
	endpoint := "https://" + d.Endpoint
	j.say("[discovery] Reading cluster information from %s", endpoint)
	var insecure *kubeconfig
	var raw string
	// The first request cannot verify the server; the token's signature and the pins below do.
	peer := &peer{host: hostOf(d.Endpoint)}
	client := j.client(peer.config())
	err := j.retry(ctx, func() (err error) {
		raw, insecure, err = clusterInfo(ctx, client, endpoint, id, secret)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("error execution phase preflight: couldn't validate the identity of the API Server: %w", err)
	}
	if err := checkPins(insecure.ca, d.CACertHashes); err != nil {
		return nil, fmt.Errorf("error execution phase preflight: couldn't validate the identity of the API Server: %w", err)
	}
	roots, err := pool(insecure.ca)
	if err != nil {
		return nil, err
	}
	trusted := &cluster{server: insecure.server, ca: insecure.ca, token: d.TLSBootstrapToken, http: client}
	if insecure.server == endpoint && peer.trust(roots) == nil {
		return trusted, nil // kubeadm's second request would show the same over the verified connection
	}
	client.CloseIdleConnections()
	client = j.client(&tls.Config{RootCAs: roots})
	trusted.http = client
	err = j.retry(ctx, func() error {
		again, _, err := clusterInfo(ctx, client, endpoint, id, secret)
		if err == nil && again != raw {
			return fatal{errors.New("the second kubeconfig from the cluster-info ConfigMap (using validated " +
				"TLS) was different from the first")}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("error execution phase preflight: couldn't validate the identity of the API Server: %w", err)
	}
	return trusted, nil
}

// hostOf returns the host part of HOST:PORT.
func hostOf(endpoint string) string {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return endpoint
	}
	return host
}

// peer verifies the connections of a client to one host. The roots become known only through the
// first connection.
type peer struct {
	host  string
	mu    sync.Mutex
	roots *x509.CertPool // nil until they are known
	last  tls.ConnectionState
}

// config returns a TLS configuration that verifies each connection after the roots are known.
func (p *peer) config() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(state tls.ConnectionState) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.last = state
		return p.verify()
	}}
}

// trust sets the roots and verifies the last connection that was made without them.
func (p *peer) trust(roots *x509.CertPool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roots = roots
	return p.verify()
}

// verify verifies the last connection as crypto/tls does; the caller has locked p.mu.
func (p *peer) verify() error {
	if p.roots == nil {
		return nil
	}
	if len(p.last.PeerCertificates) == 0 {
		return errors.New("the server has shown no certificate")
	}
	options := x509.VerifyOptions{Roots: p.roots, DNSName: p.host, Intermediates: x509.NewCertPool()}
	for _, cert := range p.last.PeerCertificates[1:] {
		options.Intermediates.AddCert(cert)
	}
	_, err := p.last.PeerCertificates[0].Verify(options)
	return err
}

// discoverByFile discovers the cluster by a kubeconfig that the bootstrap data contains.
func (j *join) discoverByFile() (*cluster, error) {
	path := j.cfg.Discovery.File
	j.say("[discovery] Reading cluster information from %q", path)
	data, err := j.Files.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("error execution phase preflight: discovery.file.kubeConfigPath: couldn't read "+
			"%s: it does not exist in the guest", path)
	}
	k, err := parseKubeconfig(data)
	if err != nil {
		return nil, fmt.Errorf("error execution phase preflight: discovery.file.kubeConfigPath: %s: %w", path, err)
	}
	c := &cluster{server: k.server, ca: k.ca, token: j.cfg.Discovery.TLSBootstrapToken}
	tlsConfig := &tls.Config{}
	if c.token == "" {
		c.user = &k.user
		c.token = k.user.Token
		if cert, key := k.user.CertData, k.user.KeyData; len(cert) > 0 {
			pair, err := tls.X509KeyPair(cert, key)
			if err != nil {
				return nil, fmt.Errorf("discovery.file.kubeConfigPath: %s: client certificate: %w", path, err)
			}
			tlsConfig.Certificates = []tls.Certificate{pair}
		}
		if !k.hasCredential() {
			return nil, fmt.Errorf("error execution phase preflight: discovery.file.kubeConfigPath: %s holds no "+
				"credential and discovery.tlsBootstrapToken is empty: set one of them", path)
		}
	}
	if tlsConfig.RootCAs, err = pool(k.ca); err != nil {
		return nil, err
	}
	c.http = j.client(tlsConfig)
	return c, nil
}

// fatal marks an error that retries cannot fix.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// retry calls try every five seconds until it succeeds or returns a fatal error, but at most as
// often as is possible within the discovery timeout; it returns the last error. It limits the
// number of attempts and not the time, because a busy computer may spend the time on other work.
func (j *join) retry(ctx context.Context, try func() error) error {
	attempts := max(1, int(j.timeout(j.cfg.Timeouts.Discovery, discoveryLimit)/discoveryInterval))
	last := ""
	for ; ; attempts-- {
		err := try()
		if err == nil {
			return nil
		}
		if f, ok := errors.AsType[fatal](err); ok {
			return f.error
		}
		if attempts <= 1 {
			return fmt.Errorf("timed out: %w", err)
		}
		if err.Error() != last {
			last = err.Error()
			j.say("[discovery] Failed to request cluster info, will try again: %v", err)
		}
		if perr := j.pause(ctx, discoveryInterval); perr != nil {
			return perr
		}
	}
}

// clusterInfo reads the cluster-info ConfigMap and returns its kubeconfig after verifying the
// signature with the token.
func clusterInfo(ctx context.Context, client *http.Client, endpoint, id, secret string) (string, *kubeconfig, error) {
	var cm corev1.ConfigMap
	if err := get(ctx, client, endpoint+clusterInfoPath, "", &cm); err != nil {
		return "", nil, err
	}
	raw := cm.Data["kubeconfig"]
	if raw == "" {
		return "", nil, fatal{errors.New("there is no kubeconfig key in the cluster-info ConfigMap: this API " +
			"server isn't set up for token bootstrapping")}
	}
	signature := cm.Data["jws-kubeconfig-"+id]
	if signature == "" {
		// The controller may not have signed it yet, so a retry is useful.
		return "", nil, fmt.Errorf("could not find a JWS signature in the cluster-info ConfigMap for token ID "+
			"%q: the token is invalid for this cluster or it has expired", id)
	}
	if !jws.DetachedTokenIsValid(signature, raw, id, secret) {
		return "", nil, fatal{errors.New("failed to verify JWS signature of received cluster info object, can't trust this API Server")}
	}
	k, err := parseKubeconfig([]byte(raw))
	if err != nil {
		return "", nil, fatal{fmt.Errorf("couldn't parse the kubeconfig file in the cluster-info ConfigMap: %w", err)}
	}
	return raw, k, nil
}

// checkPins returns an error unless one of the CA certificates has a pinned public key. Without
// pins every CA is accepted.
func checkPins(caPEM []byte, pins []string) error {
	if len(pins) == 0 {
		return nil
	}
	var seen []string
	for rest := caPEM; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return fmt.Errorf("failed to parse cluster CA from the cluster-info ConfigMap: %w", err)
		}
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		seen = append(seen, "sha256:"+hex.EncodeToString(sum[:]))
	}
	if slices.ContainsFunc(seen, func(s string) bool {
		return slices.ContainsFunc(pins, func(pin string) bool { return strings.EqualFold(pin, s) })
	}) {
		return nil
	}
	return fmt.Errorf("cluster CA found in cluster-info ConfigMap is invalid: none of the public keys %q are pinned", seen)
}

func pool(ca []byte) (*x509.CertPool, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("the cluster's CA holds no certificate")
	}
	return roots, nil
}

func (j *join) client(c *tls.Config) *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DialContext: j.Dial, TLSClientConfig: c, ForceAttemptHTTP2: true,
	}}
}

// statusError is the error for an answer with another status than 200.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string { return fmt.Sprintf("%s (HTTP %d)", e.message, e.code) }

// get reads one API object as JSON.
func get(ctx context.Context, client *http.Client, url, token string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fatal{err}
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "kubeadm (simulated)")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		var status struct{ Message string }
		if json.Unmarshal(body, &status) != nil || status.Message == "" {
			status.Message = string(bytes.TrimSpace(body[:min(len(body), 200)]))
		}
		return &statusError{resp.StatusCode, status.Message}
	}
	return json.Unmarshal(body, into)
}

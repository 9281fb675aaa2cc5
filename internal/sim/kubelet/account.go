package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

const (
	// tokenLife is the lifetime, in seconds, of a pod's service account token, as the real kubelet requests
	// it.
	tokenLife = int64(3607)
	// tokenWait limits the duration of a token request.
	tokenWait = 30 * time.Second
	// podIdle is how long an unused connection of a node's pods remains open. With a thousand
	// nodes, idle connections would use most of the memory.
	podIdle = 10 * time.Second
)

// podConnection is the HTTP connection that all pods of the node share: each request has the token
// of its pod.
type podConnection struct {
	mu        sync.Mutex
	server    string
	transport *http.Transport
}

// open returns the connection; the first call creates it.
func (c *podConnection) open(k *Kubelet) (server string, rt *http.Transport, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.transport != nil {
		return c.server, c.transport, nil
	}
	cluster, _, err := k.identity.kubeconfig(kubeletConf)
	if err != nil {
		return "", nil, err
	}
	roots, err := pool(cluster.CertificateAuthorityData)
	if err != nil {
		return "", nil, err
	}
	c.server, c.transport = cluster.Server, &http.Transport{
		DialContext: k.c.Dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: podIdle,
		TLSClientConfig: &tls.Config{RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(1)},
		HTTP2:           connectionPings(),
	}
	return c.server, c.transport, nil
}

// close closes the connection while no pod uses it.
func (c *podConnection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// podConfig returns a function that returns a client configuration with a pod's service account.
// All calls share one token, which is renewed shortly before it expires.
func (k *Kubelet) podConfig(pod *corev1.Pod) func(ctx context.Context) (*rest.Config, error) {
	var mu sync.Mutex
	var config *rest.Config
	return func(ctx context.Context) (*rest.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		if config != nil {
			return rest.CopyConfig(config), nil
		}
		server, rt, err := k.podConnection.open(k)
		if err != nil {
			return nil, err
		}
		tokens := transport.NewCachedTokenSource(accountToken{context.WithoutCancel(ctx), k, pod})
		if _, err := tokens.Token(); err != nil {
			return nil, err
		}
		config = &rest.Config{
			Host: server, QPS: -1, Transport: rt, WrapTransport: transport.ResettableTokenSourceWrapTransport(tokens),
			ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf",
				AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"},
		}
		return rest.CopyConfig(config), nil
	}
}

// accountToken requests tokens that are bound to a pod. It implements oauth2.TokenSource.
type accountToken struct {
	ctx context.Context
	k   *Kubelet
	pod *corev1.Pod
}

// Token requests and returns a new token.
func (a accountToken) Token() (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(a.ctx, tokenWait)
	defer cancel()
	account := cmp.Or(a.pod.Spec.ServiceAccountName, "default")
	token, err := a.k.api.Load().core.ServiceAccounts(a.pod.Namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: new(tokenLife),
			BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: a.pod.Name, UID: a.pod.UID},
		}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("get a token of service account %s/%s: %w", a.pod.Namespace, account, err)
	}
	return &oauth2.Token{AccessToken: token.Status.Token, Expiry: token.Status.ExpirationTimestamp.Time}, nil
}

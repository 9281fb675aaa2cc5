package kubelet

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long an answer of the API server holds, and how long it may take: the defaults of
// the real kubelet (KubeletConfiguration authorization.webhook).
const (
	allowedFor        = 5 * time.Minute
	deniedFor         = 30 * time.Second
	authorizePatience = 10 * time.Second
	// keptDecisions bounds the answers that are remembered.
	keptDecisions = 256
)

// alwaysAllow is the authorization mode that allows all requests; the other mode is Webhook.
const alwaysAllow = "AlwaysAllow"

// guarded allows requests of clients with a certificate of the cluster's CA that the API
// server authorises; the health check needs no certificate.
func (k *Kubelet) guarded(next http.Handler) http.Handler {
	var decided decisions
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			next.ServeHTTP(w, r)
			return
		}
		who := k.client(r.TLS)
		if who == nil {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		if k.settings.Authorization.Mode == alwaysAllow {
			next.ServeHTTP(w, r)
			return
		}
		verb, sub := asked(r)
		allowed, err := decided.ask(fmt.Sprint(who.Subject.CommonName, who.Subject.Organization, verb, sub),
			func() (bool, error) { return k.allowed(r.Context(), who, verb, sub) })
		if err != nil {
			http.Error(w, fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)",
				who.Subject.CommonName, verb, sub), http.StatusInternalServerError)
			return
		}
		if !allowed {
			http.Error(w, fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource=%s)",
				who.Subject.CommonName, verb, sub), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// asked returns the verb and subresource of nodes that a request to the kubelet needs in a
// SubjectAccessReview. Source:
// https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/.
func asked(r *http.Request) (verb, subresource string) {
	verb = map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[r.Method]
	if verb == "" {
		verb = "get"
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/stats/"):
		return verb, "stats"
	case strings.HasPrefix(r.URL.Path, "/metrics"):
		return verb, "metrics"
	}
	if strings.HasPrefix(r.URL.Path, "/logs/") {
		return verb, "log"
	}
	return verb, "proxy"
}

// allowed asks the API server.
func (k *Kubelet) allowed(ctx context.Context, who *x509.Certificate, verb, sub string) (bool, error) {
	api := k.api.Load()
	if api == nil {
		return false, fmt.Errorf("kubelet %s is not connected", k.nodeName)
	}
	ctx, cancel := context.WithTimeout(ctx, authorizePatience)
	defer cancel()
	review, err := api.authz.SubjectAccessReviews().Create(ctx,
		&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: who.Subject.CommonName, Groups: append([]string{"system:authenticated"}, who.Subject.Organization...),
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Version: "v1", Resource: "nodes", Subresource: sub, Name: k.nodeName,
			},
		}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// decisions are remembered answers. It is safe for use from several goroutines; the zero
// value has none.
type decisions struct {
	mu   sync.Mutex
	made map[string]decision
}

type decision struct {
	allowed bool
	until   time.Time
}

// ask returns a remembered decision, or asks the API server and remembers the answer.
// Errors are not remembered.
func (d *decisions) ask(what string, ask func() (bool, error)) (bool, error) {
	d.mu.Lock()
	known, ok := d.made[what]
	d.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.allowed, nil
	}
	allowed, err := ask()
	if err != nil {
		return false, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made == nil || len(d.made) >= keptDecisions {
		d.made = map[string]decision{}
	}
	lasts := deniedFor
	if allowed {
		lasts = allowedFor
	}
	d.made[what] = decision{allowed, time.Now().Add(lasts)}
	return allowed, nil
}

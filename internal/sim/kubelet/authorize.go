package kubelet

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The lifetime of an answer of the API server, and the longest wait for one: the defaults of the
// real kubelet (KubeletConfiguration authorization.webhook).
const (
	allowedFor        = 5 * time.Minute
	deniedFor         = 30 * time.Second
	authorizePatience = 10 * time.Second
	// keptDecisions is the largest number of remembered answers.
	keptDecisions = 256
)

// alwaysAllow is the authorization mode that allows all requests; any other value is treated as
// Webhook.
const alwaysAllow = "AlwaysAllow"

// guarded allows requests that the API server authorizes, from clients with a certificate of the
// cluster's CA or a token that the API server accepts. The health check needs neither.
func (k *Kubelet) guarded(next http.Handler) http.Handler {
	var decided decisions
	var known identities
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			next.ServeHTTP(w, r)
			return
		}
		who, err := k.identify(r, &known)
		if err != nil || who == nil {
			writeText(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		if k.settings.Authorization.Mode == alwaysAllow {
			next.ServeHTTP(w, r)
			return
		}
		verb, sub := requestAttributes(r)
		allowed, err := decided.ask(fmt.Sprintf("%q %q %q %q", who.name, who.groups, verb, sub),
			func() (bool, error) { return k.allowed(r.Context(), who, verb, sub) })
		if err != nil {
			http.Error(w, fmt.Sprintf("Authorization error (user=%s, verb=%s, resource=nodes, subresource=%s)",
				who.name, verb, sub), http.StatusInternalServerError)
			return
		}
		if !allowed {
			http.Error(w, fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource=%s)",
				who.name, verb, sub), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// requester is the authenticated client of a request.
type requester struct {
	name, uid string
	groups    []string
}

// identify returns the client of a request; nil if the request contains no credential.
func (k *Kubelet) identify(r *http.Request, known *identities) (*requester, error) {
	if c := k.client(r.TLS); c != nil {
		return &requester{name: c.Subject.CommonName, groups: append([]string{"system:authenticated"}, c.Subject.Organization...)}, nil
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return nil, nil
	}
	return known.ask(token, func() (*requester, error) { return k.review(r.Context(), token) })
}

// review returns the owner of a token according to the API server. Only clients that read metrics
// send a token, so that no API client is kept for it.
func (k *Kubelet) review(ctx context.Context, token string) (*requester, error) {
	api := k.api.Load()
	if api == nil {
		return nil, fmt.Errorf("kubelet %s is not connected", k.nodeName)
	}
	ctx, cancel := context.WithTimeout(ctx, authorizePatience)
	defer cancel()
	body, err := json.Marshal(authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token}})
	if err != nil {
		return nil, err
	}
	answer, err := api.authz.RESTClient().Post().AbsPath("/apis/authentication.k8s.io/v1/tokenreviews").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(body).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var review authenticationv1.TokenReview
	if err := json.Unmarshal(answer, &review); err != nil || !review.Status.Authenticated {
		return nil, err
	}
	return &requester{name: review.Status.User.Username, uid: review.Status.User.UID, groups: review.Status.User.Groups}, nil
}

// tokenHolds is the lifetime of an answer about a token, the default of the real kubelet
// (KubeletConfiguration authentication.webhook.cacheTTL). keptTokens is the largest number of
// remembered answers.
const (
	tokenHolds = 2 * time.Minute
	keptTokens = 64
)

// identities contains remembered answers about tokens. The zero value is empty.
type identities struct {
	mu   sync.Mutex
	made map[[sha256.Size]byte]identified
}

type identified struct {
	who   *requester
	until time.Time
}

// ask returns a remembered answer, or calls ask and remembers its answer.
func (i *identities) ask(token string, ask func() (*requester, error)) (*requester, error) {
	key := sha256.Sum256([]byte(token))
	i.mu.Lock()
	known, ok := i.made[key]
	i.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		return known.who, nil
	}
	who, err := ask()
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.made == nil || len(i.made) >= keptTokens {
		i.made = map[[sha256.Size]byte]identified{}
	}
	i.made[key] = identified{who, time.Now().Add(tokenHolds)}
	return who, nil
}

// requestAttributes returns the verb and subresource of nodes that a request to the kubelet needs in a
// SubjectAccessReview. Source:
// https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/.
func requestAttributes(r *http.Request) (verb, subresource string) {
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

// allowed returns the decision of the API server about a request.
func (k *Kubelet) allowed(ctx context.Context, who *requester, verb, sub string) (bool, error) {
	api := k.api.Load()
	if api == nil {
		return false, fmt.Errorf("kubelet %s is not connected", k.nodeName)
	}
	ctx, cancel := context.WithTimeout(ctx, authorizePatience)
	defer cancel()
	review, err := api.authz.SubjectAccessReviews().Create(ctx,
		&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: who.name, UID: who.uid, Groups: who.groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Version: "v1", Resource: "nodes", Subresource: sub, Name: k.nodeName,
			},
		}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// decisions contains remembered decisions. It is safe for concurrent use; the zero value is empty.
type decisions struct {
	mu   sync.Mutex
	made map[string]decision
}

type decision struct {
	allowed bool
	until   time.Time
}

// ask returns a remembered decision, or calls ask and remembers its answer. Errors are not
// remembered.
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

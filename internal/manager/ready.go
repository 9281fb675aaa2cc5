package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// checkTimeout is the timeout of one probe; a kubelet gives up after a second.
const checkTimeout = 800 * time.Millisecond

// setUpChecks makes /readyz report whether requests would be served: the caches are synced (on a replica that does not
// lead, the caches of the webhooks), and the admission server serves a currently valid certificate. /healthz only
// reports that the process responds, because a restart repairs neither of the two.
func setUpChecks(mgr ctrl.Manager, o Options) error {
	checks := map[string]healthz.Checker{"caches": cachesSynced(mgr.GetCache())}
	if o.WebhookPort != 0 {
		checks["webhook"] = certificateServed(o.WebhookHost, o.WebhookPort, time.Now)
	}
	for name, check := range checks {
		if err := mgr.AddReadyzCheck(name, check); err != nil {
			return fmt.Errorf("set up /readyz: %w", err)
		}
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("set up /healthz: %w", err)
	}
	return nil
}

func cachesSynced(c cache.Cache) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches are not synced yet")
		}
		return nil
	}
}

// checkedFor is the time for which a successful check of the admission server is valid: a handshake for every probe
// would be a fifth of an idle manager's work.
const checkedFor = time.Minute

// certificateServed returns a check that connects to the admission server like the API server, and verifies that its
// certificate is currently valid. The issuer is not verified, because the API server does this with its caBundle. After
// a successful check it does not connect again within checkedFor.
func certificateServed(host string, port int, now func() time.Time) healthz.Checker {
	if host == "" {
		host = "localhost"
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	var good atomic.Pointer[time.Time] // time of the last successful check
	return func(r *http.Request) error {
		if last := good.Load(); last != nil && now().Sub(*last) < checkedFor {
			return nil
		}
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("the admission server does not answer: %w", err)
		}
		defer conn.Close()
		served := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
		t := now()
		if t.Before(served.NotBefore) || t.After(served.NotAfter) {
			return fmt.Errorf("the admission server's certificate is valid from %s to %s only: renew the Secret "+
				"that is mounted in --webhook-cert-dir", served.NotBefore, served.NotAfter)
		}
		good.Store(&t)
		return nil
	}
}

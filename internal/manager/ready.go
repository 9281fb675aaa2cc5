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

// checkTimeout bounds the duration of one probe; a kubelet gives up after a second.
const checkTimeout = 800 * time.Millisecond

// setUpChecks makes /readyz report whether requests would be answered: the caches are synced (on a replica
// that does not lead, the caches of the webhooks), and the admission server serves a certificate that is
// valid now. /healthz reports only that the process answers: a restart repairs neither of the two.
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

// checkedFor is how long a good answer of the admission server counts: a handshake for every probe would be
// a fifth of an idle manager's work.
const checkedFor = time.Minute

// certificateServed asks the admission server for its certificate as the API server
// would, and looks only whether it is of this time: whose it is, the API server's
// caBundle says. It does not ask again within checkedFor of a good answer.
func certificateServed(host string, port int, now func() time.Time) healthz.Checker {
	if host == "" {
		host = "localhost"
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	var good atomic.Pointer[time.Time] // when the last good answer came
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

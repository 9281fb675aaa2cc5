package integration

import (
	"context"
	"crypto/tls"
	"net/url"
	"testing"

	"k8s.io/apimachinery/pkg/util/wait"
)

// TestNoHTTP2 checks that neither the webhooks nor the metrics speak HTTP/2 unless a flag enables
// it.
func TestNoHTTP2(t *testing.T) {
	webhooks, err := url.Parse(shared.webhooks)
	if err != nil {
		t.Fatal(err)
	}
	for what, address := range map[string]string{"webhooks": webhooks.Host, "metrics": shared.metrics} {
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}}
		err := wait.PollUntilContextTimeout(t.Context(), often, patience, true, func(ctx context.Context) (bool, error) {
			conn, err := dialer.DialContext(ctx, "tcp", address)
			if err != nil {
				return false, nil // the endpoint is not served yet
			}
			defer conn.Close()
			if got := conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != "http/1.1" {
				t.Errorf("the %s speak %q", what, got)
			}
			return true, nil
		})
		if err != nil {
			t.Errorf("the %s are not served: %v", what, err)
		}
	}
}

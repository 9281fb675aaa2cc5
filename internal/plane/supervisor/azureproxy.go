package supervisor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/proxy"
)

// serveProxy starts the proxy, if one was requested.
func (s *supervisor) serveProxy(ctx context.Context, a *azure, failed chan<- error) error {
	if s.opts.Proxy == "" {
		return nil
	}
	l, err := net.Listen("tcp", s.opts.Proxy)
	if err != nil {
		return fmt.Errorf("listen for the proxy of the local Azure: %w", err)
	}
	a.proxy = "http://" + l.Addr().String()
	log := s.log.WithName("proxy")
	identity := func(r *http.Request) http.Handler {
		if !isManagedIdentity(r) {
			return nil
		}
		return http.HandlerFunc(a.server.ServeAnyIdentity)
	}
	cfg := proxy.Config{TLS: a.server.TLS(), Handler: a.server, Serves: azuresim.Intercepts, Dial: a.dialName,
		Plain: identity, Password: a.server.Client().Secret,
		Refused: func(target string) { log.Info("Refused", "target", target) }}
	go func() {
		if err := proxy.Serve(ctx, l, cfg); err != nil && ctx.Err() == nil {
			failed <- err
		}
	}()
	return nil
}

// publicNames is the domain of public IP addresses with a DNS label.
const publicNames = ".cloudapp.azure.com"

// dialName connects a client of the proxy to the DNS name of a public IP, such as the endpoint of a cluster, which only
// the local Azure resolves.
func (a *azure) dialName(ctx context.Context, target string) (net.Conn, bool, error) {
	host, _, err := net.SplitHostPort(target)
	if err != nil || !strings.HasSuffix(strings.ToLower(host), publicNames) {
		return nil, false, nil
	}
	conn, err := a.fabric.Dial(ctx, fabric.Origin{}, "tcp", target)
	return conn, true, err
}

// metadataHost is Azure's instance metadata service.
const metadataHost = "169.254.169.254"

// isManagedIdentity reports whether a request asks the metadata service for a token, as SDKs do over plain HTTP.
func isManagedIdentity(r *http.Request) bool {
	return r.URL.Host == metadataHost && strings.HasPrefix(r.URL.Path, "/metadata/identity/")
}

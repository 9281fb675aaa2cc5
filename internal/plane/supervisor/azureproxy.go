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

// dialName connects a client of the proxy to a name that only the local Azure resolves: the DNS name of a public IP,
// such as a cluster's endpoint, or the name of a key vault, which is served on the local Azure's port.
func (a *azure) dialName(ctx context.Context, target string) (net.Conn, bool, error) {
	host, port, err := net.SplitHostPort(target)
	switch own := strings.TrimPrefix(a.endpoint, "https://"); {
	case err != nil:
		return nil, false, nil
	case strings.HasSuffix(strings.ToLower(host), publicNames):
		conn, err := a.fabric.Dial(ctx, fabric.Origin{}, "tcp", target)
		return conn, true, err
	case strings.HasSuffix(strings.ToLower(host), "."+azuresim.VaultDomain) && strings.HasSuffix(own, ":"+port):
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", own)
		return conn, true, err
	}
	return nil, false, nil
}

// metadataHost is Azure's instance metadata service.
const metadataHost = "169.254.169.254"

// isManagedIdentity reports whether a request asks the metadata service for a token, as SDKs do over plain HTTP.
func isManagedIdentity(r *http.Request) bool {
	return r.URL.Host == metadataHost && strings.HasPrefix(r.URL.Path, "/metadata/identity/")
}

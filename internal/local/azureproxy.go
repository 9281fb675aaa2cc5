package local

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/sim/proxy"
)

// serveProxy starts the proxy that was asked for.
func (c *conductor) serveProxy(ctx context.Context, a *azure, failed chan<- error) error {
	if c.opts.Proxy == "" {
		return nil
	}
	l, err := net.Listen("tcp", c.opts.Proxy)
	if err != nil {
		return fmt.Errorf("listen for the proxy of the local Azure: %w", err)
	}
	a.proxy = "http://" + l.Addr().String()
	log := c.log.WithName("proxy")
	identity := func(r *http.Request) http.Handler {
		if !isManagedIdentity(r) {
			return nil
		}
		return http.HandlerFunc(a.server.ServeAnyIdentity)
	}
	cfg := proxy.Config{TLS: a.server.TLS(), Handler: a.server, Serves: azuresim.Intercepts, Plain: identity, Password: a.server.Client().Secret,
		Refused: func(target string) { log.Info("Refused", "target", target) }}
	go func() {
		if err := proxy.Serve(ctx, l, cfg); err != nil && ctx.Err() == nil {
			failed <- err
		}
	}()
	return nil
}

// isManagedIdentity tells whether a request asks the metadata service for a
// token, which SDKs do in plain HTTP.
func isManagedIdentity(r *http.Request) bool {
	return r.URL.Host == strings.TrimSuffix(metadataAddress, ":80") && strings.HasPrefix(r.URL.Path, "/metadata/identity/")
}

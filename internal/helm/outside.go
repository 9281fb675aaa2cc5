package helm

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/helm/v1alpha1"
)

// outside restricts the network of one step: a chart's repository, and any address to which it redirects, must not be
// on this computer. In production the program that fetches charts has its own network, where loopback has no services
// of others.
type outside struct {
	// known are the addresses of the cluster's API server, and of proxies that this computer's user has set.
	known []netip.AddrPort
	// own are the addresses of this computer.
	own []netip.Addr

	mu      sync.Mutex
	refused []netip.AddrPort
}

func newOutside(ctx context.Context, config *rest.Config) (*outside, error) {
	o := &outside{}
	at, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	o.know(ctx, at)
	for _, scheme := range []string{"https", "http"} {
		for _, proxy := range []func(*http.Request) (*url.URL, error){config.Proxy, http.ProxyFromEnvironment} {
			if proxy == nil {
				continue
			}
			// The kubeconfig's proxy is for all requests, the environment's proxy only for requests to other computers.
			if p, err := proxy(&http.Request{URL: &url.URL{Scheme: scheme, Host: "charts.example.com"}}); err == nil && p != nil {
				o.know(ctx, p)
			}
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the addresses of this computer: %w", err)
	}
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			o.own = append(o.own, prefix.Addr().Unmap())
		}
	}
	return o, nil
}

// know adds the addresses of a URL to the known ones.
func (o *outside) know(ctx context.Context, u *url.URL) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return // the connection fails with the same error
	}
	for _, ip := range ips {
		if at, err := netip.ParseAddrPort(net.JoinHostPort(ip.Unmap().String(), port)); err == nil {
			o.known = append(o.known, at)
		}
	}
}

// may is the function for confine.Connections.
func (o *outside) may(network string, to netip.AddrPort) error {
	ip := to.Addr().Unmap().WithZone("")
	inside := ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || slices.Contains(o.own, ip)
	if !inside || to.Port() == 53 || network == "udp" || slices.Contains(o.known, to) {
		return nil // name lookups use port 53 and datagrams
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused = append(o.refused, to)
	return fmt.Errorf("%s is this computer's own", ip)
}

// explain returns an error that names the refused addresses, if there were any.
func (o *outside) explain(err error) error {
	if o == nil || err == nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.refused) == 0 {
		return err
	}
	return finalError{reason: v1alpha1.InvalidSpecReason, what: fmt.Sprintf("%v; %s is an address of this computer, which serves no charts: "+
		"take them from a folder, with casement up --charts DIR", err, o.refused[0])}
}

// repositorySchemes are the schemes of a repository's URL.
var repositorySchemes = []string{"http", "https", "oci"}

// checkRepository refuses the URL of a repository that is not in a network, such as a file of this computer.
func checkRepository(repository string) error {
	if repository == "" {
		return nil
	}
	u, err := url.Parse(repository)
	if err != nil || u.Hostname() == "" || !slices.Contains(repositorySchemes, strings.ToLower(u.Scheme)) {
		return nameError{fmt.Errorf("spec.repoURL: %.200q is no repository's URL, which begins with %s:// and has a host",
			repository, strings.Join(repositorySchemes, "://, "))}
	}
	return nil
}

package machine

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"k8s.io/client-go/tools/clientcmd"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/sshroute"
)

// gateway returns a dialer into the network of a private cluster of the local plane: the proxy in the cluster's
// kubeconfig is the plane's gateway, and the internal load balancer has no rule for port 22. It returns nil if the user
// selects another way, and for other clusters.
func gateway(ctx context.Context, a *app.App, w Way, r sshroute.Route) (func(context.Context, string, string) (net.Conn, error), error) {
	if w.jump != "" && w.jump != sshroute.Straight {
		return nil, nil
	}
	c, err := a.Client(w.Target)
	if err != nil {
		return nil, err
	}
	data, err := app.WorkloadKubeconfig(ctx, c, r.Cluster)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of cluster %s: %w", r.Cluster.Name, err)
	}
	for _, cluster := range config.Clusters {
		proxy, err := url.Parse(cluster.ProxyURL)
		server, serverErr := url.Parse(cluster.Server)
		if cluster.ProxyURL == "" || err != nil || serverErr != nil {
			continue
		}
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			return throughGateway(ctx, proxy, server.Hostname(), address)
		}, nil
	}
	return nil, nil
}

// throughGateway connects to an address in the network that is reachable from the private name from.
func throughGateway(ctx context.Context, proxy *url.URL, from, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", proxy.Host)
	if err != nil {
		return nil, fmt.Errorf("reach the gateway to private clusters: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	req.Header.Set("Casement-From", from) // package fabric reads the header
	if password, some := proxy.User.Password(); some {
		word := base64.StdEncoding.EncodeToString([]byte(proxy.User.Username() + ":" + password))
		req.Header.Set("Proxy-Authorization", "Basic "+word)
	}
	if err := req.Write(conn); err != nil {
		conn.Close()
		return nil, fmt.Errorf("ask the gateway for %s: %w", address, err)
	}
	answer := bufio.NewReader(conn)
	resp, err := http.ReadResponse(answer, req)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("ask the gateway for %s: %w", address, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer conn.Close()
		why := make([]byte, 1<<10)
		n, _ := resp.Body.Read(why) // without a reason, the status is sufficient
		return nil, fmt.Errorf("%s: %s", resp.Status, why[:n])
	}
	return &readAhead{conn, answer}, nil
}

// readAhead is a connection whose first bytes are in a buffer.
type readAhead struct {
	net.Conn
	buffer *bufio.Reader
}

// Read reads the rest of the buffer, and then the connection.
func (r *readAhead) Read(b []byte) (int, error) { return r.buffer.Read(b) }

package network

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"github.com/gorilla/websocket"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// bastionDomain is the DNS suffix of the names of Bastion hosts.
const bastionDomain = "bastion.azure.com"

// Tunnel connects from an address of a virtual network, given by its ARM ID, to another address, as
// a Bastion host does.
type Tunnel func(ctx context.Context, vnetID string, from netip.Addr, to netip.AddrPort) (net.Conn, error)

// tunnels contains the sessions of all Bastion hosts, by the token that ends the session.
type tunnels struct {
	mu   sync.Mutex
	open map[string]tunnel
}

// tunnel is a session of a Bastion host: one port of one machine.
type tunnel struct {
	dnsName, node, websocket string
	vnet                     string
	from                     netip.Addr
	to                       netip.AddrPort
}

// serveBastion answers requests to the data plane of Bastion hosts, in the protocol that
// `az network bastion tunnel` uses; Microsoft does not document it. It returns false if the
// request is not for a Bastion host.
func serveBastion(c *engine.Request) bool {
	host, _, _ := strings.Cut(value.Lower(c.Host), ":")
	if !strings.HasSuffix(host, "."+bastionDomain) {
		return false
	}
	path := c.HTTP.URL.Path
	switch rest, ends := strings.CutPrefix(path, "/api/tokens/"); {
	case c.HTTP.Method == http.MethodPost && path == "/api/tokens":
		openTunnel(c, host)
	case c.HTTP.Method == http.MethodDelete && ends:
		networkOf(c.Server).tunnels.mu.Lock()
		_, has := networkOf(c.Server).tunnels.open[rest]
		delete(networkOf(c.Server).tunnels.open, rest)
		networkOf(c.Server).tunnels.mu.Unlock()
		if !has {
			c.Writer.WriteHeader(http.StatusNotFound)
			return true
		}
		c.Writer.WriteHeader(http.StatusNoContent)
	case c.HTTP.Method == http.MethodGet && strings.HasPrefix(path, "/webtunnelv2/"):
		copyMessages(c, host, strings.TrimPrefix(path, "/webtunnelv2/"))
	default:
		http.NotFound(c.Writer, c.HTTP)
	}
	return true
}

// openTunnel checks a request for a tunnel and returns its tokens. Its error messages are invented,
// because Azure's are not published.
func openTunnel(c *engine.Request, host string) {
	c.HTTP.Body = http.MaxBytesReader(c.Writer, c.HTTP.Body, engine.MaxBody)
	refuse := func(status int, format string, args ...any) {
		http.Error(c.Writer, fmt.Sprintf(format, args...), status)
	}
	if err := c.HTTP.ParseForm(); err != nil {
		refuse(http.StatusBadRequest, "the form cannot be read")
		return
	}
	f := c.HTTP.PostForm
	claims, err := c.Server.Bearer(f.Get("aztoken"), c.ManagerAudiences())
	if err != nil {
		refuse(http.StatusUnauthorized, "aztoken is not valid")
		return
	}
	// The client must have read access to the machine. Source:
	// https://learn.microsoft.com/azure/bastion/bastion-faq#peering.
	c.Principal, c.Identity = claims.Subject, claims.Identity
	if vm, err := engine.ParseID(f.Get("resourceId")); err == nil {
		if e := engine.MayRead(c, vm); e != nil {
			refuse(e.Status, "%s", e.Message)
			return
		}
	}
	t, status, err := tunnelTo(c.Server, host, f.Get("resourceId"), f.Get("workloadHostPort"))
	switch {
	case err != nil:
		refuse(status, "%v", err)
		return
	case f.Get("protocol") != "tcptunnel":
		refuse(http.StatusBadRequest, "protocol %q is not simulated, only tcptunnel", f.Get("protocol"))
		return
	case networkOf(c.Server).Tunnel == nil:
		refuse(http.StatusNotImplemented, "the machines of this local Azure have no network")
		return
	}
	auth := rand.Text()
	t.node, t.websocket = rand.Text(), rand.Text()
	networkOf(c.Server).tunnels.mu.Lock()
	if networkOf(c.Server).tunnels.open == nil {
		networkOf(c.Server).tunnels.open = map[string]tunnel{}
	}
	networkOf(c.Server).tunnels.open[auth] = t
	networkOf(c.Server).tunnels.mu.Unlock()
	c.Writer.Header().Set("Content-Type", "application/json")
	// the client may be gone
	_ = json.NewEncoder(c.Writer).Encode(map[string]any{
		"authToken": auth, "nodeId": t.node, "websocketToken": t.websocket, "username": "", "dataSource": "default",
	})
}

// tunnelTo returns the tunnel that a request describes, after checking the Bastion host and the
// machine.
func tunnelTo(s *engine.Server, host, vmID, port string) (tunnel, int, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return tunnel{}, http.StatusBadRequest, fmt.Errorf("workloadHostPort %q is no port", port)
	}
	subnet, found := "", false
	for _, raw := range s.List(typeBastion) {
		var body value.Object
		if json.Unmarshal(raw, &body) != nil || !strings.EqualFold(value.Str(body, "properties", "dnsName"), host) {
			continue
		}
		found = true
		if enabled, _ := value.Props(body)["enableTunneling"].(bool); !enabled || value.Str(body, "sku", "name") == "Basic" {
			return tunnel{}, http.StatusForbidden,
				fmt.Errorf("tunnelling needs a Bastion host of SKU Standard or Premium with enableTunneling")
		}
		for _, config := range value.Items(value.Props(body), "ipConfigurations") {
			subnet = value.Str(value.Props(config), "subnet", "id")
		}
	}
	if !found {
		return tunnel{}, http.StatusNotFound, fmt.Errorf("there is no Bastion host %s", host)
	}
	vnet, _, _ := strings.Cut(subnet, "/subnets/")
	to, ok := addressOf(s, vmID)
	if !ok {
		return tunnel{}, http.StatusNotFound, fmt.Errorf("there is no virtual machine %s with an address; "+
			"instances of Uniform scale sets are not simulated here", vmID)
	}
	return tunnel{dnsName: host, vnet: vnet, from: firstOf(s, subnet), to: netip.AddrPortFrom(to, uint16(n))}, 0, nil
}

// addressOf returns the private address of a virtual machine's first interface.
func addressOf(s *engine.Server, vmID string) (netip.Addr, bool) {
	for _, nic := range value.Items(properties(s, vmID), "networkProfile", "networkInterfaces") {
		for _, config := range value.Items(properties(s, value.Str(nic, "id")), "ipConfigurations") {
			if a, err := netip.ParseAddr(value.Str(value.Props(config), "privateIPAddress")); err == nil {
				return a, true
			}
		}
	}
	return netip.Addr{}, false
}

// firstOf returns the first address of a subnet that Azure gives out, for the Bastion host.
func firstOf(s *engine.Server, subnetID string) netip.Addr {
	vnet, _, _ := strings.Cut(subnetID, "/subnets/")
	for _, one := range value.Items(properties(s, vnet), "subnets") {
		if !strings.EqualFold(value.Str(one, "id"), subnetID) {
			continue
		}
		for _, p := range engine.Prefixes(value.Props(one)) {
			return p.Masked().Addr().Next().Next().Next().Next() // Azure reserves the first four
		}
	}
	return netip.Addr{}
}

// properties returns the properties of a resource; they are empty if it does not exist.
func properties(s *engine.Server, id string) value.Object {
	raw, ok := s.Get(id)
	var body value.Object
	if !ok || json.Unmarshal(raw, &body) != nil {
		return value.Object{}
	}
	return value.Props(body)
}

// copyMessages copies bytes between the websocket and the connection of a session: each binary message
// contains bytes of the connection.
func copyMessages(c *engine.Request, host, token string) {
	var t tunnel
	networkOf(c.Server).tunnels.mu.Lock()
	for _, one := range networkOf(c.Server).tunnels.open {
		if one.websocket == token && one.dnsName == host && one.node == c.Query.Get("X-Node-Id") {
			t = one
		}
	}
	networkOf(c.Server).tunnels.mu.Unlock()
	if t.websocket == "" {
		http.Error(c.Writer, "the token is not valid", http.StatusUnauthorized)
		return
	}
	conn, err := networkOf(c.Server).Tunnel(c.HTTP.Context(), t.vnet, t.from, t.to)
	if err != nil {
		http.Error(c.Writer, "the machine does not answer", http.StatusBadGateway)
		return
	}
	defer conn.Close()
	ws, err := (&websocket.Upgrader{}).Upgrade(c.Writer, c.HTTP, nil)
	if err != nil {
		return // Upgrade has sent the error
	}
	defer ws.Close()
	go func() {
		defer conn.Close()
		for {
			_, data, err := ws.ReadMessage()
			if err != nil {
				return
			}
			if _, err := conn.Write(data); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := conn.Read(buffer)
		if n > 0 && ws.WriteMessage(websocket.BinaryMessage, buffer[:n]) != nil {
			return
		}
		if err != nil {
			_ = ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")) // the client may be gone
			return
		}
	}
}

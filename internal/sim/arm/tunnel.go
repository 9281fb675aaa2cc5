package arm

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
)

// bastionDomain is where Bastion hosts answer: a name of its own for each.
const bastionDomain = "bastion.azure.com"

// Tunnel connects from an address of a virtual network, named by its ARM ID, to
// another, as a Bastion host does.
type Tunnel func(ctx context.Context, vnetID string, from netip.Addr, to netip.AddrPort) (net.Conn, error)

// tunnels are the sessions of all Bastion hosts, by the token that ends them.
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

// serveBastion is the data plane of Bastion hosts as `az network bastion tunnel`
// speaks to it; Microsoft does not publish it. false means that the call is for none.
func serveBastion(c *call) bool {
	host, _, _ := strings.Cut(lower(c.host), ":")
	if !strings.HasSuffix(host, "."+bastionDomain) {
		return false
	}
	path := c.r.URL.Path
	switch rest, ends := strings.CutPrefix(path, "/api/tokens/"); {
	case c.r.Method == http.MethodPost && path == "/api/tokens":
		c.openTunnel(host)
	case c.r.Method == http.MethodDelete && ends:
		networkOf(c.s).tunnels.mu.Lock()
		_, has := networkOf(c.s).tunnels.open[rest]
		delete(networkOf(c.s).tunnels.open, rest)
		networkOf(c.s).tunnels.mu.Unlock()
		if !has {
			c.w.WriteHeader(http.StatusNotFound)
			return true
		}
		c.w.WriteHeader(http.StatusNoContent)
	case c.r.Method == http.MethodGet && strings.HasPrefix(path, "/webtunnelv2/"):
		c.carry(host, strings.TrimPrefix(path, "/webtunnelv2/"))
	default:
		http.NotFound(c.w, c.r)
	}
	return true
}

// openTunnel checks what is asked for and hands out the tokens. The words of its
// refusals are made up; those of Azure are not published.
func (c *call) openTunnel(host string) {
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxBody)
	refuse := func(status int, format string, args ...any) { http.Error(c.w, fmt.Sprintf(format, args...), status) }
	if err := c.r.ParseForm(); err != nil {
		refuse(http.StatusBadRequest, "the form cannot be read")
		return
	}
	f := c.r.PostForm
	if _, err := c.s.bearer(f.Get("aztoken"), c.managerAudiences()); err != nil {
		refuse(http.StatusUnauthorized, "aztoken is not valid")
		return
	}
	t, status, err := c.s.tunnelTo(host, f.Get("resourceId"), f.Get("workloadHostPort"))
	switch {
	case err != nil:
		refuse(status, "%v", err)
		return
	case f.Get("protocol") != "tcptunnel":
		refuse(http.StatusBadRequest, "protocol %q is not simulated, only tcptunnel", f.Get("protocol"))
		return
	case networkOf(c.s).Tunnel == nil:
		refuse(http.StatusNotImplemented, "the machines of this local Azure have no network")
		return
	}
	auth := rand.Text()
	t.node, t.websocket = rand.Text(), rand.Text()
	networkOf(c.s).tunnels.mu.Lock()
	if networkOf(c.s).tunnels.open == nil {
		networkOf(c.s).tunnels.open = map[string]tunnel{}
	}
	networkOf(c.s).tunnels.open[auth] = t
	networkOf(c.s).tunnels.mu.Unlock()
	c.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(c.w).Encode(map[string]any{"authToken": auth, "nodeId": t.node, "websocketToken": t.websocket, "username": "", "dataSource": "default"}) // the client may be gone
}

// tunnelTo finds the Bastion host and the machine of a request.
func (s *Server) tunnelTo(host, vmID, port string) (tunnel, int, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return tunnel{}, http.StatusBadRequest, fmt.Errorf("workloadHostPort %q is no port", port)
	}
	subnet, found := "", false
	for _, raw := range s.List(typeBastion) {
		var body object
		if json.Unmarshal(raw, &body) != nil || !strings.EqualFold(str(body, "properties", "dnsName"), host) {
			continue
		}
		found = true
		if enabled, _ := props(body)["enableTunneling"].(bool); !enabled || str(body, "sku", "name") == "Basic" {
			return tunnel{}, http.StatusForbidden, fmt.Errorf("tunnelling needs a Bastion host of SKU Standard or Premium with enableTunneling")
		}
		for _, config := range items(props(body), "ipConfigurations") {
			subnet = str(props(config), "subnet", "id")
		}
	}
	if !found {
		return tunnel{}, http.StatusNotFound, fmt.Errorf("there is no Bastion host %s", host)
	}
	vnet, _, _ := strings.Cut(subnet, "/subnets/")
	to, ok := s.addressOf(vmID)
	if !ok {
		return tunnel{}, http.StatusNotFound, fmt.Errorf("there is no virtual machine %s with an address; instances of Uniform scale sets are not simulated here", vmID)
	}
	return tunnel{dnsName: host, vnet: vnet, from: s.firstOf(subnet), to: netip.AddrPortFrom(to, uint16(n))}, 0, nil
}

// addressOf is the private address of a virtual machine's first interface.
func (s *Server) addressOf(vmID string) (netip.Addr, bool) {
	for _, nic := range items(s.properties(vmID), "networkProfile", "networkInterfaces") {
		for _, config := range items(s.properties(str(nic, "id")), "ipConfigurations") {
			if a, err := netip.ParseAddr(str(props(config), "privateIPAddress")); err == nil {
				return a, true
			}
		}
	}
	return netip.Addr{}, false
}

// firstOf is the first address of a subnet that Azure gives out, for the Bastion host.
func (s *Server) firstOf(subnetID string) netip.Addr {
	vnet, _, _ := strings.Cut(subnetID, "/subnets/")
	for _, one := range items(s.properties(vnet), "subnets") {
		if !strings.EqualFold(str(one, "id"), subnetID) {
			continue
		}
		for _, p := range prefixes(props(one)) {
			return p.Masked().Addr().Next().Next().Next().Next() // Azure keeps the first four
		}
	}
	return netip.Addr{}
}

// properties are those of a resource, empty for one that is not there.
func (s *Server) properties(id string) object {
	raw, ok := s.Get(id)
	var body object
	if !ok || json.Unmarshal(raw, &body) != nil {
		return object{}
	}
	return props(body)
}

// carry is the websocket: each binary message is some of the connection's bytes.
func (c *call) carry(host, token string) {
	var t tunnel
	networkOf(c.s).tunnels.mu.Lock()
	for _, one := range networkOf(c.s).tunnels.open {
		if one.websocket == token && one.dnsName == host && one.node == c.query.Get("X-Node-Id") {
			t = one
		}
	}
	networkOf(c.s).tunnels.mu.Unlock()
	if t.websocket == "" {
		http.Error(c.w, "the token is not valid", http.StatusUnauthorized)
		return
	}
	conn, err := networkOf(c.s).Tunnel(c.r.Context(), t.vnet, t.from, t.to)
	if err != nil {
		http.Error(c.w, "the machine does not answer", http.StatusBadGateway)
		return
	}
	defer conn.Close()
	ws, err := (&websocket.Upgrader{}).Upgrade(c.w, c.r, nil)
	if err != nil {
		return // it has answered
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
			_ = ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")) // it may be gone
			return
		}
	}
}

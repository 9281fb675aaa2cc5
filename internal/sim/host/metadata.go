package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/connqueue"
	"casement.dev/casement/internal/sim/fabric"
)

// metadataAddress is Azure's instance metadata service.
const metadataAddress = "169.254.169.254:80"

// IdentityPath is the path at which the metadata service issues tokens.
const IdentityPath = "/metadata/identity/oauth2/token"

// External serves connections from a guest to addresses outside of its network: the metadata
// service, the hosts that the local Azure simulates, such as key vaults, and the hosts that
// Config.Route permits. All others are refused, so that no connection leaves this machine.
func (h *Host) External(ctx context.Context, from fabric.Origin, _, address string) (net.Conn, error) {
	if address == metadataAddress {
		return h.dialMetadata(ctx, from)
	}
	if host, _, err := net.SplitHostPort(address); err == nil && azuresim.Intercepts(host) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", strings.TrimPrefix(h.azure.Cloud.Endpoint, "https://"))
	}
	if h.config.Route != nil {
		if to := h.config.Route(address); to != "" {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", to)
		}
	}
	return nil, fmt.Errorf("%s is not part of the local plane", address)
}

// dialMetadata connects a machine with its metadata service.
func (h *Host) dialMetadata(ctx context.Context, from fabric.Origin) (net.Conn, error) {
	vm, ok := h.at(from)
	if !ok {
		return nil, fmt.Errorf("no VM has the address %s", from.IP)
	}
	client, server := net.Pipe()
	l := connqueue.New(&net.UnixAddr{Name: metadataAddress, Net: "pipe"})
	h.wall.Go(nil, "the metadata service", func() {
		serve := func(w http.ResponseWriter, r *http.Request) { h.serveMetadata(w, r, vm) }
		_ = limit.Default().Server(http.HandlerFunc(serve)).Serve(l) // returns when the connection ends
	})
	if err := l.Give(ctx, closingConn{server, l}); err != nil {
		return nil, errors.Join(err, client.Close(), server.Close(), l.Close())
	}
	return client, nil
}

// at returns the VM with an address in a virtual network.
func (h *Host) at(from fabric.Origin) (host.VM, bool) {
	ip := from.IP.String()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.byID {
		if len(g.vm.NICs) == 0 || len(g.vm.NICs[0].PrivateIPs) == 0 || g.vm.NICs[0].PrivateIPs[0] != ip {
			continue
		}
		if vnet, _, _ := strings.Cut(g.vm.NICs[0].SubnetID, "/subnets/"); strings.EqualFold(vnet, from.VNetID) {
			return g.vm, true
		}
	}
	return host.VM{}, false
}

// serveMetadata serves the part of the instance document that cloud providers and loaders read, and
// the tokens of the machine's identities.
func (h *Host) serveMetadata(w http.ResponseWriter, r *http.Request, vm host.VM) {
	if r.Header.Get("Metadata") != "true" {
		http.Error(w, `{"error":"Bad request. Required metadata header not specified"}`, http.StatusBadRequest)
		return
	}
	switch r.URL.Path {
	case "/metadata/instance":
	case "/metadata/instance/compute/osProfile/computerName":
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, vm.ComputerName)
		return
	case IdentityPath:
		h.azure.Identity(w, r, vm.Identities)
		return
	default:
		http.NotFound(w, r)
		return
	}
	doc := map[string]any{
		"compute": map[string]any{"resourceId": vm.ID, "vmScaleSetName": vm.ScaleSet, "location": vm.Location,
			"vmSize": vm.Size, "zone": vm.Zone, "name": vm.Name,
			"osProfile":         map[string]any{"computerName": vm.ComputerName, "adminUsername": vm.AdminUsername},
			"resourceGroupName": vm.ResourceGroup, "osType": vm.OS},
		"network": map[string]any{"interface": []any{map[string]any{"ipv4": map[string]any{
			"ipAddress": []any{map[string]any{"privateIpAddress": vm.NICs[0].PrivateIPs[0], "publicIpAddress": ""}},
		}}}},
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc)
}

// closingConn closes its listener when it is closed: the metadata service of a connection ends with
// the connection.
type closingConn struct {
	net.Conn
	l net.Listener
}

// Close implements net.Conn.
func (c closingConn) Close() error { return errors.Join(c.Conn.Close(), c.l.Close()) }

package powershell

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest/machine"
)

// connectTimeout bounds a connection attempt of Test-NetConnection.
const connectTimeout = 5 * time.Second

// resolveName resolves a name as the guest's resolver does.
func resolveName(c *call) error {
	name, kind := c.textOf("name"), strings.ToUpper(c.textOf("type"))
	if kind != "" && kind != "A" && kind != "A_AAAA" && kind != "UNKNOWN" {
		return lacking("-Type %s of Resolve-DnsName", c.textOf("type"))
	}
	if s := c.textsOf("server"); len(s) > 0 && s[0] != c.m.DNSServers()[0] {
		return lacking("Resolve-DnsName at another server than the guest's")
	}
	found, err := c.m.Lookup(name)
	if err != nil {
		e, _ := errors.AsType[*machine.LookupError](err)
		text, id := "DNS name does not exist", "DNS_ERROR_RCODE_NAME_ERROR"
		if e != nil && e.Silent {
			text, id = "This operation returned because the timeout period expired", "ERROR_TIMEOUT"
		}
		if e != nil {
			c.print(c.session.Stderr, "Resolve-DnsName: simulated: "+e.Reason+"\r\n")
		}
		return c.fault(broken("System.ComponentModel.Win32Exception", id+",Microsoft.DnsClient.Commands.ResolveDnsName",
			"%s : %s", name, text))
	}
	for _, ip := range found.IPs {
		if err := c.emit(tabled("Microsoft.DnsClient.Commands.DnsRecord_A", 5, "Name", found.Name, "Type", "A", "TTL", int64(30),
			"Section", "Answer", "IPAddress", ip.String(), "NameHost", nil, "IP4Address", ip.String(), "QueryType", "A")); err != nil {
			return err
		}
	}
	return nil
}

// commonPorts are the ports of -CommonTCPPort.
var commonPorts = map[string]int{"http": 80, "rdp": 3389, "smb": 445, "winrm": 5985}

// testConnection tests a connection to a host from the guest: to a port, or by a ping.
func testConnection(c *call) error {
	level := strings.ToLower(c.textOf("informationlevel"))
	if level != "" && level != "quiet" && level != "detailed" {
		return lacking("-InformationLevel %s", c.textOf("informationlevel"))
	}
	name := c.textOf("computername")
	if name == "" {
		name = "internetbeacon.msedge.net" // the default host of the real cmdlet
	}
	port, err := c.integerOf("port", 0)
	if err != nil {
		return err
	}
	if common := c.textOf("commontcpport"); common != "" {
		if port = commonPorts[strings.ToLower(common)]; port == 0 {
			return lacking("-CommonTCPPort %s", common)
		}
	}
	found, why := c.m.Lookup(name)
	remote, answers, pings := "", false, false
	if why == nil {
		remote = found.IPs[0].String()
		pings = c.m.Network != nil && c.m.Network.Pings(found.IPs[0])
		if port != 0 {
			why = c.tryPort(found.IPs[0], port)
			answers = why == nil
		}
	}
	adapter, _ := c.adapter()
	succeeded := pings
	if port != 0 {
		succeeded = answers
	}
	switch {
	case why != nil:
		c.print(c.session.Stderr, "Test-NetConnection: simulated: "+why.Error()+"\r\n")
	case port == 0 && !pings:
		c.print(c.session.Stderr, "Test-NetConnection: simulated: "+remote+" is the address of no pod and no machine of the local plane\r\n")
	}
	if level == "quiet" {
		return c.emit(succeeded)
	}
	values := []any{"ComputerName", name, "RemoteAddress", remote, "InterfaceAlias", adapter, "SourceAddress", c.m.IP().String(),
		"NameResolutionSucceeded", remote != "", "PingSucceeded", pings && port == 0}
	shown := []string{"ComputerName", "RemoteAddress", "InterfaceAlias", "SourceAddress", "PingSucceeded"}
	if port != 0 {
		values = append(values, "RemotePort", int64(port), "TcpTestSucceeded", answers)
		shown = []string{"ComputerName", "RemoteAddress", "RemotePort", "InterfaceAlias", "SourceAddress", "TcpTestSucceeded"}
	}
	return c.emit(system("NetworkTestResults", shown, values...))
}

// tryPort returns an error if a port does not accept connections.
func (c *call) tryPort(ip netip.Addr, port int) error {
	v := c.m.Pulse.Get()
	if !v.Network || ip.String() == metadataIP && !v.Metadata {
		return errors.New("the machine's network is down")
	}
	if ip.String() == metadataIP && !c.m.Image.Container {
		return nil // the metadata service answers every virtual machine, on every port
	}
	ctx, cancel := context.WithTimeout(c.ctx, connectTimeout)
	defer cancel()
	conn, err := c.m.Connect(ctx, "tcp", net.JoinHostPort(ip.String(), strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return conn.Close()
}

const metadataIP = "169.254.169.254"

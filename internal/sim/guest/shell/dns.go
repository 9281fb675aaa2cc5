package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	gonet "net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest/machine"
)

// dnsServer returns the first DNS server of the guest.
func dnsServer(m *machine.Machine) string { return m.DNSServers()[0] }

// silent reports whether no name server answered.
func silent(err error) bool {
	e, ok := errors.AsType[*machine.LookupError](err)
	return ok && e.Silent
}

// explain writes to standard error what the simulated network adds to the real program's message, if anything.
func (p *Process) explain(err error) {
	if e, ok := errors.AsType[*machine.LookupError](err); ok {
		fmt.Fprintf(p.Stderr, "%s: simulated: %s\n", p.name(), e.Reason)
	}
}

// nslookup looks up the address of a name.
func nslookup(_ context.Context, p *Process) int {
	o, unknown := declare("- type|query|q:").parse(p.Args[1:])
	names := o.operands
	if unknown != "" || len(names) == 0 || o.has("type") && !strings.EqualFold(o.value("type"), "a") {
		return p.Refuse("nslookup %s", strings.Join(p.Args[1:], " "))
	}
	server := dnsServer(p.Guest)
	if len(names) > 1 && names[1] != server {
		return p.Refuse("nslookup at another server than the guest's")
	}
	if _, err := netip.ParseAddr(names[0]); err == nil {
		return p.Refuse("nslookup of an address")
	}
	found, err := p.Guest.Lookup(names[0])
	if p.Guest.IsWindows() {
		return p.nslookupWindows(server, names[0], found, err)
	}
	switch {
	case silent(err):
		p.Printf(";; connection timed out; no servers could be reached\n")
	case err != nil:
		p.Printf("Server:\t\t%s\nAddress:\t%s#53\n\n** server can't find %s: NXDOMAIN\n\n", server, server, names[0])
	default:
		p.Printf("Server:\t\t%s\nAddress:\t%s#53\n\n", server, server)
		for _, ip := range found.IPs {
			p.Printf("Name:\t%s\nAddress: %s\n", found.Name, ip)
		}
		p.Printf("\n")
		return 0
	}
	p.explain(err)
	return 1
}

func texts(ips []netip.Addr) (out []string) {
	for _, ip := range ips {
		out = append(out, ip.String())
	}
	return out
}

func (p *Process) nslookupWindows(server, name string, found machine.Found, err error) int {
	switch {
	case silent(err):
		p.Printf("DNS request timed out.\r\n    timeout was 2 seconds.\r\nServer:  UnKnown\r\nAddress:  %s\r\n\r\n", server)
		fmt.Fprintf(p.Stderr, "*** Request to UnKnown timed-out\r\n")
	case err != nil:
		p.Printf("Server:  UnKnown\r\nAddress:  %s\r\n\r\n", server)
		fmt.Fprintf(p.Stderr, "*** UnKnown can't find %s: Non-existent domain\r\n", name)
	default:
		label := "Address: "
		if len(found.IPs) > 1 {
			label = "Addresses: "
		}
		p.Printf("Server:  UnKnown\r\nAddress:  %s\r\n\r\nName:    %s\r\n%s %s\r\n\r\n", server, found.Name, label,
			strings.Join(texts(found.IPs), "\r\n\t  "))
		return 0
	}
	p.explain(err)
	return 0 // nslookup.exe reports failures only as text
}

// ping checks whether an address answers.
func ping(_ context.Context, p *Process) int {
	args := slices.Clone(p.Args[1:])
	for i, a := range args {
		if rest, slash := strings.CutPrefix(a, "/"); slash && p.Guest.IsWindows() {
			args[i] = "-" + rest
		}
	}
	o, unknown := declare("c|n: W: w: i: 4 q").parse(args)
	if unknown != "" || len(o.operands) != 1 {
		return p.Refuse("ping %s", strings.Join(p.Args[1:], " "))
	}
	count, err := strconv.Atoi(cmp.Or(o.value("c"), "4"))
	if err != nil || count < 1 || count > 1000 {
		return p.Fail(1, "%s: bad value for option -n", p.name())
	}
	name := o.operands[0]
	found, err := p.Guest.Lookup(name)
	if err != nil {
		code := p.Fail(2, "ping: %s: Name or service not known", name)
		if p.Guest.IsWindows() {
			p.Printf("Ping request could not find host %s. Please check the name and try again.\r\n", name)
			code = 1
		}
		p.explain(err)
		return code
	}
	ip := found.IPs[0]
	answers := ip.IsLoopback() || p.Guest.Network != nil && p.Guest.Network.Pings(ip)
	if p.Guest.IsWindows() {
		return p.pingWindows(found.Name, ip, count, answers)
	}
	p.Printf("PING %s (%s) 56(84) bytes of data.\n", name, ip)
	received := 0
	for i := range count {
		if answers {
			received++
			p.Printf("64 bytes from %s: icmp_seq=%d ttl=64 time=0.100 ms\n", ip, i+1)
		}
	}
	p.Printf("\n--- %s ping statistics ---\n%d packets transmitted, %d received, %d%% packet loss, time %dms\n",
		name, count, received, 100*(count-received)/count, (count-1)*1000)
	if !answers {
		return p.Fail(1, "ping: simulated: %s is the address of no pod and no machine of the local plane", ip)
	}
	return 0
}

func (p *Process) pingWindows(name string, ip netip.Addr, count int, answers bool) int {
	p.Printf("\r\nPinging %s [%s] with 32 bytes of data:\r\n", name, ip)
	received := 0
	for range count {
		if answers {
			received++
			p.Printf("Reply from %s: bytes=32 time<1ms TTL=128\r\n", ip)
		} else {
			p.Printf("Request timed out.\r\n")
		}
	}
	p.Printf("\r\nPing statistics for %s:\r\n    Packets: Sent = %d, Received = %d, Lost = %d (%d%% loss),\r\n",
		ip, count, received, count-received, 100*(count-received)/count)
	if !answers {
		return p.Fail(1, "ping: simulated: %s is the address of no pod and no machine of the local plane", ip)
	}
	return 0
}

// connectTimeout bounds a connection attempt of nc.
const connectTimeout = 5 * time.Second

// netcat checks whether a port is open, as nc -z does.
func netcat(ctx context.Context, p *Process, o options) int {
	if !o.has("z") || len(o.operands) != 2 {
		return p.Refuse("nc without -z HOST PORT")
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	address := gonet.JoinHostPort(o.operands[0], o.operands[1])
	conn, err := p.Guest.Connect(ctx, "tcp", address)
	if err != nil {
		if o.has("v") {
			return p.Fail(1, "nc: connect to %s port %s (tcp) failed: %v", o.operands[0], o.operands[1], err)
		}
		return 1
	}
	conn.Close()
	if o.has("v") {
		fmt.Fprintf(p.Stderr, "Connection to %s %s port [tcp/*] succeeded!\n", o.operands[0], o.operands[1])
	}
	return 0
}

// wget downloads an address and writes the answer to a file with the name in the address.
func wget(ctx context.Context, p *Process, o options) int {
	if len(o.operands) == 0 {
		return p.Fail(1, "wget: missing URL")
	}
	code := 0
	for _, address := range o.operands {
		args := []string{"curl", "-f", "-L"}
		if o.has("q") {
			args = append(args, "-s")
		} else {
			args = append(args, "-sS")
		}
		if o.has("no-check-certificate") {
			args = append(args, "-k")
		}
		for _, h := range o.values("header") {
			args = append(args, "-H", h)
		}
		if o.has("T") {
			args = append(args, "-m", o.value("T"))
		}
		out := o.value("O")
		switch {
		case o.has("spider"):
			out = "/dev/null"
		case out == "":
			plain, _, _ := strings.Cut(address, "?")
			_, plain, _ = strings.Cut(strings.TrimPrefix(plain, "http://"), "/")
			out = cmp.Or(plain[strings.LastIndexByte(plain, '/')+1:], "index.html")
		}
		run := *p
		run.Args = append(args, "-o", out, address)
		if curl(ctx, &run) != 0 {
			code = 4
		}
	}
	return code
}

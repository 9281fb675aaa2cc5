package fabric

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Foreign reports whether nothing of the machine listens on a socket address of a machine, but
// another program of this computer, which listens on all addresses, would accept the connection. It
// also returns true if the kernel's tables cannot be read.
func Foreign(network string, at netip.AddrPort) bool {
	all := false
	for _, table := range []string{strings.TrimRight(network, "46"), strings.TrimRight(network, "46") + "6"} {
		own, wild, err := listening(table, at)
		if own {
			return false
		}
		if err != nil && !strings.HasSuffix(table, "6") { // a kernel without IPv6 has no second table
			return true
		}
		all = all || wild
	}
	return all
}

// listening searches a table of the kernel (proc_net_tcp.rst, proc(5)) for a socket that listens on
// exactly the address (own), and for one that listens on its port on all addresses (wild).
func listening(table string, at netip.AddrPort) (own, wild bool, err error) {
	f, err := os.Open("/proc/self/net/" + table)
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	waits := "0A" // TCP_LISTEN
	if strings.HasPrefix(table, "udp") {
		waits = "07" // TCP_CLOSE: a socket without a peer
	}
	port := fmt.Appendf(nil, ":%04X ", at.Port())
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), port) {
			continue // most lines are of other ports, and there may be thousands
		}
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != waits {
			continue
		}
		local, err := parseLocal(fields[1])
		if err != nil || local.Port() != at.Port() {
			continue // the heading of the table
		}
		own = own || local.Addr() == at.Addr()
		wild = wild || local.Addr().IsUnspecified()
	}
	return own, wild, lines.Err()
}

// parseLocal parses an address as the kernel prints it: words of four bytes in the byte order of
// the processor, and the port. All processors on which Kubernetes runs are little-endian.
func parseLocal(text string) (netip.AddrPort, error) {
	host, port, ok := strings.Cut(text, ":")
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%q has no port", text)
	}
	raw, err := hex.DecodeString(host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	addr, ok := netip.AddrFromSlice(raw)
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil || !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", text)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), nil
}

// Peer returns the loopback address of a machine. ip is the machine's address in a network that the
// origin can reach, or the loopback address itself.
func (f *Fabric) Peer(from Origin, ip netip.Addr) (netip.Addr, bool) {
	if _, _, ok := f.addr.vnetOf(ip); ok {
		return ip, true
	}
	f.mu.Lock()
	at, ok := f.ix.locate(fold(from.VNetID), ip)
	f.mu.Unlock()
	if !ok {
		return netip.Addr{}, false
	}
	return f.addr.lookup(vnetKey(at.vnet, at.ip))
}

package fabric

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
)

// TestForeignListeners: a machine can connect to its own sockets, but to no program of this
// computer that listens on all addresses, although such a program would answer at the machine's
// loopback address.
func TestForeignListeners(t *testing.T) {
	for name, c := range map[string]struct {
		address func(own netip.Addr) string
		reached bool
	}{
		"its own":            {func(own netip.Addr) string { return netip.AddrPortFrom(own, 0).String() }, true},
		"all addresses":      {func(netip.Addr) string { return ":0" }, false},
		"all of version 4":   {func(netip.Addr) string { return "0.0.0.0:0" }, false},
		"another loopback's": {func(netip.Addr) string { return "127.0.0.1:0" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := New(Config{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			from := Origin{VNetID: "/vnet", IP: netip.MustParseAddr("10.99.0.4")}
			own, err := f.Loopback(from.VNetID, from.IP)
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", c.address(own))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			_, port, err := net.SplitHostPort(l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			conn, err := f.Dial(t.Context(), from, "tcp", "127.0.0.1:"+port)
			if conn != nil {
				conn.Close()
			}
			if (err == nil) != c.reached || err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("the answer is %v", err)
			}
		})
	}
}

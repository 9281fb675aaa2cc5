package fabric

import (
	"errors"
	"fmt"
	"net/netip"
)

// Reach returns a check for the connections of a process of this computer that works for a machine.
// The process may connect to sockets of the machine's own loopback address and, with peers, to
// sockets of other machines of planes on this computer. The check is needed for each new connection
// for the reason that Foreign explains.
func Reach(own netip.Addr, peers bool) func(network string, to netip.AddrPort) error {
	return func(network string, to netip.AddrPort) error {
		ip := to.Addr()
		switch {
		case ip != own && (!peers || !isClaimed(ip)):
			return fmt.Errorf("the program of a machine reaches machines alone, and its own is at %s", own)
		case Foreign(network, to):
			return errors.New("nothing of the machine listens there, and another program of this computer would answer")
		}
		return nil
	}
}

// isClaimed reports whether a plane on this computer has claimed the block of an address.
func isClaimed(ip netip.Addr) bool {
	if !ip.Is4() || !ip.IsLoopback() || reserved(ip) {
		return false
	}
	own, _, err := listening("tcp", netip.AddrPortFrom(blockOf(ip), claimPort))
	return err == nil && own
}

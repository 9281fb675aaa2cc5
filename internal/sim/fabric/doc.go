// Package fabric is the network of the local plane, in user space and without
// root. Objects carry the addresses of their virtual network (10.x); sockets sit
// on loopback addresses of the same digits (127.x), which are claimed on the host
// so that two planes never share one. On top of that it balances load, probes,
// evaluates network security rules, carries pods and services, and answers a
// kube-apiserver's egress selector.
//
// It refuses to be a network: it never opens a connection to anything but
// loopback sockets of this host that it maps itself, hands everything else to
// Config.External or refuses it, and carries TCP alone (UDP only between virtual
// machines). The differences from a real network:
//
//   - A flow that a security rule refuses fails immediately, with an error whose
//     Timeout method returns true, where a real one would hang until it timed out.
//   - A frontend listens only while a backend is healthy and admitted; otherwise a
//     connection to it is refused.
//   - The host is the Internet. It can nevertheless reach every loopback address
//     by itself, so rules bind it at frontends and public addresses only.
//   - Traffic between pods is encapsulated and passes no security rule, as with
//     VXLAN inside one virtual network.
//   - An internal frontend also listens for the host, in place of a
//     network that is peered with the frontend's.
//
// The simulator, internal/plane and cmd/casement-kube may import it; the provider may not.
package fabric

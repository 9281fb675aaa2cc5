package sshroute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
)

// handshakeTimeout is the timeout for connecting and logging in to one SSH server.
const handshakeTimeout = 30 * time.Second

// Access has the credentials and files for logging in along a route.
type Access struct {
	User string
	Keys Keys
	// KnownHosts is the file with remembered host keys (see Route.KnownHosts).
	KnownHosts string
	// Notes receives a message for each new host key.
	Notes io.Writer
	// NATPorts, if set, returns other ports of the endpoint, as host:port, on which control plane machines may respond. It
	// is called if there is no response at the route's jump: each control plane machine has a NAT rule with its own
	// port, and the machine with port 22 may have been replaced.
	NATPorts func(ctx context.Context) ([]string, error)
	// Tunnel, if set, connects to a port of a VM by its ARM resource ID, as Azure Bastion
	// does, instead of the route's jump and address.
	Tunnel func(ctx context.Context, vmID, port string) (net.Conn, error)
	// Dial, if set, connects from within the cluster's network, so that the machine is reached by its private address
	// and without the route's jump.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dialer is the starting point of connections into the cluster's network: a login at the control plane endpoint, or
// the user's own computer.
type Dialer struct {
	route  Route
	access Access
	jump   *ssh.Client // nil without a jump
	keys   []ssh.Signer
	done   func()
}

// Connect logs in at the route's jump, if it has one.
func Connect(ctx context.Context, r Route, a Access) (*Dialer, error) {
	if a.Tunnel != nil {
		r.Jump, r.Blocked = "", nil
		if r.VM == "" {
			r.Blocked = fmt.Errorf("machine %s has no VM yet; see what it waits for: casement why %s", r.Machine, r.Machine)
		}
	}
	if a.Dial != nil {
		r.Jump = ""
	}
	if r.Blocked != nil {
		return nil, r.Blocked
	}
	keys, done, err := a.Keys.signers()
	if err != nil {
		return nil, err
	}
	e := &Dialer{route: r, access: a, keys: keys, done: done}
	if r.Jump == "" {
		return e, nil
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn, err := e.dialEndpoint(ctx)
	if err != nil {
		done()
		return nil, fmt.Errorf("reach the control plane endpoint of cluster %s by SSH: %w; is the port open to "+
			"you there? name another way in with --jump", r.Cluster.Name, err)
	}
	if e.jump, err = e.login(ctx, conn, e.route.Door); err != nil {
		done()
		return nil, err
	}
	return e, nil
}

// natPortTimeout is the timeout for connecting to one of several ports of the endpoint: a load balancer drops connections
// to ports without a rule.
const natPortTimeout = 5 * time.Second

// dialEndpoint connects to the route's jump or, if it does not respond, to the first of the other NAT ports that does.
func (e *Dialer) dialEndpoint(ctx context.Context) (net.Conn, error) {
	dialer := &net.Dialer{}
	if e.access.NATPorts != nil {
		dialer.Timeout = natPortTimeout
	}
	conn, err := dialer.DialContext(ctx, "tcp", e.route.Jump)
	if err == nil || e.access.NATPorts == nil {
		return conn, err
	}
	ports, unread := e.access.NATPorts(ctx)
	if unread != nil {
		return nil, fmt.Errorf("%w; the load balancer's NAT rules, which may have another port, cannot be read: %w", err, unread)
	}
	tried := err
	for _, address := range ports {
		if address == e.route.Jump {
			continue
		}
		if conn, err = dialer.DialContext(ctx, "tcp", address); err == nil {
			e.route.Jump, e.route.Door = address, behind(e.route.Door, address)
			return conn, nil
		}
		tried = errors.Join(tried, err)
	}
	return nil, tried
}

// behind returns the name for host keys at another port of the endpoint, because another machine responds there.
func behind(name, address string) string {
	host, _, err := net.SplitHostPort(name)
	_, port, unsplit := net.SplitHostPort(address)
	if err != nil || unsplit != nil {
		return name
	}
	return net.JoinHostPort(host, port)
}

// To returns a Dialer to another machine of the cluster that uses the same login. It ends with e and must not be closed.
func (e *Dialer) To(r Route) *Dialer {
	other := *e
	other.route.Machine, other.route.Node, other.route.Address, other.route.Windows, other.route.VM = r.Machine,
		r.Node, r.Address, r.Windows, r.VM
	return &other
}

// Close ends the login and all connections through it.
func (e *Dialer) Close() error {
	defer e.done()
	if e.jump == nil {
		return nil
	}
	return e.jump.Close()
}

// Dial connects to a port of the machine.
func (e *Dialer) Dial(ctx context.Context, port string) (net.Conn, error) {
	if e.access.Tunnel != nil {
		return e.access.Tunnel(ctx, e.route.VM, port)
	}
	dial, from := (&net.Dialer{}).DialContext, "here"
	switch {
	case e.jump != nil:
		dial, from = e.jump.DialContext, e.route.Jump
	case e.access.Dial != nil:
		dial, from = e.access.Dial, "the cluster's network"
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(e.route.Address, port))
	if err != nil {
		return nil, fmt.Errorf("reach port %s of machine %s (%s) from %s: %w", port, e.route.Machine, e.route.Address, from, err)
	}
	return conn, nil
}

// lost waits until the login at the jump ends, and returns the error; without a jump it waits until ctx ends.
func (e *Dialer) lost(ctx context.Context) error {
	if e.jump == nil {
		<-ctx.Done()
		return nil
	}
	ended := make(chan error, 1)
	go func() { ended <- e.jump.Wait() }() // Wait returns when the login ends
	select {
	case err := <-ended:
		return fmt.Errorf("connection to %s lost: %w", e.route.Jump, err)
	case <-ctx.Done():
		return nil
	}
}

// SSH logs in to the machine. Its host key is remembered by the machine's name, which is never reused, unlike an address.
func (e *Dialer) SSH(ctx context.Context) (*ssh.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn, err := e.Dial(ctx, SSHPort)
	if err != nil {
		return nil, err
	}
	c, err := e.login(ctx, conn, net.JoinHostPort(e.route.Machine, SSHPort))
	if err != nil && e.jump == nil && e.access.Dial == nil && e.access.Tunnel == nil {
		err = fmt.Errorf("%w; without a jump the machine's address %s has to lead to it from here", err, e.route.Address)
	}
	return c, err
}

// login performs the SSH handshake over conn, which it closes on failure. The host key is remembered under name.
func (e *Dialer) login(ctx context.Context, conn net.Conn, name string) (*ssh.Client, error) {
	hosts := hostKeys{file: e.access.KnownHosts, notes: e.access.Notes}
	algorithms, err := hosts.algorithms(name)
	if err != nil {
		conn.Close()
		return nil, err
	}
	var refused error // the problem with the host key, without the handshake's text
	config := &ssh.ClientConfig{
		User: e.access.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(e.keys...)}, HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			refused = hosts.check(name, key)
			return refused
		},
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	c, channels, requests, err := ssh.NewClientConn(conn, name, config)
	if !stop() && err == nil {
		c.Close()
		err = ctx.Err()
	}
	if refused != nil {
		err = refused
	} else if err != nil {
		err = fmt.Errorf("log in to %s as %s: %w", name, e.access.User, errors.Join(err, ctx.Err()))
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return ssh.NewClient(c, channels, requests), nil
}

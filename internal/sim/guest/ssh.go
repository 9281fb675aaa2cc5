package guest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/guest/machine"
)

// loginTime is how long a client may take to log in; OpenSSH waits for 2 minutes.
const loginTime = 30 * time.Second

// Dial connects from the guest to host:port in the guest's network.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// ServeSSH runs the guest's SSH server on l until ctx is done or l is closed; then it closes l and every connection,
// and returns. It accepts the keys in the guest's authorized_keys, and no passwords. It runs commands and shells in
// the simulated guest, serves SFTP in its tree and forwards connections through dial, so that ProxyJump, -W and -L
// work; dial may be nil. While the guest's SSH service does not run, each new connection is closed.
func (g *Guest) ServeSSH(ctx context.Context, l net.Listener, dial Dial) error {
	key, err := hostKey(g.m.Dir, g.m.Console)
	if err != nil {
		return err
	}
	config := &ssh.ServerConfig{ServerVersion: "SSH-2.0-casement_simulated", PublicKeyCallback: g.authorize}
	config.AddHostKey(key)
	service := "ssh"
	if g.m.OS == machine.Windows {
		service = "sshd"
	}
	return g.serve(ctx, l, service, func(ctx context.Context, c net.Conn) { g.handleSSH(ctx, c, config, dial) })
}

// serve accepts connections for a service of the guest.
func (g *Guest) serve(ctx context.Context, l net.Listener, service string, handle func(context.Context, net.Conn)) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	context.AfterFunc(ctx, func() { l.Close() })
	bounded := limit.Guests(l)
	for {
		c, err := bounded.Accept()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s of guest %s: %w", service, g.m.ComputerName, err)
		}
		g.m.Wall.Go(&wg, service, func() {
			defer c.Close()
			stop := context.AfterFunc(ctx, func() { c.Close() })
			defer stop()
			if row, ok := g.m.Services.Get(service); ok && row.Running {
				handle(ctx, c)
			}
		})
	}
}

// BrokenHostKey is the name, in a machine's directory, of a broken host key that a new key replaced.
const BrokenHostKey = hostKeyFile + ".damaged"

const hostKeyFile = "ssh_host_ed25519_key"

// hostKey returns the guest's host key; it creates a missing one. A broken key is renamed and replaced, and the
// console says so, because clients see another key.
func hostKey(dir string, console io.Writer) (ssh.Signer, error) {
	file := filepath.Join(dir, hostKeyFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = newHostKey(file)
	}
	if err != nil {
		return nil, fmt.Errorf("SSH host key: %w", err)
	}
	key, err := ssh.ParsePrivateKey(data)
	if err == nil {
		return key, nil
	}
	aside := filepath.Join(dir, BrokenHostKey)
	fmt.Fprintf(console, "guest: sshd: the host key is broken (%v) and was kept as %s; it has a new one now\n", err, aside)
	if err := os.Rename(file, aside); err != nil {
		return nil, fmt.Errorf("SSH host key: %w", err)
	}
	if data, err = newHostKey(file); err != nil {
		return nil, fmt.Errorf("SSH host key: %w", err)
	}
	return ssh.ParsePrivateKey(data)
}

func newHostKey(file string) ([]byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, err
	}
	data := pem.EncodeToMemory(block)
	return data, os.WriteFile(file, data, 0o600)
}

// authorize looks for the key in the user's authorized_keys in the guest. On Windows only cloudbase-init writes that
// file: the VM's sshPublicKey does not reach it.
func (g *Guest) authorize(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	refused := fmt.Errorf("user %q has no such key in guest %s", c.User(), g.m.ComputerName)
	if !g.m.HasUser(c.User()) {
		return nil, refused
	}
	rest, err := g.m.Root.ReadFile(g.m.AuthorizedKeys(c.User()))
	if err != nil {
		return nil, refused
	}
	for len(rest) > 0 {
		have, _, _, next, err := ssh.ParseAuthorizedKey(rest)
		if err != nil {
			return nil, refused
		}
		if bytes.Equal(have.Marshal(), key.Marshal()) {
			return &ssh.Permissions{}, nil
		}
		rest = next
	}
	return nil, refused
}

func (g *Guest) handleSSH(ctx context.Context, c net.Conn, config *ssh.ServerConfig, dial Dial) {
	_ = c.SetDeadline(time.Now().Add(loginTime)) // net.Conn always supports deadlines
	conn, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return // the SSH library has sent the reason to the client
	}
	_ = c.SetDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	defer conn.Close()
	g.m.Wall.Go(nil, "sshd", func() { ssh.DiscardRequests(requests) }) // ends with the connection
	for ch := range channels {
		switch ch.ChannelType() {
		case "session":
			g.m.Wall.Go(&wg, "sshd", func() { g.session(ctx, conn.User(), ch) })
		case "direct-tcpip":
			g.m.Wall.Go(&wg, "sshd", func() { g.forward(ctx, ch, dial) })
		default:
			_ = ch.Reject(ssh.UnknownChannelType, "not served by a simulated guest") // an error means that the connection is gone
		}
	}
}

// forward opens the connection from the guest that the client requests, and copies its data.
func (g *Guest) forward(ctx context.Context, ch ssh.NewChannel, dial Dial) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(ch.ExtraData(), &to); err != nil || to.Port > 65535 {
		_ = ch.Reject(ssh.ConnectionFailed, "malformed request") // an error means that the connection is gone
		return
	}
	if dial == nil {
		_ = ch.Reject(ssh.Prohibited, "this guest forwards nothing")
		return
	}
	address := net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	conn, err := dial(ctx, address)
	if err != nil {
		_ = ch.Reject(ssh.ConnectionFailed, fmt.Sprintf("connect to %s: %v", address, err))
		return
	}
	defer conn.Close()
	channel, requests, err := ch.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	g.m.Wall.Go(nil, "sshd", func() { ssh.DiscardRequests(requests) })
	g.pipe(ctx, channel, conn)
}

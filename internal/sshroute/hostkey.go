package sshroute

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"casement.dev/casement/internal/input"
)

// KnownHosts returns the file below dir with the host keys of the route's cluster. A new cluster with the same name has
// another file.
func (r Route) KnownHosts(dir string) string {
	return filepath.Join(dir, "known_hosts", r.Cluster.Namespace+"_"+r.Cluster.Name+"_"+r.ClusterUID)
}

// hostKeys checks host keys against a known_hosts file, and adds the keys of new hosts.
type hostKeys struct {
	file string
	// notes receives a message for each added key.
	notes io.Writer
}

// known reads the file, which it creates if it is missing.
func (h hostKeys) known() (ssh.HostKeyCallback, error) {
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return nil, fmt.Errorf("remember host keys: %w", err)
	}
	if err := input.Named(input.Small, h.file); err != nil {
		return nil, fmt.Errorf("remembered host keys: %w", err)
	}
	f, err := os.OpenFile(h.file, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("remember host keys: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	check, err := knownhosts.New(h.file)
	if err != nil {
		return nil, fmt.Errorf("remembered host keys: %w", err)
	}
	return check, nil
}

// check accepts the key that is remembered for name, or remembers the first key.
func (h hostKeys) check(name string, key ssh.PublicKey) error {
	known, err := h.known()
	if err != nil {
		return err
	}
	err = known(name, &net.TCPAddr{IP: net.IPv4zero}, key)
	unknown, ok := errors.AsType[*knownhosts.KeyError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("host key of %s: %w", name, err)
	case len(unknown.Want) > 0:
		return fmt.Errorf("host key of %s has changed: it is now %s, but %s line %d remembers %s; another "+
			"machine answers. If you know why, forget the old key and try again: ssh-keygen -f '%s' -R '%s'",
			name, ssh.FingerprintSHA256(key), h.file, unknown.Want[0].Line,
			ssh.FingerprintSHA256(unknown.Want[0].Key), h.file, knownhosts.Normalize(name))
	}
	return h.add(name, key)
}

func (h hostKeys) add(name string, key ssh.PublicKey) error {
	f, err := os.OpenFile(h.file, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("remember host keys: %w", err)
	}
	_, err = fmt.Fprintln(f, knownhosts.Line([]string{knownhosts.Normalize(name)}, key))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("remember host keys: %w", err)
	}
	fmt.Fprintf(h.notes, "host key of %s is new, remembered: %s\n", name, ssh.FingerprintSHA256(key))
	return nil
}

// algorithms returns the algorithms of the keys that are remembered for name, so that a server with several keys
// presents one of these; none if name is new.
func (h hostKeys) algorithms(name string) ([]string, error) {
	known, err := h.known()
	if err != nil {
		return nil, err
	}
	wanted, ok := errors.AsType[*knownhosts.KeyError](known(name, &net.TCPAddr{IP: net.IPv4zero}, noKey{}))
	if !ok {
		return nil, nil
	}
	var out []string
	for _, k := range wanted.Want {
		if t := k.Key.Type(); t == ssh.KeyAlgoRSA {
			out = append(out, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			out = append(out, t)
		}
	}
	return out, nil
}

// noKey is a key that no host has; checking it returns the remembered keys.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

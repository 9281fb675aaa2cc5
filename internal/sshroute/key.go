package sshroute

import (
	"errors"
	"fmt"
	"io/fs"
	"net"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"casement.dev/casement/internal/input"
)

// Keys are the sources of the user's SSH keys.
type Keys struct {
	// Identity is a private key file; if it is set, no other key is used.
	Identity string
	// Files are key files that need not exist, and that are used after the agent's keys. Files with a passphrase are
	// skipped, because the agent may have their keys.
	Files []string
	// First is a key file that is used before all others, because a server gives up after a few keys. It may be "".
	First string
	// AgentSocket is the SSH agent's socket, or "".
	AgentSocket string
}

// signers reads the keys. The returned function closes the connection to the agent.
func (k Keys) signers() ([]ssh.Signer, func(), error) {
	done := func() {}
	if k.Identity != "" {
		s, err := readKey(k.Identity)
		return []ssh.Signer{s}, done, err
	}
	out, err := readKeys([]string{k.First})
	if err != nil {
		return nil, nil, err
	}
	if k.AgentSocket != "" {
		conn, err := net.Dial("unix", k.AgentSocket)
		if err != nil {
			return nil, done, fmt.Errorf("SSH agent: %w; unset SSH_AUTH_SOCK or name a key with --identity", err)
		}
		done = func() { conn.Close() }
		signers, err := agent.NewClient(conn).Signers()
		if err != nil {
			done()
			return nil, nil, fmt.Errorf("SSH agent: %w", err)
		}
		out = append(out, signers...)
	}
	files, err := readKeys(k.Files)
	if err != nil {
		done()
		return nil, nil, err
	}
	out = append(out, files...)
	if len(out) == 0 {
		done()
		return nil, nil, errors.New("there is no SSH key: name one with --identity, or add it to the agent with ssh-add")
	}
	return out, done, nil
}

// readKeys reads the key files that exist and have no passphrase.
func readKeys(files []string) ([]ssh.Signer, error) {
	var out []ssh.Signer
	for _, file := range files {
		if file == "" {
			continue
		}
		s, err := readKey(file)
		switch {
		case err == nil:
			out = append(out, s)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errPassphrase):
			return nil, err
		}
	}
	return out, nil
}

var errPassphrase = errors.New("it has a passphrase: add it to the agent with ssh-add, and leave --identity out")

func readKey(file string) (ssh.Signer, error) {
	data, err := input.File(file, input.Small)
	if err != nil {
		return nil, fmt.Errorf("SSH key: %w", err)
	}
	s, err := ssh.ParsePrivateKey(data)
	if _, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		return nil, fmt.Errorf("SSH key %s: %w", file, errPassphrase)
	}
	if err != nil {
		return nil, fmt.Errorf("SSH key %s: %w", file, err)
	}
	return s, nil
}

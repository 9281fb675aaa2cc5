package reach

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Keys are where the user's SSH keys come from.
type Keys struct {
	// Identity is a private key file; if given, it alone is used.
	Identity string
	// PlaneKey is the key file of the local plane, which need not exist.
	PlaneKey string
	// AgentSocket is the SSH agent's socket; empty for none.
	AgentSocket string
}

// signers reads the keys. The function it returns closes the agent's connection.
func (k Keys) signers() ([]ssh.Signer, func(), error) {
	done := func() {}
	if k.Identity != "" {
		s, err := readKey(k.Identity)
		return []ssh.Signer{s}, done, err
	}
	var out []ssh.Signer
	s, err := readKey(k.PlaneKey)
	switch {
	case err == nil:
		out = append(out, s)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, done, err
	}
	if k.AgentSocket != "" {
		conn, err := net.Dial("unix", k.AgentSocket)
		if err != nil {
			return nil, done, fmt.Errorf("SSH agent: %w; unset SSH_AUTH_SOCK or name a key with --identity", err)
		}
		done = func() { conn.Close() }
		held, err := agent.NewClient(conn).Signers()
		if err != nil {
			done()
			return nil, func() {}, fmt.Errorf("SSH agent: %w", err)
		}
		out = append(out, held...)
	}
	if len(out) == 0 {
		done()
		return nil, func() {}, errors.New("there is no SSH key: name one with --identity, or add it to the agent with ssh-add")
	}
	return out, done, nil
}

func readKey(file string) (ssh.Signer, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("SSH key: %w", err)
	}
	s, err := ssh.ParsePrivateKey(data)
	if _, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		return nil, fmt.Errorf("SSH key %s has a passphrase: add it to the agent with ssh-add, and leave --identity out", file)
	}
	if err != nil {
		return nil, fmt.Errorf("SSH key %s: %w", file, err)
	}
	return s, nil
}

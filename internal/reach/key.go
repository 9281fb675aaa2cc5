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
	// Files are key files that need not exist; one with a passphrase is passed over,
	// as the agent may hold its key.
	Files []string
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
	if k.AgentSocket != "" {
		conn, err := net.Dial("unix", k.AgentSocket)
		if err != nil {
			return nil, done, fmt.Errorf("SSH agent: %w; unset SSH_AUTH_SOCK or name a key with --identity", err)
		}
		done = func() { conn.Close() }
		if out, err = agent.NewClient(conn).Signers(); err != nil {
			done()
			return nil, nil, fmt.Errorf("SSH agent: %w", err)
		}
	}
	for _, file := range k.Files {
		s, err := readKey(file)
		switch {
		case err == nil:
			out = append(out, s)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errPassphrase):
			done()
			return nil, nil, err
		}
	}
	if len(out) == 0 {
		done()
		return nil, nil, errors.New("there is no SSH key: name one with --identity, or add it to the agent with ssh-add")
	}
	return out, done, nil
}

var errPassphrase = errors.New("it has a passphrase: add it to the agent with ssh-add, and leave --identity out")

func readKey(file string) (ssh.Signer, error) {
	data, err := os.ReadFile(file)
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

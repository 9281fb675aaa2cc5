package plane

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"

	"casement.dev/casement/internal/private"
)

// SSHKey returns the file with the private key for logins to machines whose templates were filled with the plane's values.
func (d Dir) SSHKey() string { return d.Path("id_ed25519") }

// SSHPublicKey returns the authorized_keys line of the plane's key, which is created at the first use.
func (d Dir) SSHPublicKey() (string, error) {
	data, err := private.ReadFile(d.SSHKey() + ".pub")
	if err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	block, err := ssh.MarshalPrivateKey(private, "casement")
	if err != nil {
		return "", fmt.Errorf("write the plane's SSH key: %w", err)
	}
	if err := os.WriteFile(d.SSHKey(), pem.EncodeToMemory(block), 0o600); err != nil {
		return "", err
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return "", err
	}
	line := ssh.MarshalAuthorizedKey(key)
	return strings.TrimSpace(string(line)), os.WriteFile(d.SSHKey()+".pub", line, 0o600)
}

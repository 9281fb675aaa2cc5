package local

import (
	"fmt"
	"os"
	"path/filepath"
)

// Dir is the state directory of one local plane. Everything the plane keeps
// lies below it.
type Dir string

// DefaultDir returns $CASEMENT_HOME, else casement below the user's state
// directory (XDG_STATE_HOME, by default ~/.local/state).
func DefaultDir() (Dir, error) {
	if d := os.Getenv("CASEMENT_HOME"); d != "" {
		abs, err := filepath.Abs(d)
		if err != nil {
			return "", fmt.Errorf("CASEMENT_HOME=%s: %w", d, err)
		}
		return Dir(abs), nil
	}
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return Dir(filepath.Join(d, "casement")), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the state: %w; set CASEMENT_HOME", err)
	}
	return Dir(filepath.Join(home, ".local", "state", "casement")), nil
}

// Path joins elements below the directory.
func (d Dir) Path(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

// Kubeconfig is the admin kubeconfig of the management API server.
func (d Dir) Kubeconfig() string { return d.Path("kubeconfig") }

// Socket is the control socket of the running plane.
func (d Dir) Socket() string { return d.Path("control.sock") }

// Log is the plane's own log.
func (d Dir) Log() string { return d.Path("casement.log") }

// Make creates the directory, readable by its owner only because it holds keys.
func (d Dir) Make() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	// A unix socket's path may have 107 bytes (sun_path, unix(7)).
	if n := len(d.Path("egress", "0123456789abcdef.sock")); n > 107 {
		return fmt.Errorf("state directory %s: the path is %d bytes too long for unix sockets below it; set CASEMENT_HOME to a shorter one", d, n-107)
	}
	return nil
}

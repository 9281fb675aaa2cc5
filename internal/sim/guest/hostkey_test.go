package guest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBrokenHostKey checks that a guest with a broken host key serves SSH, with a new key that later starts keep.
func TestBrokenHostKey(t *testing.T) {
	for name, text := range map[string]string{"garbage": "garbage", "empty": "", "half": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "ssh_host_ed25519_key"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var console strings.Builder
			key, err := hostKey(dir, &console)
			if err != nil || !strings.Contains(console.String(), "the host key is broken") {
				t.Fatalf("error %v, console %q", err, &console)
			}
			again, err := hostKey(dir, io.Discard)
			if err != nil || !bytes.Equal(key.PublicKey().Marshal(), again.PublicKey().Marshal()) {
				t.Errorf("the key is another one at the next start: %v", err)
			}
		})
	}
}

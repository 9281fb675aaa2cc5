package entra

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"casement.dev/casement/azuresim/internal/engine"
)

// DefaultClient is the ID of an application that each local Azure has from the start. Its
// secret is random and stored in the state directory.
const DefaultClient = "00000000-0000-0000-0000-0000000000a2"

// Client is an application that can log in with at least one credential.
type Client struct {
	ID string `json:"id"`
	// Secret is a client secret that the application may use; "" means none.
	Secret string `json:"secret,omitempty"`
	// Certificate, in PEM, has the public key that verifies the application's assertions.
	Certificate string `json:"certificate,omitempty"`
	// Federated are the federated identity credentials: tokens of other issuers that the
	// application may use.
	Federated []engine.Federated `json:"federated,omitempty"`
}

// Owner returns the application of the user who runs this local Azure. Its secret permits
// everything.
func Owner(s *engine.Server) Client { return entraOf(s).owner }

// SecretFile returns the path of the file with DefaultClient's secret, which has mode 0600;
// "" for a server in memory.
func SecretFile(s *engine.Server) string {
	if s.Options.Dir == "" {
		return ""
	}
	return filepath.Join(s.Options.Dir, secretFile)
}

const secretFile = "client-secret"

// loadOwner reads DefaultClient's secret from a file in dir, or generates it.
func loadOwner(dir string) (Client, error) {
	secret, err := engine.Keep(dir, secretFile, func() ([]byte, error) { return []byte(rand.Text()), nil })
	if err != nil {
		return Client{}, err
	}
	text := strings.TrimSpace(string(secret))
	if len(text) < minSecret || strings.Trim(text, secretLetters) != "" {
		return Client{}, fmt.Errorf("%s holds no client secret, which has %d or more letters A to Z and digits 2 to 7; "+
			"delete the file to get a new one", filepath.Join(dir, secretFile), minSecret)
	}
	return Client{ID: DefaultClient, Secret: text}, nil
}

// The length and the letters of a secret of 128 random bits in base 32 (rand.Text).
const (
	minSecret     = 26
	secretLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// clients are the applications that can log in.
type clients struct {
	mu   sync.RWMutex
	list []Client
}

// Admit registers an application until the server ends. It replaces an application with the same
// ID.
func Admit(s *engine.Server, c Client) {
	entraOf(s).clients.mu.Lock()
	defer entraOf(s).clients.mu.Unlock()
	same := func(o Client) bool { return strings.EqualFold(o.ID, c.ID) }
	entraOf(s).clients.list = append(slices.DeleteFunc(entraOf(s).clients.list, same), c)
}

// clientNamed returns the application with an ID.
func clientNamed(s *engine.Server, id string) *Client {
	entraOf(s).clients.mu.RLock()
	defer entraOf(s).clients.mu.RUnlock()
	for _, c := range entraOf(s).clients.list {
		if strings.EqualFold(c.ID, id) {
			return &c
		}
	}
	return nil
}

// sameSecret compares two secrets in constant time. An empty secret equals none.
func sameSecret(have, presented string) bool {
	return have != "" && subtle.ConstantTimeCompare([]byte(have), []byte(presented)) == 1
}

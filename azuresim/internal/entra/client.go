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

// DefaultClient is the application that each local Azure has from the start. Its
// secret is drawn at random and kept beside the state.
const DefaultClient = "00000000-0000-0000-0000-0000000000a2"

// Client is an application that may log in, with at least one credential.
type Client struct {
	ID string `json:"id"`
	// Secret is one that it may present; "" has none.
	Secret string `json:"secret,omitempty"`
	// Certificate, in PEM, is whose key may sign its assertions.
	Certificate string `json:"certificate,omitempty"`
	// Federated are the tokens of others that it may present.
	Federated []engine.Federated `json:"federated,omitempty"`
}

// Owner is the application of the one who runs this local Azure: with its secret one
// may do everything.
func Owner(s *engine.Server) Client { return entraOf(s).owner }

// SecretFile is where the secret of DefaultClient is kept, with mode 0600; "" for a
// server in memory.
func SecretFile(s *engine.Server) string {
	if s.Options.Dir == "" {
		return ""
	}
	return filepath.Join(s.Options.Dir, secretFile)
}

const secretFile = "client-secret"

// loadOwner reads the secret of DefaultClient below dir or draws it.
func loadOwner(dir string) (Client, error) {
	secret, err := engine.Keep(dir, secretFile, func() ([]byte, error) { return []byte(rand.Text()), nil })
	if err != nil {
		return Client{}, err
	}
	text := strings.TrimSpace(string(secret))
	if len(text) < minSecret {
		return Client{}, fmt.Errorf("%s holds no client secret; delete the file to get a new one", filepath.Join(dir, secretFile))
	}
	return Client{ID: DefaultClient, Secret: text}, nil
}

// minSecret is the length that a secret of 128 random bits has in base 32 (rand.Text).
const minSecret = 26

// clients are the applications that may log in.
type clients struct {
	mu   sync.RWMutex
	list []Client
}

// Admit lets an application log in from now on, until the server ends; it replaces one
// with the same ID.
func Admit(s *engine.Server, c Client) {
	entraOf(s).clients.mu.Lock()
	defer entraOf(s).clients.mu.Unlock()
	same := func(o Client) bool { return strings.EqualFold(o.ID, c.ID) }
	entraOf(s).clients.list = append(slices.DeleteFunc(entraOf(s).clients.list, same), c)
}

// clientNamed finds an application by its ID.
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

// sameSecret compares secrets in a time that does not depend on them. An empty one
// matches nothing.
func sameSecret(have, presented string) bool {
	return have != "" && subtle.ConstantTimeCompare([]byte(have), []byte(presented)) == 1
}

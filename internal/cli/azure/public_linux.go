//go:build !client

package azure

import (
	"fmt"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/plane/supervisor"
)

// Public has the flags with which the local Azure serves the names of the public Azure.
type Public struct {
	Proxy, Clients string
}

func (p *Public) Flags(f *pflag.FlagSet) {
	f.StringVar(&p.Proxy, "proxy", "", "address of an HTTPS proxy that answers for Azure's public names (default none)")
	f.StringVar(&p.Clients, "clients", "", "file of applications that may log in beside the plane's own, YAML or JSON")
}

func (p *Public) Apply(opts *supervisor.Options) error {
	opts.Proxy = p.Proxy
	if p.Clients == "" {
		return nil
	}
	data, err := input.File(p.Clients, input.Small)
	if err != nil {
		return fmt.Errorf("read the clients: %w", err)
	}
	var file struct {
		Clients []azuresim.Client `json:"clients"`
	}
	// The error is not shown, because it may quote a line with a secret.
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		return fmt.Errorf("%s: it must have a list \"clients\" of id with secret, certificate or federated "+
			"(issuer, subject, audience), and nothing else", p.Clients)
	}
	for i, c := range file.Clients {
		if c.ID == "" || c.Secret == "" && c.Certificate == "" && len(c.Federated) == 0 {
			return fmt.Errorf("%s: clients[%d] needs an id, and a secret, certificate or federated credential", p.Clients, i)
		}
	}
	if len(file.Clients) == 0 {
		return fmt.Errorf("%s: it lists no clients, so that no client could log in", p.Clients)
	}
	opts.Clients = file.Clients
	return nil
}

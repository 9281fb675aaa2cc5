package azure

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/recorder"
)

// PublicEndpoint is the resource manager of Azure's public cloud.
const PublicEndpoint = "https://management.azure.com"

func newAzureRecord(a *app.App) *cobra.Command {
	listen, upstream, trust := "127.0.0.1:0", PublicEndpoint, ""
	c := &cobra.Command{
		Use:   "record FILE",
		Short: "Record what a client says to Azure, without secrets",
		Long: `Listen for a client of Azure Resource Manager, pass what it says on to Azure, and write
each call with its answer to FILE, until interrupted. The file has the format that the
project's tests replay against the local Azure, so that whoever has an account can show
where the two differ.

Tokens, passwords, keys, custom data, what scripts print, and the identifiers of the
subscription, the tenant and the caller are taken out before they are written. Names of
resources, tags and addresses stay: look through the file before you give it away.

The client has its own credentials; only its endpoint of the resource manager is this
one. It has to trust the certificate in FILE.ca.crt.`,
		Example: `  casement azure record --listen 127.0.0.1:8443 cluster.yaml
  casement azure record --upstream https://management.chinacloudapi.cn cluster.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return record(a, cmd, args[0], listen, upstream, trust) },
	}
	c.Flags().StringVar(&listen, "listen", listen, "address to listen on; port 0 takes a free one")
	c.Flags().StringVar(&upstream, "upstream", upstream, "endpoint of the resource manager to pass calls to")
	c.Flags().StringVar(&trust, "upstream-ca", trust, "file of the certificate to trust there, beside the system's")
	return c
}

func record(a *app.App, cmd *cobra.Command, file, listen, upstream, trust string) error {
	transport, err := trusting(trust)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return app.Usagef("%s exists; a recording is a file of its own", file)
	}
	if err != nil {
		return err
	}
	defer out.Close() // a second close is harmless
	r, err := recorder.New(upstream, transport, out)
	if err != nil {
		return app.Usagef("--upstream: %v", err)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen for the client: %w", err)
	}
	defer l.Close()
	host, _, _ := net.SplitHostPort(listen)
	pair, ca, err := recorder.Certificate(host)
	if err != nil {
		return fmt.Errorf("make the certificate: %w", err)
	}
	if err := os.WriteFile(file+".ca.crt", ca, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, `Recording what goes to %s into %s. A client of this shell is recorded with
  export AZURE_RESOURCE_MANAGER_ENDPOINT=https://%s AZURE_RESOURCE_MANAGER_AUDIENCE=%s
  export AZURE_CA_FILE=%s.ca.crt
`, upstream, file, l.Addr(), upstream, file)
	served := r.Serve(cmd.Context(), l, pair)
	calls, wrote := r.Calls()
	fmt.Fprintf(a.Err, "%d calls are in %s. Look through it before you give it away.\n", calls, file)
	return errors.Join(served, wrote, out.Close())
}

// trusting returns a transport that trusts the system's certificates and the certificates in a file.
func trusting(file string) (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if file == "" {
		return t, nil
	}
	data, err := input.File(file, input.Small)
	if err != nil {
		return nil, fmt.Errorf("--upstream-ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(data) {
		return nil, app.Usagef("--upstream-ca: %s holds no certificate in PEM", file)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

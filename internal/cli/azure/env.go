package azure

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
)

func newAzureEnv(a *app.App) *cobra.Command {
	var client string
	var terraform bool
	c := &cobra.Command{
		Use:   "env",
		Short: "Print what points SDKs, curl, az or Terraform at the local Azure",
		Long: `Print shell lines for eval. For SDKs and curl they are exports alone. For az there
are also the commands that register the local Azure as a cloud and log in, in a
configuration directory of its own, so that your own az stays as it is. For the
proxy of 'casement azure serve --proxy' nothing changes but who answers. Terraform and
OpenTofu get what their provider azurerm reads; the names of key vaults go through the
proxy, where there is one.

SSL_CERT_FILE and CURL_CA_BUNDLE replace the system's certificates in that shell.`,
		Example: `  eval "$(casement azure env)"
  curl -H "Authorization: Bearer $AZURE_ACCESS_TOKEN" "$AZURE_RESOURCE_MANAGER_ENDPOINT/subscriptions?api-version=2022-12-01"
  eval "$(casement azure env --for az)" && az group list -o table
  eval "$(casement azure env --terraform)" && tofu plan`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if terraform {
				client = "terraform"
			}
			if !slices.Contains([]string{"sdk", "az", "proxy", "terraform"}, client) {
				return app.Usagef("--for is sdk, az, proxy or terraform, not %q", client)
			}
			s, err := azureStatus(cmd.Context(), a)
			if err != nil {
				return err
			}
			secret, err := s.Azure.ClientSecret()
			if err != nil {
				return err
			}
			switch client {
			case "az":
				return azEnv(a, s.Azure)
			case "proxy":
				return proxyEnv(a, s.Azure, secret)
			case "terraform":
				terraformEnv(a.Out, s.Azure, secret)
				return nil
			}
			sdkEnv(a, s.Azure, secret)
			return nil
		},
	}
	c.Flags().StringVar(&client, "for", "sdk", "sdk (also curl), az, terraform, or proxy (clients with Azure's public endpoints)")
	c.Flags().BoolVar(&terraform, "terraform", false, "the same as --for terraform")
	c.MarkFlagsMutuallyExclusive("for", "terraform")
	return c
}

// azureStatus returns the status of a plane whose local Azure answers.
func azureStatus(ctx context.Context, a *app.App) (plane.Status, error) {
	s, err := plane.NewClient(a.Dir).Status(ctx)
	if err == nil && s.Azure.Endpoint == "" {
		err = fmt.Errorf("the local Azure has not started yet")
	}
	return s, err
}

func sdkEnv(a *app.App, z plane.Azure, secret string) {
	exports(a.Out, [][2]string{
		{"AZURE_RESOURCE_MANAGER_ENDPOINT", z.Endpoint}, {"AZURE_RESOURCE_MANAGER_AUDIENCE", z.Endpoint},
		{"AZURE_AUTHORITY_HOST", z.Endpoint + "/"},
		{"AZURE_TENANT_ID", z.TenantID}, {"AZURE_SUBSCRIPTION_ID", z.SubscriptionID},
		{"AZURE_CLIENT_ID", z.ClientID}, {"AZURE_CLIENT_SECRET", secret},
		{"ARM_METADATA_HOSTNAME", strings.TrimPrefix(z.Endpoint, "https://")}, {"SSL_CERT_FILE", z.CAFile},
		{"CURL_CA_BUNDLE", z.CAFile}, {"REQUESTS_CA_BUNDLE", z.CAFile},
	})
	// The printed commands use the shell's builtin printf, so that the secret is not on the command line of any process.
	fmt.Fprintf(a.Out,
		`export AZURE_ACCESS_TOKEN="$(printf 'client_secret=%%s' "$AZURE_CLIENT_SECRET" | `+
			`curl -sS "${AZURE_AUTHORITY_HOST}${AZURE_TENANT_ID}/oauth2/v2.0/token" -d grant_type=client_credentials `+
			`-d client_id="$AZURE_CLIENT_ID" -d @- -d scope="$AZURE_RESOURCE_MANAGER_AUDIENCE/.default" | `+
			`sed 's/.*"access_token":"\([^"]*\)".*/\1/')"
`)
}

// terraformEnv prints the variables of the provider azurerm of Terraform and OpenTofu. No resource provider has to be
// registered. The proxy, if there is one, connects to the key vaults, whose names a resolver need not know; requests to
// the resource manager bypass it. Source:
// https://registry.terraform.io/providers/hashicorp/azurerm/latest/docs#argument-reference.
func terraformEnv(w io.Writer, z plane.Azure, secret string) {
	exports(w, [][2]string{
		{"ARM_METADATA_HOSTNAME", strings.TrimPrefix(z.Endpoint, "https://")},
		{"ARM_TENANT_ID", z.TenantID}, {"ARM_SUBSCRIPTION_ID", z.SubscriptionID},
		{"ARM_CLIENT_ID", z.ClientID}, {"ARM_CLIENT_SECRET", secret},
		{"ARM_RESOURCE_PROVIDER_REGISTRATIONS", "none"}, {"SSL_CERT_FILE", z.CAFile},
	})
	if z.Proxy != "" {
		// A name in NO_PROXY also covers its subdomains, and vaults have names below localhost.
		exports(w, [][2]string{{"HTTPS_PROXY", proxyAddress(z, secret)}, {"NO_PROXY", "127.0.0.1"}})
	}
}

// azEnv prints the commands that configure az in a shell for the local Azure.
func azEnv(a *app.App, z plane.Azure) error {
	config := a.Dir.Path("azure", "az")
	if err := os.MkdirAll(config, 0o700); err != nil {
		return err
	}
	cloud := a.Dir.Path("azure", "cloud.json")
	if err := os.WriteFile(cloud, z.CloudConfig(), 0o600); err != nil {
		return fmt.Errorf("write the cloud's description for az: %w", err)
	}
	exports(a.Out, [][2]string{
		{"AZURE_CONFIG_DIR", config}, {"REQUESTS_CA_BUNDLE", z.CAFile}, {"SSL_CERT_FILE", z.CAFile},
		{"AZURE_CORE_COLLECT_TELEMETRY", "no"}, {"AZURE_CORE_INSTANCE_DISCOVERY", "false"}, {"AZURE_CORE_NO_COLOR", "yes"},
	})
	fmt.Fprintf(a.Out, `az cloud register -n casement --cloud-config @%[1]s >/dev/null 2>&1 ||
  az cloud update -n casement --cloud-config @%[1]s >/dev/null
az cloud set -n casement
az login --service-principal -u %[2]s -p @%[3]s --tenant %[4]s >/dev/null
`, shellQuote(cloud), z.ClientID, shellQuote(z.SecretFile), z.TenantID)
	return nil
}

func exports(w io.Writer, vars [][2]string) {
	for _, v := range vars {
		fmt.Fprintf(w, "export %s=%s\n", v[0], shellQuote(v[1]))
	}
}

// shellQuote writes s so that a POSIX shell reads it as one word.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("-_./:@%+=,", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"casement.dev/casement/internal/sim/domain"
)

// keyVaultPlugin is the plug-in of Container Credential Guard that reads a user's credential
// from a key vault, as a managed identity. Its input is ObjectId=ID;SecretUri=URL, and the
// secret is DOMAIN\USER:PASSWORD.
// Source: github.com/microsoft/Azure-Key-Vault-Plugin-gMSA.
const keyVaultPlugin = "{CCC2A336-D7F3-4818-A213-272B7924213E}"

// pluginKey contains a key for each plug-in that is installed on the machine. Source:
// learn.microsoft.com/windows/win32/api/ccgplugins/nf-ccgplugins-iccgdomainauthcredentials-getpasswordcredentials.
const pluginKey = `HKLM\SYSTEM\CurrentControlSet\Control\CCG\COMClasses\`

// credentialSpec has the fields of a container's credential specification that CCG reads.
// Source: learn.microsoft.com/virtualization/windowscontainers/manage-containers/manage-serviceaccounts.
type credentialSpec struct {
	DomainJoinConfig struct {
		DnsName, NetBiosName, MachineAccountName string
	}
	ActiveDirectoryConfig struct {
		HostAccountConfig *struct{ PortableCcgVersion, PluginGUID, PluginInput string }
	}
}

// parseCredentialSpec parses the fields of a credential spec that CCG uses.
func parseCredentialSpec(text string) (spec credentialSpec, err error) {
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return spec, errors.New("the credential spec is no JSON object")
	}
	if join := spec.DomainJoinConfig; join.DnsName == "" || join.MachineAccountName == "" {
		return spec, errors.New("the credential spec has no DomainJoinConfig with DnsName and MachineAccountName")
	}
	return spec, nil
}

// pluginInput parses a plug-in's input NAME=VALUE;NAME=VALUE. The keys of the result are in lower
// case.
func pluginInput(input string) map[string]string {
	values := map[string]string{}
	for part := range strings.SplitSeq(input, ";") {
		name, value, _ := strings.Cut(part, "=")
		values[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return values
}

// containerIdentity simulates Container Credential Guard: it requests the account of a credential
// spec from the simulated domain, as the machine or as the user that a plug-in names. It returns
// the account.
func (n *node) containerIdentity(ctx context.Context, container, text string) (string, error) {
	spec, err := parseCredentialSpec(text)
	if err != nil {
		return "", refusedIdentity(container, "The parameter is incorrect.: "+err.Error())
	}
	join, plugin := spec.DomainJoinConfig, spec.ActiveDirectoryConfig.HostAccountConfig
	var by *domain.Credential
	if plugin != nil {
		credential, err := n.pluginCredential(ctx, plugin.PluginGUID, plugin.PluginInput)
		if err != nil {
			return "", refusedIdentity(container, err.Error())
		}
		by = &credential
	}
	if err := n.body.Machine().ManagedPassword(join.DnsName, join.MachineAccountName, by); err != nil {
		var e *domain.Error
		if errors.As(err, &e) {
			return "", refusedIdentity(container, fmt.Sprintf("%s (0x%x): the credential spec's account %s",
				e.Message, 0x80070000|e.Code, join.MachineAccountName))
		}
		return "", err
	}
	fmt.Fprintf(n.console, "ccg: container %s has the identity of %s (simulated)\n", container, join.MachineAccountName)
	return cmp.Or(join.NetBiosName, join.DnsName) + `\` + strings.TrimSuffix(join.MachineAccountName, "$") + "$", nil
}

// refusedIdentity returns containerd's error for a container whose identity is refused.
func refusedIdentity(container, why string) error {
	return fmt.Errorf("failed to create containerd task: failed to create shim task: hcs::CreateComputeSystem "+
		"%s: %s: unknown", container, why)
}

// pluginCredential returns the credential that a plug-in provides: the user who fetches passwords.
func (n *node) pluginCredential(ctx context.Context, id, input string) (c domain.Credential, err error) {
	if _, installed := n.body.Machine().Registry().Key(pluginKey + id); !installed {
		//lint:ignore ST1005 the words of Windows
		return c, fmt.Errorf("Container Credential Guard failed to instantiate the plugin: %s. Error: Object "+
			"was not found in registry", id)
	}
	if !strings.EqualFold(id, keyVaultPlugin) {
		return c, fmt.Errorf("the plug-in %s is not simulated; the one of key vaults is %s", id, keyVaultPlugin)
	}
	values := pluginInput(input)
	secret, err := n.readSecret(ctx, values["secreturi"], values["objectid"])
	if err != nil {
		return c, fmt.Errorf("the plug-in %s cannot read the credential of its PluginInput: %w", id, err)
	}
	user, password, ok := strings.Cut(secret, ":")
	if !ok {
		return c, fmt.Errorf(`the plug-in %s: the secret is not of the form DOMAIN\USER:PASSWORD`, id)
	}
	return domain.Credential{User: user, Password: password}, nil
}

// maxSecret is the largest answer of a vault that is read, 64 KiB.
const maxSecret = 64 << 10

// readSecret reads a secret with one of the machine's identities, over the machine's network.
func (n *node) readSecret(ctx context.Context, address, objectID string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return "", errors.New("SecretUri is no https URL")
	}
	_, vaults, _ := strings.Cut(u.Hostname(), ".")
	var token struct {
		Value string `json:"access_token"`
	}
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {"https://" + vaults}, "object_id": {objectID}}
	if err := n.ask(ctx, "http://"+metadataAddress+IdentityPath+"?"+query.Encode(), "Metadata", "true", &token); err != nil {
		return "", fmt.Errorf("the metadata service gives no token: %w", err)
	}
	var secret struct {
		Value string `json:"value"`
	}
	if err := n.ask(ctx, address+"?api-version=7.4", "Authorization", "Bearer "+token.Value, &secret); err != nil {
		return "", fmt.Errorf("the key vault refuses: %w", err)
	}
	return secret.Value, nil
}

// ask sends a GET request as a program of the machine does, and decodes the JSON answer into into.
func (n *node) ask(ctx context.Context, address, header, value string, into any) error {
	if !n.body.Machine().Pulse.Get().Network {
		return errors.New("i/o timeout")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	r.Header.Set(header, value)
	resp, err := n.web.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxSecret)).Decode(into)
}

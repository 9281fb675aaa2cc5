// Package rescue accesses a VM to which a login is not possible: its serial console, a script run by its agent, a new
// password. It waits for Azure, as suits a command line; controllers must not import it.
package rescue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/identity"
)

// apiVersion is the API version of Microsoft.Compute for all calls of this package.
const apiVersion = "2024-11-01"

// VM is one virtual machine, or one instance of a scale set.
type VM struct {
	Client *arm.Client
	// HTTP reads signed storage URLs, without Azure's tokens.
	HTTP *http.Client
	// ID is the ARM resource ID.
	ID string
	// Windows selects the shell of the agent's scripts.
	Windows bool
}

// Login returns a client of a subscription with the user's own credentials: environment variables, a managed identity
// or `az login`, in the order of the SDK. environment is AzureCluster's spec.azureEnvironment.
func Login(environment, subscriptionID string) (*arm.Client, error) {
	where, credential, err := Credential(environment)
	if err != nil {
		return nil, err
	}
	return arm.New(arm.Config{Cloud: where, SubscriptionID: subscriptionID, Credential: credential})
}

// Credential returns the credential that Login uses and the cloud that it belongs to.
func Credential(environment string) (cloud.Configuration, azcore.TokenCredential, error) {
	where, err := identity.Configuration(environment, identity.Cloud{})
	if err != nil {
		return where, nil, err
	}
	credential, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
		ClientOptions: azcore.ClientOptions{Cloud: where},
	})
	if err != nil {
		return where, nil, fmt.Errorf("log in to Azure: %w; run: az login", err)
	}
	return where, credential, nil
}

// wait polls an operation until it ends, at the intervals that Azure requests.
func (v VM) wait(ctx context.Context, r arm.Result) (json.RawMessage, error) {
	for r.Operation != nil {
		pause := r.Operation.RetryAfter
		if pause <= 0 {
			pause = time.Second
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		var err error
		if r, err = v.Client.Poll(ctx, r.Operation.Token); err != nil {
			return nil, err
		}
	}
	return r.Body, nil
}

// longestConsole is the number of bytes of a serial console that are read.
const longestConsole = 16 << 20

// Console returns the text of the serial console, which Azure has if boot diagnostics are enabled.
func (v VM) Console(ctx context.Context) (string, error) {
	result, err := v.Client.Post(ctx, v.ID+"/retrieveBootDiagnosticsData", apiVersion, nil)
	if err != nil {
		return "", fmt.Errorf("boot diagnostics of %s: %w", v.ID, err)
	}
	body, err := v.wait(ctx, result)
	if err != nil {
		return "", fmt.Errorf("boot diagnostics of %s: %w", v.ID, err)
	}
	var where struct {
		SerialConsoleLogBlobURI string `json:"serialConsoleLogBlobUri"`
	}
	if err := json.Unmarshal(body, &where); err != nil || where.SerialConsoleLogBlobURI == "" {
		return "", fmt.Errorf("boot diagnostics of %s: Azure names no serial log: %w", v.ID, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.SerialConsoleLogBlobURI, nil)
	if err != nil {
		return "", errors.New("boot diagnostics: Azure's address cannot be read") // the URL contains a key
	}
	resp, err := v.HTTP.Do(req)
	if err != nil {
		return "", fmt.Errorf("read the serial log of %s from storage at %s: the connection failed", v.ID, req.URL.Host)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("read the serial log of %s from storage at %s: %s", v.ID, req.URL.Host, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, longestConsole))
	return string(text), err
}

// Run lets the VM's agent run a script, in PowerShell or sh, and returns the last 4096 bytes of each output stream,
// which is what Azure keeps.
func (v VM) Run(ctx context.Context, script string) (stdout, stderr string, err error) {
	command := "RunShellScript"
	if v.Windows {
		command = "RunPowerShellScript"
	}
	result, err := v.Client.Post(ctx, v.ID+"/runCommand", apiVersion, map[string]any{"commandId": command, "script": []string{script}})
	if err != nil {
		return "", "", fmt.Errorf("run a command on %s: %w", v.ID, err)
	}
	body, err := v.wait(ctx, result)
	if err != nil {
		return "", "", fmt.Errorf("run a command on %s: %w", v.ID, err)
	}
	var out struct {
		Value []struct{ Code, Message string }
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return "", "", fmt.Errorf("run a command on %s: read the result: %w", v.ID, err)
	}
	for _, s := range out.Value {
		switch {
		case strings.Contains(s.Code, "StdOut"):
			stdout = s.Message
		case strings.Contains(s.Code, "StdErr"):
			stderr = s.Message
		default: // Linux returns both streams in one text
			stdout += s.Message
		}
	}
	return stdout, stderr, nil
}

// accessName is the name that `az vm user update` gives the extension.
const accessName = "enablevmaccess"

// ResetPassword gives a local administrator of a Windows VM a new random password through the VMAccess extension, which
// creates a missing account and enables Remote Desktop. It returns the password, which is stored nowhere else.
func (v VM) ResetPassword(ctx context.Context, user string) (string, error) {
	if !v.Windows {
		return "", fmt.Errorf("reset the password of %s on %s: only on Windows; Linux machines take SSH keys", user, v.ID)
	}
	location, err := v.location(ctx)
	if err != nil {
		return "", err
	}
	name, err := v.accessExtension(ctx)
	if err != nil {
		return "", err
	}
	password, err := newPassword()
	if err != nil {
		return "", err
	}
	tag := make([]byte, 8)
	_, _ = rand.Read(tag) // never fails (crypto/rand)
	result, err := v.Client.Put(ctx, v.ID+"/extensions/"+name, apiVersion, map[string]any{
		"location": location,
		"properties": map[string]any{
			"publisher": "Microsoft.Compute", "type": "VMAccessAgent", "typeHandlerVersion": "2.4", "autoUpgradeMinorVersion": true,
			// The agent runs an extension again only if the tag is new.
			"forceUpdateTag":    fmt.Sprintf("%x", tag),
			"settings":          map[string]any{"UserName": user},
			"protectedSettings": map[string]any{"Password": password},
		},
	})
	if err == nil {
		_, err = v.wait(ctx, result)
	}
	if err != nil {
		return "", fmt.Errorf("reset the password of %s on %s by the extension %s: %w", user, v.ID, name, err)
	}
	return password, nil
}

// accessExtension returns the name of the VM's VMAccess extension, or a name for a new one; a VM can have
// only one.
func (v VM) accessExtension(ctx context.Context) (string, error) {
	for body, err := range v.Client.List(ctx, v.ID+"/extensions", apiVersion) {
		if err != nil {
			return "", fmt.Errorf("list the extensions of %s: %w", v.ID, err)
		}
		var e struct {
			Name       string
			Properties struct{ Publisher, Type string }
		}
		if err := json.Unmarshal(body, &e); err == nil &&
			strings.EqualFold(e.Properties.Publisher, "Microsoft.Compute") &&
			strings.EqualFold(e.Properties.Type, "VMAccessAgent") {
			return e.Name, nil
		}
	}
	return accessName, nil
}

// location returns the VM's location, which its extensions must have too.
func (v VM) location(ctx context.Context) (string, error) {
	body, err := v.Client.Get(ctx, v.ID, apiVersion)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", v.ID, err)
	}
	var vm struct{ Location string }
	if err := json.Unmarshal(body, &vm); err != nil {
		return "", fmt.Errorf("read %s: %w", v.ID, err)
	}
	return vm.Location, nil
}

// classes are the character classes of a Windows password, without characters that look alike, because a user may type
// the password.
var classes = [...]string{"abcdefghijkmnpqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", "23456789", "-_.+"}

// passwordLength is between Azure's limits of 12 and 123, and gives more than 100 bits of entropy.
const passwordLength = 20

// newPassword returns a random password with characters of all four classes.
func newPassword() (string, error) {
	all := strings.Join(classes[:], "")
	for {
		out := make([]byte, passwordLength)
		for i := range out {
			n, err := rand.Int(rand.Reader, big.NewInt(int64(len(all))))
			if err != nil {
				return "", fmt.Errorf("make a password: %w", err)
			}
			out[i] = all[n.Int64()]
		}
		complete := true
		for _, c := range classes {
			complete = complete && strings.ContainsAny(string(out), c)
		}
		if complete {
			return string(out), nil
		}
	}
}

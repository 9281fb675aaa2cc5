// Package vault sets and deletes secrets in Azure Key Vault's data plane. It never reads a secret, does not know the
// purpose of a secret, and shows no value in an error. The controllers use it; the simulator must not.
package vault

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// apiVersion is the API version of Key Vault's data plane.
const apiVersion = "7.4"

const callTimeout = 30 * time.Second

// Client sets and deletes secrets as one identity. It is safe for concurrent use.
type Client struct {
	credential azcore.TokenCredential
	transport  policy.Transporter
}

// New returns a client. transport nil means the SDK's own transport.
func New(credential azcore.TokenCredential, transport policy.Transporter) *Client {
	return &Client{credential, transport}
}

// Error is an error response of Key Vault.
type Error struct {
	StatusCode int
	// Code and Message are Key Vault's error code and message.
	Code, Message string
	// RetryAfter is the wait that Key Vault requests, or 0.
	RetryAfter time.Duration
}

// Error returns the error in one line.
func (e *Error) Error() string {
	return fmt.Sprintf("key vault answered %d %s: %s", e.StatusCode, e.Code, e.Message)
}

// Denied reports whether the identity lacks a permission for the vault.
func (e *Error) Denied() bool {
	return e.StatusCode == http.StatusForbidden || e.StatusCode == http.StatusUnauthorized
}

// SecretURL returns the address of a secret in the vault whose address is vaultURI.
func SecretURL(vaultURI, name string) string {
	return strings.TrimSuffix(vaultURI, "/") + "/secrets/" + name
}

// Set writes a secret, or a new version of it, which expires at the given time.
func (c *Client) Set(ctx context.Context, secretURL, value string, expires time.Time) error {
	return c.do(ctx, http.MethodPut, secretURL, map[string]any{
		"value": value, "contentType": "application/vnd.casement.bootstrap",
		"attributes": map[string]any{"enabled": true, "exp": expires.Unix()},
	})
}

// Delete deletes a secret with all its versions; it is no error if the secret does not exist. Key Vault can recover it
// during the vault's retention period.
func (c *Client) Delete(ctx context.Context, secretURL string) error {
	err := c.do(ctx, http.MethodDelete, secretURL, nil)
	if refused, ok := err.(*Error); ok && refused.StatusCode == http.StatusNotFound {
		return nil
	}
	return err
}

func (c *Client) do(ctx context.Context, method, secretURL string, body any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	u, err := url.Parse(secretURL)
	if err != nil || u.Scheme != "https" {
		return fmt.Errorf("the secret's address %q is not an https URL", secretURL)
	}
	// Tokens are for the domain of the vaults of a cloud.
	_, domain, _ := strings.Cut(u.Hostname(), ".")
	bearer := runtime.NewBearerTokenPolicy(c.credential, []string{"https://" + domain + "/.default"}, nil)
	pipeline := runtime.NewPipeline("casement", "v0", runtime.PipelineOptions{PerRetry: []policy.Policy{bearer}}, &policy.ClientOptions{
		Transport: c.transport, Retry: policy.RetryOptions{MaxRetries: -1}, Telemetry: policy.TelemetryOptions{ApplicationID: "casement"},
	})
	req, err := runtime.NewRequest(ctx, method, secretURL)
	if err != nil {
		return err
	}
	query := req.Raw().URL.Query()
	query.Set("api-version", apiVersion)
	req.Raw().URL.RawQuery = query.Encode()
	if body != nil {
		if err := runtime.MarshalAsJSON(req, body); err != nil {
			return err
		}
	}
	resp, err := pipeline.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, secretURL, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return nil
	}
	return refusal(resp)
}

// maxAnswer is the number of bytes that are read of an error response's body.
const maxAnswer = 64 << 10

func refusal(resp *http.Response) error {
	e := &Error{StatusCode: resp.StatusCode, Code: http.StatusText(resp.StatusCode)}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	var body struct {
		Error struct{ Code, Message string }
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && json.Unmarshal(data, &body) == nil && body.Error.Code != "" {
		first, _, _ := strings.Cut(body.Error.Message, "\r\n")
		e.Code, e.Message = body.Error.Code, first
	}
	return e
}

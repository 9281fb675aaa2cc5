package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim/fault"
)

// vaultDomain is the parent domain of the key vaults of a local Azure.
const vaultDomain = "vault.casement.localhost"

// AzureLog returns the remembered calls with a higher number than after.
func (c *Client) AzureLog(ctx context.Context, after uint64) ([]AzureCall, error) {
	var out []AzureCall
	return out, c.get(ctx, "/azure/log?after="+strconv.FormatUint(after, 10), &out)
}

// AzureResources lists the resources of the local Azure.
func (c *Client) AzureResources(ctx context.Context) ([]AzureResource, error) {
	var out []AzureResource
	return out, c.get(ctx, "/azure/resources", &out)
}

// AzureDocuments returns the resources of some types as ARM returns them, by type. The request is not in the local
// Azure's call log.
func (c *Client) AzureDocuments(ctx context.Context, types ...string) (map[string][]json.RawMessage, error) {
	var out map[string][]json.RawMessage
	return out, c.get(ctx, "/azure/documents?"+url.Values{"type": types}.Encode(), &out)
}

// Faults lists the fault rules in force.
func (c *Client) Faults(ctx context.Context) ([]fault.Rule, error) {
	var out []fault.Rule
	return out, c.get(ctx, "/azure/faults", &out)
}

// AddFault adds a rule and returns it with its ID.
func (c *Client) AddFault(ctx context.Context, r fault.Rule) (fault.Rule, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	body, err := c.do(ctx, http.MethodPost, "/azure/faults", data)
	if err != nil {
		return r, err
	}
	defer body.Close()
	return r, json.NewDecoder(body).Decode(&r)
}

// ClearFaults removes the rules with these IDs, or all rules without IDs.
func (c *Client) ClearFaults(ctx context.Context, ids ...string) error {
	return c.send(ctx, http.MethodDelete, "/azure/faults?"+url.Values{"id": ids}.Encode(), nil)
}

// Pins returns the SHA-256, in hex, of the stubs that replace downloads in the local Azure's machines, by URL. A URL
// without a stub is missing in the result.
func (c *Client) Pins(ctx context.Context, addresses ...string) (map[string]string, error) {
	var out map[string]string
	return out, c.get(ctx, "/azure/pins?"+url.Values{"address": addresses}.Encode(), &out)
}

// ResetAzure deletes everything in the local Azure in one request.
func (c *Client) ResetAzure(ctx context.Context) error {
	return c.send(ctx, http.MethodPost, "/azure/reset", nil)
}

// SnapshotAzure writes the state of the local Azure, secrets included, to w.
func (c *Client) SnapshotAzure(ctx context.Context, w io.Writer) error {
	body, err := c.do(ctx, http.MethodGet, "/azure/snapshot", nil)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(w, body)
	return err
}

// RestoreAzure replaces the state of the local Azure by a snapshot.
func (c *Client) RestoreAzure(ctx context.Context, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	return c.send(ctx, http.MethodPost, "/azure/restore", data)
}

func (c *Client) send(ctx context.Context, method, path string, data []byte) error {
	body, err := c.do(ctx, method, path, data)
	if err != nil {
		return err
	}
	return body.Close()
}

// CloudConfig returns the file for 'az cloud register --cloud-config' that describes the local Azure. The authority
// ends in /adfs, because for such an authority az does not query Microsoft's instance discovery.
func (a Azure) CloudConfig() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	host := strings.TrimPrefix(a.Endpoint, "https://")
	_, port, _ := strings.Cut(host, ":")
	_ = enc.Encode(map[string]any{ // a map of strings can always be encoded
		// The profile's API versions are supported by every packaging of az.
		"profile": "2020-09-01-hybrid",
		"endpoints": map[string]string{
			"activeDirectory": a.Endpoint + "/adfs", "activeDirectoryResourceId": a.Endpoint +
				"/", "activeDirectoryGraphResourceId": a.Endpoint + "/graph/",
			"microsoftGraphResourceId": a.Endpoint + "/", "resourceManager": a.Endpoint + "/",
			"management": a.Endpoint + "/", "gallery": a.Endpoint + "/",
			"vmImageAliasDoc": a.Endpoint + "/metadata/image-aliases.json",
		},
		"suffixes": map[string]string{"keyvaultDns": "." + vaultDomain + ":" + port, "storageEndpoint": "storage." + host},
	})
	return b.Bytes()
}

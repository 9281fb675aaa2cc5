package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/fault"

	"casement.dev/casement/internal/sim/host"
)

// AzureCall is one request that the local Azure answered.
type AzureCall = azuresim.Call

// AzureResource is one resource of the local Azure.
type AzureResource = azuresim.Resource

// maxSnapshot bounds what restore reads, 1 GiB.
const maxSnapshot = 1 << 30

// controlAzure adds what steers the local Azure to the control socket.
func (c *supervisor) controlAzure(mux *http.ServeMux) {
	handle := func(pattern string, fn func(a *azure, w http.ResponseWriter, r *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			c.mu.Lock()
			azure := c.azure
			c.mu.Unlock()
			if azure == nil {
				http.Error(w, "the local Azure has not started yet", http.StatusServiceUnavailable)
				return
			}
			if err := fn(azure, w, r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		})
	}
	handle("GET /azure/log", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
		if err != nil {
			return fmt.Errorf("after: %w", err)
		}
		writeJSON(w, a.server.CallsAfter(after))
		return nil
	})
	handle("GET /azure/resources", func(a *azure, w http.ResponseWriter, _ *http.Request) error {
		writeJSON(w, a.server.Inventory())
		return nil
	})
	handle("GET /azure/documents", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		out := map[string][]json.RawMessage{}
		for _, t := range r.URL.Query()["type"] {
			out[t] = a.server.List(t)
		}
		writeJSON(w, out)
		return nil
	})
	handle("GET /azure/faults", func(a *azure, w http.ResponseWriter, _ *http.Request) error {
		writeJSON(w, a.server.Faults().List())
		return nil
	})
	handle("POST /azure/faults", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		var rule fault.Rule
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&rule); err != nil {
			return fmt.Errorf("read the fault: %w", err)
		}
		if err := host.CheckGuestFault(rule); err != nil {
			return err
		}
		rule, err := a.server.Faults().Add(rule)
		if err != nil {
			return err
		}
		a.machines.Inject(rule)
		writeJSON(w, rule)
		return nil
	})
	handle("DELETE /azure/faults", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		ids, before := r.URL.Query()["id"], a.server.Faults().List()
		if err := a.server.Faults().Clear(ids...); err != nil {
			return err
		}
		for _, rule := range before {
			if len(ids) == 0 || slices.Contains(ids, rule.ID) {
				a.machines.Recover(rule)
			}
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	handle("POST /azure/reset", func(a *azure, w http.ResponseWriter, _ *http.Request) error {
		if err := a.server.Reset(); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	handle("GET /azure/snapshot", func(a *azure, w http.ResponseWriter, _ *http.Request) error { return a.server.Snapshot(w) })
	handle("POST /azure/restore", func(a *azure, w http.ResponseWriter, r *http.Request) error {
		if err := a.server.Restore(io.LimitReader(r.Body, maxSnapshot)); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

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

// AzureDocuments returns the resources of some types as ARM's clients see them, by type,
// without a call that the local Azure counts.
func (c *Client) AzureDocuments(ctx context.Context, types ...string) (map[string][]json.RawMessage, error) {
	var out map[string][]json.RawMessage
	return out, c.get(ctx, "/azure/documents?"+url.Values{"type": types}.Encode(), &out)
}

// Faults lists the fault rules in force.
func (c *Client) Faults(ctx context.Context) ([]fault.Rule, error) {
	var out []fault.Rule
	return out, c.get(ctx, "/azure/faults", &out)
}

// AddFault files a rule and returns it with its ID.
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

// ClearFaults removes the rules with these IDs, or all when none is named.
func (c *Client) ClearFaults(ctx context.Context, ids ...string) error {
	return c.send(ctx, http.MethodDelete, "/azure/faults?"+url.Values{"id": ids}.Encode(), nil)
}

// ResetAzure deletes everything in the local Azure at once.
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

// CloudConfig is the file that describes the local Azure to
// 'az cloud register --cloud-config'. The authority ends in /adfs, the form of
// an authority for which az asks nobody but the authority itself.
func (a Azure) CloudConfig() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	host := strings.TrimPrefix(a.Endpoint, "https://")
	_, port, _ := strings.Cut(host, ":")
	_ = enc.Encode(map[string]any{ // a map of strings always encodes
		// The API versions that every packaging of az has.
		"profile": "2020-09-01-hybrid",
		"endpoints": map[string]string{
			"activeDirectory": a.Endpoint + "/adfs", "activeDirectoryResourceId": a.Endpoint + "/", "activeDirectoryGraphResourceId": a.Endpoint + "/graph/",
			"microsoftGraphResourceId": a.Endpoint + "/", "resourceManager": a.Endpoint + "/", "management": a.Endpoint + "/", "gallery": a.Endpoint + "/",
			"vmImageAliasDoc": a.Endpoint + "/metadata/image-aliases.json",
		},
		"suffixes": map[string]string{"keyvaultDns": "." + azuresim.VaultDomain + ":" + port, "storageEndpoint": "storage." + host},
	})
	return b.Bytes()
}

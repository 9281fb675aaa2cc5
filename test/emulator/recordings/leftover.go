package recordings

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// deletedVault matches the path of a deleted key vault.
var deletedVault = regexp.MustCompile(`(?i)/deletedVaults/[^/]+$`)

// leftovers returns calls that create the resources of earlier runs that a recording uses: key
// vaults that are deleted and not purged, and groups and identities whose first PUT is answered as
// for an existing resource. Each such call is the one that creates the resource later in the
// recording. A resource that a recording names but never writes belongs to others, and is created
// with its name.
func leftovers(calls []call) (out []call) {
	for i, c := range calls {
		at := strings.ToLower(path(c.Request.URL))
		before := calls[:i]
		switch {
		case deletedVault.MatchString(at) && c.Request.Method == http.MethodGet && c.Response.Code == http.StatusOK:
			vault := vaultOf(c)
			if vault == "" || touched(before, vault) || touched(out, vault) {
				continue
			}
			out = append(out, leftVault(calls, vault)...)
		case c.Request.Method == http.MethodPut && c.Response.Code == http.StatusOK && made(at) && !touched(before, at):
			out = append(out, c)
		}
		for _, id := range named(c) {
			group, _, _ := strings.Cut(id, "/providers/")
			for _, at := range []string{group, id} {
				if !touched(calls, at) && !touched(out, at) {
					out = append(out, others(calls, c, at))
				}
			}
		}
	}
	return out
}

// named returns the identities and peered virtual networks in an accepted write.
func named(c call) []string {
	var body struct {
		Identity   struct{ UserAssignedIdentities map[string]any }
		Properties struct{ RemoteVirtualNetwork struct{ ID string } }
	}
	if !c.writes() || c.Response.Code >= 400 || json.Unmarshal([]byte(c.Request.Body), &body) != nil {
		return nil
	}
	out := slices.Sorted(maps.Keys(body.Identity.UserAssignedIdentities))
	if at := body.Properties.RemoteVirtualNetwork.ID; at != "" {
		out = append(out, at)
	}
	return out
}

// others returns a call that creates the resource at, which c refers to and no call of the recording creates.
func others(calls []call, c call, at string) (out call) {
	out.Request.Method = http.MethodPut
	body := map[string]any{"location": region(calls)}
	version := "2021-04-01"
	switch typeOf(at) {
	case "microsoft.managedidentity/userassignedidentities":
		version = "2023-01-31"
	case "microsoft.network/virtualnetworks":
		version = "2024-05-01"
		var answer struct {
			Properties struct{ RemoteVirtualNetworkAddressSpace map[string]any }
		}
		_ = json.Unmarshal([]byte(c.Response.Body), &answer) // an answer without the field leaves it empty
		body["properties"] = map[string]any{"addressSpace": answer.Properties.RemoteVirtualNetworkAddressSpace}
	}
	text, _ := json.Marshal(body) // cannot fail: decoded JSON can be encoded
	scheme, rest, _ := strings.Cut(c.Request.URL, "://")
	host, _, _ := strings.Cut(rest, "/")
	out.Request.URL, out.Request.Body = scheme+"://"+host+at+"?api-version="+version, string(text)
	return out
}

// region returns the first region in a recording's requests.
func region(calls []call) string {
	for _, c := range calls {
		var body struct{ Location string }
		if json.Unmarshal([]byte(c.Request.Body), &body) == nil && body.Location != "" {
			return body.Location
		}
	}
	return "westeurope"
}

// made reports whether the PUT of a new resource of the type is answered with 201, so that 200
// means that the resource existed.
func made(at string) bool {
	typ := typeOf(at)
	return typ == "microsoft.resources/resourcegroups" || typ == "microsoft.managedidentity/userassignedidentities"
}

// touched reports whether one of the calls writes a resource.
func touched(calls []call, at string) bool {
	return slices.ContainsFunc(calls, func(c call) bool { return c.writes() && strings.EqualFold(path(c.Request.URL), at) })
}

// vaultOf returns the ID that a deleted vault had.
func vaultOf(c call) string {
	var body struct {
		Properties struct{ VaultID string }
	}
	if json.Unmarshal([]byte(c.Response.Body), &body) != nil {
		return ""
	}
	return strings.ToLower(body.Properties.VaultID)
}

// leftVault returns calls that create a vault as in the recording, in its group, and delete it:
// together with the group, if the recording creates the group again.
func leftVault(calls []call, vault string) (out []call) {
	group, _, _ := strings.Cut(vault, "/providers/")
	var gone call
	for _, c := range calls {
		at := path(c.Request.URL)
		if c.Request.Method != http.MethodPut {
			continue
		}
		if strings.EqualFold(at, group) && !touched(out, group) {
			out = append(out, c)
			if c.Response.Code == http.StatusCreated {
				gone = c
			}
		}
		if strings.EqualFold(at, vault) {
			c.Request.Body = strings.Replace(c.Request.Body, `"createMode":"recover"`, `"createMode":"default"`, 1)
			if gone.Request.Method == "" {
				gone = c
			}
			gone.Request.Method, gone.Request.Body = http.MethodDelete, ""
			return append(out, c, gone)
		}
	}
	return nil
}

// prepare creates the resources that the recording expects.
func (r *replayer) prepare(rec recording) error {
	for _, c := range leftovers(rec.calls) {
		got, err := r.send(c.Request.Method, c.Request.URL, c.Request.Body)
		if err == nil && got.status >= http.StatusBadRequest {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		if err != nil {
			return fmt.Errorf("%s: %s %s, which the recording finds done: %w", rec.name, c.Request.Method, c.Request.URL, err)
		}
		if ours := address(got.headers); ours != "" {
			r.open["before the recording"] = ours
		}
		if err := r.finishAll(); err != nil {
			return err
		}
	}
	return nil
}

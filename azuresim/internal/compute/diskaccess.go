package compute

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const (
	typeDiskAccess         = "Microsoft.Compute/diskAccesses"
	foreignPrivateEndpoint = "Microsoft.Network/privateEndpoints"
)

// diskAccessType returns the resource type of disk accesses, by which private endpoints
// reach disks.
func diskAccessType() engine.Type {
	put := engine.Work{Name: "diskaccess.put", Silent: true,
		Finish: finishManaged(func(d *engine.Doc) { value.Props(d.Body)["timeCreated"] = d.Hidden["timeCreated"] })}
	return engine.Type{Name: typeDiskAccess, Style: engine.StyleCompute,
		Takes: 3 * time.Second, Created: http.StatusAccepted, Polled: true,
		Put: put, Update: put, Delete: goneDelete(), Prepare: prepareDiskAccess, Guard: guardDiskAccess, View: viewDiskAccess}
}

func prepareDiskAccess(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	if old == nil {
		d.Hidden["timeCreated"] = t.Now.Format(engine.TimeForm)
	}
	return nil
}

func guardDiskAccess(t *engine.Tx, d *engine.Doc) *engine.Error {
	for _, typ := range []string{typeDisk, typeSnapshot} {
		if user := findByText(t, typ, d.ID, "diskAccessId"); user != nil {
			return engine.Conflict("OperationNotAllowed",
				"DiskAccess '%s' cannot be deleted because it is in use by %s.", d.Parsed.Name(), user.ID)
		}
	}
	return nil
}

// viewDiskAccess shows the connections of private endpoints, but none while an operation is in
// progress.
func viewDiskAccess(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if d.State() != engine.StatusSucceeded {
		delete(body, "properties")
		return
	}
	var connections []any
	for _, endpoint := range t.All(foreignPrivateEndpoint, "") {
		if !connects(endpoint, d.ID) {
			continue
		}
		name := fmt.Sprintf("%s.%s", d.Parsed.Name(), connectionID(endpoint.Key()))
		connections = append(connections, value.Object{"name": name, "id": d.ID + "/privateEndpointConnections/" +
			name, "type": typeDiskAccess + "/PrivateEndpointConnections", "properties": value.Object{
			"provisioningState": engine.StatusSucceeded, "privateEndpoint": value.Object{"id": endpoint.ID},
			"privateLinkServiceConnectionState": value.Object{
				"actionsRequired": "None", "description": "Auto-Approved", "status": "Approved",
			}}})
	}
	if len(connections) > 0 {
		value.Props(body)["privateEndpointConnections"] = connections
	}
}

// connects reports whether a private endpoint is connected to a resource.
func connects(endpoint *engine.Doc, id string) bool {
	for _, list := range []string{"privateLinkServiceConnections", "manualPrivateLinkServiceConnections"} {
		for _, c := range value.Items(endpoint.Body, "properties", list) {
			if strings.EqualFold(value.Str(c, "properties", "privateLinkServiceId"), id) {
				return true
			}
		}
	}
	return false
}

// connectionID returns a GUID that is always the same for a private endpoint.
func connectionID(key string) string {
	h := digest([]byte(key)) + digest([]byte(key+"/"))
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:32]
}

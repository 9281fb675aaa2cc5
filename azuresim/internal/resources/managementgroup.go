package resources

import (
	"net/http"
	"regexp"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

const managementSpace = "Microsoft.Management"

// Management returns the provider Microsoft.Management: groups of subscriptions, to which templates
// can be deployed. The root group of a tenant is the parent of all others and has no document.
// Source: https://learn.microsoft.com/rest/api/managementgroups/management-groups; recordings of
// the SDK.
func Management() engine.Provider {
	return engine.Provider{
		Namespace: managementSpace,
		Types: []engine.Type{{Name: engine.TypeManagementGroup, Style: engine.StyleNetwork, Takes: 20 * time.Second, Global: true,
			Untracked: true, Opaque: true, Polled: true, Created: http.StatusAccepted, Echoed: true,
			Retry: engine.Retry{Write: 10, Delete: 10}, Prepare: prepareManagementGroup, Guard: guardManagementGroup, View: viewManagementGroup}},
		CheckName: checkManagementGroup,
		NotFound: func(id engine.ID) *engine.Error {
			return engine.Refuse(http.StatusNotFound, "NotFound", "'%s' not found", id)
		},
	}
}

// managementGroupName is the rule for names.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules.
var managementGroupName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_().-]{0,88}[a-zA-Z0-9_()-]$|^[a-zA-Z0-9]$`)

func checkManagementGroup(id engine.ID) *engine.Error {
	if managementGroupName.MatchString(id.Name()) {
		return nil
	}
	return engine.BadRequest("BadRequest", "The management group's name '%s' is invalid. It has 1 to 90 letters, digits, hyphens, "+
		"underscores, periods and parentheses, begins with a letter or digit and does not end with a period.", id.Name())
}

// prepareManagementGroup completes a group and checks its parent.
func prepareManagementGroup(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	given := value.OrDefault(value.Str(d.Body, "parentGroupId"), value.Str(p, "details", "parent", "id")) // a PATCH has it at the top level
	if name := value.Str(d.Body, "displayName"); name != "" {
		p["displayName"] = name
	}
	delete(d.Body, "parentGroupId")
	delete(d.Body, "displayName")
	version := 1.0
	if old != nil {
		n, _ := value.Int(old.Body, "properties", "details", "version")
		version = float64(n + 1)
		given = value.OrDefault(given, value.Str(old.Body, "properties", "details", "parent", "id"))
		value.SetDefault(p, "displayName", value.Str(old.Body, "properties", "displayName"))
	}
	value.SetDefault(p, "displayName", d.Parsed.Name())
	p["tenantId"] = t.Server.Options.TenantID
	root := engine.ID{Namespace: managementSpace, Types: []string{"managementGroups"}, Names: []string{t.Server.Options.TenantID}}
	parent := value.Object{"id": root.String(), "name": root.Name(), "displayName": root.Name()}
	if id, err := engine.ParseID(value.OrDefault(given, root.String())); err != nil || id.Key() != root.Key() {
		group := t.Find(given)
		if group == nil || group.Type != engine.TypeManagementGroup || group.Key() == d.Key() {
			return engine.BadRequest("BadRequest", "The parent '%s' of the management group '%s' is no other management group.",
				given, d.Parsed.Name())
		}
		parent = value.Object{"id": group.ID, "name": group.Parsed.Name(), "displayName": value.Str(group.Body, "properties", "displayName")}
	}
	p["details"] = value.Object{"version": version, "updatedTime": t.Now.Format(engine.TimeForm), "updatedBy": t.Caller, "parent": parent}
	return nil
}

// guardManagementGroup refuses to delete the parent of another group.
func guardManagementGroup(t *engine.Tx, d *engine.Doc) *engine.Error {
	for _, other := range t.All(engine.TypeManagementGroup, "") {
		if value.Lower(value.Str(other.Body, "properties", "details", "parent", "id")) == d.Key() {
			return engine.BadRequest("BadRequest", "The management group '%s' cannot be deleted: '%s' is below it.",
				d.Parsed.Name(), other.Parsed.Name())
		}
	}
	return nil
}

// viewManagementGroup shows only the status NotStarted while a group is being written.
func viewManagementGroup(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if d.WrittenBy(t) && d.State() != engine.StatusSucceeded {
		delete(body, "properties")
		body["status"] = "NotStarted"
		return
	}
	delete(value.Props(body), "provisioningState")
}

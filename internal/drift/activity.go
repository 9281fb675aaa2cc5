package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// activityVersion is the API version of the activity log. Source:
// https://learn.microsoft.com/rest/api/monitor/activity-logs/list.
const activityVersion = "2015-04-01"

// Event is a write in the activity log.
type Event struct {
	At time.Time `json:"at"`
	// By is the author: a user's name, or the object ID of a program's identity.
	By        string `json:"by"`
	Operation string `json:"operation"`
	resource  string
}

// name finds the authors of the findings in the activity log. Without permission to read the log, findings have no authors.
func (f *finder) name(ctx context.Context, since time.Time) {
	groups := map[string]bool{}
	for _, found := range f.report.Findings {
		groups[strings.ToLower(arm.NameOf(arm.GroupOf(found.ID)))] = true
	}
	for group := range groups {
		events, err := f.events(ctx, group, since)
		if err != nil {
			f.note("who wrote is not known: %v", err)
			return
		}
		for i := range f.report.Findings {
			found := &f.report.Findings[i]
			for _, e := range events {
				if isPartOf(e.resource, arm.Key(found.ID)) && (found.Last == nil || e.At.After(found.Last.At)) {
					found.Last = &e
				}
			}
		}
	}
}

// isPartOf reports whether a resource is the parent, or a part of it.
func isPartOf(resource, parent string) bool {
	return resource == parent || strings.HasPrefix(resource, parent+"/")
}

// events returns the writes in a group that Azure accepted.
func (f *finder) events(ctx context.Context, group string, since time.Time) ([]Event, error) {
	collection := fmt.Sprintf("/subscriptions/%s/providers/Microsoft.Insights/eventtypes/management/values", f.azureC.Spec.SubscriptionID)
	filter := fmt.Sprintf("eventTimestamp ge '%s' and resourceGroupName eq '%s'", since.UTC().Format(time.RFC3339), group)
	var out []Event
	for raw, err := range f.azure.List(ctx, collection, activityVersion, arm.Query("$filter", filter)) {
		if err != nil {
			return nil, fmt.Errorf("read the activity log of group %s: %w", group, err)
		}
		var e struct {
			Caller, ResourceID    string
			EventTimestamp        time.Time
			OperationName, Status struct{ Value string }
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("read the activity log of group %s: %w", group, err)
		}
		if e.Status.Value == "Failed" || strings.HasSuffix(strings.ToLower(e.OperationName.Value), "/read") {
			continue
		}
		out = append(out, Event{At: e.EventTimestamp, By: e.Caller, Operation: e.OperationName.Value, resource: arm.Key(e.ResourceID)})
	}
	return out, nil
}

// Who returns a short description of the last write.
func (f Finding) Who() string {
	if f.Last == nil {
		return ""
	}
	verb := f.Last.Operation[strings.LastIndex(f.Last.Operation, "/")+1:]
	return fmt.Sprintf("%s by %s at %s", verb, f.Last.By, f.Last.At.UTC().Format(time.DateTime))
}

// Name returns the type and name of the resource in a short form.
func (f Finding) Name() string {
	kind := arm.TypeOf(f.ID)
	_, short, _ := strings.Cut(kind, "/")
	if short == "" {
		short = kind
	}
	return short + "/" + desired.LastSegment(f.ID)
}

// Package insights is the resource provider Microsoft.Insights of the local Azure: the activity
// log, which records each write with its author. It contains the most recent writes since the start
// of the server, limited by the engine's log of calls; Azure's log covers ninety days.
//
// It knows no other part of Azure Monitor and imports no other provider; only package azuresim
// imports it.
package insights

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// New returns the provider Microsoft.Insights.
func New() engine.Provider {
	return engine.Provider{
		Namespace: "Microsoft.Insights",
		Routes:    []engine.Route{{Method: http.MethodGet, Path: "eventtypes/values", Serve: listEvents}},
	}
}

// term is one comparison of a $filter. A $filter is a list of comparisons joined by "and"; the
// first compares the time. Source: https://learn.microsoft.com/rest/api/monitor/activity-logs/list.
var term = regexp.MustCompile(`(?i)^(eventTimestamp|resourceGroupName|resourceUri|resourceProvider) (ge|le|eq) '([^']*)'$`)

// filter selects events.
type filter struct {
	from, to                  time.Time
	group, resource, provider string
}

func parseFilter(text string) (filter, *engine.Error) {
	var f filter
	for part := range strings.SplitSeq(text, " and ") {
		m := term.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return f, engine.BadRequest("BadRequest", "The query filter '%s' is not supported.", part)
		}
		at, err := time.Parse(time.RFC3339Nano, m[3])
		switch name := strings.ToLower(m[1]); {
		case name == "eventtimestamp" && err != nil:
			return f, engine.BadRequest("BadRequest", "The time '%s' of the query filter is invalid.", m[3])
		case name == "eventtimestamp" && m[2] == "ge":
			f.from = at
		case name == "eventtimestamp":
			f.to = at
		case name == "resourcegroupname":
			f.group = m[3]
		case name == "resourceuri":
			f.resource = m[3]
		default:
			f.provider = m[3]
		}
	}
	if f.from.IsZero() {
		return f, engine.BadRequest("BadRequest", "The query filter needs the start of the time range: eventTimestamp ge '...'.")
	}
	return f, nil
}

func (f filter) has(id engine.ID, at time.Time) bool {
	return !at.Before(f.from) && (f.to.IsZero() || !at.After(f.to)) &&
		(f.group == "" || strings.EqualFold(f.group, id.Group)) &&
		(f.provider == "" || strings.EqualFold(f.provider, id.Namespace)) &&
		(f.resource == "" || strings.EqualFold(f.resource, id.String()))
}

// listEvents answers the events of a subscription, the latest first.
func listEvents(c *engine.Request) *engine.Error {
	f, e := parseFilter(c.Query.Get("$filter"))
	if e != nil {
		return e
	}
	events := []any{}
	writes := engine.Writes(c.Server)
	for i := len(writes) - 1; i >= 0; i-- {
		w := writes[i]
		id, err := engine.ParseID(w.Path)
		if err == nil && strings.EqualFold(id.Subscription, c.ID.Subscription) && f.has(id, w.Time) {
			events = append(events, event(w, id))
		}
	}
	c.Reply(http.StatusOK, value.Object{"value": events})
	return nil
}

// verbs maps methods to the last part of the name of an operation.
var verbs = map[string]string{http.MethodPut: "write", http.MethodPatch: "write", http.MethodDelete: "delete", http.MethodPost: "action"}

// event returns a write in the form of the activity log.
func event(w engine.Call, id engine.ID) value.Object {
	operation, target, status := id.FullType()+"/"+verbs[w.Method], id.String(), "Succeeded"
	if id.Namespace == "" {
		operation = "Microsoft.Resources/subscriptions/resourceGroups/" + verbs[w.Method]
	}
	if parent, ok := id.Parent(); ok && w.Method == http.MethodPost {
		target = parent.String()
	}
	switch {
	case w.Status >= http.StatusBadRequest:
		status = "Failed"
	case w.Status == http.StatusCreated, w.Status == http.StatusAccepted:
		status = "Accepted"
	}
	at := w.Time.UTC().Format(time.RFC3339Nano)
	name := func(s string) value.Object { return value.Object{"value": s, "localizedValue": s} }
	number := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, w.Number, at)))[:32]
	return value.Object{
		"id":          target + "/events/" + number + "/ticks/" + fmt.Sprint(w.Time.UnixNano()/100),
		"eventDataId": number, "caller": w.Principal, "level": "Informational",
		"authorization": value.Object{"action": operation, "scope": target},
		"category":      name("Administrative"), "eventName": name("EndRequest"),
		"operationName": name(operation), "resourceId": target, "resourceGroupName": id.Group,
		"resourceProviderName": name(value.OrDefault(id.Namespace, "Microsoft.Resources")), "resourceType": name(id.FullType()),
		"status": name(status), "subStatus": name(http.StatusText(w.Status)), "httpRequest": value.Object{"method": w.Method},
		"properties":     value.Object{"statusCode": http.StatusText(w.Status)},
		"eventTimestamp": at, "submissionTimestamp": at, "subscriptionId": id.Subscription,
	}
}

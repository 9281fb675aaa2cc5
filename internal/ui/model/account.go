package model

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/redact"
)

// Account is the use of a subscription's quotas, and the newest entries of its activity log. It is read only when a
// page shows it.
type Account struct {
	Quotas []Quota `json:"quotas"`
	Events []Event `json:"events"`
}

// Quota is the use of one quota in a region, such as the processors of a family of sizes.
type Quota struct {
	Location string `json:"location"`
	Name     string `json:"name"`
	Used     int64  `json:"used"`
	Limit    int64  `json:"limit"`
}

// Event is an entry of the activity log.
type Event struct {
	At        time.Time `json:"at"`
	Operation string    `json:"operation"`
	Resource  string    `json:"resource"`
	Status    string    `json:"status"`
	By        string    `json:"by"`
}

// maxEvents is the maximum number of entries of the activity log that are shown.
const maxEvents = 200

// Sorted returns the account in the order of the page: the quota that is nearest to its limit first, without unused
// quotas unless nothing fits in them, and the newest entries first. It removes apparent secrets.
func (a Account) Sorted() Account {
	out := Account{Quotas: []Quota{}, Events: []Event{}}
	for _, q := range a.Quotas {
		if q.Used > 0 || q.Limit == 0 {
			out.Quotas = append(out.Quotas, q)
		}
	}
	part := func(q Quota) float64 {
		if q.Used == 0 {
			return 0
		}
		return float64(q.Used) / float64(max(q.Limit, 1))
	}
	slices.SortFunc(out.Quotas, func(a, b Quota) int {
		return cmp.Or(cmp.Compare(part(b), part(a)), cmp.Compare(a.Location, b.Location), cmp.Compare(a.Name, b.Name))
	})
	for _, e := range a.Events {
		e.Operation, e.Status = redact.Line(e.Operation, 200), redact.Line(e.Status, 40)
		e.Resource, e.By = redact.Line(resourceName(e.Resource), 200), redact.Line(e.By, 100)
		out.Events = append(out.Events, e)
	}
	slices.SortStableFunc(out.Events, func(a, b Event) int { return b.At.Compare(a.At) })
	out.Events = out.Events[:min(len(out.Events), maxEvents)]
	return out
}

// resourceName returns a resource ID without its subscription, which is the same in all entries.
func resourceName(id string) string {
	group, names := resourceNames(id)
	if len(names) == 0 {
		return cmp.Or(group, id)
	}
	return group + "/" + strings.Join(names, "/")
}

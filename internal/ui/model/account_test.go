package model

import (
	"reflect"
	"testing"
	"time"
)

// TestAccount: the fullest quota is first, unused quotas are omitted, and the newest entry is first, without a secret.
func TestAccount(t *testing.T) {
	at := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	got := Account{
		Quotas: []Quota{{"westeurope", "Total Regional vCPUs", 6, 100}, {"westeurope", "Standard DSv3 Family vCPUs", 6, 6},
			{"westeurope", "Standard NCSv3 Family vCPUs", 0, 0}, {"westeurope", "Standard ESv3 Family vCPUs", 0, 10}},
		Events: []Event{
			{at, "Microsoft.Compute/virtualMachines/write", "/subscriptions/s/resourceGroups/demo/providers/Microsoft.Compute/virtualMachines/a",
				"Succeeded", "casement"},
			{at.Add(time.Minute), "Microsoft.Compute/virtualMachines/delete", "no ID", "Failed", "--password hunter2hunter2"}},
	}.Sorted()
	var quotas []string
	for _, q := range got.Quotas {
		quotas = append(quotas, q.Name)
	}
	if want := []string{"Standard DSv3 Family vCPUs", "Total Regional vCPUs",
		"Standard NCSv3 Family vCPUs"}; !reflect.DeepEqual(quotas, want) {
		t.Errorf("quotas %q, want %q", quotas, want)
	}
	want := []Event{{at.Add(time.Minute), "Microsoft.Compute/virtualMachines/delete", "no ID", "Failed", "--password [redacted]"},
		{at, "Microsoft.Compute/virtualMachines/write", "demo/a", "Succeeded", "casement"}}
	if !reflect.DeepEqual(got.Events, want) {
		t.Errorf("entries %+v, want %+v", got.Events, want)
	}
	many := Account{Events: make([]Event, maxEvents+1)}.Sorted()
	if len(many.Events) != maxEvents {
		t.Errorf("%d entries, want %d", len(many.Events), maxEvents)
	}
}

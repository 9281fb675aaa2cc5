package azuresim

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/value"
)

// TestActivityLog: the activity log has each write with its caller, the latest first, and no read.
func TestActivityLog(t *testing.T) {
	a := start(t, Config{})
	for _, group := range []string{"one", "two"} {
		a.speak(http.MethodPut, "resourceGroups/"+group, `{"location":"westeurope"}`)
	}
	address := "resourceGroups/one/providers/Microsoft.Network/publicIPAddresses/ip"
	a.speak(http.MethodPut, address, `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`)
	a.speak(http.MethodGet, address, "")
	a.speak(http.MethodPut, "resourceGroups/one/providers/Microsoft.Network/publicIPAddresses/wrong", `{}`)
	const log = "providers/Microsoft.Insights/eventtypes/management/values?api-version=2015-04-01&$filter="
	read := func(filter string) []string {
		status, answer, _ := a.speak(http.MethodGet, log+url.QueryEscape(filter), "")
		if status != http.StatusOK {
			t.Fatalf("%s: %d %v", filter, status, answer)
		}
		events, _ := answer["value"].([]any)
		var out []string
		for _, e := range events {
			e, _ := e.(value.Object)
			if value.Str(e, "caller") == "" {
				t.Errorf("no caller in %v", e)
			}
			out = append(out, value.Str(e, "operationName", "value")+" "+value.Str(e, "status", "value"))
		}
		return out
	}
	const since = "eventTimestamp ge '2020-01-01T00:00:00Z'"
	for filter, want := range map[string]string{
		since + " and resourceGroupName eq 'ONE'": "Microsoft.Network/publicIPAddresses/write Failed, " +
			"Microsoft.Network/publicIPAddresses/write Accepted, Microsoft.Resources/subscriptions/resourceGroups/write Accepted",
		since + " and resourceProvider eq 'Microsoft.Network' and resourceGroupName eq 'two'": "",
		"eventTimestamp ge '2090-01-01T00:00:00Z'":                                            "",
	} {
		if got := strings.Join(read(filter), ", "); got != want {
			t.Errorf("%s:\n%s, want\n%s", filter, got, want)
		}
	}
	for _, filter := range []string{"", "resourceGroupName eq 'one'", "eventTimestamp ge 'yesterday'", since + " or 1 eq 1"} {
		if status, answer, _ := a.speak(http.MethodGet, log+url.QueryEscape(filter), ""); status != http.StatusBadRequest {
			t.Errorf("%q: %d %v", filter, status, answer)
		}
	}
}

package recordings

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
)

// TestOverlap checks that the end of one operation, for which the replay waits, does not end
// another operation that runs at the same time. A recorded read between the two ends still sees the
// group that is being deleted.
func TestOverlap(t *testing.T) {
	const host, subscription = "https://management.azure.com", "/subscriptions/" + zero
	of := func(method, at string, code int, body string, operation int) (c call) {
		c.Request.Method, c.Request.URL, c.Request.Body = method, host+subscription+at, body
		c.Response.Code, c.Response.Headers = code, http.Header{}
		if operation > 0 {
			c.Response.Headers.Set("Location", fmt.Sprintf("%s%s/operationresults/%d?api-version=2021-04-01", host, subscription, operation))
		}
		return c
	}
	ended := func(operation int) call {
		return of("GET", fmt.Sprintf("/operationresults/%d?api-version=2021-04-01", operation), 200, "", 0)
	}
	const group, other = "/resourcegroups/g?api-version=2021-04-01", "/resourcegroups/h?api-version=2021-04-01"
	const address = "/resourceGroups/h/providers/Microsoft.Network/publicIPAddresses/a?api-version=2024-05-01"
	rec := recording{name: "overlap", calls: []call{
		of("PUT", group, 201, `{"location":"westeurope"}`, 0), of("PUT", other, 201, `{"location":"westeurope"}`, 0),
		of("PUT", address, 201, `{"location":"westeurope"}`, 1), ended(1),
		of("DELETE", address, 202, "", 2), of("DELETE", group, 202, "", 3), ended(2), of("GET", group, 200, "{}", 0), ended(3),
	}}
	synctest.Test(t, func(t *testing.T) {
		result := newReport()
		replay(t, rec, baseline{}, result)
		for _, d := range result.differences {
			if d.at == "status" {
				t.Errorf("%s %s: recorded %s, ours %s", d.method, d.typ, d.want, d.got)
			}
		}
	})
}

// TestDecided checks that overlapping calls are sorted into the order in which Azure decided them.
func TestDecided(t *testing.T) {
	of := func(method, at string, code int, body string) (c call) {
		c.Request.Method, c.Request.URL = method, "https://management.azure.com"+at
		c.Response.Code, c.Response.Body = code, body
		return c
	}
	const table, one, two, prefix, ip = "/t/routeTables/r", "/t/routeTables/r/routes/one",
		"/t/routeTables/r/routes/two", "/t/prefixes/p", "/t/ips/i"
	busy := `{"error":{"code":"RetryableError","details":[{"message":"Operation PutRouteOperation (x) is ` +
		`updating resource ` + table + `. The call can be retried in 9 seconds."}]}}`
	missing := `{"error":{"code":"NotFound","message":"Resource ` + prefix + ` not found."}}`
	const group, gone = "/subscriptions/s/resourcegroups/g", `{"error":{"code":"ResourceGroupNotFound"}}`
	for name, tc := range map[string]struct {
		calls []call
		want  []int
	}{
		"refused because of a write that is answered later": {[]call{
			of("PUT", one, 429, busy), of("GET", table, 200, ""), of("PUT", two, 201, ""), of("PUT", one, 201, ""),
		}, []int{1, 2, 0, 3}},
		"refused before a write that is answered earlier": {
			[]call{of("PUT", prefix, 201, ""), of("PUT", ip, 404, missing), of("PUT", ip, 201, "")}, []int{1, 0, 2},
		},
		"a read that is refused before the write that is answered earlier": {
			[]call{of("PUT", group, 201, ""), of("GET", group+"/resources", 404, gone), of("GET", group, 404, gone)}, []int{1, 2, 0},
		},
		"a read that is refused after a deletion": {
			[]call{of("PUT", group, 201, ""), of("DELETE", group, 202, ""), of("GET", group, 404, gone)}, []int{0, 1, 2},
		},
		"refused with no write beside it": {[]call{of("PUT", ip, 404, missing), of("PUT", one, 429, busy)}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var want []call
			for _, i := range tc.want {
				want = append(want, tc.calls[i])
			}
			same := func(a, b call) bool {
				return a.Request == b.Request && a.Response.Code == b.Response.Code
			}
			if got := decided(tc.calls); !slices.EqualFunc(got, want, same) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

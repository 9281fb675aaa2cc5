package recordings

import (
	"slices"
	"testing"
)

// TestDecided puts overlapping calls into the order in which Azure decided them.
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

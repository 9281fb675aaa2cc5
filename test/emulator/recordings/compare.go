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

// verdict is the result of comparing one answer.
type verdict struct {
	typ, method string
	// unmodelled means that the local Azure answered that it does not emulate this.
	unmodelled bool
	status     bool
	// code and message are compared if Azure refused the call and both answers have an error.
	refused, code, message bool
	// headers are compared for writes with the same status.
	wrote, headers bool
	// body is compared if both answers are successful and have JSON.
	bodied, body bool
	differences  []difference
}

// difference is one deviation from the recording.
type difference struct {
	// at is "status", "code", "message", "header X" or the path in the body.
	at        string
	want, got string
}

// absent represents a member that an answer does not have.
const absent = "(absent)"

// wireHeaders are the headers of operations, of which only the presence is compared.
var wireHeaders = []string{"Azure-AsyncOperation", "Location", "Retry-After"}

// judge compares an answer with the recorded one. Differences that allow accepts do not count.
func judge(c call, got answer, allow func(typ, method, at, want string) bool) verdict {
	v := verdict{typ: typeOf(path(c.Request.URL)), method: c.Request.Method}
	want := c.Response
	differ := func(at, want, got string) bool {
		if want == got || allow(v.typ, v.method, at, want) {
			return false
		}
		v.differences = append(v.differences, difference{at, want, got})
		return true
	}
	wantError, gotError := errorOf([]byte(want.Body)), errorOf(got.body)
	v.unmodelled = gotError.Code == "NotSupportedByLocalAzure"
	v.status = !differ("status", fmt.Sprint(want.Code), fmt.Sprint(got.status))
	if want.Code >= 400 && wantError.Code != "" && !v.unmodelled {
		v.refused = true
		v.code = !differ("code", wantError.Code, gotError.Code)
		v.message = v.code && (wantError.Code != gotError.Code || !differ("message", plain(wantError.Message), plain(gotError.Message)))
		return v
	}
	if !v.status || want.Code >= 400 {
		return v
	}
	if v.wrote = c.writes(); v.wrote {
		v.headers = true
		for _, h := range wireHeaders {
			if differ("header "+h, present(want.Headers, h), present(got.headers, h)) {
				v.headers = false
			}
		}
	}
	wantBody, gotBody := flat([]byte(want.Body)), flat(got.body)
	if wantBody == nil && gotBody == nil {
		return v
	}
	v.bodied, v.body = true, true
	for _, at := range slices.Sorted(maps.Keys(merge(wantBody, gotBody))) {
		w, inWant := wantBody[at]
		g, inGot := gotBody[at]
		switch {
		case inWant && inGot && madeUp(at, w, g):
			continue
		case !inWant:
			w = absent
		case !inGot:
			g = absent
		}
		if differ(at, w, g) {
			v.body = false
		}
	}
	return v
}

type armError struct{ Code, Message string }

// errorOf returns the error in a body; like ARM's, Key Vault's and Compute's errors are below
// "error".
func errorOf(body []byte) armError {
	var nested struct{ Error armError }
	if json.Unmarshal(body, &nested) == nil && nested.Error.Code != "" {
		return nested.Error
	}
	var bare armError
	_ = json.Unmarshal(body, &bare) // invalid JSON has no error
	return bare
}

func present(h http.Header, name string) string {
	if h.Get(name) == "" {
		return "absent"
	}
	return "present"
}

var (
	guid  = regexp.MustCompile(`(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|[+-]\d\d:\d\d)?`)
	index = regexp.MustCompile(`\[\d+\]`)
	// generated matches keys whose values Azure generates, so that they differ between the recording and the emulator.
	generated = regexp.MustCompile(`(?i)(etag|guid|principalId|clientId|uniqueId|vmId|time\w*|createdOn|updatedOn|` +
		`createdBy|updatedBy|ipAddress|ipAddresses\[\d+\]|privateIPAddress|vaultUri|macAddress|` +
		`internalDomainNameSuffix|fqdn|sequenceNumber|resourceId|ipPrefix|internalId|nameServers\[\d+\]|duration|templateHash)$`)
)

// madeUp reports whether two values at a path may differ because Azure generates such values:
// identifiers, times, addresses, hosts.
func madeUp(at, want, got string) bool {
	return generated.MatchString(at) || plain(want) == plain(got)
}

// plain removes identifiers and times from a text, and converts names of Azure's resources to lower
// case, because Azure ignores their case.
func plain(s string) string {
	return strings.ToLower(times.ReplaceAllString(guid.ReplaceAllString(s, "<guid>"), "<time>"))
}

// flat returns a JSON document as a map from paths to scalars, such as properties.subnets[0].name;
// empty objects and arrays are values too. It returns nil if the body is no JSON object or array.
func flat(body []byte) map[string]string {
	var doc any
	if json.Unmarshal(body, &doc) != nil {
		return nil
	}
	out := map[string]string{}
	walk(out, "", doc)
	return out
}

func walk(out map[string]string, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			out[at] = "{}"
		}
		for key, e := range v {
			walk(out, strings.TrimPrefix(at+"."+key, "."), e)
		}
	case []any:
		if len(v) == 0 {
			out[at] = "[]"
		}
		for i, e := range v {
			walk(out, fmt.Sprintf("%s[%d]", at, i), e)
		}
	default:
		scalar, _ := json.Marshal(v) // cannot fail: scalars can be encoded
		out[at] = string(scalar)
	}
}

func merge(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, b)
	return out
}

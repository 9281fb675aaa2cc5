package recorder

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// canaries are secrets that no recording may contain.
var canaries = map[string]string{
	"subscription":         "5ab5c41b-0000-4000-8000-00000000c0de",
	"another subscription": "5ab5c41b-1111-4000-8000-00000000c0de",
	"tenant":               "7e4a4700-0000-4000-8000-00000000c0de",
	"caller's object":      "0b1ec700-0000-4000-8000-00000000c0de",
	"caller's application": "a9911ca0-0000-4000-8000-00000000c0de",
	"caller's mail":        "jane.doe@canary-mail.example", "caller's name": "Canary Jane Doe",
	"caller's address": "198.51.100.77",
	"admin's password": "Canary-Passw0rd-1", "custom data": "Q2FuYXJ5LWN1c3RvbS1kYXRh", "user data": "Q2FuYXJ5LXVzZXItZGF0YQ==",
	"protected setting": "canary-protected-setting", "vault's secret": "canary-vault-secret",
	"storage key":   "Y2FuYXJ5c3RvcmFnZWtleWNhbmFyeXN0b3JhZ2VrZXk=",
	"shared access": "canary-sas-signature", "script": "canary-script-line",
	"printed": "canary-printed-by-the-script", "serial log": "canary-serial-log",
	"template's parameter": "canary-secure-parameter", "unattended content": "canary-unattend-content",
	"owner of a key": "canary-key-owner", "signature of a poll": "canary-poll-signature",
	"connection string": "canary-connection-string", "bearer in text": "eyJhbGciOiJSUzI1NiJ9.eyJjYW5hcnkiOiJ5ZXMifQ.Y2FuYXJ5c2lnbmF0dXJl",
}

// speech returns calls with canaries: each has a request and Azure's response.
func speech() []struct{ method, path, body, answer string } {
	c := canaries
	sub := "/subscriptions/" + c["subscription"]
	vm := sub + "/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm"
	return []struct{ method, path, body, answer string }{
		{"PUT", vm + "?api-version=2024-07-01&sig=" + c["shared access"], `{"properties": {"osProfile": ` +
			`{"adminUsername": "capi", "adminPassword": ` +
			`"` + c["admin's password"] + `", "customData": "` + c["custom data"] + `",
			"windowsConfiguration": {"additionalUnattendContent": [{"settingName": "FirstLogonCommands", "content": "` +
			c["unattended content"] + `"}]},
			"linuxConfiguration": {"ssh": {"publicKeys": [{"keyData": "ssh-rsa AAAAB3NzaC1yc2E= ` +
			c["owner of a key"] + `"}]}}}, "userData": "` + c["user data"] + `"}}`,
			`{"id": "` + vm + `", "identity": {"tenantId": "` + c["tenant"] + `"}, "systemData": {"createdBy": "` +
				c["caller's mail"] + `", "lastModifiedBy": "` + c["caller's object"] + `"}, "tags": {"owner": "` +
				c["caller's name"] + `", "subscriptionOf": "` + c["subscription"] + `"}}`},
		{"PUT", vm + "/extensions/e", `{"properties": {"settings": {"commandToExecute": "` + c["script"] +
			`"}, "protectedSettings": {"key": "` + c["protected setting"] + `"}}}`, `{}`},
		{"POST", vm + "/runCommand", `{"commandId": "RunPowerShellScript", "script": ["` + c["script"] + `"]}`,
			`{"value": [{"code": "ComponentStatus/StdOut/succeeded", "message": "` + c["printed"] + `"}]}`},
		{"GET", sub + "/providers/Microsoft.Compute/locations/l/operations/x?monitor=true", ``, `{"properties": ` +
			`{"output": {"value": [{"code": "ComponentStatus/StdErr/succeeded", "message": ` +
			`"` + c["printed"] + `"}]}}}`},
		{"GET", vm + "/runCommands/r?$expand=instanceView", ``, `{"properties": {"source": {"script": "` +
			c["script"] + `"}, "instanceView": {"executionState": "Failed", "output": "` + c["printed"] +
			`", "error": "` + c["printed"] + `"}}}`},
		{"POST", vm + "/retrieveBootDiagnosticsData", ``, `{"consoleScreenshotBlobUri": "https://x/?sig=` +
			c["shared access"] + `", "serialConsoleLogBlobUri": "https://x/` + c["serial log"] + `"}`},
		{"POST", sub + "/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/s/listKeys", ``,
			`{"keys": [{"keyName": "key1", "value": "` + c["storage key"] + `", "permissions": "FULL"}]}`},
		{"POST", sub + "/resourceGroups/g/providers/Microsoft.Compute/disks/d/beginGetAccess", `{"access": "Read"}`,
			`{"accessSAS": "https://x/?sig=` + c["shared access"] + `"}`},
		{"PUT", sub + "/resourceGroups/g/providers/Microsoft.KeyVault/vaults/kv/secrets/s",
			`{"properties": {"value": "` + c["vault's secret"] + `"}}`, `{"properties": {}}`},
		{"PUT", sub + "/resourceGroups/g/providers/Microsoft.Resources/deployments/d", `{"properties": ` +
			`{"template": {"parameters": {"Pw": {"type": "secureString"}}}, "parameters": {"pw": {"value": ` +
			`"` + c["template's parameter"] + `"}, "connectionString": {"value": "` + c["connection string"] + `"}}}}`, `{}`},
		{"GET", "/subscriptions", ``, `{"value": [{"subscriptionId": "` + c["another subscription"] +
			`", "tenantId": "` + c["tenant"] + `", "displayName": "of ` + c["caller's mail"] +
			`"}], "nextLink": "https://azure.test/subscriptions?$skiptoken=` + c["shared access"] + `"}`},
		{"PUT", sub + "/resourceGroups/g/providers/Microsoft.Network/networkSecurityGroups/n", `{"note": "Bearer ` +
			c["bearer in text"] + `"}`, `{"error": ` +
			`{"code": "LinkedAuthorizationFailed", "message": "The client ` +
			`'` + c["caller's object"] + `' with address ` + c["caller's address"] + ` of ` + strings.ReplaceAll(
			c["tenant"], "-", "") + ` may not."}}`},
		{"PUT", sub + "/resourceGroups/g", `no JSON: ` + c["script"], `no JSON: ` + c["printed"]},
	}
}

func bearer() string {
	c := canaries
	payload, _ := json.Marshal(map[string]string{
		"tid": c["tenant"], "oid": c["caller's object"], "appid": c["caller's application"],
		"upn": c["caller's mail"], "name": c["caller's name"], "ipaddr": c["caller's address"],
	})
	return "head." + base64.RawURLEncoding.EncodeToString(payload) + ".canarysignature"
}

type transport func(*http.Request) *http.Response

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r), nil }

// TestNoCanary records calls full of secrets and finds none of them in the file; Azure and the client
// received all of them.
func TestNoCanary(t *testing.T) {
	var file bytes.Buffer
	var heard, shown strings.Builder
	calls := speech()
	at := 0
	r, err := New("https://azure.test", transport(func(req *http.Request) *http.Response {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintln(&heard, req.URL, req.Header.Get("Authorization"), string(body))
		return &http.Response{StatusCode: 201, Status: "201 Created",
			Body: io.NopCloser(strings.NewReader(calls[at].answer)), Header: http.Header{
				"Location": {"https://azure.test/subscriptions/" + canaries["subscription"] +
					"/operationresults/x?api-version=1&c=" + canaries["signature of a poll"]},
				"Set-Cookie": {canaries["shared access"]}, "X-Ms-Request-Id": {canaries["caller's object"]}}}
	}), &file)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range calls {
		at = i
		req := httptest.NewRequestWithContext(t.Context(), c.method, "https://recorder.test"+c.path, strings.NewReader(c.body))
		req.Header.Set("Authorization", "Bearer "+bearer())
		req.Header.Set("Cookie", canaries["shared access"])
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		fmt.Fprintln(&shown, w.Header(), w.Body)
	}
	for what, canary := range canaries {
		for _, form := range []string{canary, strings.ReplaceAll(canary, "-", ""), strings.ToUpper(canary)} {
			if i := strings.Index(file.String(), form); i >= 0 {
				t.Errorf("the recording holds the %s: ...%s", what, file.String()[max(0, i-100):i+len(form)])
			}
		}
		if !strings.Contains(heard.String()+shown.String()+bearer(), canary) && !strings.HasPrefix(what, "caller's ") {
			t.Errorf("the %s was not said: the test looks for nothing", what)
		}
	}
	if strings.Contains(file.String(), "canary") || strings.Contains(file.String(), bearer()) {
		t.Errorf("the recording holds a canary:\n%s", file.String())
	}
	var back struct{ Interactions []interaction }
	if err := yaml.Unmarshal(file.Bytes(), &back); err != nil || len(back.Interactions) != len(calls) {
		t.Errorf("%d calls are in the file, want %d: %v", len(back.Interactions), len(calls), err)
	}
	if n, err := r.Calls(); n != len(calls) || err != nil {
		t.Errorf("%d calls, want %d: %v", n, len(calls), err)
	}
	if !strings.Contains(shown.String(), "https://recorder.test/subscriptions/") ||
		!strings.Contains(shown.String(), `"nextLink": "https://recorder.test/`) {
		t.Errorf("polls and pages do not come back to the recorder:\n%s", shown.String())
	}
}

// TestScrub compares bodies with their scrubbed form.
func TestScrub(t *testing.T) {
	for name, tc := range map[string]struct{ body, want string }{
		"ordinary": {`{"location":"westeurope","properties":{"n":1.50,"on":true,"none":null,"list":["a"]}}`,
			`{"location":"westeurope","properties":{"list":["a"],"n":1.50,"none":null,"on":true}}`},
		"a made up GUID": {`{"resourceGuid":"11111111-2222-4333-8444-555555555555"}`,
			`{"resourceGuid":"11111111-2222-4333-8444-555555555555"}`},
		"a password":     {`{"adminPassword":"x"}`, `{"adminPassword":"Redacted-Passw0rd"}`},
		"no password":    {`{"disablePasswordAuthentication":true}`, `{"disablePasswordAuthentication":true}`},
		"where a key is": {`{"keyVaultSecretId":"k","keyUri":"https://v/keys/k"}`, `{"keyUri":"https://v/keys/k","keyVaultSecretId":"k"}`},
		"named values":   {`{"name":"clientSecret","value":"v"}`, `{"name":"clientSecret","value":"redacted"}`},
		"an ETag": {`{"etag":"W/\"0a1b2c3d-0000-4000-8000-000000000000\""}`,
			`{"etag":"W/\"0a1b2c3d-0000-4000-8000-000000000000\""}`},
		"no JSON":         {`<html>`, ``},
		"several secrets": {`{"secret":{"a":"b","c":1}}`, `{"secret":{"redacted0":"redacted","redacted1":"redacted"}}`},
	} {
		if got := newScrubber().body("https://a/subscriptions/s", []byte(tc.body)); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// FuzzScrub looks for bodies that keep an added secret, or that are no JSON afterwards.
func FuzzScrub(f *testing.F) {
	for _, c := range speech() {
		f.Add(c.path, c.body)
		f.Add(c.path, c.answer)
	}
	f.Fuzz(func(t *testing.T, path, body string) {
		s := newScrubber()
		s.learn(&http.Request{
			URL:    httptest.NewRequestWithContext(t.Context(), "GET", "https://a/", nil).URL,
			Header: http.Header{"Authorization": {"Bearer " + bearer()}},
		}, nil, &http.Response{Header: http.Header{}}, nil)
		out := s.body("https://azure.test"+path, []byte(body))
		if out != "" && !json.Valid([]byte(out)) {
			t.Errorf("%q becomes %q", body, out)
		}
		for _, what := range slices.Sorted(maps.Keys(canaries)) {
			if strings.HasPrefix(what, "caller's") && strings.Contains(out, canaries[what]) {
				t.Errorf("%q keeps the %s: %q", body, what, out)
			}
		}
	})
}

// TestWithoutBody: even over HTTP/2, a request without a body arrives as one, and not as one of unknown length.
func TestWithoutBody(t *testing.T) {
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, `"%s %d"`, req.Proto, req.ContentLength)
	}))
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	defer upstream.Close()
	r, err := New(upstream.URL, upstream.Client().Transport, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ method, body, want string }{
		{"GET", "", `"HTTP/2.0 0"`}, {"POST", "", `"HTTP/2.0 0"`}, {"PUT", "{}", `"HTTP/2.0 2"`},
	} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), test.method, "https://recorder.test/", strings.NewReader(test.body)))
		if got := w.Body.String(); got != test.want {
			t.Errorf("%s %q arrives as %s, want %s", test.method, test.body, got, test.want)
		}
	}
}

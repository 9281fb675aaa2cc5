package redact

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const canary = "c4n4ryc4n4ryc4n4"

func TestTextHidesCanaries(t *testing.T) {
	for name, text := range map[string]string{
		"bootstrap token":     "kubeadm join --token abcdef." + canary,
		"bare token":          "the token abcdef." + canary + " has expired",
		"bearer":              "Authorization: Bearer " + canary,
		"jwt":                 "got eyJhbGciOiJSUzI1NiJ9." + canary + ".sig-" + canary,
		"private key":         "x\n-----BEGIN RSA PRIVATE KEY-----\n" + canary + "\n-----END RSA PRIVATE KEY-----\n",
		"cut private key":     "-----BEGIN PRIVATE KEY-----\n" + canary,
		"azure.json":          `{"aadClientSecret": "` + canary + `", "cloud": "x"}`,
		"yaml password":       "passwd: " + canary,
		"certificate key":     "certificateKey: " + canary,
		"certificate flag":    "kubeadm init --certificate-key " + canary,
		"account key flag":    "az storage blob download --account-key " + canary,
		"SAS token flag":      "azcopy --sas-token " + canary,
		"docker password":     "docker login r.example -u u --password " + canary,
		"environment":         "AZURE_CLIENT_SECRET=" + canary,
		"single quotes":       "adminPassword='" + canary + " and more'",
		"sas":                 "https://x.blob.core.windows.net/log?se=1&sig=" + canary + "&x=1",
		"custom data":         `"customData":"` + canary + `"`,
		"kubeconfig key data": "client-key-data: " + canary,
	} {
		t.Run(name, func(t *testing.T) {
			if got := Text(text); strings.Contains(got, canary) {
				t.Errorf("%q still holds the secret", got)
			}
		})
	}
}

func TestTextKeepsWhatIsNoSecret(t *testing.T) {
	for _, text := range []string{
		"the token is invalid for this cluster or it has expired",
		"dial tcp 10.0.0.4:6443: connect: connection refused",
		"QuotaExceeded: Operation could not be completed as it results in exceeding approved Total Regional Cores quota",
		`could not find a JWS signature in the cluster-info ConfigMap for token ID "7ihcla"`,
		"image mcr.microsoft.com/windows/nanoserver:ltsc2022",
	} {
		if got := Text(text); got != text {
			t.Errorf("got  %q\nwant %q", got, text)
		}
	}
}

func TestObject(t *testing.T) {
	in := map[string]any{}
	if err := json.Unmarshal([]byte(`{"kind":"List","items":[
	 {"kind":"Secret","metadata":{"name":"s","managedFields":[{"x":"CANARY"}]},"data":{"value":"CANARY"},"stringData":{"k":"CANARY"}},
	 {"kind":"KubeadmConfig","spec":{"files":[{"path":"/a","content":"CANARY"}],"users":[{"name":"capi","passwd":"CANARY"}],
	   "joinConfiguration":{"discovery":{"bootstrapToken":{"token":"CANARY","apiServerEndpoint":"10.0.0.4:6443"}}}}},
	 {"kind":"Pod","spec":{"containers":[{"env":[{"name":"AZURE_CLIENT_SECRET","value":"CANARY"},
	   {"name":"NODE_NAME","value":"plain"},{"name":"A","value":"CANARY"},
	   {"name":"DBPASS","value":"CANARY"},{"name":"X","value":"mysql -pCANARY"}]}]}},
	 {"metadata":{"annotations":{"x.example/vault-token":"CANARY","y":"{\"clientSecret\":\"CANARY\"}"}},"auths":{"r":{"auth":"CANARY"}}},
	 {"properties":{"osProfile":{"adminPassword":"CANARY","customData":"CANARY"},"protectedSettings":{"x":1}}}]}`), &in); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(Object(in))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "CANARY") {
		t.Errorf("a secret is left: %s", out)
	}
	for _, kept := range []string{"10.0.0.4:6443", "plain", `"name":"capi"`} {
		if !strings.Contains(string(out), kept) {
			t.Errorf("%s is lost: %s", kept, out)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("token: abcdef.0123456789abcdef")
	f.Fuzz(func(t *testing.T, s string) {
		if out := Text(s + "\nabcdef." + canary + "\n"); strings.Contains(out, canary) {
			t.Errorf("%q", out)
		}
	})
}

// FuzzShortcuts compares Text, which skips rules that cannot match, with running all rules.
func FuzzShortcuts(f *testing.F) {
	for _, s := range []string{"abcdef.0123456789abcdef", "token: x", "?sig=1", "--password x", "Bearer\tx",
		"eyJhbGciOiJI.x", "-----BEGIN PRIVATE KEY-----", "a.b.c.0123456789abcdef"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.Map(func(r rune) rune {
			if r > 126 { // letters that fold to ASCII letters are in no secret
				return -1
			}
			return r
		}, s)
		want := s
		for _, r := range slices.Concat(textRules, tokens) {
			want = r.replace(want)
		}
		want = encoded(want, 0)
		for _, r := range commands {
			want = r.replace(want)
		}
		if got := Text(s); got != want {
			t.Errorf("%q becomes %q, and by all rules %q", s, got, want)
		}
	})
}

// TestLabels: labels are shown, except random ones.
func TestLabels(t *testing.T) {
	const chance = "hLobeeicS9IRasWBALNc1Tgm"
	got := Object(map[string]any{"labels": map[string]any{"team": chance, "app": "web", "hash": "0123456789abcdef0123456789abcdef"},
		"nodeSelector":     map[string]any{"pool": chance},
		"kubeletExtraArgs": []any{map[string]any{"name": "node-labels", "value": "a=b,team=" + chance}}})
	want := map[string]any{"labels": map[string]any{"team": Mark, "app": "web", "hash": "0123456789abcdef0123456789abcdef"},
		"nodeSelector":     map[string]any{"pool": Mark},
		"kubeletExtraArgs": []any{map[string]any{"name": "node-labels", "value": "a=b,team=" + Mark}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

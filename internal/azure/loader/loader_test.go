package loader

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"
)

const cloudConfig = `## template: jinja
#cloud-config

write_files:
-   path: /run/kubeadm/kubeadm-join-config.yaml
    owner: root:root
    permissions: '0640'
    content: |
      token: abcdef.0123456789abcdef
      name: '{{ ds.meta_data["local_hostname"] }}'
-   path: c:/k/blob
    encoding: base64
    content: AAEC
-   path: /etc/motd
    append: true
    content: "{% raw %}{{ kept }}{% endraw %}"
runcmd:
- kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml && echo success > /run/cluster-api/bootstrap-success.complete
- [echo, "it's {{ v1.local_hostname }}"]
users:
- name: capi
  ssh_authorized_keys:
  - ssh-ed25519 AAAA
`

func input(windows bool, data string) Input {
	return Input{Windows: windows, Data: []byte(data), SecretURL: "https://v.vault.azure.net/secrets/s",
		IdentityID: "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"}
}

func unpack(t *testing.T, secret string) string {
	t.Helper()
	data, err := base64.URLEncoding.DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	script, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

func TestMake(t *testing.T) {
	for _, tc := range []struct {
		name    string
		windows bool
		// shown has texts that the custom data contains; kept has texts that only the script contains.
		shown, kept []string
	}{
		{"linux", false, []string{"text/cloud-boothook", "ssh-ed25519 AAAA",
			"https://v.vault.azure.net/secrets/s?api-version=7.4", "msi_res_id=%2Fsubscriptions"},
			[]string{"chmod 0640 '/run/kubeadm/kubeadm-join-config.yaml'",
				`sed "s/` + hostnameMark + `/$host/g" >'/run/kubeadm/kubeadm-join-config.yaml'`, ">>'/etc/motd'"}},
		{"windows", true, []string{"text/x-shellscript", `filename="casement-load.ps1"`, "ssh-ed25519 AAAA",
			"https://v.vault.azure.net/secrets/s?api-version=7.4"},
			[]string{`[IO.File]::WriteAllText('C:\run\kubeadm\kubeadm-join-config.yaml'`,
				`Replace('` + hostnameMark + `', $name)`,
				`[IO.File]::WriteAllBytes('c:\k\blob', [Convert]::FromBase64String('AAEC'))`,
				`[IO.File]::AppendAllText('C:\etc\motd'`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := Make(input(tc.windows, cloudConfig))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"abcdef", "0123456789abcdef", "kubeadm",
				base64.StdEncoding.EncodeToString([]byte("token: abcdef"))[:16]} {
				if strings.Contains(string(out.CustomData), secret) {
					t.Errorf("the custom data has %q", secret)
				}
			}
			script := unpack(t, out.Secret)
			for _, want := range tc.shown {
				if !strings.Contains(string(out.CustomData), want) {
					t.Errorf("the custom data lacks %q:\n%s", want, out.CustomData)
				}
			}
			for _, want := range tc.kept {
				if !strings.Contains(script, want) {
					t.Errorf("the script lacks %q:\n%s", want, script)
				}
			}
			again, err := Make(input(tc.windows, strings.Replace(cloudConfig, "abcdef.", "fedcba.", 1)))
			if err != nil || !bytes.Equal(again.CustomData, out.CustomData) || again.Secret == out.Secret {
				t.Errorf("another token: same custom data %t, other secret %t, %v",
					bytes.Equal(again.CustomData, out.CustomData), again.Secret != out.Secret, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	noise, err := os.ReadFile("loader.go")
	if err != nil {
		t.Fatal(err)
	}
	var random strings.Builder
	for i := range 60000 { // bytes that cannot be compressed
		random.WriteByte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/"[(i*i*7919+i*int(noise[i%len(noise)]))%64])
	}
	for _, tc := range []struct{ name, data, want string }{
		{"other expression", "## template: jinja\n#cloud-config\nruncmd:\n- echo {{ ds.meta_data.local_ipv4 }}\n", "template expression"},
		{"statement", "## template: jinja\n#cloud-config\nruncmd:\n- echo {% if x %}\n", "template expression"},
		{"raw without end", "## template: jinja\n#cloud-config\n# {% raw %}\n", "not ended"},
		{"password", "#cloud-config\nusers:\n- name: a\n  passwd: hunter2\n", "use SSH keys"},
		{"unknown key", "#cloud-config\nchpasswd:\n  list: hunter2\n", "may hold secrets"},
		{"ignition", `{"ignition":{}}`, "no cloud-config"},
		{"map as command", "#cloud-config\nruncmd:\n- echo: hunter2\n", "quote the command"},
		{"bad base64", "#cloud-config\nwrite_files:\n- path: /a\n  encoding: b64\n  content: hunter2!\n", "not base64"},
		{"quote in path", "#cloud-config\nwrite_files:\n- path: /a'b\n  content: x\n", "quote"},
		{"too large", "#cloud-config\nwrite_files:\n- path: /a\n  content: " + random.String() + "\n", "takes 25600"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Make(input(false, tc.data))
			refused, ok := errors.AsType[*Error](err)
			if !ok || !strings.Contains(refused.Error(), tc.want) {
				t.Fatalf("%v, want %q", err, tc.want)
			}
			if strings.Contains(refused.Error(), "hunter2") {
				t.Error("the error shows the data")
			}
		})
	}
}

func TestAudience(t *testing.T) {
	for address, want := range map[string]string{
		"https://v.vault.azure.net/":               "https://vault.azure.net",
		"https://v.vault.azure.cn/":                "https://vault.azure.cn",
		"https://v.vault.casement.localhost:7777/": "https://vault.casement.localhost",
	} {
		u, err := url.Parse(address)
		if err != nil || Audience(u) != want {
			t.Errorf("%s: %s, want %s", address, Audience(u), want)
		}
	}
}

func FuzzMake(f *testing.F) {
	f.Add([]byte(cloudConfig), true)
	f.Add([]byte(cloudConfig), false)
	f.Fuzz(func(t *testing.T, data []byte, windows bool) {
		in := input(windows, string(data))
		if out, err := Make(in); err == nil && len(out.Secret) > maxSecret {
			t.Errorf("a secret of %d characters", len(out.Secret))
		}
	})
}

// TestLettersOutsideASCII: both agents read the document as text and damage letters outside
// ASCII in a part without a transfer encoding; then they ignore the part with users and
// keys.
func TestLettersOutsideASCII(t *testing.T) {
	data := strings.Replace(cloudConfig, "- name: capi\n", "- name: capi\n  gecos: Jürgen Müller 中\n", 1)
	for _, windows := range []bool{false, true} {
		out, err := Make(input(windows, data))
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(string(out.CustomData), func(r rune) bool { return r > 127 }) {
			t.Errorf("windows %v: the document is not ASCII:\n%s", windows, out.CustomData)
		}
		_, rest, found := strings.Cut(string(out.CustomData), "Content-Transfer-Encoding: base64")
		_, body, _ := strings.Cut(strings.ReplaceAll(rest, "\r", ""), "\n\n")
		body, _, _ = strings.Cut(body, "\n--")
		plain, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(body, "\n", ""))
		if !found || err != nil || !strings.Contains(string(plain), "Jürgen Müller 中") {
			t.Errorf("windows %v: the part is %q, %v", windows, plain, err)
		}
	}
}

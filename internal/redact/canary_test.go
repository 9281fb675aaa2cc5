package redact

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

const (
	alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	lower = "abcdefghijklmnopqrstuvwxyz0123456789"
	hexa  = "0123456789abcdef"
)

// chance returns n random characters, one of them a digit.
func chance(random *rand.Rand, from string, n int) string {
	var out strings.Builder
	for range n - 1 {
		out.WriteByte(from[random.IntN(len(from))])
	}
	return out.String() + "7"
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// utf16b64 returns the form of powershell -EncodedCommand.
func utf16b64(s string) string {
	var data []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		data = append(data, byte(unit), byte(unit>>8))
	}
	return base64.StdEncoding.EncodeToString(data)
}

// wrapped returns base64 in lines, like the output of openssl and YAML.
func wrapped(s, indent string) string {
	out := ""
	for s = b64(s); len(s) > 64; s = s[64:] {
		out += indent + s[:64] + "\n"
	}
	return out + indent + s
}

func pem(kind, key string) string {
	return "-----BEGIN " + kind + "-----\n" + key[:64] + "\n" + key[64:] + "\n-----END " + kind + "-----\n"
}

// canaries are texts with a secret; %s is the place of a secret that resembles a word with a digit.
var canaries = map[string]string{
	"mysql":                    "mysql -u root -p%s demo",
	"mysqldump, full path":     "/usr/bin/mysqldump --all-databases -uroot -p'%s' > dump.sql",
	"mysql.exe in JSON":        `{"command":["mysql.exe","-p%s"]}`,
	"Vault header":             "curl -H 'X-Vault-Token: %s' https://vault.example/v1/secret",
	"Vault header, dumped":     "X-Vault-Token: %s",
	"API header":               `"x-api-key": "%s"`,
	"functions key":            "x-functions-key: %s",
	"DBPASS":                   "DBPASS=%s ./start.sh",
	"DB_PASS, exported":        "export DB_PASS='%s'",
	"PGPASSWORD":               "PGPASSWORD=%s psql -h db",
	"MYSQL_PWD":                "MYSQL_PWD=%s",
	"set":                      "set DBPASS=%s",
	"set, quoted":              `SET "DB_PASS=%s"`,
	"PowerShell environment":   `$env:DB_PASS = '%s'`,
	"PowerShell variable":      `$adminPassword = "%s"`,
	"PowerShell hashtable":     `@{ User = 'x'; Password = '%s' }`,
	"PowerShell here":          `$cred = [pscredential]::new('u', (ConvertTo-SecureString '%s' -AsPlainText -Force))`,
	"bash array":               `PASSWORDS=(); declare -x API_TOKEN="%s"`,
	"YAML field":               "dbPassword: %s",
	"YAML field, camel":        "  dbPass: %s",
	"YAML token with a prefix": "githubToken: %s",
	"YAML environment":         "env:\n- name: DB_PASS\n  value: %s\n",
	"JSON environment":         `{"env":[{"name":"DB_PASS","value":"%s"}]}`,
	"JSON":                     `{"apiKey":"%s"}`,
	"JSON in JSON":             `{"config":"{\"password\":\"%s\",\"user\":\"x\"}"}`,
	"JSON in JSON, token":      `"{\"vaultToken\":\"%s\"}"`,
	"XML attribute":            `<user name="x" password="%s"/>`,
	"XML setting":              `<add key="ApiKey" value="%s" />`,
	"XML element":              "<ApiKey>%s</ApiKey>",
	"answer file":              "<AdministratorPassword><Value>%s</Value><PlainText>true</PlainText></AdministratorPassword>",
	"TOML":                     `password = "%s"`,
	"INI":                      "[client]\npassword=%s\n",
	"properties":               "spring.datasource.password=%s",
	"Ruby":                     `'secret_key' => '%s'`,
	"Go":                       `clientSecret := "%s"`,
	"registry credentials":     `{"auths":{"r.example":{"auth":"%s"}}}`,
	"netrc":                    "machine git.example login someone password %s",
	"SQL":                      "CREATE USER x IDENTIFIED BY '%s'",
	"SQL Server":               "Server=tcp:db.example,1433;User ID=sa;Password=%s;Encrypt=True",
	"sqlcmd":                   "sqlcmd -S db.example -U sa -P %s -Q 'select 1'",
	"redis":                    "redis-cli -h cache.example -a %s ping",
	"mongo":                    "mongosh --host db -u root -p %s",
	"ldapsearch":               "ldapsearch -x -D cn=admin -w %s -b dc=example",
	"PostgreSQL URL":           "postgresql://app:%s@db.example:5432/app?sslmode=require",
	"AMQP URL":                 "amqp://app:%s@queue.example",
	"Redis URL":                "redis://:%s@cache.example:6379/0",
	"git URL":                  "https://oauth2:%s@gitlab.example/x.git",
	"JDBC":                     "jdbc:sqlserver://db:1433;databaseName=x;user=sa;password=%s",
	"ODBC":                     "Driver={ODBC};Server=db;Uid=sa;Pwd=%s;",
	"AccountKey":               "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=%s==;EndpointSuffix=core.windows.net",
	"SharedAccessKey":          "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=%s=",
	"SAS token":                "?sv=2024-11-04&ss=b&srt=co&sp=rl&se=2026-01-01T00:00:00Z&sig=%s%%3D",
	"SAS in a log":             "GET https://x.blob.core.windows.net/c/b?sp=r&sig=%s%%3D&sv=2024 200",
	"bearer":                   "authorization: bearer %s",
	"bearer in curl":           `curl -H "Authorization: Bearer %s" https://x.example`,
	"basic":                    "Proxy-Authorization: Basic %s",
	"cookie of a session":      "_gitlab_session=%s",
	"kubeconfig token":         "users:\n- name: x\n  user:\n    token: %s\n",
	"kubeconfig password":      "users:\n- name: x\n  user:\n    username: x\n    password: %s\n",
	"registry default password": `reg add "HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Winlogon" /v ` +
		`DefaultPassword /t REG_SZ /d %s /f`,
	"vault login":                "vault login %s",
	"npm":                        "//registry.example/:_authToken=%s",
	"smbclient":                  `smbclient //files/share -U 'capi%%%s'`,
	"mount":                      "mount -t cifs //files/share /mnt -o username=capi,password=%s,vers=3.0",
	"az extension":               "az vm extension set --protected-settings '{\"commandToExecute\":\"%s\"}'",
	"annotation":                 "annotations:\n  example.com/db-password: %s\n",
	"annotation, JSON in it":     `{"metadata":{"annotations":{"x":"{\"clientSecret\":\"%s\"}"}}}`,
	"Slack web hook":             "https://hooks.slack.com/services/T00000000/B00000000/%s",
	"custom data of a command":   "az vm create --custom-data %s",
	"ssh password":               "sshpass -p%s ssh capi@10.0.0.4",
	"Java":                       "-Djavax.net.ssl.keyStorePassword=%s",
	"certificate key":            "certificateKey: %s",
	"manifest of a Secret":       "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  ordinary: %s\ntype: Opaque\n",
	"Terraform":                  `administrator_login_password = "%s"`,
	"log of a structured logger": `level=info msg=started client_secret=%s tenant=x`,
}

// marked returns secrets with a recognisable form, in fields whose names do not reveal
// them.
func marked(random *rand.Rand) map[string]string {
	key := chance(random, alnum, 130)
	return map[string]string{
		"GitHub":               "ghp_" + chance(random, alnum, 36),
		"GitHub, fine-grained": "github_pat_" + chance(random, alnum, 82),
		"GitLab":               "glpat-" + chance(random, alnum, 20),
		"AWS":                  "AKIA" + chance(random, upper, 16),
		"Slack":                "xoxb-123456789012-" + chance(random, alnum, 24),
		"Stripe":               "sk_live_" + chance(random, alnum, 24),
		"Google":               "AIza" + chance(random, alnum, 35),
		"npm":                  "npm_" + chance(random, alnum, 36),
		"Vault":                "hvs." + chance(random, alnum, 90),
		"Sourcegraph":          "sgp_" + chance(random, hexa, 40),
		"Entra ID":             "aB38Q~" + chance(random, alnum, 34),
		"storage account":      chance(random, alnum, 86) + "==",
		"container registry":   chance(random, alnum, 42) + "+ACR" + chance(random, alnum, 6),
		"JSON Web Token": strings.TrimRight(b64(`{"alg":"RS256","kid":"x"}`), "=") + "." +
			chance(random, alnum, 40) + "." + chance(random, alnum, 40),
		"bootstrap token":       "abcdef." + chance(random, lower, 16),
		"PKCS 8":                pem("PRIVATE KEY", key),
		"OpenSSH":               pem("OPENSSH PRIVATE KEY", key),
		"encrypted":             pem("ENCRYPTED PRIVATE KEY", key),
		"PGP":                   pem("PGP PRIVATE KEY BLOCK", key),
		"PEM in JSON":           strings.ReplaceAll(pem("EC PRIVATE KEY", key), "\n", `\n`),
		"PEM in base64":         b64(pem("RSA PRIVATE KEY", key)),
		"PEM in wrapped base64": wrapped(pem("RSA PRIVATE KEY", key), "    "),
		"PEM in base64 twice":   b64(b64(pem("RSA PRIVATE KEY", key))),
		"assignment in base64":  b64("DBPASS=" + key + "\n"),
		"JSON in base64":        b64(`{"clientSecret":"` + key + `","tenant":"x"}`),
		"kubeconfig in base64":  b64("apiVersion: v1\nkind: Config\nusers:\n- user:\n    client-key-data: " + b64(key) + "\n"),
		"credentials in base64": "Basic " + b64("someone:"+key[:20]),
		"PowerShell -EncodedCommand": "powershell.exe -EncodedCommand " +
			utf16b64("$p = ConvertTo-SecureString '"+key[:20]+"' -AsPlainText -Force"),
		"cloud-init file in base64":    "content: " + b64("#!/bin/sh\nexport AZURE_CLIENT_SECRET="+key+"\n") + "\nencoding: b64",
		"hash of a password":           "$6$salt$" + chance(random, alnum, 86),
		"user and password of a proxy": "http://proxy:" + key[:16] + "@10.0.0.5:3128",
	}
}

func TestCanaries(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, form := range canaries {
		t.Run(name, func(t *testing.T) {
			for _, secret := range []string{"c4n4ryC4n4ryX9", chance(random, alnum, 24), chance(random, hexa, 32)} {
				text := fmt.Sprintf(form, secret)
				if got := Text(text); strings.Contains(got, secret) || !strings.Contains(got, Mark) {
					t.Errorf("%q becomes %q", text, got)
				}
			}
		})
	}
	for name, secret := range marked(random) {
		t.Run(name, func(t *testing.T) {
			for _, form := range []string{"%s", "found %s there", `{"x":"%s"}`, "x: %s\n", "<x>%s</x>", "X=%s", "see %s, and go on"} {
				text := fmt.Sprintf(form, secret)
				got := Text(text)
				for part := range strings.FieldsSeq(secret) {
					if len(part) > 18 && !strings.HasPrefix(part, "---") && strings.Contains(got, part) {
						t.Errorf("%q becomes %q", text, got)
					}
				}
			}
		})
	}
}

// TestCanariesOfNoSecret: text that only resembles a secret is kept.
func TestCanariesOfNoSecret(t *testing.T) {
	for name, text := range map[string]string{
		"digest": "mcr.microsoft.com/windows/" +
			"nanoserver@sha256:3a2b5d0f9c8e7d6c5b4a39281706f5e4d3c2b1a0998877665544332211ffeedd",
		"image":                       "image: registry.k8s.io/kube-proxy:v1.36.3-windows-ltsc2022",
		"image with a service's name": "image: cloudflare/cloudflared:2026.1.0-amd64",
		"UID":                         "uid: 8f14e45f-ceea-467f-a8d4-2b1c3d4e5f60",
		"provider ID": "providerID: azure:///subscriptions/8f14e45f-ceea-467f-a8d4-2b1c3d4e5f60/" +
			"resourceGroups/demo/providers/Microsoft.Compute/virtualMachines/demo-win-x7k2p",
		"commit":                  "gitCommit: 3c59b2800d4be25cf84aa59ad3b5d4bd0b1f2e66",
		"discovery hash":          "--discovery-token-ca-cert-hash sha256:3a2b5d0f9c8e7d6c5b4a39281706f5e4d3c2b1a0998877665544332211ffeedd",
		"integrity":               "integrity: sha512-" + strings.Repeat("Ab1/", 21) + "Ab==",
		"name of a secret":        "secretName: demo-control-plane-x7k2p",
		"name of a key":           "certificateKeySecretName: demo-md-win-x7k2p-1a2b",
		"reference to a secret":   "secretKeyRef: {name: db, key: password}",
		"pod name":                "kube-proxy-windows-7c9f8b6d5-x7k2p",
		"node name":               "demo-win-x7k2p Ready",
		"resource version":        "resourceVersion: \"12345678901234567890\"",
		"toleration":              "key: node.kubernetes.io/not-ready",
		"public certificate":      "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUXw\n-----END CERTIFICATE-----",
		"public key of SSH":       "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGx1Y2tpbHkgdGhpcyBpcyBwdWJsaWM= capi",
		"base64 of plain text":    "content: " + b64("#!/bin/sh\necho the kubelet of Windows has started\n"),
		"working directory":       "PWD=/root OLDPWD=/etc",
		"words that end like one": "bypass=true compass=north",
		"condition":               "BootstrapFailed: the token has expired: kubeadm token create",
		"Windows build":           "osImage: Windows Server 2022 Datacenter 10.0.20348.2402",
		"time":                    "2026-11-22T10:32:01.123456Z kubelet started",
		"MAC address":             "00-0D-3A-12-34-56",
		"kubelet's flags":         "--kubeconfig=/etc/kubernetes/kubelet.conf --tls-private-key-file=/var/lib/kubelet/pki/kubelet.key",
		"API server's flags":      "--service-account-key-file=/etc/kubernetes/pki/sa.pub --authorization-mode=Node,RBAC",
		"URL":                     "https://demo.eastus.cloudapp.azure.com:6443/api/v1/namespaces/default/pods?limit=500",
		"vault's ID": "keyVaultID: /subscriptions/8f14e45f-ceea-467f-a8d4-2b1c3d4e5f60/" +
			"resourceGroups/g/providers/Microsoft.KeyVault/vaults/v",
		"package path":   `C:\Windows\System32\config\systemprofile\AppData\Local\Temp\2`,
		"Go package":     "sigs.k8s.io/cluster-api/controlplane/kubeadm/internal/controllers",
		"lower snake":    "npm_config_cache_lock_stale",
		"verdict":        "pass: 12, fail: 0",
		"mode of tokens": "automountServiceAccountToken: false",
	} {
		t.Run(name, func(t *testing.T) {
			if got := Text(text); got != text {
				t.Errorf("got  %q\nwant %q", got, text)
			}
		})
	}
}

// TestLinesOfEncodedKeys: a private key is removed from base64 of several lines, of which only the first resembles a
// secret by itself.
func TestLinesOfEncodedKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 7))
	block := wrapped(pem("RSA PRIVATE KEY", chance(random, alnum, 400)), "    ")
	var lines Lines
	var out strings.Builder
	for line := range strings.SplitSeq("key: |\n"+block+"\nkubelet started", "\n") {
		out.WriteString(lines.Text(line) + "\n")
	}
	for part := range strings.FieldsSeq(block) {
		if strings.Contains(out.String(), part) {
			t.Errorf("%q is left:\n%s", part, out.String())
		}
	}
	if !strings.Contains(out.String(), "kubelet started") {
		t.Errorf("the next line is lost:\n%s", out.String())
	}
}

// FuzzCanaries puts random text around a canary, on separate lines.
func FuzzCanaries(f *testing.F) {
	names := slices.Sorted(maps.Keys(canaries))
	for i := range names {
		f.Add(uint64(i), "kubelet started", "and ended")
	}
	f.Add(uint64(2), "-----BEGIN CERTIFICATE-----", "TWFueSBoYW5kcw==")
	f.Add(uint64(3), `{"a": "`, `"}`)
	f.Fuzz(func(t *testing.T, seed uint64, before, after string) {
		secret := chance(rand.New(rand.NewPCG(seed, 5)), alnum, 24)
		if strings.Contains(before+after, secret) {
			return
		}
		name := names[seed%uint64(len(names))]
		text := before + "\n\n" + fmt.Sprintf(canaries[name], secret) + "\n\n" + after
		if got := Text(text); strings.Contains(got, secret) {
			t.Errorf("%s: %q becomes %q", name, text, got)
		}
	})
}

// TestLinesOfNames: the value on the line after its name is removed too, and no other value.
func TestLinesOfNames(t *testing.T) {
	for name, text := range map[string]string{
		"YAML": "- name: DB_PASSWORD\n  value: %s", "JSON": "\"name\": \"SMTP_CRED\",\n\"value\": \"%s\"",
		"an element": "<AdministratorPassword>\n<Value>%s</Value>", "keyMaterial": "<sharedKey>\n<keyMaterial>%s</keyMaterial>",
		"a log": "12:00 x: - name: ApiToken\n12:00 x:   value: '%s'",
	} {
		var l Lines
		for line := range strings.SplitSeq(fmt.Sprintf(text, "tulpenmarkt"), "\n") {
			if got := l.Text(line); strings.Contains(got, "tulpe") {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	var l Lines
	for _, line := range []string{"- name: MODE", "  value: fast", "- name: DB_PASSWORD", "  valueFrom:", "  value: kept"} {
		if got := l.Text(line); got != line {
			t.Errorf("got %q, want %q", got, line)
		}
	}
}

// TestPacked: gzip within base64 is decompressed, whatever its size.
func TestPacked(t *testing.T) {
	pack := func(text string) string {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write([]byte(text))
		w.Close()
		return base64.StdEncoding.EncodeToString(out.Bytes())
	}
	secret := pack("password: " + "tulpenmarkt7\n")
	for _, text := range []string{secret, secret[:len(secret)-8]} {
		if got := Text("content: " + text); strings.Contains(got, secret[:20]) {
			t.Errorf("got %q", got)
		}
	}
	if plain := "content: " + pack("net.ipv4.ip_forward = 1\n"); Text(plain) != plain {
		t.Errorf("got %q", Text(plain))
	}
}

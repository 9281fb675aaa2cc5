package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// word is a secret that has the form of an ordinary word: only its place shows that it is a secret.
const word = "tulpenmarkt"

// inObjects are places in objects where users put a secret with the form of an ordinary word, at %s.
var inObjects = map[string]string{
	// Bootstrap data.
	"command of bootstrap":        `{kind: KubeadmConfig, spec: {preKubeadmCommands: ["login.sh %s"]}}`,
	"command after kubeadm":       `{kind: KubeadmControlPlane, spec: {kubeadmConfigSpec: {postKubeadmCommands: ["echo %s"]}}}`,
	"command of a template":       `{spec: {template: {spec: {postKubeadmCommands: ["powershell -c %s"]}}}}`,
	"boot command":                `{spec: {bootCommands: ["mount %s"]}}`,
	"file":                        `{spec: {files: [{path: /etc/x, content: "greeting: %s"}]}}`,
	"file, appended":              `{spec: {files: [{path: /etc/x, append: true, content: "%s", encoding: base64}]}}`,
	"Ignition":                    `{spec: {ignition: {containerLinuxConfig: {additionalConfig: "x: %s"}}}}`,
	"password hash":               `{spec: {users: [{name: capi, passwd: "%s"}]}}`,
	"user from a Secret's name":   `{spec: {users: [{name: capi, gecos: "%s"}]}}`,
	"a rule of sudo":              `{spec: {users: [{name: capi, sudo: "ALL=(ALL) NOPASSWD: /opt/%s"}]}}`,
	"a user's home":               `{spec: {users: [{name: capi, homeDir: /home/%s}]}}`,
	"discovery":                   `{spec: {joinConfiguration: {discovery: {tlsBootstrapToken: "%s"}}}}`,
	"certificate key":             `{spec: {initConfiguration: {certificateKey: "%s"}}}`,
	"flag of the API server":      `{spec: {clusterConfiguration: {apiServer: {extraArgs: [{name: oidc-client, value: "%s"}]}}}}`,
	"flag of the kubelet":         `{spec: {nodeRegistration: {kubeletExtraArgs: {provider-hint: "%s"}}}}`,
	"environment of etcd":         `{spec: {clusterConfiguration: {etcd: {local: {extraEnvs: [{name: BACKUP, value: "%s"}]}}}}}`,
	"options of a mount":          `{spec: {mountOptions: ["vers=3.0", "who=%s"]}}`,
	"options in fstab":            `{spec: {mounts: [["//share/x", /mnt, cifs, "who=%s"]]}}`,
	"file system options":         `{spec: {diskSetup: {filesystems: [{device: x, extraOpts: ["-x", "%s"]}]}}}`,
	"settings of an extension":    `{properties: {settings: {greeting: "%s"}}}`,
	"protected settings":          `{properties: {protectedSettings: {a: {b: "%s"}}}}`,
	"command of an extension":     `{properties: {settings: {commandToExecute: "setup.exe %s"}}}`,
	"script of a Run Command":     `{properties: {source: {script: "%s"}}}`,
	"parameters of a Run Command": `{properties: {parameters: [{name: who, value: "%s"}]}}`,
	"variables of a topology":     `{spec: {topology: {variables: [{name: greeting, value: "%s"}]}}}`,
	"variables, an object":        `{spec: {topology: {variables: [{name: proxy, value: {host: "%s"}}]}}}`,
	"custom data":                 `{properties: {osProfile: {customData: "%s"}}}`,
	"user data":                   `{properties: {userData: "%s"}}`,
	// Environment.
	"first argument":               `{spec: {containers: [{args: ["%s", --db, x]}]}}`,
	"environment":                  `{spec: {containers: [{env: [{name: GREETING, value: "%s"}]}]}}`,
	"environment of an init":       `{spec: {initContainers: [{env: [{name: X, value: "%s"}]}]}}`,
	"environment of a template":    `{spec: {template: {spec: {containers: [{env: [{name: MODE, value: "%s"}]}]}}}}`,
	"environment, SMTP_CRED":       `{env: [{name: SMTP_CRED, value: "%s"}]}`,
	"environment, PIN":             `{env: [{name: PIN, value: "%s"}]}`,
	"environment, SALT":            `{env: [{name: SALT, value: "%s"}]}`,
	"environment, DSN":             `{env: [{name: DATABASE, value: "db://%s"}]}`,
	"environment, a map":           `{environment: {GREETING: "%s"}}`,
	"environment, a list of words": `{env: ["GREETING=%s"]}`,
	"environment of kubeconfig":    `{users: [{user: {exec: {env: [{name: A, value: "%s"}]}}}]}`,
	// Annotations, tags, headers.
	"annotation":                `{metadata: {annotations: {example.com/note: "%s"}}}`,
	"annotation of a template":  `{spec: {template: {metadata: {annotations: {note: "%s"}}}}}`,
	"annotation in Kubernetes":  `{metadata: {annotations: {custom.kubernetes.io/note: "%s"}}}`,
	"annotation of Cluster API": `{metadata: {annotations: {cluster.x-k8s.io/note: "%s"}}}`,
	"annotation, last applied":  `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "%s"}}}`,
	"managed fields":            `{metadata: {managedFields: [{manager: "%s"}]}}`,
	"tags":                      `{spec: {additionalTags: {contact: "%s"}}}`,
	"tags of a resource":        `{tags: {costs: "%s"}}`,
	"tags, a list":              `{tags: [{key: costs, value: "%s"}]}`,
	"tag of a pool":             `{spec: {template: {additionalTags: {x: "%s"}}}}`,
	"header of a probe":         `{livenessProbe: {httpGet: {httpHeaders: [{name: X-Who, value: "%s"}]}}}`,
	"header of startup":         `{startupProbe: {httpGet: {httpHeaders: [{name: Host, value: "%s"}]}}}`,
	"header of a hook":          `{lifecycle: {postStart: {httpGet: {httpHeaders: [{name: Cookie, value: "a=%s"}]}}}}`,
	"headers, a map":            `{headers: {X-Request: "%s"}}`,
	"headers, lists":            `{headers: {X-Request: ["%s"]}}`,
	// Command lines.
	"argument":                `{args: ["--greeting=%s"]}`,
	"argument after its flag": `{args: ["--greeting", "%s"]}`,
	"argument alone":          `{args: ["serve", "%s"]}`,
	"argument, -k":            `{args: ["-k", "%s"]}`,
	"argument, -pw":           `{command: ["plink", "-pw", "%s", "host"]}`,
	"argument, /pwd":          `{command: ["setup.exe", "/pwd:%s"]}`,
	"argument, --auth":        `{args: ["--auth", "user:%s"]}`,
	"argument, glued":         `{command: ["mysql", "-p%s"]}`,
	"shell":                   `{command: ["sh", "-c", "login %s && run"]}`,
	"PowerShell":              `{command: ["powershell", "-Command", "Set-Thing %s"]}`,
	"probe, exec":             `{readinessProbe: {exec: {command: ["check", "--who", "%s"]}}}`,
	"hook, exec":              `{lifecycle: {preStop: {exec: {command: ["bye", "%s"]}}}}`,
	"exec of kubeconfig":      `{users: [{user: {exec: {command: x, args: ["get-token", "--for", "%s"]}}}]}`,
	// Volumes and fields by their names.
	"attributes of a volume": `{csi: {volumeAttributes: {share: "%s"}}}`,
	"options of a volume":    `{flexVolume: {options: {who: "%s"}}}`,
	"parameters of a class":  `{kind: StorageClass, parameters: {who: "%s"}}`,
	"Secret":                 `{kind: Secret, data: {x: "%s"}}`,
	"Secret, plain":          `{kind: Secret, stringData: {x: "%s"}}`,
	"password":               `{adminPassword: "%s"}`,
	"pw":                     `{x: {pw: "%s"}}`,
	"pin code":               `{pinCode: "%s"}`,
	"instrumentation key":    `{InstrumentationKey: "%s"}`,
	"licence":                `{licenseKey: "%s"}`,
	"cookie":                 `{cookie: "%s"}`,
}

// inTexts are lines of events, conditions and logs with a random secret at %s.
var inTexts = map[string]string{
	"JSON pw":            `{"user":"x","pw":"%s"}`,
	"JSON pw in JSON":    `{"c":"{\"pw\":\"%s\"}"}`,
	"-k":                 "agent.exe -k %s -v",
	"-pw":                "plink.exe -pw %s user@host",
	"/pwd":               "setup.exe /quiet /pwd:%s",
	"/password":          "installer /user:x /password:%s",
	"--auth":             "etcdctl --auth root:%s get x",
	"--user":             "tool --user root:%s",
	"--proxy-user":       "wget --proxy-user u:%s http://x",
	"SMTP_CRED":          "export SMTP_CRED=%s",
	"PIN":                "PIN=%s",
	"SALT":               "SALT: %s",
	"hash salt":          "hash_salt=%s",
	"InstrumentationKey": "InstrumentationKey=%s;IngestionEndpoint=https://x/",
	"Cookie":             "request failed, Cookie: session=%s; a=b",
	"Set-Cookie":         "Set-Cookie: sid=%s; HttpOnly",
	"activation code":    "Activation code: %s accepted",
	"activation code is": "your activation code is %s",
	"product key":        "slmgr.vbs /ipk %s",
	"licence key":        "license key %s",
	"one-time code":      "one-time code: %s",
	"query":              "GET https://x.example/a?who=%s 200",
	"second of a query":  "GET /a?api-version=1&ticket=%s",
	"otp":                "--otp %s",
	"creds":              "--creds u:%s",
	"mnemonic":           "mnemonic=%s",
	"sas":                "BLOB_SAS=%s",
	"dsn":                "SENTRY_DSN=%s",
	"passcode":           "passcode: %s",
	"PowerShell pin":     "$pin = '%s'",
	"YAML, nested":       "smtp:\n  cred: %s\n",
	"recovery key":       "recovery key: %s",
	"access code":        "access code %s",
	"security pin":       "security PIN: %s",
	"pw= in a log":       "level=info pw=%s",
	"properties":         "mail.smtp.cred=%s",
	"query, encoded":     "callback?state=%s&x=1",
	"sftp URL":           "sftp://u:%s@h/",
	"winrm":              "winrs -r:h -u:a -p:%s dir",
	"Datadog":            "DD_API_KEY=%s",
	"after a colon":      "it says: SALT: %s",
	"after two":          "a: b: PIN=%s",
	"in YAML, quoted":    "message: 'it says: $pin = ''%s'''",
	"password, said":     "the password %s is accepted",
}

// hiddenIn adds a word to objects and checks that it is removed from each.
func hiddenIn(t *testing.T, objects map[string]string) {
	t.Helper()
	for name, form := range objects {
		var object any
		if err := yaml.Unmarshal(fmt.Appendf(nil, form, word), &object); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out, err := json.Marshal(Object(object))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), word) {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// TestHundredCanaries adds a secret in many places and forms; none is left.
func TestHundredCanaries(t *testing.T) {
	if n := len(inObjects) + len(inTexts); n < 100 {
		t.Errorf("%d canaries are too few", n)
	}
	hiddenIn(t, inObjects)
	for name, form := range inTexts {
		for _, secret := range []string{"c4n4ryC4n4ry", "48213957", "K7Q2M-9XW4T-R5J8P-B3N6V-H2D7C"} {
			text := fmt.Sprintf(form, secret)
			if got := Text(text); strings.Contains(got, secret) {
				t.Errorf("%s: %q", name, got)
			}
			line := Lines{}
			if got := line.Text(text); strings.Contains(got, secret) {
				t.Errorf("%s, as a line: %q", name, got)
			}
		}
	}
}

// TestNamesAreKept: names that an operator needs are kept.
func TestNamesAreKept(t *testing.T) {
	for form, kept := range map[string][]string{
		`{env: [{name: GREETING, value: x}, {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}`: {
			"GREETING", "NODE_NAME", "spec.nodeName"},
		`{command: ["/usr/bin/kubelet", "--node-ip=10.0.0.4", "--max-pods", "30", "-v", "4", "--config=/etc/kubernetes/kubelet.conf"]}`: {
			"/usr/bin/kubelet", "--node-ip=10.0.0.4", `"30"`, "--config=/etc/kubernetes/kubelet.conf"},
		`{metadata: {annotations: {cluster.x-k8s.io/paused: "true", note: x, deployment.kubernetes.io/revision: "3"}}}`: {
			`"true"`, "note", `"3"`},
		`{additionalTags: {costs: x, sigs.k8s.io_cluster-api-provider-azure_cluster_demo: owned}}`: {"costs", "owned"},
		`{spec: {preKubeadmCommands: ["a", "b"]}}`:                                                 {`["[redacted]","[redacted]"]`},
	} {
		var object any
		if err := yaml.Unmarshal([]byte(form), &object); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(Object(object))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range kept {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s is lost: %s", want, out)
			}
		}
	}
}

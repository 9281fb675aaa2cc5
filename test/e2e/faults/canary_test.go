package faults

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/plane"
)

// planted contains the secrets that the test sets, by description; the cluster generates the
// others.
var planted = map[string]string{
	"file of bootstrap data":   "c4n4ry-in-a-file-0123456789",
	"user's password":          "C4n4ry-passw0rd!",
	"client secret":            "c4n4ry-client-secret-98765",
	"client certificate's key": "c4n4ryCertificateKeyMIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
	"SSH private key":          "c4n4ryOpenSSHb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ",
	"SAS token":                "c4n4rySignature%2Bx7Qy%3D",
	"registry password":        "c4n4ry-registry-p4ss",
	"bearer token":             "c4n4ry-bearer-0123456789abcdef",
	"account key":              "c4n4ryAccountKeyQ2FzZW1lbnQ==",
	"password of a short flag": "c4n4ry-sh0rt-flag",
	"password of net user":     "C4n4ry.net.us3r",
	"literal of PowerShell":    "C4n4ry.secure.str1ng",
	"password of an address":   "c4n4ry-in-an-url",
	"domain join password":     "C4n4ry-j0in-passw0rd",
}

// bootstrapPatch puts secrets into the parts of bootstrap data where users put them: a file, a
// password, keys, and commands that a guest's log repeats.
func bootstrapPatch(t *testing.T) string {
	type object = map[string]any
	add := func(path string, value any) object {
		return object{"op": "add", "path": "/spec/template/spec/" + path, "value": value}
	}
	data, err := json.Marshal([]object{
		add("files/-", object{"path": "C:/planted.txt", "content": "key " + planted["file of bootstrap data"]}),
		add("files/-", object{"path": "C:/id_ed25519", "content": "-----BEGIN OPENSSH PRIVATE KEY-----\n" +
			planted["SSH private key"] + "\n-----END OPENSSH PRIVATE KEY-----\n"}),
		add("files/-", object{"path": "C:/docker/config.json",
			"content": `{"auths":{"r.example":{"username":"u","password":"` + planted["registry password"] + `"}}}`}),
		add("users/0/passwd", planted["user's password"]),
		add("preKubeadmCommands", []string{
			"curl.exe -o C:/x.zip https://a.blob.core.windows.net/c/x.zip?se=2030-01-01&sig=" + planted["SAS token"],
			"docker login r.example -u u --password " + planted["registry password"],
			`curl.exe -H "Authorization: Bearer ` + planted["bearer token"] + `" https://r.example/`,
			"az storage blob download --account-key " + planted["account key"],
			"docker login r.example -u u -p " + planted["password of a short flag"],
			"net user extra " + planted["password of net user"] + " /add",
			"powershell -Command New-LocalUser -Name other -Password (ConvertTo-SecureString '" +
				planted["literal of PowerShell"] + "' -AsPlainText -Force)",
			"git clone https://someone:" + planted["password of an address"] + "@git.example/x.git",
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// purpose lists the commands whose purpose is to print a secret that the user requests.
var purpose = map[string]string{
	"get kubeconfig": "prints the kubeconfig, with the administrator's key, for the user to keep",
	"azure env":      "prints the secret of the local Azure's application as an export, for the user's shell",
}

// silent lists the commands, other than cp, that print nothing when they succeed.
var silent = []string{"docs DIR/docs"}

// invocations contains the arguments with which every command is run. The last one ends the plane.
// Names in capitals are replaced: MACHINE and FAILED by machines, NODE by a node, FILE by a
// manifest with the planted secrets, DIR by a folder.
var invocations = [][]string{
	{"status", "-o", "json"}, {"status"}, {"calls"}, {"get", "clusters", "-o", "yaml"},
	{"tree", "demo", "-o", "yaml"}, {"tree", "demo", "-o", "wide"}, {"wait", "demo", "--timeout", "1s"},
	{"why", "demo", "-o", "yaml"}, {"why", "FAILED"}, {"why", "MACHINE"}, {"doctor", "demo", "-o", "yaml"},
	{"doctor", "demo", "-o", "wide"}, {"doctor", "FAILED", "--fix"}, {"timeline", "MACHINE", "-o", "yaml"},
	{"logs", "MACHINE"}, {"logs", "FAILED"}, {"logs", "FAILED", "--from", "agent"},
	{"logs", "FAILED", "--from", "console"}, {"logs", "NODE", "--from", "kubelet"}, {"logs", "--all", "boot"},
	{"azure", "log"}, {"azure", "log", "-o", "json", "--last", "2000", "--polls"},
	{"azure", "resources", "-o", "yaml"}, {"azure", "faults", "list"}, {"azure", "faults", "add", "throttle"},
	{"azure", "faults", "clear"}, {"azure", "faults", "guest-faults"},
	{"azure", "domain", "add", "other.example", "--dns", "10.9.9.9", "--join-user", "u", "--join-password-file", "PASSWORD"},
	{"azure", "domain", "gmsa", "other.example", "WebApp1"}, {"azure", "domain", "list", "-o", "yaml"},
	{"azure", "domain", "remove", "other.example"},
	{"azure", "env"}, {"azure", "env", "--for", "az"}, {"azure", "snapshot", "DIR/snapshot"}, {"azure", "restore", "--help"},
	{"kubectl", "get", "events", "-A", "-o", "yaml"}, {"kubectl", "describe", "azuremachines,machines,clusters"},
	{"kubectl", "get", "azuremachines,azureclusters", "-o", "yaml"},
	{"kubectl", "get",
		"azuremachines,azureclusters,machines,clusters,machinesets,machinedeployments,kubeadmcontrolplanes", "-o",
		"jsonpath={.items[*].status}"},
	{"ssh", "MACHINE", "--", "hostname"}, {"ssh", "FAILED", "--", "powershell", "Get-Service"},
	{"cp", "MACHINE:C:/k/kubeadm-flags.env", "DIR/"}, {"cp", "FILE", "MACHINE:C:/copy.yaml"},
	{"rdp", "MACHINE", "--file", "DIR/x.rdp", "--open"}, {"fetch", "service/none", "--timeout", "1s"},
	{"generate", "cluster", "demo", "--flavor", "windows"}, {"generate", "addons"},
	{"generate", "lint-webhook", "--image", "x"}, {"generate", "gmsa", "W", "--domain", "none.example"},
	{"adopt", "demo"}, {"azure", "permissions"}, {"lint", "FILE"},
	{"lint", "FILE", "-o", "sarif"}, {"preflight", "FILE"}, {"preflight", "checks"},
	{"preflight", "explain", "PRE202"}, {"lint", "rules"}, {"lint", "explain", "WIN001"},
	{"preflight", "FILE", "-o", "yaml"},
	{"addons", "list"}, {"addons", "install", "calico", "--cluster", "demo"}, {"azure", "prepare", "FILE"}, {"azure", "record", "--help"},
	{"images", "list"}, {"images", "show", "v1.36.3"}, {"images", "build", "DIR/none.yaml"},
	{"images", "pins", "DIR/none.yaml"}, {"images", "sbom", "DIR/none.yaml"}, {"images", "diff", "/a", "/b"}, {"images", "prune", "--list"},
	{"completion", "bash"}, {"completion", "zsh"}, {"completion", "fish"}, {"completion", "powershell"},
	{"version"}, {"help", "why"}, {"docs", "DIR/docs"}, {"up"},
	{"support", "demo", "--file", "DIR/support.tgz"}, {"ui", "--save", "DIR/ui.html"},
	{"azure", "serve", "--help"}, {"azure", "reset", "--yes"}, {"down"},
}

// TestNoSecretIsShown plants secrets, lets a machine fail, and searches for the secrets in the
// output of every command, in the plane's log, and in events, conditions and statuses.
func TestNoSecretIsShown(t *testing.T) {
	if !*full {
		t.Skip("only with -full: it takes a minute and a plane of its own; make e2e-faults has it")
	}
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=1", "WORKER_MACHINE_COUNT=1", "CONTROL_PLANE_MACHINE_COUNT=1", "SSH_AUTH_SOCK=")
	p.Run(nil, "up")
	planted["client secret"] = p.ClientSecret() // the plane's own secret, because Azure accepts no other
	p.Run(nil, "kubectl", "patch", "secret", "cluster-identity-secret", "-p", `{"stringData":{"certificate":"---`+
		`--BEGIN PRIVATE KEY-----\n`+planted["client certificate's key"]+`\n-----END PRIVATE KEY-----\n"}}`)
	// The Windows machines have their bootstrap data in custom data, the only place where it may
	// contain a password; the other machines have it in the vault.
	const release = "        windowsServerVersion:"
	generated := p.Run(nil, "generate", "cluster", "demo", "--flavor", "windows")
	manifest := strings.Replace(generated, release, "        infrastructure.cluster.x-k8s.io/bootstrap-secrets: CustomData\n"+release, 1)
	if manifest == generated {
		t.Fatalf("there is no %s in the flavor", release)
	}
	p.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	s := &scene{plane: p, workload: p.Workload("demo"), set: "demo-md-win"}
	// A second machine gets planted bootstrap data and a token that is refused.
	s.manage("patch", "kubeadmconfigtemplate", s.set, "--type=json", "-p", bootstrapPatch(t))
	p.Run(nil, append([]string{"azure", "faults", "add"}, guestFault("wrong-ca")...)...)
	first := s.machines()[0]
	s.grow()
	if got, ok := s.ask(func(a answer) bool { return a.Means.Cause == "CACertHashMismatch" }); !ok {
		t.Fatalf("the machine does not fail: %+v", got)
	}
	last := s.machines()[0]
	for _, m := range s.machines() {
		if m != first {
			last = m
		}
	}
	secrets := slices.Concat(s.secrets(t), slices.Collect(maps.Values(planted)))
	if len(secrets) < 15 {
		t.Fatalf("only %d secrets are looked for", len(secrets))
	}
	dir := t.TempDir() // the plane's directory is for its own files only
	file := filepath.Join(dir, "planted.yaml")
	template := s.manage("get", "kubeadmconfigtemplate", s.set, "-o", "yaml")
	for _, one := range []string{"user's password", "SAS token", "registry password", "bearer token",
		"password of net user", "literal of PowerShell"} {
		if !strings.Contains(template, planted[one]) {
			t.Fatalf("the %s is not planted", one)
		}
	}
	if err := os.WriteFile(file, []byte(manifest+"\n---\n"+template), 0o600); err != nil {
		t.Fatal(err)
	}
	join := filepath.Join(dir, "join-password")
	if err := os.WriteFile(join, []byte(planted["domain join password"]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("PASSWORD", join, "MACHINE", first, "FAILED", last, "NODE", s.node(), "FILE", file, "DIR", dir)
	shown := map[string]string{"events of the workload cluster": s.workload("get", "events", "-A", "-o", "yaml")}
	log, err := os.ReadFile(filepath.Join(p.Home, "casement.log"))
	if err != nil {
		t.Fatal(err)
	}
	shown["casement.log"] = string(log)
	for _, c := range invocations {
		args := make([]string, len(c))
		for i := range c {
			args[i] = names.Replace(c[i])
		}
		if out := p.Everything(args...); len(out) > 0 {
			shown[strings.Join(c, " ")] = out
		} else if !slices.Contains(silent, strings.Join(c[:min(2, len(c))], " ")) && c[0] != "cp" {
			t.Errorf("%v prints nothing", c)
		}
	}
	shown["the archive of support"] = archived(t, filepath.Join(dir, "support.tgz"))
	saved, err := os.ReadFile(filepath.Join(dir, "ui.html"))
	if err != nil {
		t.Fatal(err)
	}
	shown["the saved page"] = string(saved)
	for where, text := range shown {
		for i, secret := range secrets {
			asked := strings.HasPrefix(where, "azure env") && secret == planted["client secret"] // see purpose
			if at := strings.Index(text, secret); at >= 0 && !asked {
				t.Errorf("%s shows secret %d (%.10s...) after %q", where, i, secret, text[max(0, at-60):at])
			}
		}
	}
	if !t.Failed() {
		t.Logf("%d secrets are in none of %d outputs", len(secrets), len(shown))
	}
}

// TestEveryCommandIsLookedAt checks that invocations contains every command, and that every
// exception still has its reason.
func TestEveryCommandIsLookedAt(t *testing.T) {
	p := plane.New(t)
	var walk func(path ...string)
	walk = func(path ...string) {
		subs := subcommands(p.Everything(append(path, "--help")...))
		for _, name := range subs {
			walk(append(slices.Clone(path), name)...)
		}
		name := strings.Join(path, " ")
		runs := slices.ContainsFunc(invocations, func(c []string) bool { return len(c) >= len(path) && slices.Equal(c[:len(path)], path) })
		if reason, exempt := purpose[name]; len(subs) == 0 && !runs && (!exempt || reason == "") {
			t.Errorf("%s is neither looked at nor exempt for a reason", name)
		}
	}
	walk()
}

var helpRow = regexp.MustCompile(`(?m)^  ([a-z-]+) {2,}\S`)

// subcommands returns the names of the subcommands in a help text.
func subcommands(help string) []string {
	_, list, _ := strings.Cut(help, "Available Commands:")
	list, _, _ = strings.Cut(list, "\nFlags:")
	var out []string
	for _, m := range helpRow.FindAllStringSubmatch(list, -1) {
		out = append(out, m[1])
	}
	return out
}

// secrets returns the secrets of the clusters: tokens, keys, the keys of certificates, and complete
// bootstrap data.
func (s *scene) secrets(t *testing.T) []string {
	t.Helper()
	var out []string
	take := func(text string) {
		var list struct {
			Items []struct {
				Type string
				Data map[string]string
			}
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		for _, secret := range list.Items {
			for key, value := range secret.Data {
				raw, err := base64.StdEncoding.DecodeString(value)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case key == "token-secret":
					out = append(out, string(raw))
				case key == "tls.key", key == "ssh-privatekey":
					out = append(out, strings.Split(string(raw), "\n")[1])
				case key == "value":
					for _, m := range keyData.FindAllStringSubmatch(string(raw), -1) {
						out = append(out, m[1][len(m[1])-60:])
					}
				}
			}
		}
	}
	take(s.manage("get", "secrets", "-A", "-o", "json"))
	take(s.workload("get", "secrets", "-A", "-o", "json"))
	slices.Sort(out)
	return slices.Compact(out)
}

// keyData matches the client key in a kubeconfig.
var keyData = regexp.MustCompile(`client-key-data: (\S{80,})`)

// archived returns the text of all files in a support archive.
func archived(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for r := tar.NewReader(gz); ; {
		if _, err := r.Next(); err == io.EOF {
			return all.String()
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&all, r); err != nil {
			t.Fatal(err)
		}
	}
}

package faults

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/test/plane"
)

// planted are secrets that the test puts in; the others are those that the cluster
// makes itself.
const (
	plantedFile     = "c4n4ry-in-a-file-0123456789"
	plantedPassword = "C4n4ry-passw0rd!"
	plantedSecret   = "c4n4ry-client-secret-98765"
)

// exempt are the commands that show no object or log, or whose purpose a secret is.
var exempt = []string{"completion", "help", "version", "lint", "up", "down", "images", "addons", "cp", "fetch", "kubectl", "rdp", "ssh", "preflight", "generate"}

// TestNoSecretIsShown plants secrets, lets a machine fail, and looks for them in
// what every command that shows anything prints, in the plane's log, and in events,
// conditions and statuses.
func TestNoSecretIsShown(t *testing.T) {
	if !*full {
		return // it takes a minute and a plane of its own; make e2e-faults has it
	}
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=1", "WORKER_MACHINE_COUNT=1", "CONTROL_PLANE_MACHINE_COUNT=1", "SSH_AUTH_SOCK=")
	p.Run(nil, "up")
	p.Run(nil, "kubectl", "patch", "secret", "cluster-identity-secret", "-p", `{"stringData":{"clientSecret":"`+plantedSecret+`"}}`)
	manifest := p.Run(nil, "generate", "cluster", "demo", "--flavor", "windows")
	p.Run([]byte(manifest), "kubectl", "apply", "-f", "-")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	s := &scene{plane: p, workload: p.Workload("demo"), set: "demo-md-win"}
	// A second machine gets planted bootstrap data, and a token that is refused.
	s.manage("patch", "kubeadmconfigtemplate", s.set, "--type=json", "-p",
		`[{"op":"add","path":"/spec/template/spec/files/-","value":{"path":"C:/planted.txt","content":"key `+plantedFile+`"}},{"op":"add","path":"/spec/template/spec/users/0/passwd","value":"`+plantedPassword+`"}]`)
	p.Run(nil, append([]string{"azure", "faults", "add"}, ails("wrong-ca")...)...)
	first := s.machines()[0]
	s.grow()
	if got, ok := s.ask(func(a answer) bool { return a.Cause == "CACertHashMismatch" }); !ok {
		t.Fatalf("the machine does not fail: %+v", got)
	}
	last := s.machines()[0]
	for _, m := range s.machines() {
		if m != first {
			last = m
		}
	}
	secrets := append(s.secrets(t), plantedFile, plantedPassword, plantedSecret)
	if len(secrets) < 12 {
		t.Fatalf("only %d secrets are looked for", len(secrets))
	}
	commands := [][]string{
		{"status", "-o", "json"}, {"calls"}, {"get", "clusters", "-o", "yaml"}, {"tree", "demo", "-o", "yaml"}, {"wait", "demo", "--timeout", "1s"},
		{"why", "demo", "-o", "yaml"}, {"why", last}, {"why", first}, {"doctor", "demo", "-o", "yaml"}, {"doctor", "demo", "-o", "wide"}, {"timeline", first, "-o", "yaml"},
		{"logs", first}, {"logs", last}, {"azure", "log"}, {"azure", "log", "-o", "json"}, {"azure", "resources", "-o", "yaml"}, {"azure", "faults", "list"},
		{"kubectl", "get", "events", "-A", "-o", "yaml"},
		{"kubectl", "get", "azuremachines,azureclusters,machines,clusters,machinesets,machinedeployments,kubeadmcontrolplanes", "-o", "jsonpath={.items[*].status}"},
		{"kubectl", "get", "azuremachines,azureclusters", "-o", "yaml"},
	}
	shown := map[string]string{}
	for _, c := range commands {
		out, err := p.Try(nil, c...)
		if err != nil {
			out = err.Error() // what it printed is in it
		}
		if len(out) < 20 {
			t.Errorf("%v prints next to nothing: %q", c, out)
		}
		shown[strings.Join(c, " ")] = out
	}
	shown["events of the workload cluster"] = s.workload("get", "events", "-A", "-o", "yaml")
	log, err := os.ReadFile(filepath.Join(p.Home, "casement.log"))
	if err != nil {
		t.Fatal(err)
	}
	shown["casement.log"] = string(log)
	shown["support demo"] = s.archive(t)
	for where, text := range shown {
		for i, secret := range secrets {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s shows secret %d (%.6s...) after %q", where, i, secret, text[max(0, at-60):at])
			}
		}
	}
	t.Logf("%d secrets are in none of %d outputs", len(secrets), len(shown))
	for _, name := range topCommands(p.Run(nil, "--help")) {
		seen := slices.Contains(exempt, name) || name == "support"
		for _, c := range commands {
			seen = seen || c[0] == name
		}
		if !seen {
			t.Errorf("command %s is neither looked at nor exempt", name)
		}
	}
}

var helpRow = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`)

// topCommands are the commands that the help lists.
func topCommands(help string) []string {
	_, list, _ := strings.Cut(help, "Available Commands:")
	list, _, _ = strings.Cut(list, "\nFlags:")
	var out []string
	for _, m := range helpRow.FindAllStringSubmatch(list, -1) {
		out = append(out, m[1])
	}
	return out
}

// secrets are those that the clusters hold: tokens, keys and certificates' keys, and
// whole bootstrap data.
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

// keyData is a client's key in a kubeconfig.
var keyData = regexp.MustCompile(`client-key-data: (\S{80,})`)

// archive is all text of the support archive.
func (s *scene) archive(t *testing.T) string {
	t.Helper()
	file := filepath.Join(s.plane.Home, "support.tgz")
	s.plane.Run(nil, "support", "demo", "--file", file)
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

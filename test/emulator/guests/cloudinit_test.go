package guests

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/testing/golden"
)

// userData is an input of cloud-init and the result of the real cloud-init.
type userData struct {
	Answer cloudInitAnswer `json:"answer"`
	Data   string          `json:"data"` // in base64
	Name   string          `json:"name"`
}

type cloudInitAnswer struct {
	Boothooks int      `json:"boothooks"`
	Failed    []string `json:"failed"`
	Files     map[string]struct {
		Content string `json:"content"` // in base64
		Mode    int    `json:"mode"`
	} `json:"files"`
	Scripts map[string]string `json:"scripts"`
	Users   []string          `json:"users"`
}

const (
	cloudInitFile        = "testdata/cloudinit.json"
	cloudInitDifferences = "testdata/cloudinit.differences.tsv"
)

// TestCloudInit checks that a Linux guest and cloud-init have the same results for user data: files
// and their modes, scripts and commands in their order, and failures.
func TestCloudInit(t *testing.T) {
	var inputs []userData
	read(t, cloudInitFile, &inputs)
	if *real || golden.Update() {
		inputs = askCloudInit(t, inputs)
	}
	known := knownDifferences(t, cloudInitDifferences)
	same, refused, wrong := 0, 0, 0
	for i, in := range inputs {
		difference, refuses := in.differs(t, i)
		_, listed := known[in.Name]
		delete(known, in.Name)
		switch {
		case difference == "" && listed:
			t.Errorf("%s: the listed difference is gone: take it out of %s", in.Name, cloudInitDifferences)
		case difference == "":
			same++
		case refuses:
			refused++
		default:
			wrong++
			if !listed {
				text, _ := base64.StdEncoding.DecodeString(in.Data)
				t.Errorf("%s differs\n%s%.300q", in.Name, difference, text)
			}
		}
	}
	for name := range known {
		t.Errorf("%s lists an input that is not there: %s", cloudInitDifferences, name)
	}
	t.Logf("cloud-init, %d inputs: same %d, honest refusal %d, wrong %d", len(inputs), same, refused, wrong)
	if wrong*50 > len(inputs) {
		t.Errorf("%d of %d inputs differ in silence: at most 2 in 100 may", wrong, len(inputs))
	}
}

// knownDifferences returns the reasons for known differences, by the name of the input.
func knownDifferences(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, reason, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !strings.HasPrefix(line, "#") {
			known[name] = reason
		}
	}
	return known
}

// askCloudInit runs the inputs through the real cloud-init, with the Python packages in the folder
// that CLOUD_INIT_PYTHONPATH names, or without it with those of this machine.
func askCloudInit(t *testing.T, inputs []userData) []userData {
	t.Helper()
	in, err := json.Marshal(inputs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/judge_cloud_init.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+os.Getenv("CLOUD_INIT_PYTHONPATH"))
	cmd.Stdin = bytes.NewReader(in)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the real cloud-init cannot be asked: install Debian's package cloud-init, or unpack it and "+
			"name its folder in CLOUD_INIT_PYTHONPATH: %v\n%s", err, errs.String())
	}
	var answered []userData
	if err := json.Unmarshal(out, &answered); err != nil {
		t.Fatal(err)
	}
	if golden.Update() {
		if err := os.WriteFile(cloudInitFile, append(bytes.TrimSpace(out), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return answered
}

// differs boots a guest with the input and returns how its result differs from the real one.
func (in userData) differs(t *testing.T, i int) (difference string, refused bool) {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(in.Data)
	if err != nil {
		t.Fatal(err)
	}
	g, err := guest.New(guest.Config{Machine: guest.Machine{ID: fmt.Sprint("vm-", i), InstanceID: "i-1",
		Dir: t.TempDir(), OS: guest.Linux, ComputerName: "c1-md-0-abcde", AdminUsername: "capi",
		IPs:        []netip.Addr{netip.MustParseAddr("10.1.0.4")},
		Image:      guest.Image{Name: "Ubuntu 24.04", Release: "24.04", Build: "6.8.0", KubernetesVersion: "v1.36.3"},
		CustomData: data}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Boot(t.Context()); err != nil {
		return err.Error(), false
	}
	var b strings.Builder
	root, want := g.Machine().Root, in.Answer
	for _, name := range slices.Sorted(maps.Keys(want.Files)) {
		content, _ := base64.StdEncoding.DecodeString(want.Files[name].Content)
		got, err := root.ReadFile(name)
		if err != nil || !bytes.Equal(got, content) {
			fmt.Fprintf(&b, "  %s: %.200q, guest %.200q (%v)\n", name, content, got, err)
			continue
		}
		if info, err := root.Stat(name); err == nil && int(info.Mode().Perm()) != want.Files[name].Mode {
			fmt.Fprintf(&b, "  %s: mode %o, guest %o\n", name, want.Files[name].Mode, info.Mode().Perm())
		}
	}
	for _, name := range []string{"/out/a", "/out/after", "/out/o", "/out/p", "/out/c", "/out/b", "/out/f",
		"/out/e", "/out/d", "/out/m", "/out/1", "/out/2"} {
		if _, ok := want.Files[name]; !ok && root.Exists(name) {
			fmt.Fprintf(&b, "  %s: the guest has it\n", name)
		}
	}
	const scripts = "/var/lib/cloud/instance/scripts"
	got := map[string]string{}
	entries, err := root.ReadDir(scripts)
	if err == nil {
		for _, e := range entries {
			text, _ := root.ReadFile(scripts + "/" + e.Name())
			got[e.Name()] = string(text)
		}
	}
	if !maps.Equal(got, want.Scripts) {
		fmt.Fprintf(&b, "  scripts: %q, guest %q\n", want.Scripts, got)
	}
	message := g.Status().Message
	for _, module := range []string{"write_files", "runcmd"} {
		failed := strings.Contains(message, "module "+module+" failed") || strings.Contains(message, "module "+module+"_deferred failed")
		if slices.Contains(want.Failed, module) != failed {
			fmt.Fprintf(&b, "  module %s failed: %v, guest %v (%s)\n", module, slices.Contains(want.Failed, module), failed, message)
		}
	}
	return b.String(), strings.Contains(message, "casement does not simulate")
}

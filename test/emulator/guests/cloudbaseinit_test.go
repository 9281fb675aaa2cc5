package guests

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/testing/golden"
)

// cloudbaseInitAnswer is the result of the real cloudbase-init for user data: the files that it
// writes, by path; the marks that its scripts set, in their order; the accounts; and whether the
// plugin failed with an exception.
type cloudbaseInitAnswer struct {
	Failed bool `json:"failed"`
	Files  map[string]struct {
		Content  string `json:"content"` // in base64
		Readonly bool   `json:"readonly"`
	} `json:"files"`
	Ran   []string `json:"ran"`
	Users []string `json:"users"`
}

const (
	cloudbaseInitFile        = "testdata/cloudbaseinit.json"
	cloudbaseInitDifferences = "testdata/cloudbaseinit.differences.tsv"
	// cloudbaseInitPath is the name of the variable with the folders of the real cloudbase-init and
	// of its imports, in the format of PYTHONPATH.
	cloudbaseInitPath = "CLOUDBASE_INIT_PYTHONPATH"
)

// TestCloudbaseInit checks that a Windows guest and cloudbase-init's UserDataPlugin have the same
// results for user data.
func TestCloudbaseInit(t *testing.T) {
	inputs := cloudbaseInputs()
	answers := map[string]cloudbaseInitAnswer{}
	if where := os.Getenv(cloudbaseInitPath); where != "" && (*real || golden.Update()) {
		answers = askCloudbaseInit(t, where, inputs)
	} else {
		if *real {
			t.Logf("the real cloudbase-init is not asked, its stored answers are: unpack its source and what it "+
				"imports (Debian: python3-oslo.*), and name the folders in %s", cloudbaseInitPath)
		}
		read(t, cloudbaseInitFile, &answers)
	}
	known := knownDifferences(t, cloudbaseInitDifferences)
	same, refused, wrong := 0, 0, 0
	for i, in := range inputs {
		answer, asked := answers[in.name]
		if !asked {
			t.Errorf("%s: there is no stored answer: go test -update with %s asks for it", in.name, cloudbaseInitPath)
			continue
		}
		difference, refuses := answer.differs(t, i, in.data)
		_, listed := known[in.name]
		delete(known, in.name)
		switch {
		case difference == "" && listed:
			t.Errorf("%s: the listed difference is gone: take it out of %s", in.name, cloudbaseInitDifferences)
		case difference == "":
			same++
		case refuses:
			refused++
		default:
			wrong++
			if !listed {
				t.Errorf("%s differs\n%s%.400q", in.name, difference, in.data)
			}
		}
	}
	for name := range known {
		t.Errorf("%s lists an input that is not there: %s", cloudbaseInitDifferences, name)
	}
	t.Logf("cloudbase-init, %d inputs: same %d, honest refusal %d, wrong %d", len(inputs), same, refused, wrong)
	if wrong*50 > len(inputs) {
		t.Errorf("%d of %d inputs differ in silence: at most 2 in 100 may", wrong, len(inputs))
	}
}

// askCloudbaseInit runs the inputs through the real plugin's Python.
func askCloudbaseInit(t *testing.T, where string, inputs []cloudbaseInput) map[string]cloudbaseInitAnswer {
	t.Helper()
	type item struct {
		Name string `json:"name"`
		Data string `json:"data"`
	}
	var items []item
	for _, in := range inputs {
		items = append(items, item{in.name, base64.StdEncoding.EncodeToString([]byte(in.data))})
	}
	list, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/judge_cloudbase_init.py")
	cmd.Env, cmd.Stdin = append(os.Environ(), "PYTHONPATH="+where), bytes.NewReader(list)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the real cloudbase-init cannot be asked: %v\n%s", err, errs.String())
	}
	answers := map[string]cloudbaseInitAnswer{}
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatal(err)
	}
	if golden.Update() {
		if err := os.WriteFile(cloudbaseInitFile, append(bytes.TrimSpace(out), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return answers
}

// differs boots a guest with user data and returns how its result differs from the real one.
func (want cloudbaseInitAnswer) differs(t *testing.T, i int, data string) (difference string, refused bool) {
	t.Helper()
	var ran []string
	mark := func(_ context.Context, p *guest.Process) int {
		ran = append(ran, strings.Join(p.Args[1:], " "))
		return 0
	}
	const host = "c1-md-0-abcde"
	g, err := guest.New(guest.Config{Commands: map[string]guest.Command{"mark": mark}, Machine: guest.Machine{
		ID: fmt.Sprint("vm-", i), InstanceID: "i-1", Dir: t.TempDir(), OS: guest.Windows, ComputerName: host,
		AdminUsername: "capi", IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")},
		Image: guest.Image{Name: "Windows Server 2022 Datacenter", Release: "2022", Build: "10.0.20348.2700",
			KubernetesVersion: "v1.36.3"}, CustomData: []byte(data)}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Boot(t.Context()); err != nil {
		return err.Error(), false
	}
	m, b := g.Machine(), &strings.Builder{}
	for _, name := range slices.Sorted(maps.Keys(want.Files)) {
		content, _ := base64.StdEncoding.DecodeString(want.Files[name].Content)
		got, err := m.Root.ReadFile(name)
		if strings.HasSuffix(name, "authorized_keys") {
			got, content = bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
		}
		if err != nil || !bytes.Equal(got, content) {
			fmt.Fprintf(b, "  %s: %.200q, guest %.200q (%v)\n", name, content, got, err)
			continue
		}
		if info, err := m.Root.Stat(name); err == nil && (info.Mode().Perm()&0o200 == 0) != want.Files[name].Readonly {
			fmt.Fprintf(b, "  %s: read-only %v, guest %v\n", name, want.Files[name].Readonly, !want.Files[name].Readonly)
		}
	}
	for _, name := range below(m.Root.ReadDir, `C:\out`) {
		if _, ok := want.Files[name]; !ok {
			fmt.Fprintf(b, "  %s: the guest has it\n", name)
		}
	}
	if !slices.Equal(ran, want.Ran) {
		fmt.Fprintf(b, "  ran %q, guest %q\n", want.Ran, ran)
	}
	for _, name := range []string{"ann", "bob", "eve"} {
		if m.HasUser(name) != slices.Contains(want.Users, name) {
			fmt.Fprintf(b, "  user %s: %v, guest %v\n", name, !m.HasUser(name), m.HasUser(name))
		}
	}
	s := g.Status()
	if failed := s.Provisioned == guest.ProvisionedFailed &&
		!strings.Contains(s.Message, "asks for another restart"); failed != want.Failed {
		fmt.Fprintf(b, "  failed %v, guest %v (%s)\n", want.Failed, failed, s.Message)
	}
	return b.String(), strings.Contains(s.Message, "casement does not simulate")
}

// below returns the paths of the files in a folder of the guest and in its subfolders.
func below(list func(string) ([]fs.DirEntry, error), folder string) []string {
	entries, err := list(folder)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		name := strings.ReplaceAll(path.Join(strings.ReplaceAll(folder, `\`, "/"), e.Name()), "/", `\`)
		if e.IsDir() {
			out = append(out, below(list, name)...)
		} else {
			out = append(out, name)
		}
	}
	return out
}

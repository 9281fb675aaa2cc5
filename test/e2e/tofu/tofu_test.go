package tofu

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"casement.dev/casement/internal/testing/plane"
)

var (
	program  = flag.String("tofu", "", "the program tofu or terraform")
	provider = flag.String("azurerm", "", "the program of its provider azurerm")
	only     = flag.String("only", "", "apply the resources of these files of testdata, comma separated, and what they need")
)

// patience limits one command. The provider itself waits two minutes for the name of a new vault.
const patience = 30 * time.Minute

// The least numbers of resources and types in the configuration, so that it is not reduced
// unnoticed.
const (
	leastResources = 100
	leastTypes     = 70
)

// TestTofu creates, changes, imports and deletes the resources of a configuration as users write
// it.
func TestTofu(t *testing.T) {
	if *program == "" || *provider == "" {
		t.Skip("no -tofu or no -azurerm: make e2e-tofu TOFU=PATH AZURERM=PATH")
	}
	s := start(t)
	s.do("apply", func() { s.created(s.tofu("apply", "-auto-approve", "-input=false", "-json")) })
	s.do("plan: no changes", func() { s.unchanged() })
	before := s.resources()
	if types := typesOf(before); *only == "" && (len(before) < leastResources || len(types) < leastTypes) {
		t.Errorf("%d resources of %d types, want %d of %d", len(before), len(types), leastResources, leastTypes)
	}
	s.vars = append(s.vars, "TF_VAR_stage=2")
	s.do("change", func() { s.tofu("apply", "-auto-approve", "-input=false") })
	s.do("plan: no changes", func() { s.unchanged() })
	s.do("import all", s.imported)
	s.do("destroy", func() { s.tofu("destroy", "-auto-approve", "-input=false") })
	if left := s.casement("azure", "resources", "-o", "json"); strings.Contains(left, `"id"`) {
		t.Errorf("destroy leaves\n%s", left)
	}
	t.Log("\n" + s.table(before))
}

// importPlan is the file name of the plan with the imports.
const importPlan = "import.plan"

// scene is a local Azure with a configuration in a separate folder.
type scene struct {
	t *testing.T
	// home is the state directory of the local Azure; dir is the folder of the configuration.
	home, dir, bin string
	vars           []string
	rows           []row
	// seconds contains the time that the program took to create the resources of each type, one
	// after the other.
	seconds map[string]float64
}

// row is one step with the number of requests that the local Azure answered during it.
type row struct {
	what  string
	took  time.Duration
	calls int
}

// start starts a local Azure, copies the configuration of testdata, and configures the program to
// find the provider.
func start(t *testing.T) *scene {
	t.Helper()
	home, err := os.MkdirTemp("", "tofu") // the path of t.TempDir is too long for Unix sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	s := &scene{t: t, home: home, dir: t.TempDir(), bin: plane.Binary(t, "casement"), seconds: map[string]float64{}}
	s.serve()
	s.configure()
	s.vars = append(s.environment(), "TF_CLI_CONFIG_FILE="+filepath.Join(s.dir, "cli.rc"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1",
		"TF_VAR_ssh_key="+publicKey(t))
	if err := os.CopyFS(s.dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	return s
}

// serve runs the local Azure until the test ends.
func (s *scene) serve() {
	s.t.Helper()
	azure := exec.Command(s.bin, "azure", "serve", "--state", s.home, "--proxy", "127.0.0.1:0")
	ready, err := azure.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	var problems bytes.Buffer
	azure.Stderr = &problems
	if err := azure.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = azure.Process.Signal(syscall.SIGTERM) // Wait returns the error of a process that has already ended
		if err := azure.Wait(); err != nil {
			s.t.Errorf("casement azure serve: %v\n%s", err, problems.Bytes())
		}
	})
	if _, err := ready.Read(make([]byte, 4096)); err != nil {
		s.t.Fatalf("casement azure serve did not say that it is ready: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, ready) }()
}

// configure writes the program's CLI configuration, with which it finds the provider without a
// registry.
func (s *scene) configure() {
	s.t.Helper()
	dir := s.t.TempDir()
	path, err := filepath.Abs(*provider)
	if err == nil {
		err = os.Symlink(path, filepath.Join(dir, "terraform-provider-azurerm"))
	}
	if err == nil {
		// Terraform and OpenTofu complete the provider's name with different registries.
		err = os.WriteFile(filepath.Join(s.dir, "cli.rc"), fmt.Appendf(nil,
			"provider_installation {\n  dev_overrides {\n    \"hashicorp/azurerm\" = %q\n  }\n  direct {}\n}\n", dir), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// environment returns the variables that `casement azure env` prints for the provider, as a shell
// evaluates them.
func (s *scene) environment() []string {
	s.t.Helper()
	lines := s.casement("azure", "env", "--terraform")
	out, err := exec.CommandContext(s.t.Context(), "env", "-i", "sh", "-c", lines+"\nenv").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// publicKey returns a new public key for machines; azurerm accepts only RSA keys.
func publicKey(t *testing.T) string {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func (s *scene) casement(args ...string) string {
	s.t.Helper()
	return string(plane.Output(s.t, s.dir, s.bin, append(args, "--state", s.home)...))
}

// run runs the program in the configuration's folder.
func (s *scene) run(args ...string) ([]byte, error) {
	if *only != "" && (args[0] == "apply" || args[0] == "plan") && !slices.Contains(args, importPlan) {
		args = append(args, s.targets()...)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, *program, args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.vars...)
	// The program forwards an interrupt to its provider; a killed provider would leave a lock.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd.CombinedOutput()
}

func (s *scene) tofu(args ...string) string {
	s.t.Helper()
	out, err := s.run(append(args, "-no-color")...)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// targets returns the -target options for the resources in the files that -only names.
func (s *scene) targets() []string {
	var out []string
	for file := range strings.SplitSeq(*only, ",") {
		text, err := os.ReadFile(filepath.Join(s.dir, file+".tf"))
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Split(line, `"`); strings.HasPrefix(line, "resource ") && len(f) > 3 {
				out = append(out, "-target="+f[1]+"."+f[3])
			}
		}
	}
	return out
}

// unchanged checks that a plan contains no change.
func (s *scene) unchanged() {
	s.t.Helper()
	if out, err := s.run("plan", "-detailed-exitcode", "-input=false", "-no-color"); err != nil {
		s.t.Errorf("a plan after the apply: %v\n%s", err, out)
	}
}

// do runs a step and records its duration and requests.
func (s *scene) do(what string, f func()) {
	s.t.Helper()
	begun, calls := time.Now(), sum(s.calls())
	f()
	s.rows = append(s.rows, row{what, time.Since(begun), sum(s.calls()) - calls})
	s.t.Logf("%s: %.1f s", what, time.Since(begun).Seconds())
}

// calls returns the number of requests that the local Azure has answered, by resource type.
func (s *scene) calls() map[string]int {
	s.t.Helper()
	var log struct {
		Counters []struct {
			Type  string
			Count int
		}
	}
	if err := json.Unmarshal([]byte(s.casement("calls", "-o", "json")), &log); err != nil {
		s.t.Fatal(err)
	}
	n := map[string]int{}
	for _, c := range log.Counters {
		n[c.Type] += c.Count
	}
	return n
}

func sum(n map[string]int) int {
	total := 0
	for _, v := range n {
		total += v
	}
	return total
}

// created records how long the resources took that an apply created, from the events that it
// printed.
func (s *scene) created(events string) {
	s.t.Helper()
	for line := range strings.Lines(events) {
		var event struct {
			Type string
			Hook struct {
				Resource struct {
					Type string `json:"resource_type"`
				}
				Seconds float64 `json:"elapsed_seconds"`
			}
		}
		if err := json.Unmarshal([]byte(line), &event); err == nil && event.Type == "apply_complete" {
			s.seconds[event.Hook.Resource.Type] += event.Hook.Seconds
		}
	}
}

// resource is a resource in the program's state.
type resource struct {
	Address, Type string
	Values        struct{ ID string }
}

// resources returns the resources in the program's state.
func (s *scene) resources() []resource {
	s.t.Helper()
	var state struct {
		Values struct {
			RootModule struct{ Resources []resource } `json:"root_module"`
		}
	}
	if err := json.Unmarshal([]byte(s.tofu("show", "-json")), &state); err != nil {
		s.t.Fatal(err)
	}
	return slices.DeleteFunc(state.Values.RootModule.Resources, func(r resource) bool { return strings.HasPrefix(r.Address, "data.") })
}

// imported removes the state and imports each resource by its ID; the resources must match the
// configuration.
func (s *scene) imported() {
	s.t.Helper()
	var blocks strings.Builder
	for _, r := range s.resources() {
		fmt.Fprintf(&blocks, "import {\n  to = %s\n  id = %q\n}\n\n", r.Address, r.Values.ID)
	}
	state := filepath.Join(s.dir, "terraform.tfstate")
	if err := os.Rename(state, state+".before"); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "import.tf"), []byte(blocks.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.tofu("plan", "-input=false", "-out="+importPlan)
	var plan struct {
		Changes []struct {
			Address string
			Change  struct {
				Actions       []string
				Before, After map[string]any
			}
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(s.tofu("show", "-json", importPlan)), &plan); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range plan.Changes {
		if !slices.Equal(c.Change.Actions, []string{"no-op"}) {
			s.t.Errorf("import of %s wants to %s:\n%s", c.Address, strings.Join(c.Change.Actions, " and "),
				differences(c.Change.Before, c.Change.After))
		}
	}
	s.tofu("apply", "-input=false", importPlan)
	if err := os.Remove(filepath.Join(s.dir, "import.tf")); err != nil {
		s.t.Fatal(err)
	}
}

// differences returns the names of the members in which two objects differ.
func differences(before, after map[string]any) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(before)) {
		if want, got := fmt.Sprint(after[k]), fmt.Sprint(before[k]); want != got && after[k] != nil {
			fmt.Fprintf(&b, "  %s: %.200s, in the configuration %.200s\n", k, got, want)
		}
	}
	return b.String()
}

func typesOf(all []resource) map[string]int {
	n := map[string]int{}
	for _, r := range all {
		n[r.Type]++
	}
	return n
}

// table returns a text with each step of the run, and the resources by type.
func (s *scene) table(all []resource) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %10s %8s\n", "STEP", "TOOK", "CALLS")
	for _, r := range s.rows {
		fmt.Fprintf(&b, "%-24s %8.1f s %8d\n", r.what, r.took.Seconds(), r.calls)
	}
	types := typesOf(all)
	fmt.Fprintf(&b, "\n%-56s %9s %8s\n", "TYPE", "RESOURCES", "SECONDS")
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		fmt.Fprintf(&b, "%-56s %9d %8.0f\n", typ, types[typ], s.seconds[typ])
	}
	fmt.Fprintf(&b, "%-56s %9d\n", fmt.Sprintf("%d types", len(types)), len(all))
	calls := s.calls()
	fmt.Fprintf(&b, "\n%-80s %8s\n", "TYPE IN AZURE", "CALLS")
	for _, typ := range slices.Sorted(maps.Keys(calls)) {
		fmt.Fprintf(&b, "%-80s %8d\n", typ, calls[typ])
	}
	return b.String()
}

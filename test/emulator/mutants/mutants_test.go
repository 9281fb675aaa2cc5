package mutants

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
	"casement.dev/casement/internal/sim/kubeadm"
	"casement.dev/casement/internal/sim/staticpod"
)

var (
	count  = flag.Int("mutants", 60, "how many mutants of each kind")
	seed   = flag.Uint64("seed", 1, "the seed of the mutations")
	inputs = flag.String("inputs", "", "a folder with more scripts: JSON files whose texts are taken, and others that are taken whole")
	lanes  = flag.Int("lanes", 4, "how many mutants of one kind run at once; each lane has its own share of the seed")
	late   = flag.Duration("late", 0, "the most that a mutant may go on after it was ended; a busy computer needs much, 0 asks nothing")
	only   = flag.String("kinds", "", "the kinds to run, with commas; all by default")
	trace  = flag.String("keep", "", "a folder that keeps the mutant that runs, for one that ends the process")
)

// most is the time limit of one mutant, because endless loops are not of interest.
const most = 150 * time.Millisecond

// each is the number of mutants that run on one machine.
const each = 200

// kind is a language or format that guests interpret.
type kind struct {
	name string
	// from are parts of the paths of the test files whose texts are its seeds.
	from []string
	os   string
	run  func(ctx context.Context, m *machine.Machine, text string)
	// source are the folders of its vocabulary: names of commands, options, functions and fields.
	source []string
}

func script(run func(*shell.Shell, context.Context, string, shell.Session) int) func(context.Context, *machine.Machine, string) {
	return func(ctx context.Context, m *machine.Machine, text string) {
		run(shell.New(m, nil, nil), ctx, text, shell.Session{Stdin: strings.NewReader("a b c\n1,2,3\n"), Stdout: io.Discard, Stderr: io.Discard})
	}
}

func program(argv ...string) func(context.Context, *machine.Machine, string) {
	return func(ctx context.Context, m *machine.Machine, text string) {
		in := "a b c\n1,2,3\n\n{\"a\": [1, \"x\", {\"b\": null}]}\n"
		if argv[0] == "jq" {
			in = `{"a": [1, "x", {"b": null}], "c": {"d": 1.5}} [1, 2] "x" null`
		}
		shell.New(m, nil, nil).Exec(ctx, append(slices.Clone(argv), text),
			shell.Session{Stdin: strings.NewReader(in), Stdout: io.Discard, Stderr: io.Discard})
	}
}

// boot boots a new guest with the text as its custom data.
func boot(ignition bool) func(context.Context, *machine.Machine, string) {
	return func(ctx context.Context, m *machine.Machine, text string) {
		spec := m.Spec
		spec.Dir, _ = os.MkdirTemp(spec.Dir, "boot")
		defer os.RemoveAll(spec.Dir)
		spec.CustomData, spec.Image.Ignition, spec.Usage = []byte(text), ignition, nil
		g, err := guest.New(guest.Config{Machine: spec, OnPanic: m.Wall.Report})
		if err != nil {
			return
		}
		defer g.Close()
		_ = g.Boot(ctx) // the text may be nonsense
	}
}

func kinds() []kind {
	const shells = "guest/shell/"
	var (
		linux      = []string{"guest/shell"}
		agents     = []string{"guest/userdata", "guest/cloudinit", "guest/shell"}
		powershell = []string{"guest/powershell"}
	)
	return []kind{
		{"sh", []string{shells + "shell_test", shells + "pipeline", shells + "limit", shells + "panic", shells + "silence", "guest/guest_test"},
			machine.Linux, script((*shell.Shell).Bash), linux},
		{"dash", []string{shells + "shell_test", shells + "pipeline", shells + "limit", shells + "panic"},
			machine.Linux, script((*shell.Shell).Sh), linux},
		{"cmd", []string{shells + "batch", shells + "shell_test"}, machine.Windows, script((*shell.Shell).Batch), linux},
		{"powershell", []string{shells + "powershell", "guest/powershell/"}, machine.Windows, script((*shell.Shell).PowerShell), powershell},
		{"awk", []string{"guest/awk/"}, machine.Linux, program("awk"), []string{"guest/awk"}},
		{"sed", []string{"guest/sed/"}, machine.Linux, program("sed"), []string{"guest/sed"}},
		{"jq", []string{shells}, machine.Linux, program("jq"), linux},
		{"cloud-init", []string{"guest/cloudinit", "guest/guest_test", "guest/trap", "guest/userdata", "guest/render"},
			machine.Linux, boot(false), agents},
		{"cloudbase-init", []string{"guest/cloudbase", "guest/guest_test", "guest/trap", "guest/userdata"}, machine.Windows, boot(false),
			[]string{"guest/userdata", "guest/cloudbase", "guest/powershell"}},
		{"ignition", []string{"guest/ignition"}, machine.Linux, boot(true), []string{"guest/ignition"}},
		{"kubeadm", []string{"sim/kubeadm"}, "", func(_ context.Context, _ *machine.Machine, text string) {
			_, _, _ = kubeadm.ParseJoin([]byte(text), "node-1") // the text may be nonsense
		}, []string{"kubeadm"}},
		{"static pod", []string{"sim/staticpod"}, "", func(_ context.Context, _ *machine.Machine, text string) {
			_, _ = staticpod.Translate(strings.Fields(text), staticpod.Mapping{Files: files{text}, Private: "/private",
				Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.4")}, Loopback: "127.1.0.4", EgressConfig: "/egress.yaml"}) // as above
			_, _ = staticpod.Remake([]byte(text), "/", func(string) ([]byte, error) { return nil, fs.ErrNotExist })
		}, []string{"staticpod"}},
	}
}

// files is a guest's file tree in which every file has the same content.
type files struct{ text string }

// Host implements staticpod.Files.
func (files) Host(name string) (string, error) { return "/vm" + name, nil }

// ReadFile implements staticpod.Files.
func (f files) ReadFile(string) ([]byte, error) { return []byte(f.text), nil }

// jqFilters are seeds for jq, because few test files contain jq filters.
var jqFilters = []string{`.a[] | select(type == "object") | .b // "x"`, `[.[] | tostring] | join(",")`,
	`to_entries | map("\(.key)=\(.value)") | .[]`,
	`reduce range(10) as $i (0; . + $i)`, `def f(x): x * 2; f(.c.d)`, `.. | numbers`, `try error("x") catch .`, `path(..)`, `@base64 "x\(.)"`,
	`[limit(3; repeat(1))]`, `input`, `.a |= map(.)`, `del(.a[0])`, `test("a.b"; "x")`, `ltrimstr("a") | ascii_downcase`,
	`getpath(["a", 2, "b"])`}

func TestMutants(t *testing.T) {
	for _, k := range kinds() {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), k.name) {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			seeds, strange := texts(t, k.from), foreign(t, "../guests/testdata")
			if k.name == "jq" {
				seeds, strange = jqFilters, append(strange, seeds...)
			}
			if *inputs != "" {
				seeds = append(seeds, foreign(t, *inputs)...)
			}
			if len(seeds) == 0 {
				t.Fatal("no seeds; the list is stale")
			}
			all := &finds{seen: map[string]bool{}, t: t}
			var group sync.WaitGroup
			for lane := range *lanes {
				r := rand.New(rand.NewPCG(*seed, uint64(lane)<<32|uint64(len(k.name))<<8|uint64(k.name[0])))
				group.Go(func() { all.lane(k, lane, makerOf(t, k, seeds, strange, r)) })
			}
			group.Wait()
		})
	}
}

// lane runs the mutants of one of the parallel lanes.
func (f *finds) lane(k kind, lane int, m maker) {
	var on *machine.Machine
	var text atomic.Pointer[string]
	found := func(p *contain.Panic) { f.found(p, *text.Load()) }
	for i := lane; i < *count; i += *lanes {
		if i/(*lanes)%each == 0 {
			on = fresh(f.t, on, k.os, found)
		}
		mutant := m.text()
		text.Store(&mutant)
		f.one(k, on, mutant, lane, found)
	}
	if on != nil {
		on.Close()
	}
}

func (f *finds) one(k kind, m *machine.Machine, text string, lane int, found func(*contain.Panic)) {
	if *trace != "" {
		name := fmt.Sprintf("%s-%d", strings.ReplaceAll(k.name, " ", "-"), lane)
		if err := os.WriteFile(filepath.Join(*trace, name), []byte(text), 0o600); err != nil {
			f.t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), most)
	defer cancel()
	if *late > 0 {
		defer time.AfterFunc(most+*late, func() { f.late(k, text) }).Stop()
	}
	wall := &contain.Wall{Report: found}
	wall.Call(k.name, func() { k.run(ctx, m, text) })
}

// late reports a mutant that still runs after its time limit, with all stacks.
func (f *finds) late(k kind, text string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	f.t.Errorf("%s goes on %s after its end\nwith %q\n%s", k.name, *late, text, stacks)
}

// finds records the faults of the simulation that mutants found, each once.
type finds struct {
	t *testing.T

	mu   sync.Mutex
	seen map[string]bool
}

func (f *finds) found(p *contain.Panic, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.seen[p.Where] {
		f.seen[p.Where] = true
		f.t.Errorf("%v\nwith %q\n%s", p, text, p.Trace)
	}
}

func fresh(t *testing.T, old *machine.Machine, system string, found func(*contain.Panic)) *machine.Machine {
	t.Helper()
	if old != nil {
		old.Close()
		os.RemoveAll(old.Dir)
	}
	if system == "" {
		return nil
	}
	dir, err := os.MkdirTemp(t.TempDir(), "machine")
	if err != nil {
		t.Fatal(err)
	}
	image := machine.Image{Name: "Ubuntu 24.04", Release: "24.04", Build: "6.8.0-1030-azure", KubernetesVersion: "v1.36.3"}
	if system == machine.Windows {
		image = machine.Image{Name: "Windows Server 2022 Datacenter", Release: "2022", Build: "10.0.20348.2700", KubernetesVersion: "v1.36.3"}
	}
	m, err := machine.New(machine.Spec{ID: "/vm/node-1", Dir: dir, OS: system, ComputerName: "node-1", AdminUsername: "capi",
		IPs: []netip.Addr{netip.MustParseAddr("10.1.0.4")}, Image: image, OnPanic: found, Speed: 1e6},
		io.Discard, clock.RealClock{}, func(string, machine.Action) {})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// texts returns the constant texts of the test files whose path contains one of the parts.
func texts(t *testing.T, parts []string) (all []string) {
	t.Helper()
	err := filepath.WalkDir("../../../internal/sim", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || !slices.ContainsFunc(parts, func(p string) bool {
			return strings.Contains(filepath.ToSlash(path), p)
		}) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if text, ok := constant(e); ok {
					if len(text) > 3 {
						all = append(all, text)
					}
					return false
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, okX := constant(e.X)
		y, okY := constant(e.Y)
		return x + y, okX && okY && e.Op == token.ADD
	}
	return "", false
}

// foreign returns the contents of the files of a folder.
func foreign(t *testing.T, dir string) (all []string) {
	t.Helper()
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) > 3 {
				all = append(all, v)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var v any
		if json.Unmarshal(data, &v) == nil {
			walk(v)
		} else if len(data) < 64<<10 {
			all = append(all, string(data))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all) // the order of a map is random
	return all
}

package guide

import (
	"flag"
	"os"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/golden"
	"casement.dev/casement/internal/testing/plane"
)

var full = flag.Bool("full", false, "run the rows on a local plane")

// world is a cluster with one Windows node and a workload.
type world struct {
	t                     *testing.T
	p                     *plane.Plane
	kubeconfig, node, pod string
}

func (w *world) casement(args ...string) string {
	w.t.Helper()
	out, err := w.p.Try(nil, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) kubectl(args ...string) string {
	w.t.Helper()
	return w.casement(append([]string{"kubectl", "--kubeconfig", w.kubeconfig}, args...)...)
}

// powershell runs a script on the node.
func (w *world) powershell(script string) string {
	return w.casement("ssh", w.node, "--", `powershell -Command "`+script+`"`)
}

// exec runs a command in the workload's pod.
func (w *world) exec(command string) string {
	return w.kubectl(append([]string{"exec", w.pod, "--"}, strings.Fields(command)...)...)
}

func (w *world) has(text string, wants ...string) {
	w.t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			w.t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// TestGuide runs each row that can be run.
func TestGuide(t *testing.T) {
	if !*full {
		t.Skip("only with -full: it takes two minutes and a plane of its own; make e2e-guide has it")
	}
	p := plane.New(t, "WINDOWS_WORKER_MACHINE_COUNT=1", "WORKER_MACHINE_COUNT=1", "CONTROL_PLANE_MACHINE_COUNT=1")
	p.Run(nil, "up")
	p.Create("demo", "windows")
	p.Run(nil, "wait", "demo", "--timeout", "5m")
	w := &world{t: t, p: p, kubeconfig: p.Kubeconfig("demo")}
	w.node = strings.TrimSpace(w.kubectl("get", "nodes", "-l", "kubernetes.io/os=windows", "-o", "jsonpath={.items[0].metadata.name}"))
	w.kubectl("apply", "-f", "../../../examples/iis.yaml")
	w.kubectl("rollout", "status", "deployment/iis", "--timeout", "3m")
	w.pod, _, _ = strings.Cut(w.kubectl("get", "pods", "-l", "app=iis", "-o", "name"), "\n")
	for _, d := range documents() {
		for _, r := range d.rows {
			if r.do != nil {
				t.Run(d.title+"/"+r.promise, func(t *testing.T) {
					each := *w
					each.t = t
					r.do(&each)
				})
			}
		}
	}
	t.Run("next", func(t *testing.T) { next(t, w) })
}

// TestRows checks that each row is run, names other tests that show it, or is refused with a
// reason.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range documents() {
		for _, r := range d.rows {
			if r.do == nil && r.shown == "" && r.refused == "" || r.refused != "" && (r.do != nil || r.shown != "") {
				t.Errorf("%s: neither run nor shown nor refused, or refused and shown", r.promise)
			}
			if r.is == "" || seen[r.promise] {
				t.Errorf("%s: it says nothing of what there is, or is there twice", r.promise)
			}
			seen[r.promise] = true
		}
	}
}

// begin and end are the lines of the page before and after the table.
const begin, end = "## The guides, promise by promise\n\n", "<!-- end of the guides -->\n"

// TestPage checks that the page contains the table of the rows; -update writes it.
func TestPage(t *testing.T) {
	const page = "../../../docs/reference/windows-tables.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, has := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !has || !ends {
		t.Fatalf("%s has no %q and %q", page, begin, end)
	}
	golden.Compare(t, page, []byte(before+begin+
		"CAPZ's guide to Windows clusters, Cluster API's proposal and Kubernetes' introduction, each promise in words of\n"+
		"this project's own. `make e2e-guide` runs what is run on a local plane.\n\n"+table()+end+after))
}

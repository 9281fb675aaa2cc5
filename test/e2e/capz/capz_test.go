package capz

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/process"
	"casement.dev/casement/internal/testing/plane"
	"casement.dev/casement/internal/testing/repository"
)

var (
	capzDir = flag.String("capz", "", "directory of a release of CAPZ: infrastructure-components.yaml, "+
		"metadata.yaml, cluster templates and programs/")
	release  = flag.String("capz-version", "v1.26.0", "version of that release")
	template = flag.String("template", "cluster-template-windows.yaml", "template of the release that is created")
	workers  = flag.String("workers", "2,10",
		"Linux workers of the clusters, which have as many Windows workers, and one control plane machine")
	latencies = flag.String("latency", "instant,azure", "paces of the local Azure")
	idle      = flag.Duration("idle", 30*time.Minute, "how long the cluster's calls and processors are watched while nothing changes")
	only      = flag.String("only", "", "casement or capz; default both")
)

// side is one of the two compared providers for Azure.
type side struct {
	name, version string
	// programs are the names of its processes.
	programs []string
}

// figures contains the cost of a cluster with one of the two providers.
type figures struct {
	infrastructure, joined, available time.Duration
	calls, idle                       map[string]int
	idleCPU                           time.Duration
	memory                            int64 // bytes
}

// TestSideBySide prints the table of both providers. It fails if a provider does not create the
// cluster, and has no limit for any figure.
func TestSideBySide(t *testing.T) {
	if *capzDir == "" {
		t.Skip("no -capz: make e2e-capz CAPZ=DIR names a release of CAPZ with its programs")
	}
	dir, err := filepath.Abs(*capzDir)
	if err != nil {
		t.Fatal(err)
	}
	sides := []side{
		{"casement", "v0.1.0", []string{"casement-manager"}},
		{"capz", *release, []string{"cluster-api-azure-controller", "azureserviceoperator"}},
	}
	var table []string
	for _, latency := range strings.Split(*latencies, ",") {
		for _, count := range strings.Split(*workers, ",") {
			n, err := strconv.Atoi(count)
			if err != nil || n < 1 {
				t.Fatalf("-workers: %q is not a number of at least 1", count)
			}
			for _, s := range sides {
				if *only != "" && s.name != *only {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%s", latency, 2*n+1, s.name), func(t *testing.T) {
					f := (&run{t: t, side: s, dir: dir, latency: latency, workers: n}).measure()
					table = append(table, fmt.Sprintf("%-8s %8d  %-9s %s", latency, 2*n+1, s.name, f))
				})
			}
		}
	}
	t.Logf("\n%-8s %8s  %-9s %9s %9s %9s  %-34s %-28s %8s %9s\n%s", "LATENCY", "MACHINES", "PROVIDER", "INFRA",
		"JOINED", "AVAILABLE", "CALLS", "IDLE CALLS in "+idle.String(), "IDLE CPU", "MEMORY",
		strings.Join(table, "\n"))
}

func (f figures) String() string {
	return fmt.Sprintf("%7.1f s %7.1f s %7.1f s  %-34s %-28s %6.1f s %5d MiB", f.infrastructure.Seconds(),
		f.joined.Seconds(), f.available.Seconds(),
		counts(f.calls), counts(f.idle), f.idleCPU.Seconds(), f.memory>>20)
}

// counts returns a text with the number of all calls, followed by the calls by verb.
func counts(by map[string]int) string {
	all := 0
	var parts []string
	for _, verb := range []string{"PUT", "PATCH", "POST", "DELETE", "GET", "HEAD", poll} {
		if n := by[verb]; n > 0 {
			all += n
			parts = append(parts, fmt.Sprintf("%s %d", verb, n))
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%d  %s", all, strings.Join(parts, ", ")))
}

// run is one cluster on one plane with one of the providers.
type run struct {
	t       *testing.T
	side    side
	dir     string
	latency string
	workers int
	plane   *plane.Plane
}

func (r *run) measure() figures {
	t := r.t
	t.Helper()
	r.plane = plane.New(t, "CASEMENT_PROGRAMS="+filepath.Join(r.dir, "programs"))
	r.plane.Run(nil, "up", "--bare", "--latency", r.latency, "--proxy", "127.0.0.1:0", "--timeout", "10m")
	releases := repository.New(t)
	if r.side.name == "capz" {
		releases.Foreign(t, r.side.version, r.dir)
	} else {
		releases.Release(t, r.side.version)
	}
	config := releases.Config(t, r.side.version, r.plane.Run(nil, "status", "-o", "clusterctl"))
	r.clusterctl(config, "init", "--infrastructure", "azure:"+r.side.version, "--wait-providers", "--wait-provider-timeout", "300")
	r.plane.Run([]byte(r.plane.Run(nil, "generate", "addons")), "kubectl", "apply", "--server-side", "-f", "-")
	manifest := r.fill()
	r.plane.Run(manifest, "azure", "prepare", "-")

	var f figures
	before := r.calls()
	start := time.Now()
	r.plane.Run(manifest, "kubectl", "apply", "-f", "-")
	r.plane.Run(nil, "kubectl", "label", "cluster", "demo", "cni=calico", "windows=enabled", "csi-proxy=enabled",
		"cloud-provider=azure", "--overwrite")
	r.until("azurecluster/demo", "{.status.ready}", "true")
	f.infrastructure = time.Since(start)
	r.untilNodes()
	f.joined = time.Since(start)
	r.until("cluster/demo", `{.status.conditions[?(@.type=="Available")].status}`, "True")
	f.available = time.Since(start)
	f.calls = less(r.calls(), before)
	t.Log("\n" + r.plane.Run(nil, "calls"))

	// Work that the creation has started, such as the first comparison with Azure, ends before the
	// measurement begins.
	time.Sleep(*idle / 2)
	before, cpu := r.calls(), r.cpu()
	time.Sleep(*idle) // the figure is the activity in this time
	t.Log("\n" + r.plane.Run(nil, "calls"))
	f.idle, f.idleCPU, f.memory = less(r.calls(), before), r.cpu()-cpu, r.memory()
	return f
}

// fill returns the template with the plane's values. Its identity is the plane's service principal,
// which every provider accepts without a token file.
func (r *run) fill() []byte {
	text := r.plane.Run(nil, "generate", "cluster", "demo", "--from", filepath.Join(r.dir, *template),
		"--kubernetes-version", plane.Kubernetes(),
		"--control-plane-machine-count", "1", "--worker-machine-count", strconv.Itoa(r.workers))
	return []byte(strings.Replace(text, "  type: WorkloadIdentity\n",
		"  type: ServicePrincipal\n  clientSecret: {name: cluster-identity-secret, namespace: default}\n", 1))
}

func (r *run) clusterctl(config string, args ...string) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), plane.Binary(r.t, "clusterctl"), append([]string{"--config", config}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(r.plane.Home, "kubeconfig"),
		"CLUSTERCTL_DISABLE_VERSIONCHECK=true", "XDG_CONFIG_HOME="+filepath.Dir(config))
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("clusterctl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// patience limits each wait. With Azure's own durations CAPZ needs some minutes.
const patience = 40 * time.Minute

// until waits until a field of an object has a value.
func (r *run) until(object, path, want string) {
	r.t.Helper()
	said := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		out, err := r.plane.Try(nil, "kubectl", "get", object, "-o", "jsonpath="+path)
		if said = out; err != nil {
			said = err.Error()
		}
		if out == want {
			return
		}
	}
	r.t.Fatalf("%s: %s is not %s after %s: %s\n%s", object, path, want, patience, said, r.plane.Everything("why", "demo"))
}

// untilNodes waits until every Machine is Running.
func (r *run) untilNodes() {
	r.t.Helper()
	said := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		out, err := r.plane.Try(nil, "kubectl", "get", "machines", "-o",
			`jsonpath={range .items[*]}{.metadata.name} {.status.phase}{"\n"}{end}`)
		said = out
		if err == nil && strings.Count(out, "\n") == 2*r.workers+1 && strings.Count(out, " Running\n") == strings.Count(out, "\n") {
			return
		}
	}
	r.t.Fatalf("machines after %s:\n%s\n%s", patience, said, r.plane.Everything("why", "demo"))
}

// poll is the name under which the polls of operations are counted.
const poll = "poll"

// stubCaller is the user agent of the stub of cloud-provider-azure in the cluster.
const stubCaller = "casement-stub"

// calls returns the number of calls that the local Azure has answered, by verb, without the calls
// of the cluster's own programs.
func (r *run) calls() map[string]int {
	r.t.Helper()
	var log struct {
		Counters []struct {
			Verb, Type, Caller string
			Count              int
		}
	}
	if err := json.Unmarshal([]byte(r.plane.Run(nil, "calls", "-o", "json")), &log); err != nil {
		r.t.Fatal(err)
	}
	by := map[string]int{}
	for _, c := range log.Counters {
		if c.Type == "operations" {
			c.Verb = poll
		}
		if c.Caller != stubCaller {
			by[c.Verb] += c.Count
		}
	}
	return by
}

func less(after, before map[string]int) map[string]int {
	out := map[string]int{}
	for verb, n := range after {
		out[verb] = n - before[verb]
	}
	return out
}

// processes returns the process IDs of the measured provider's programs on this plane.
func (r *run) processes() []int {
	var found []int
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, file := range entries {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		program, _, _ := strings.Cut(string(line), "\x00")
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(file), "cwd"))
		for _, name := range r.side.programs {
			if filepath.Base(program) == name && strings.HasPrefix(cwd, r.plane.Home) {
				found = append(found, pid)
			}
		}
	}
	if len(found) != len(r.side.programs) {
		r.t.Fatalf("processes of %v: %v", r.side.programs, found)
	}
	return found
}

// cpu returns the processor time that the side's processes have used.
func (r *run) cpu() (used time.Duration) {
	for _, pid := range r.processes() {
		used += process.CPU(pid)
	}
	return used
}

// memory returns the resident memory of the measured provider's processes.
func (r *run) memory() (bytes int64) {
	for _, pid := range r.processes() {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			r.t.Fatal(err)
		}
		var size, pages int64
		if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
			r.t.Fatal(err)
		}
		bytes += pages * int64(os.Getpagesize())
	}
	return bytes
}

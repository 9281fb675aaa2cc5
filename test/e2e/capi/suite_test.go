//go:build e2e

package capi

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clusterctlcluster "sigs.k8s.io/cluster-api/cmd/clusterctl/client/cluster"
	clusterctlconfig "sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"
	"sigs.k8s.io/cluster-api/test/framework"
	"sigs.k8s.io/cluster-api/test/framework/clusterctl"
	ctrl "sigs.k8s.io/controller-runtime"
)

var (
	only      = flag.String("only", "", "regular expression of the names of those to run")
	used      = flag.String("state", "", "state directory of a plane that runs already; default one of its own")
	logs      = flag.String("logs", "", "directory for what the specs and clusters log; default a temporary one")
	unwrapped = flag.Bool("upstream", false, "run Cluster API as upstream ships it")
)

// TestSpecs runs the specs of the table one after the other.
func TestSpecs(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	gomega.RegisterFailHandler(ginkgo.Fail)
	wanted, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlane(t)
	s := suite{
		config:     config(t),
		clusterctl: p.repository(t),
		artifacts:  p.artifacts,
		proxy:      framework.NewClusterProxy("plane", p.kubeconfig(t), scheme(), framework.WithMachineLogCollector(collector{p})),
	}
	t.Cleanup(func() { s.proxy.Dispose(context.Background()) })
	s.inventory(t)
	var notRun []string
	for _, spec := range specs() {
		if !wanted.MatchString(spec.name) {
			continue
		}
		if spec.reason != "" {
			notRun = append(notRun, line(spec.name, "not run", 0, spec.reason))
			continue
		}
		ginkgo.Describe(spec.name, func() { spec.describe(s) })
	}
	var table []string
	ginkgo.ReportAfterEach(func(r ginkgo.SpecReport) {
		table = append(table, line(r.ContainerHierarchyTexts[0], r.State.String(), r.RunTime, note(r)))
		t.Log(table[len(table)-1])
	})
	settings, reporter := ginkgo.GinkgoConfiguration()
	settings.Timeout = 12 * time.Hour
	ginkgo.RunSpecs(t, "Cluster API's specs", settings, reporter)
	t.Logf("\n%-34s %-8s %9s  %s\n%s", "SPEC", "RESULT", "SECONDS", "NOTE", strings.Join(append(table, notRun...), "\n"))
}

func line(name, result string, took time.Duration, note string) string {
	return fmt.Sprintf("%-34s %-8s %9.1f  %s", name, result, took.Seconds(), note)
}

// note returns the beginning of a spec's failure message on one line.
func note(r ginkgo.SpecReport) string {
	text := strings.Join(strings.Fields(r.FailureMessage()), " ")
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return text
}

// suite contains the inputs of every spec.
type suite struct {
	config                *clusterctl.E2EConfig
	clusterctl, artifacts string
	proxy                 framework.ClusterProxy
}

// inventory creates clusterctl's list of providers, which is empty, because the plane installs its
// providers itself and the specs read the list.
func (s suite) inventory(t *testing.T) {
	t.Helper()
	providers, err := clusterctlconfig.New(t.Context(), s.clusterctl)
	if err != nil {
		t.Fatal(err)
	}
	plane := clusterctlcluster.New(clusterctlcluster.Kubeconfig{Path: s.proxy.GetKubeconfigPath()}, providers)
	if err := plane.ProviderInventory().EnsureCustomResourceDefinitions(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	framework.TryAddDefaultSchemes(s)
	return s
}

// config returns the configuration of the specs. In the framework, environment variables, such as
// those that make sets for K8S=, override the variables of the file.
func config(t *testing.T) *clusterctl.E2EConfig {
	t.Helper()
	return clusterctl.LoadE2EConfig(t.Context(), clusterctl.LoadE2EConfigInput{ConfigPath: "azure.yaml"})
}

// plane is a local plane of this test.
type plane struct {
	root, state, artifacts string
}

// newPlane starts a plane that ends with t, or uses the plane that -state names.
func newPlane(t *testing.T) plane {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	p := plane{root: root, state: *used, artifacts: *logs}
	if p.artifacts == "" {
		p.artifacts = t.TempDir()
	}
	if p.state != "" {
		return p
	}
	p.state = t.TempDir()
	t.Cleanup(func() { p.casement(t, "down", "--purge") })
	p.casement(t, "up", "--timeout", "10m", "--feature-gates", "MachineTaintPropagation=true", "--management-route",
		fmt.Sprintf("--upstream=%t", *unwrapped))
	return p
}

// casement runs casement on this plane and returns its output.
func (p plane) casement(t *testing.T, args ...string) string {
	t.Helper()
	return p.run(t, filepath.Join(p.root, "bin/casement"), append(args, "--state", p.state)...)
}

func (p plane) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = p.root
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, problems.String())
	}
	return string(out)
}

func (p plane) kubeconfig(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(p.casement(t, "status", "-o", "kubeconfig"))
}

// release is the version of the published templates.
const release = "v0.1.0"

// repository publishes the provider as a release does. It returns the path of the clusterctl
// configuration that names the repository, with the plane's values for templates.
func (p plane) repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ours := filepath.Join(dir, "infrastructure-azure", release)
	p.run(t, "go", "run", "./hack/release", "--dir", ours, "--image", "casement.dev/casement-manager:"+release, "--version", release)
	writeFlavors(t, ours)
	config := fmt.Sprintf("providers:\n- {name: azure, type: InfrastructureProvider, url: %q}\noverridesFolder: %q\n%s",
		filepath.Join(ours, "infrastructure-components.yaml"), filepath.Join(dir, "overrides"), p.casement(t, "status", "-o", "clusterctl"))
	path := filepath.Join(dir, "clusterctl.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

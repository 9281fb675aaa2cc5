package templates

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"casement.dev/casement/internal/testing/plane"
)

var (
	dir  = flag.String("dir", "", "directory of cluster templates to take through their life")
	only = flag.String("only", "", "those whose names contain this")
)

// variables contains values for template variables that the plane does not know. A variable with a
// default in the template keeps the default.
var variables = []string{
	"CLUSTER_CLASS_NAME=shared", "FLATCAR_VERSION=4230.2.1", "AZURE_SERVER_APP_ID=00000000-0000-0000-0000-0000000000aa",
	"AZURE_EXTENDEDLOCATION_TYPE=EdgeZone", "AZURE_EXTENDEDLOCATION_NAME=microsoftlosangeles1",
	// Values that CAPZ's own jobs set for its test templates.
	"WINDOWS_WORKER_MACHINE_COUNT=1", "BUILD_PROVENANCE=casement", "TIMESTAMP=2026-07-01T00:00:00Z",
	"JOB_NAME=casement", "CALICO_VERSION=v3.29.4",
	"CI_RG=capz-ci", "USER_IDENTITY=cloud-provider-user-identity", "WINDOWS_CONTAINERD_URL=", "CI_VERSION=" + plane.Kubernetes(),
	"AZL3_VERSION=" + strings.TrimPrefix(plane.Kubernetes(), "v"),
	"AZURE_STORAGE_ACCOUNT=capzci", "AZURE_BLOB_CONTAINER_NAME=builds", "IMAGE_TAG_ACR_CREDENTIAL_PROVIDER=v1.36.0",
	"AZURE_LOCATION_GPU=eastus", "AZURE_LOCATION_EDGEZONE=westus", "WINDOWS_SERVER_VERSION=windows-2022",
	"AZURE_VNET_NAME=private-vnet", "AZURE_VNET_CIDR=10.0.0.0/8", "AZURE_PRIVATE_VNET_CIDR=10.0.0.0/8", "AZURE_CP_SUBNET_CIDR=10.0.0.0/16",
	"AZURE_NODE_SUBNET_CIDR=10.1.0.0/16", "AZURE_BASTION_SUBNET_CIDR=10.255.255.192/26",
	"AZURE_INTERNAL_LB_IP=10.0.0.100", "AZURE_INTERNAL_LB_PRIVATE_IP=10.0.0.100",
	"CAPZ_GALLERY_VERSION=latest", "DALEC_KUBERNETES_VERSION=" + plane.Kubernetes(),
	// Values that the jobs of kubernetes-sigs/cloud-provider-azure set for their templates.
	"AZUREDISK_CSI_DRIVER_VERSION=v1.29.2", "AZURE_CLIENT_ID_USER_ASSIGNED_IDENTITY=00000000-0000-0000-0000-0000000000a2",
	// Values that the jobs of kubernetes-sigs/windows-testing set for their templates.
	"HYPERV=", "MAX_PODS=", "GMSA_ID=1717", "GMSA_NODE_RG=gmsa-dc-1717", "KUBE_GIT_VERSION=" + plane.Kubernetes(),
	"REGISTRY=capzci.azurecr.io", "KUBE_IMAGE_TAG=" + plane.Kubernetes(),
	"KUBE_APISERVER_IMAGE=", "KUBE_CONTROLLER_MANAGER_IMAGE=", "KUBE_PROXY_IMAGE=", "KUBE_SCHEDULER_IMAGE=",
}

// row is the result for one template.
type row struct {
	name, lint             string
	ready, deleted         time.Duration
	linux, windows, scaled int
	calls                  int
	left                   int
	// note names the failed step and the error, or the reason why the template is not created.
	note string
}

// TestTemplates creates, uses and deletes the cluster of each template in -dir.
func TestTemplates(t *testing.T) {
	if *dir == "" {
		t.Skip("no -dir: make e2e-templates DIR=... names templates")
	}
	files, err := filepath.Glob(filepath.Join(*dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates in %s: %v", *dir, err)
	}
	p := plane.New(t, "WORKER_MACHINE_COUNT=1")
	p.Run(nil, "up")
	settings := p.Run(nil, "status", "-o", "clusterctl")
	setting := func(name string) string {
		value := regexp.MustCompile(name + `: "?([0-9a-f-]+)`).FindStringSubmatch(settings)
		if value == nil {
			t.Fatalf("casement status -o clusterctl has no %s", name)
		}
		return value[1]
	}
	t.Setenv("UAMI_CLIENT_ID", setting("AZURE_CLIENT_ID"))
	t.Setenv("MANAGEMENT_IDENTITY", setting("AZURE_CLIENT_ID"))
	var table []string
	for i, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "cluster-template-"), ".yaml")
		if !strings.Contains(name, *only) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Setenv("AZURE_CUSTOM_VNET_NAME", fmt.Sprintf("custom-vnet-%d", i))
			t.Setenv("AZURE_CUSTOM_VNET_RESOURCE_GROUP", "capz-ci")
			setVariables(t, file, setting("AZURE_SUBSCRIPTION_ID"))
			for _, class := range files {
				if strings.Contains(class, "clusterclass") && strings.Contains(name, "topology") {
					setVariables(t, class, setting("AZURE_SUBSCRIPTION_ID"))
				}
			}
			t.Setenv("AZURE_RESOURCE_GROUP", fmt.Sprintf("t%d", i))          // the default of CAPZ's templates
			t.Setenv("CLUSTER_IDENTITY_NAME", fmt.Sprintf("identity-%d", i)) // the templates use identities of different types
			l := &life{p: p, cluster: fmt.Sprintf("t%d", i), file: file, row: row{name: name}}
			if err := l.live(); err != nil {
				l.row.note = strings.Join(strings.Fields(err.Error()), " ")
				t.Error(l.row.note)
			}
			table = append(table, l.row.String())
		})
	}
	t.Logf("\n%-28s %-5s %8s %6s %8s %7s %9s %6s %5s  %s\n%s", "TEMPLATE", "LINT", "READY", "LINUX", "WINDOWS",
		"SCALED", "DELETED", "CALLS", "LEFT", "NOTE", strings.Join(table, "\n"))
}

// setVariables sets the variables that have no default in a template.
func setVariables(t *testing.T, file, subscription string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variables {
		if name, value, _ := strings.Cut(v, "="); strings.Contains(string(text), "${"+name+"}") {
			t.Setenv(name, value)
		}
	}
	for _, name := range []string{"USER_IDENTITY", "AZURE_USER_ASSIGNED_IDENTITY_PROVIDER_ID"} {
		if strings.Contains(string(text), "providerID: ${"+name+"}") { // an ID, where other templates of CAPZ expect a name
			t.Setenv(name, "/subscriptions/"+subscription+"/resourceGroups/capz-ci/providers/"+
				"Microsoft.ManagedIdentity/userAssignedIdentities/cloud-provider-user-identity")
		}
	}
}

func (r row) String() string {
	note := r.note
	if len(note) > 160 {
		note = note[:160] + "..."
	}
	return fmt.Sprintf("%-28s %-5s %6.1f s %6d %8d %7d %7.1f s %6d %5d  %s", r.name, r.lint, r.ready.Seconds(),
		r.linux, r.windows, r.scaled, r.deleted.Seconds(), r.calls, r.left, note)
}

// life is the run of one template on the plane.
type life struct {
	p             *plane.Plane
	cluster, file string
	manifest      string
	// before contains the resources of the subscription before the cluster is created.
	before map[string]bool
	row    row
}

func (l *life) live() (err error) {
	l.manifest, err = l.p.Try(nil, "generate", "cluster", l.cluster, "--from", l.file, "--kubernetes-version", plane.Kubernetes())
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if err := l.addClasses(); err != nil {
		return fmt.Errorf("class: %w", err)
	}
	if err := l.lint(); err != nil {
		return err
	}
	kinds, err := l.kinds()
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	filled := []byte(l.manifest)
	if _, err := l.p.Try(filled, "azure", "prepare", "-"); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	if unserved, err := l.preflight(); err != nil {
		return fmt.Errorf("preflight: %w", err)
	} else if unserved != "" {
		l.row.note = "not created: " + unserved
		return nil
	}
	l.before = l.resources()
	before := l.calls()
	start := time.Now()
	// Applied server-side, because manifests with a complete CNI are too large for kubectl's
	// annotation.
	_, err = l.p.Try(filled, "kubectl", "apply", "--server-side", "--force-conflicts", "-f", "-")
	if kinds["Cluster"] {
		defer func() { err = errors.Join(err, l.delete()) }()
	}
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	if !kinds["Cluster"] {
		l.row.note = "no Cluster: what it defines stays"
		return nil
	}
	if names := l.addons(); len(names) > 0 {
		// A label with the cluster's own name, such as NAME-calico, selects objects that its users
		// apply themselves. A user who chooses an addon removes the label, as the output of `addons
		// install` requests.
		if strings.Contains(l.manifest, "\n    cni: "+l.cluster+"-") {
			if _, err := l.p.Try(nil, "kubectl", "label", "cluster", l.cluster, "cni-"); err != nil {
				return fmt.Errorf("label: %w", err)
			}
		}
		if _, err := l.p.Try(nil, append([]string{"addons", "install", "--cluster", l.cluster}, names...)...); err != nil {
			return fmt.Errorf("addons: %w", err)
		}
	}
	if _, err := l.p.Try(nil, "wait", l.cluster, "--timeout", "5m"); err != nil {
		why := l.p.Everything("why", l.cluster)
		return fmt.Errorf("wait: %w; why: %s", err, why)
	}
	l.row.ready = time.Since(start)
	l.row.calls = l.calls() - before
	if err := l.nodes(); err != nil {
		return err
	}
	return l.scale()
}

// preflight returns the kinds that the management cluster does not serve, if they are the only
// findings: such a template needs a provider that is not installed. Any other finding fails the
// test, because the templates are known to work.
func (l *life) preflight() (unserved string, err error) {
	_, err = l.p.Try([]byte(l.manifest), "preflight", "--plane", "-o", "json", "-")
	if err == nil {
		return "", nil
	}
	kinds := map[string]bool{}
	for _, m := range regexp.MustCompile(`it serves no kind (\w+)`).FindAllStringSubmatch(err.Error(), -1) {
		kinds[m[1]] = true
	}
	if len(kinds) == 0 {
		return "", err
	}
	return "no provider serves " + strings.Join(slices.Sorted(maps.Keys(kinds)), ", "), nil
}

// lint counts the errors that `casement lint` finds in the filled template.
func (l *life) lint() error {
	out, err := l.p.Try([]byte(l.manifest), "lint", "--fail-on", "error", "-o", "json", "-")
	if err != nil {
		l.row.lint = "error"
		return fmt.Errorf("lint: %w", err)
	}
	l.row.lint = "ok"
	if !json.Valid([]byte(out)) {
		return errors.New("lint: its answer is no JSON")
	}
	return nil
}

// kinds returns the kinds of the objects in the manifest.
func (l *life) kinds() (map[string]bool, error) {
	kinds := map[string]bool{}
	for decoder := yaml.NewDecoder(bytes.NewReader([]byte(l.manifest))); ; {
		var o struct {
			Kind string `yaml:"kind"`
		}
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return kinds, nil
		} else if err != nil {
			return nil, err
		}
		kinds[o.Kind] = true
	}
}

// addClasses inserts the ClusterClasses that a topology refers to before the topology. They are in
// separate files beside the template, named after the same cluster.
func (l *life) addClasses() error {
	if !strings.Contains(l.manifest, "\n  topology:") {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(l.file), "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte("\nkind: ClusterClass\n")) || bytes.Contains(text, []byte("\nkind: Cluster\n")) {
			continue
		}
		if strings.Contains(file, "rke2") != strings.Contains(l.file, "rke2") {
			continue // the same class with another bootstrap provider
		}
		class, err := l.p.Try(nil, "generate", "cluster", l.cluster, "--from", file, "--kubernetes-version", plane.Kubernetes())
		if err != nil {
			return err
		}
		l.manifest = class + "\n---\n" + l.manifest
	}
	return nil
}

// addons returns the addons that users of the template install by hand: the network addon that the
// Cluster's label or the template's name contains, otherwise Calico.
func (l *life) addons() []string {
	network := "calico"
	if strings.Contains(l.row.name, "azure-cni") {
		network = "azure-cni"
	}
	if label := regexp.MustCompile(`(?m)^    cni: (?:\S+-)?(calico\S*|flannel\S*|azure-cni)$`).
		FindStringSubmatch(l.manifest); label != nil {
		network = label[1]
	}
	// Components that the template contains as charts are not installed again.
	var names []string
	windows := strings.Contains(l.manifest, "osType: Windows")
	if !strings.Contains(l.manifest, "chartName: cloud-provider-azure") {
		names = append(names, "cloud-provider-azure")
	}
	if !strings.Contains(l.manifest, "chartName: tigera-operator") {
		names = append(names, network)
		if windows && !strings.HasSuffix(network, "-windows") {
			names = append(names, network+"-windows")
		}
		if windows {
			names = append(names, "csi-proxy")
		}
	}
	return names
}

// nodes counts the Ready nodes by operating system.
func (l *life) nodes() error {
	file := l.p.Kubeconfig(l.cluster)
	out, err := l.p.Try(nil, "kubectl", "--kubeconfig", file, "get", "nodes", "-o",
		`jsonpath={range .items[*]}{.status.nodeInfo.operatingSystem} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
	l.row.linux, l.row.windows = strings.Count(out, "linux True"), strings.Count(out, "windows True")
	return err
}

// scale adds one machine to each worker set of the cluster and removes it again.
func (l *life) scale() error {
	for _, kind := range []string{"machinedeployment", "machinepool"} {
		out, err := l.p.Try(nil, "kubectl", "get", kind, "-l", "cluster.x-k8s.io/cluster-name="+l.cluster, "-o",
			`jsonpath={range .items[?(@.spec.clusterName=="`+l.cluster+
				`")]}{.metadata.name} {.spec.replicas} {.metadata.labels}{"\n"}{end}`)
		if err != nil {
			return fmt.Errorf("list %ss: %w", kind, err)
		}
		for line := range strings.Lines(out) {
			var name string
			var replicas int
			if n, _ := fmt.Sscan(line, &name, &replicas); n != 2 || strings.Contains(line, "topology.cluster.x-k8s.io/owned") {
				continue // a topology controls the sizes of its sets
			}
			for _, to := range []int{replicas + 1, replicas} {
				if err := l.scaleTo(kind+"/"+name, to); err != nil {
					return fmt.Errorf("scale %s to %d: %w", name, to, err)
				}
			}
			l.row.scaled++
		}
	}
	return nil
}

func (l *life) scaleTo(set string, replicas int) error {
	if _, err := l.p.Try(nil, "kubectl", "scale", set, fmt.Sprintf("--replicas=%d", replicas)); err != nil {
		return err
	}
	if _, err := l.p.Try(nil, "kubectl", "wait", set,
		fmt.Sprintf("--for=jsonpath={.status.readyReplicas}=%d", replicas), "--timeout=3m"); err != nil {
		return err
	}
	_, err := l.p.Try(nil, "wait", l.cluster, "--timeout", "3m")
	return err
}

// delete deletes the cluster and counts its resources that remain in Azure.
func (l *life) delete() error {
	start := time.Now()
	if _, err := l.p.Try(nil, "kubectl", "delete", "cluster", l.cluster, "--wait=false"); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if _, err := l.p.Try(nil, "wait", l.cluster, "--for", "deleted", "--timeout", "3m"); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	l.row.deleted = time.Since(start)
	var left []string
	for id := range l.resources() {
		if !l.before[id] {
			left = append(left, id)
		}
	}
	l.row.left = len(left)
	if l.row.left > 0 {
		return fmt.Errorf("delete: %d resources are left: %v", l.row.left, left)
	}
	if running := l.p.Processes(filepath.Join(l.p.Home, "vms", l.cluster) + "/"); len(running) > 0 {
		return fmt.Errorf("delete: %d processes are left: %.300s", len(running), running[0])
	}
	return nil
}

// resources returns the IDs of all resources in the subscription.
func (l *life) resources() map[string]bool {
	var list struct{ Value []struct{ ID string } }
	l.p.ARM("/resources", "2021-04-01", &list)
	ids := map[string]bool{}
	for _, r := range list.Value {
		ids[r.ID] = true
	}
	return ids
}

// calls returns the number of calls of casement's manager that the local Azure has answered.
func (l *life) calls() int {
	out, err := l.p.Try(nil, "calls", "-o", "json")
	if err != nil {
		return 0
	}
	var c struct{ Reads, Writes, Deletes, Polls int }
	if json.Unmarshal([]byte(out), &c) != nil {
		return 0
	}
	return c.Reads + c.Writes + c.Deletes + c.Polls
}

package patchday

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/testing/plane"
	"casement.dev/casement/internal/windows"
)

var (
	full  = flag.Bool("full", false, "run it; it takes minutes")
	nodes = flag.Int("nodes", 8, "Windows nodes of each of the five pools")
)

//go:embed web.yaml
var web string

const (
	galleryAPI = "2024-03-03"
	groupAPI   = "2021-04-01"
	gallery    = "/resourceGroups/images/providers/Microsoft.Compute/galleries/nodes"
	definition = gallery + "/images/fleet"
	// patience limits each wait.
	patience = 20 * time.Minute
)

// cluster is a cluster with its flavor.
type cluster struct{ name, flavor string }

type bench struct {
	*plane.Plane
	t        *testing.T
	clusters []cluster
	// nodes is the number of Windows nodes of each pool, and surge the number of additional nodes
	// that it may have.
	nodes int
	surge string
	client
}

func TestPatchDay(t *testing.T) {
	if !*full {
		t.Skip("three clusters take minutes: make e2e-patchday")
	}
	b := &bench{Plane: plane.New(t), t: t, nodes: *nodes, surge: "50%",
		clusters: []cluster{{"machines", "windows"}, {"pools", "machinepool-windows"}, {"class", "topology-windows"}}}
	defer b.end()
	b.create("machines")
	b.publish("1.1.0", b.good())
	closed := map[string]string{infrav1.ImageChannelAnnotation: infrav1.ImageChannelVerified, infrav1.PatchSoakAnnotation: "15s",
		infrav1.PatchTimeoutAnnotation: "4m", infrav1.MaintenanceWindowAnnotation: "0 0 29 2 *",
		infrav1.MaintenanceWindowDurationAnnotation: "1m"}
	b.annotate(closed)
	b.until("the window is waited for", func() string { return b.missing(infrav1.PatchOutsideWindowReason, "1.1.0", 5) })
	b.do("patch day", func() {
		open := maps.Clone(closed)
		open[infrav1.MaintenanceWindowAnnotation], open[infrav1.MaintenanceWindowDurationAnnotation] = "* * * * *", "1h"
		b.annotate(open)
		b.until("all pools have moved", func() string { return b.missing(infrav1.ImageUpToDateReason, "1.1.0", 5) })
	})
	b.versions("1.1.0")
	b.do("nodes that do not join", func() {
		b.annotate(map[string]string{infrav1.PatchTimeoutAnnotation: "1m"})
		// The local Azure does not know the contents of a disk of other origin, so no machine boots
		// from it.
		b.publish("1.2.0", map[string]any{"osDiskImage": map[string]any{"source": map[string]any{
			"uri": "https://images.blob.core.windows.net/vhds/other.vhd", "storageAccountId": "/subscriptions/" + b.Subscription() +
				"/resourceGroups/images/providers/Microsoft.Storage/storageAccounts/images"}}})
		b.until("the canaries have gone", func() string { return b.refused("1.2.0", "healthy in 1m0s") })
	})
	b.versions("1.1.0")
	b.do("a failing Job", func() {
		b.Workload("machines")("apply", "-f", b.file("smoke.yaml", smoke))
		b.annotate(map[string]string{infrav1.PatchTimeoutAnnotation: "4m", infrav1.PatchJobAnnotation: "default/smoke"}, "machines")
		b.annotate(map[string]string{infrav1.ImageChannelAnnotation: infrav1.ImageChannelNone}, "pools", "class")
		b.publish("1.3.0", b.good())
		b.until("the canary has gone", func() string { return b.refused("1.3.0", "the Job") })
	})
	b.versions("1.1.0")
	b.account()
	t.Log("\n" + b.Run(nil, "upgrade", "status", "machines"))
}

// TestFailingNode moves a pool of 30 instances to a new version, and an instance in the middle
// never reports. In the end the pool is complete and has the new version.
func TestFailingNode(t *testing.T) {
	if !*full {
		t.Skip("a pool of 30 takes minutes: make e2e-patchday")
	}
	b := &bench{Plane: plane.New(t), t: t, nodes: 30, surge: "20%", clusters: []cluster{{"pools", "machinepool-windows"}}}
	defer b.end()
	b.create("pools")
	b.Run(nil, "azure", "faults", "add", "boot-failure", "--resource-group", "pools", "--after", "15", "--count", "1")
	b.publish("1.1.0", b.good())
	b.do("patch day", func() {
		b.annotate(map[string]string{infrav1.ImageChannelAnnotation: infrav1.ImageChannelVerified, infrav1.PatchSoakAnnotation: "15s"})
		b.until("the pool has moved", func() string { return b.missing(infrav1.ImageUpToDateReason, "1.1.0", 1) })
	})
	if ready := b.ready("pools"); ready != b.nodes {
		t.Errorf("%d Windows nodes are Ready, not %d", ready, b.nodes)
	}
	var faults []struct{ Struck int }
	if err := json.Unmarshal([]byte(b.Run(nil, "azure", "faults", "list", "-o", "json")), &faults); err != nil {
		t.Fatal(err)
	}
	if len(faults) != 1 || faults[0].Struck != 1 {
		t.Errorf("no instance in the middle has failed: %+v", faults)
	}
	b.account()
}

// account ends the test's requests and checks that all were answered.
func (b *bench) account() {
	b.t.Helper()
	asked, failed, why := b.take()
	b.t.Logf("%d requests, %d failed %v", asked, failed, why)
	if failed > 0 || asked == 0 {
		b.t.Errorf("%d of %d requests failed: %v", failed, asked, why)
	}
}

// create creates the clusters, and a service on one of them.
func (b *bench) create(serves string) {
	b.t.Helper()
	b.Run(nil, "up")
	b.prepare()
	b.do("create", func() {
		var manifests []string
		for _, c := range b.clusters { // before the clusters cause work
			manifests = append(manifests, b.manifest(c))
		}
		b.Run([]byte(strings.Join(manifests, "---\n")), "kubectl", "apply", "-f", "-")
		for _, c := range b.clusters {
			b.until(c.name, func() string { // a busy machine takes longer than the timeout of one command
				if _, err := b.Try(nil, "wait", c.name, "--timeout", "4m"); err != nil {
					return "not ready"
				}
				return ""
			})
		}
		b.serve(serves)
	})
}

// ready returns the number of Ready Windows nodes of a cluster.
func (b *bench) ready(cluster string) int {
	b.t.Helper()
	return strings.Count(b.Workload(cluster)("get", "nodes", "-l", "kubernetes.io/os=windows", "--no-headers"), " Ready ")
}

// smoke is a Job whose image is for another Windows release than the nodes', so that it does not
// complete in time.
const smoke = `apiVersion: batch/v1
kind: Job
metadata: {name: smoke, namespace: default}
spec:
  suspend: true
  backoffLimit: 0
  activeDeadlineSeconds: 5
  template:
    spec:
      restartPolicy: Never
      os: {name: windows}
      nodeSelector: {kubernetes.io/os: windows}
      containers:
      - {name: smoke, image: "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2025"}
`

// do runs a step and logs how long it took and the number of requests during it.
func (b *bench) do(step string, f func()) {
	b.t.Helper()
	before, lost, _ := b.take()
	began := time.Now()
	f()
	asked, failed, _ := b.take()
	b.t.Logf("%-24s %6.1f s, %6d requests, %d failed", step, time.Since(began).Seconds(), asked-before, failed-lost)
}

// prepare creates the gallery with the first version.
func (b *bench) prepare() {
	location := map[string]any{"location": "westeurope"}
	b.Put("/resourceGroups/images", groupAPI, location)
	b.Put(gallery, galleryAPI, map[string]any{"location": "westeurope", "properties": map[string]any{}})
	b.Put(definition, galleryAPI, map[string]any{"location": "westeurope", "properties": map[string]any{"osType": "Windows",
		"osState": "Generalized", "identifier": map[string]any{"publisher": "p", "offer": "o", "sku": "s"}}})
	b.publish("1.0.0", b.good())
}

// good returns the source of a version whose machines become nodes.
func (b *bench) good() map[string]any {
	b.t.Helper()
	image, err := windows.DefaultImage(plane.Kubernetes(), windows.OSWindows, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return map[string]any{"source": map[string]any{"communityGalleryImageId": image.Reference()}}
}

func (b *bench) publish(version string, storage map[string]any) {
	b.t.Helper()
	b.Put(definition+"/versions/"+version, galleryAPI, map[string]any{"location": "westeurope",
		"tags": map[string]any{"casement-image-state": "verified"}, "properties": map[string]any{"storageProfile": storage}})
	b.until("version "+version, func() string {
		var v struct {
			Properties struct{ ProvisioningState string }
		}
		b.ARM(definition+"/versions/"+version, galleryAPI, &v)
		if v.Properties.ProvisioningState != "Succeeded" {
			return v.Properties.ProvisioningState
		}
		return ""
	})
}

func (b *bench) image(version string) string {
	return "/subscriptions/" + b.Subscription() + definition + "/versions/" + version
}

// manifest returns a cluster with the image. The cluster of pools gets a second pool.
func (b *bench) manifest(c cluster) string {
	b.t.Helper()
	text := b.Run(nil, "generate", "cluster", c.name, "--flavor", c.flavor)
	var out []string
	emit := func(o map[string]any) {
		data, err := yaml.Marshal(o)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, string(data))
	}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			b.t.Fatal(err)
		}
		name, _ := at(o, "metadata")["name"].(string)
		second := strings.HasSuffix(name, "-win")
		b.change(o, name)
		emit(o)
		if !second || len(b.clusters) == 1 || c.flavor == "topology-windows" || o["kind"] == "MachineHealthCheck" {
			continue
		}
		copied := strings.ReplaceAll(out[len(out)-1], name, name+"2")
		copied = strings.ReplaceAll(copied, "orchestrationMode: Uniform", "orchestrationMode: Flexible")
		var twin map[string]any
		if err := yaml.Unmarshal([]byte(copied), &twin); err != nil {
			b.t.Fatal(err)
		}
		if o["kind"] == "AzureMachinePool" {
			at(twin, "spec")["orchestrationMode"] = "Flexible"
		}
		emit(twin)
	}
	return strings.Join(out, "---\n")
}

// change sets the image, the size and the surge in the objects of Windows pools.
func (b *bench) change(o map[string]any, name string) {
	rolling := map[string]any{"maxSurge": b.surge, "maxUnavailable": 0}
	switch o["kind"] {
	case "AzureMachineTemplate":
		if strings.HasSuffix(name, "-md-win") {
			at(o, "spec", "template", "spec")["image"] = map[string]any{"id": b.image("1.0.0")}
		}
	case "AzureMachinePool":
		if strings.HasSuffix(name, "-win") {
			at(o, "spec", "template")["image"] = map[string]any{"id": b.image("1.0.0")}
			at(o, "spec")["strategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": rolling}
		}
	case "MachineDeployment":
		if strings.HasSuffix(name, "-win") {
			at(o, "spec")["replicas"] = b.nodes
			at(o, "spec")["rollout"] = map[string]any{"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": rolling}}
		}
	case "MachinePool":
		if strings.HasSuffix(name, "-win") {
			at(o, "spec")["replicas"] = b.nodes
		}
	case "Cluster":
		topology, ok := at(o, "spec")["topology"].(map[string]any)
		if !ok {
			return
		}
		at(o, "metadata")["annotations"] = map[string]any{infrav1.PatchVariableAnnotation: "windowsImage"}
		deployments, _ := at(topology, "workers")["machineDeployments"].([]any)
		for _, d := range deployments {
			if d, _ := d.(map[string]any); d["name"] == "md-win" {
				d["replicas"] = b.nodes
				d["rollout"] = map[string]any{"strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": rolling}}
			}
		}
		variables, _ := topology["variables"].([]any)
		for _, v := range variables {
			if v, _ := v.(map[string]any); v["name"] == "windowsImage" {
				v["value"] = b.image("1.0.0")
			}
		}
	}
}

// at returns the object at a path inside another.
func at(o map[string]any, path ...string) map[string]any {
	for _, field := range path {
		inner, ok := o[field].(map[string]any)
		if !ok {
			inner = map[string]any{}
			o[field] = inner
		}
		o = inner
	}
	return o
}

func (b *bench) file(name, text string) string {
	b.t.Helper()
	path := b.t.TempDir() + "/" + name
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// annotate sets annotations on the named clusters, or on all clusters if none is named.
func (b *bench) annotate(annotations map[string]string, names ...string) {
	b.t.Helper()
	for _, c := range b.clusters {
		if len(names) > 0 && !slices.Contains(names, c.name) {
			continue
		}
		args := []string{"kubectl", "annotate", "cluster", c.name, "--overwrite"}
		for name, value := range annotations {
			args = append(args, name+"="+value)
		}
		b.Run(nil, args...)
	}
}

type pool struct{ Pool, Phase, Reason, Message string }

// pools returns the pools in the output of `casement upgrade status`, without Linux pools, which
// use the default image.
func (b *bench) pools() []pool {
	b.t.Helper()
	var out []pool
	for _, c := range b.clusters {
		var list []pool
		if err := json.Unmarshal([]byte(b.Run(nil, "upgrade", "status", c.name, "-o", "json")), &list); err != nil {
			b.t.Fatal(err)
		}
		for _, p := range list {
			if strings.Contains(p.Pool, "-win") {
				out = append(out, p)
			}
		}
	}
	return out
}

// missing returns a difference from n pools that all have the reason and the version, or "".
func (b *bench) missing(reason, version string, n int) string {
	b.t.Helper()
	all := b.pools()
	for _, p := range all {
		if p.Reason != reason || !strings.Contains(p.Message, version) {
			return fmt.Sprintf("%s is %s: %s", p.Pool, p.Reason, p.Message)
		}
	}
	if len(all) != n {
		return fmt.Sprintf("%d pools", len(all))
	}
	return ""
}

// refused returns "" if a version has failed and no pool is being changed.
func (b *bench) refused(version, why string) string {
	b.t.Helper()
	failed := ""
	// A new version is found at a resync, every ten minutes; the annotation triggers one.
	b.annotate(map[string]string{"poke": time.Now().Format("15.04") + fmt.Sprint(time.Now().Second()/20)})
	for _, p := range b.pools() {
		switch {
		case p.Phase != "":
			return fmt.Sprintf("%s is %s: %s", p.Pool, p.Reason, p.Message)
		case p.Reason == infrav1.PatchRolledBackReason && strings.Contains(p.Message, version) && strings.Contains(p.Message, why):
			failed = p.Pool + ": " + p.Message
		}
	}
	if failed == "" {
		return version + " has not failed"
	}
	b.t.Log(failed)
	return ""
}

// versions checks that all Windows machines are nodes and have the given version of the image.
func (b *bench) versions(version string) {
	b.t.Helper()
	found := 0
	for kind, path := range map[string]string{"azuremachines": "{.items[*].spec.image.id}",
		"azuremachinepools": "{.items[*].spec.template.image.id}"} {
		for id := range strings.FieldsSeq(b.Run(nil, "kubectl", "get", kind, "-o", "jsonpath="+path)) {
			if found++; !strings.HasSuffix(id, "/versions/"+version) {
				b.t.Errorf("one of the %s has %s", kind, id)
			}
		}
	}
	if want := 3*b.nodes + 2; found != want {
		b.t.Errorf("%d machines and pools with an image, not %d", found, want)
	}
	ready := 0
	for _, c := range b.clusters {
		ready += b.ready(c.name)
	}
	if ready != 5*b.nodes {
		b.t.Errorf("%d Windows nodes are Ready, not %d", ready, 5*b.nodes)
	}
	b.t.Logf("%d Windows nodes, all of %s", ready, version)
}

func (b *bench) until(what string, f func() string) {
	b.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	last := ""
	for {
		missing := f()
		if missing == "" {
			return
		}
		if missing != last {
			b.t.Logf("%s %s: %s", time.Now().Format(time.TimeOnly), what, missing)
			last = missing
		}
		select {
		case <-deadline.C:
			for _, c := range b.clusters {
				b.t.Log(b.Everything("tree", c.name))
				b.t.Log(b.Everything("why", c.name))
			}
			b.t.Fatalf("%s: after %s still: %s", what, patience, missing)
		case <-tick.C:
		}
	}
}

// serve runs a service on the nodes of one cluster and starts the client.
func (b *bench) serve(cluster string) {
	b.t.Helper()
	kubectl := b.Workload(cluster)
	kubectl("apply", "-f", b.file("web.yaml", web))
	address := ""
	b.until("the service", func() string {
		address = kubectl("get", "service", "web", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if ready := kubectl("get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}"); address == "" || ready != "4" {
			return fmt.Sprintf("address %q, %s ready", address, ready)
		}
		return ""
	})
	b.until("the first answer", func() string {
		if err := ask(b.t.Context(), http.DefaultClient, "http://"+address+"/"); err != nil {
			return err.Error()
		}
		return ""
	})
	b.log = b.t.Logf
	b.start("http://" + address + "/")
}

// client requests a service repeatedly, each time with a new connection, and counts the results.
type client struct {
	stop    context.CancelFunc
	running sync.WaitGroup

	mu            sync.Mutex
	asked, failed int
	// why contains the number of failed requests by reason.
	why map[string]int
	log func(format string, args ...any)
}

// askers is the number of concurrent clients, each of which pauses between requests.
const (
	askers = 10
	pause  = 20 * time.Millisecond
)

func (c *client) start(url string) {
	ctx, stop := context.WithCancel(context.Background())
	c.stop, c.why = stop, map[string]int{}
	h := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range askers {
		c.running.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				began := time.Now()
				err := ask(ctx, h, url)
				if ctx.Err() != nil {
					return
				}
				c.mu.Lock()
				if c.asked++; err != nil {
					c.failed++
					c.why[reason(err)]++
					c.log("a request of %s failed after %s: %s", began.Format(time.StampMilli), time.Since(began), reason(err))
				}
				c.mu.Unlock()
			}
		})
	}
}

// reason returns the text of an error of a request, without its address.
func reason(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return err.Error()
}

func (c *client) take() (asked, failed int, why map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked, c.failed, maps.Clone(c.why)
}

func (c *client) end() {
	if c.stop != nil {
		c.stop()
		c.running.Wait()
	}
}

func ask(ctx context.Context, h *http.Client, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := h.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode != http.StatusOK {
		err = &url.Error{Op: "Get", URL: address, Err: errors.New(resp.Status)}
	}
	return err
}

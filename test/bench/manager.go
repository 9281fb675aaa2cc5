package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/freeport"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/process"
)

// managerBench runs casement-manager alone against a management API server and the local Azure, and
// measures the cost of a number of machines.
type managerBench struct {
	machines int
	// clusters are how many clusters they are in, each a resource group.
	clusters int
	// throttle is how strictly the local Azure limits requests: 1 as Azure, 0 not at all.
	throttle float64
	// rest is how long to watch the idle manager, outage how long every call fails. 0 leaves it out.
	rest, outage time.Duration
}

func (b managerBench) measure(show func(row), bin string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "cb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plane, err := kubeproc.Start(ctx, kubeproc.Config{Dir: filepath.Join(dir, "management"), Binary: filepath.Join(bin, "casement-kube")})
	if err != nil {
		return err
	}
	defer plane.Stop(context.Background())
	server, err := azuresim.New(azuresim.Config{Host: booted{}, Throttle: azuresim.Throttle(b.throttle)})
	if err != nil {
		return err
	}
	defer server.Close()
	ca := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(ca, server.CAPEM(), 0o600); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go server.Serve(ctx, listener) // it ends with ctx
	endpoint := "https://" + listener.Addr().String()
	ports, err := freeport.Choose("127.0.0.1", 2)
	if err != nil {
		return err
	}
	c, err := kinds(ctx, plane.Config(), dir, ports[0])
	if err != nil {
		return err
	}
	p, err := process.Start(process.Spec{
		Name: "casement-manager", Path: filepath.Join(bin, "casement-manager"), Log: filepath.Join(dir, "manager.log"),
		Env: []string{"KUBECONFIG=" + filepath.Join(dir, "management", "kubeconfig")},
		Argv: []string{"casement-manager", "--webhook-host=127.0.0.1", fmt.Sprint("--webhook-port=", ports[0]),
			"--webhook-cert-dir=" + dir, fmt.Sprint("--metrics-bind-address=127.0.0.1:", ports[1]), "--insecure-diagnostics",
			"--health-addr=0",
			"--azure-authority-host=" + endpoint, "--azure-resource-manager-endpoint=" + endpoint, "--azure-ca-file=" + ca},
	})
	if err != nil {
		return err
	}
	defer p.Stop(context.Background())
	m := measured{show: show, server: server, pid: p.State().PID, machines: b.machines,
		metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", ports[1])}
	start := time.Now()
	if err := fill(ctx, c, server.Client().Secret, b.machines, max(1, b.clusters)); err != nil {
		return err
	}
	show(row{what: fmt.Sprintf("casement-manager: %d machines of %d clusters provisioned", b.machines,
		max(1, b.clusters)), unit: "s", measured: time.Since(start).Seconds()})
	if err := m.phase("creation"); err != nil {
		return err
	}
	show(row{what: "its memory then", unit: "MiB", measured: resident(m.pid) / (1 << 20), budget: 260 * max(1, float64(b.machines)/1000)})
	if b.rest > 0 {
		m.begin()
		<-time.After(b.rest)
		if err := m.phase("idle, for " + b.rest.String()); err != nil {
			return err
		}
	}
	if b.outage > 0 {
		m.begin()
		rule, err := server.Faults().Add(fault.Rule{Kind: fault.Unavailable})
		if err != nil {
			return err
		}
		<-time.After(b.outage)
		if err := m.phase("all calls fail, for " + b.outage.String()); err != nil {
			return err
		}
		m.begin()
		server.Faults().Clear(rule.ID)
		start := time.Now()
		if err := provisioned(ctx, c, b.machines); err != nil {
			return err
		}
		show(row{what: "recovery", unit: "s", measured: time.Since(start).Seconds()})
		if err := m.phase("recovery"); err != nil {
			return err
		}
		show(row{what: "its memory then", unit: "MiB", measured: resident(m.pid) / (1 << 20)})
	}
	return nil
}

// measured shows the work of a manager in a phase.
type measured struct {
	show     func(row)
	server   *azuresim.Azure
	pid      int
	machines int
	metrics  string
	before   azuresim.CallLog
	waits    histogram
	cpu      time.Duration
	since    time.Time
}

func (m *measured) begin() {
	m.before, m.since = m.server.CallLog(), time.Now()
	m.cpu = cpuOf(m.pid)
	m.waits, _ = scrape(m.metrics) // an error is visible at the end
}

// phase shows the calls by class, the requests that Azure refused, the processor time and the wait of the slowest hundredth of
// reconciles since the beginning of the phase.
func (m *measured) phase(name string) error {
	now := m.server.CallLog()
	waits, err := scrape(m.metrics)
	if err != nil {
		return err
	}
	if m.since.IsZero() { // since the manager's start
		m.since = time.Now()
	}
	for what, n := range map[string]int{"reads": now.Reads - m.before.Reads, "writes": now.Writes - m.before.Writes,
		"deletes": now.Deletes - m.before.Deletes, "polls": now.Polls - m.before.Polls} {
		if n > 0 {
			m.show(row{what: name + ": " + what + " of Azure", measured: float64(n),
				note: fmt.Sprintf("%.2f a machine", float64(n)/float64(m.machines))})
		}
	}
	m.show(row{what: name + ": requests that Azure throttled", measured: float64(now.Throttled - m.before.Throttled)})
	m.show(row{what: name + ": processor time", unit: "s", measured: (cpuOf(m.pid) - m.cpu).Seconds()})
	m.show(row{what: name + ": wait in the queue, p99", unit: "s", measured: waits.minus(m.waits).quantile(0.99), budget: 5})
	return nil
}

// histogram has how many observations were at most so many seconds.
type histogram map[float64]float64

// scrape reads the histogram of the waits in all work queues.
func scrape(url string) (histogram, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := histogram{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		labels, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "workqueue_queue_duration_seconds_bucket{"), "} ")
		if _, bound, has := strings.Cut(labels, `le="`); ok && has && strings.HasPrefix(lines.Text(), "workqueue_queue_duration") {
			le, err1 := strconv.ParseFloat(bound[:strings.IndexByte(bound, '"')], 64)
			n, err2 := strconv.ParseFloat(value, 64)
			if err := errors.Join(err1, err2); err != nil {
				return nil, err
			}
			out[le] += n
		}
	}
	return out, nil
}

func (h histogram) minus(before histogram) histogram {
	out := maps.Clone(h)
	for le := range out {
		out[le] -= before[le]
	}
	return out
}

// quantile returns the upper bound of the bucket of a quantile.
func (h histogram) quantile(q float64) float64 {
	bounds := slices.Sorted(maps.Keys(h))
	for _, le := range bounds {
		if h[le] >= q*h[bounds[len(bounds)-1]] {
			return le
		}
	}
	return 0
}

// cpuOf returns the processor time of a process.
func cpuOf(pid int) time.Duration {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// Source: proc(5): utime and stime are the twelfth and thirteenth field after the name, in hundredths.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// kinds installs Cluster API's kinds and ours, with our webhooks at a port and
// their certificate in dir.
func kinds(ctx context.Context, cfg *rest.Config, dir string, port int) (client.Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	providers, err := capi.Manifests("127.0.0.1", capi.Ports{}, nil, false)
	if err != nil {
		return nil, err
	}
	for _, p := range providers {
		for _, crd := range p.CRDs {
			if crd.Spec.Group == clusterv1.GroupVersion.Group {
				crd.Spec.Conversion = nil // its webhooks do not run here
				crds = append(crds, crd)
			}
		}
	}
	if err := kubeproc.InstallCRDs(ctx, cfg, crds); err != nil {
		return nil, err
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	mutating, validating, err := config.Webhooks()
	if err != nil {
		return nil, err
	}
	capi.PointWebhooks("casement", fmt.Sprintf("https://127.0.0.1:%d", port), certificate,
		[]*admissionv1.MutatingWebhookConfiguration{mutating}, []*admissionv1.ValidatingWebhookConfiguration{validating})
	scheme, err := manager.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	if err := c.Create(ctx, mutating); err != nil {
		return nil, err
	}
	return c, c.Create(ctx, validating)
}

// fill creates clusters and their machines, as Cluster API would, and returns when
// all are provisioned.
func fill(ctx context.Context, c client.Client, secret string, machines, clusters int) error {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: meta("sp"), Data: map[string][]byte{"clientSecret": []byte(secret)}},
		&infrav1.AzureClusterIdentity{ObjectMeta: meta("identity"), Spec: infrav1.AzureClusterIdentitySpec{
			Type: infrav1.ServicePrincipal, ClientID: azuresim.DefaultClient, TenantID: azuresim.DefaultTenant,
			ClientSecret:      corev1.SecretReference{Name: "sp", Namespace: "default"},
			AllowedNamespaces: &infrav1.AllowedNamespaces{},
		}},
		&corev1.Secret{ObjectMeta: meta("data"), Data: map[string][]byte{
			"value": []byte("## template: jinja\n#cloud-config\n\nruncmd:\n  - kubeadm join\n"),
		}},
	} {
		if err := create(ctx, c, o); err != nil {
			return err
		}
	}
	for i := range clusters {
		if err := fillOne(ctx, c, fmt.Sprintf("bench%d", i), machines*i/clusters, machines*(i+1)/clusters); err != nil {
			return err
		}
	}
	return provisioned(ctx, c, machines)
}

// fillOne creates a cluster and its machines, numbered from one on and before another.
func fillOne(ctx context.Context, c client.Client, name string, from, to int) error {
	meta := func(object string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: object, Labels: map[string]string{clusterv1.ClusterNameLabel: name}}
	}
	owned := func(name, kind string, owner client.Object) metav1.ObjectMeta {
		m := meta(name)
		m.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: clusterv1.GroupVersion.String(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID()},
		}
		return m
	}
	ref := func(kind, name string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
	}
	cluster := &clusterv1.Cluster{ObjectMeta: meta(name), Spec: clusterv1.ClusterSpec{InfrastructureRef: ref("AzureCluster", name)}}
	if err := create(ctx, c, cluster); err != nil {
		return err
	}
	azure := &infrav1.AzureCluster{ObjectMeta: owned(name, "Cluster", cluster)}
	azure.Spec.Location, azure.Spec.SubscriptionID, azure.Spec.ControlPlaneEnabled = "westeurope", azuresim.DefaultSubscription, true
	azure.Spec.IdentityRef = &corev1.ObjectReference{Kind: "AzureClusterIdentity", Name: "identity"}
	if err := create(ctx, c, azure); err != nil {
		return err
	}
	err := until(ctx, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(azure), azure)
		return azure.Status.Initialization.Provisioned != nil && *azure.Status.Initialization.Provisioned, err
	})
	if err != nil {
		return fmt.Errorf("wait for AzureCluster: %w", err)
	}
	cluster.Status.Initialization.InfrastructureProvisioned = new(true)
	if err := c.Status().Update(ctx, cluster); err != nil {
		return err
	}
	for i := from; i < to; i++ {
		object := fmt.Sprintf("win-%05d", i)
		m := &clusterv1.Machine{ObjectMeta: meta(object), Spec: clusterv1.MachineSpec{
			ClusterName: name, Version: kuberelease.Default,
			Bootstrap:         clusterv1.Bootstrap{DataSecretName: new("data")},
			InfrastructureRef: ref("AzureMachine", object),
		}}
		if err := c.Create(ctx, m); err != nil {
			return err
		}
		am := &infrav1.AzureMachine{ObjectMeta: owned(object, "Machine", m)}
		am.Annotations = map[string]string{clusterv1.TemplateClonedFromNameAnnotation: "template"}
		am.Spec.VMSize, am.Spec.OSDisk = "Standard_D2s_v3", infrav1.OSDisk{OSType: infrav1.WindowsOS, DiskSizeGB: new(int32(128))}
		if err := c.Create(ctx, am); err != nil {
			return err
		}
	}
	return nil
}

// provisioned waits until all machines are.
func provisioned(ctx context.Context, c client.Client, machines int) error {
	return until(ctx, func(ctx context.Context) (bool, error) {
		var list infrav1.AzureMachineList
		err := c.List(ctx, &list, client.InNamespace("default"))
		ready := 0
		for _, m := range list.Items {
			if m.Status.Ready {
				ready++
			}
		}
		return ready == machines, err
	})
}

// create creates an object, as soon as the webhook server has come up.
func create(ctx context.Context, c client.Client, o client.Object) error {
	err := until(ctx, func(ctx context.Context) (bool, error) {
		err := c.Create(ctx, o)
		return err == nil, ignoreInternal(err)
	})
	if err != nil {
		return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

// until asks every second, for an hour.
func until(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, time.Second, time.Hour, true, done)
}

func ignoreInternal(err error) error {
	if apierrors.IsInternalError(err) {
		return nil
	}
	return err
}

// booted reports every VM as booted immediately.
type booted struct{}

func (booted) View(string) host.View {
	return host.View{Provisioned: host.ProvisioningReady, AgentReady: true}
}
func (booted) Start(host.VM)                        {}
func (booted) Stop(string)                          {}
func (booted) Delete(context.Context, string) error { return nil }
func (booted) Console(string) []byte                { return nil }

func (booted) Run(context.Context, string, string) (code int, stdout, stderr string, err error) {
	return 0, "", "", nil
}

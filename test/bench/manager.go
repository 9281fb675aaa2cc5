package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/config"
	"casement.dev/casement/internal/capi"
	"casement.dev/casement/internal/freeport"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/manager"
	"casement.dev/casement/internal/process"
)

// managerBench runs casement-manager alone against a management API server and the local Azure, and
// measures the cost of a number of machines.
type managerBench struct {
	machines int
	// clusters is the number of clusters that contain the machines, each in a resource group; pools
	// is the number of additional pools, with poolInstances instances each.
	clusters, pools int
	// subscriptions is the number of subscriptions of the clusters, all with one identity.
	subscriptions int
	// shards is how the clusters are divided between two managers: by "namespace", by "filter", or "" for one manager.
	shards string
	// throttle says how strictly the local Azure limits requests: 1 means Azure's limits, 0 no
	// limits.
	throttle float64
	// arriving is the number of clusters, pools and machines, together, that are created in a
	// second, cluster after cluster; 0 means all at the same time.
	arriving int
	// roll is the number of machines that are replaced.
	roll int
	// rest is the time for which the idle manager is watched, outage the time for which every call
	// fails; 0 skips the phase.
	rest, outage time.Duration
	// speed is the factor by which a manager compares and lists more often in the idle day; 0 skips
	// the day.
	speed int
}

// stage contains everything that a measurement needs.
type stage struct {
	managerBench
	show     func(row)
	bin, dir string
	webhook  int // port
	// azure contains the manager's flags for the local Azure.
	azure  []string
	server *azuresim.Azure
	herd   *herd
	gauge  gauge
}

func (b managerBench) measure(show func(row), bin string) error {
	log.SetLogger(klog.Background())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "cb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.clusters, b.subscriptions = max(1, b.clusters), max(1, b.subscriptions)
	s := &stage{managerBench: b, show: show, bin: bin, dir: dir, herd: &herd{pace: flowcontrol.NewFakeAlwaysRateLimiter()}}
	if b.arriving > 0 {
		s.herd.pace = flowcontrol.NewTokenBucketRateLimiter(float32(b.arriving), 1)
	}
	defer func() { s.gauge.stop() }()
	// The API server and etcd represent those of a production cluster, so each may use all
	// processors; in a plane it may use half of them.
	if err := os.Setenv("GOMAXPROCS", strconv.Itoa(runtime.GOMAXPROCS(0))); err != nil {
		return err
	}
	plane, err := kubeproc.Start(ctx, kubeproc.Config{Dir: filepath.Join(dir, "management"), Binary: filepath.Join(bin, "casement-kube")})
	if err != nil {
		return err
	}
	defer plane.Stop(context.Background())
	if err := s.serveAzure(ctx); err != nil {
		return err
	}
	defer s.server.Close()
	ports, err := freeport.Choose("127.0.0.1", 1)
	if err != nil {
		return err
	}
	s.webhook = ports[0]
	if err := s.kinds(ctx, plane.Config()); err != nil {
		return err
	}
	if err := s.start(); err != nil {
		return err
	}
	if err := s.gauge.working(ctx); err != nil {
		return err
	}
	return s.phases(ctx)
}

// phases measures one phase after the other.
func (s *stage) phases(ctx context.Context) error {
	err := s.timed("creation", func() error {
		return s.herd.fill(ctx, s.server.Client().Secret, s.machines, s.clusters, s.pools)
	})
	if err == nil && s.rest > 0 {
		err = s.watched("idle", s.rest)
	}
	if err == nil && s.roll > 0 {
		err = s.timed(fmt.Sprintf("rollout of %d", s.roll), func() error { return s.herd.roll(ctx, s.machines, s.roll) })
	}
	if err == nil && s.outage > 0 {
		err = s.fail(ctx)
	}
	if err == nil && s.speed > 0 {
		err = s.day()
	}
	return err
}

// timed measures a phase that lasts as long as do.
func (s *stage) timed(name string, do func() error) error {
	s.gauge.begin()
	began := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.show(row{what: name, unit: "s", measured: time.Since(began).Seconds()})
	return s.gauge.end(name)
}

// watched measures a phase of a given duration.
func (s *stage) watched(name string, during time.Duration) error {
	s.gauge.begin()
	s.gauge.watch(during)
	return s.gauge.end(name + ", " + during.String())
}

// fail measures a time in which every call fails, and the recovery afterwards.
func (s *stage) fail(ctx context.Context) error {
	rule, err := s.server.Faults().Add(fault.Rule{Kind: fault.Unavailable})
	if err != nil {
		return err
	}
	if err := s.watched("every call fails", s.outage); err != nil {
		return err
	}
	if err := s.server.Faults().Clear(rule.ID); err != nil {
		return err
	}
	return s.timed("recovery", func() error { return s.herd.settle(ctx) })
}

// day starts the manager again with shorter intervals, and measures as many intervals as a day has.
// Azure's limits are those of a real day: calls are more frequent than on a real day, but the
// limits refill no faster.
func (s *stage) day() error {
	s.gauge.stop()
	o := manager.Defaults()
	fast := time.Duration(s.speed)
	err := s.start(fmt.Sprint("--resync=", o.Resync/fast), fmt.Sprint("--azure-read-ttl=", o.ReadTTL/fast),
		fmt.Sprint("--sync-period=", o.SyncPeriod/fast))
	if err != nil {
		return err
	}
	if err := s.watched("after a restart", 2*o.Resync/fast); err != nil {
		return err
	}
	return s.watched(fmt.Sprintf("a day, %d times as fast", s.speed), 24*time.Hour/fast)
}

// serveAzure starts the local Azure.
func (s *stage) serveAzure(ctx context.Context) error {
	for i := range s.subscriptions {
		s.herd.subscriptions = append(s.herd.subscriptions, fmt.Sprintf("00000000-0000-0000-0000-%012d", i+1))
	}
	var err error
	s.server, err = azuresim.New(azuresim.Config{Host: booted{}, Throttle: azuresim.Throttle(s.throttle),
		Subscriptions: s.herd.subscriptions})
	if err != nil {
		return err
	}
	ca := filepath.Join(s.dir, "ca.crt")
	if err := os.WriteFile(ca, s.server.CAPEM(), 0o600); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go s.server.Serve(ctx, listener) // returns when ctx ends
	endpoint := "https://" + listener.Addr().String()
	s.azure = []string{"--azure-authority-host=" + endpoint, "--azure-resource-manager-endpoint=" + endpoint, "--azure-ca-file=" + ca}
	return nil
}

// start starts the managers. The first one serves the webhooks.
func (s *stage) start(flags ...string) error {
	s.herd.spaces = []string{"bench"}
	if s.shards != "" {
		s.herd.spaces = append(s.herd.spaces, "bench2")
	}
	s.gauge = gauge{show: s.show, server: s.server, machines: s.machines, subscriptions: s.subscriptions}
	for i, space := range s.herd.spaces {
		ports, err := freeport.Choose("127.0.0.1", 2)
		if err != nil {
			return err
		}
		argv := append([]string{"casement-manager", "--health-addr=0", "--insecure-diagnostics",
			fmt.Sprint("--metrics-bind-address=127.0.0.1:", ports[0]), fmt.Sprint("--profiler-address=127.0.0.1:", ports[1]),
			"--webhook-host=127.0.0.1", fmt.Sprint("--webhook-port=", map[bool]int{true: s.webhook}[i == 0]),
			"--webhook-cert-dir=" + s.dir}, s.azure...)
		switch s.shards {
		case "":
		case "namespace":
			argv = append(argv, "--namespace="+space)
		case "filter":
			argv = append(argv, "--watch-filter="+space)
		default:
			return fmt.Errorf("-shards %q is neither namespace nor filter", s.shards)
		}
		p, err := process.Start(process.Spec{
			Name: "casement-manager", Path: filepath.Join(s.bin, "casement-manager"),
			Log: filepath.Join(s.dir, "manager-"+space+".log"),
			Env: []string{"KUBECONFIG=" + filepath.Join(s.dir, "management", "kubeconfig")}, Argv: append(argv, flags...),
		})
		if err != nil {
			return err
		}
		fmt.Printf("%s: process %d, log %s, profiles http://127.0.0.1:%d/debug/pprof/\n", space, p.State().PID,
			filepath.Join(s.dir, "manager-"+space+".log"), ports[1])
		s.gauge.managers = append(s.gauge.managers, &measured{process: p, metrics: fmt.Sprintf("http://127.0.0.1:%d/metrics", ports[0])})
	}
	return nil
}

// kinds installs Cluster API's CRDs and ours, with our webhooks, and starts a cache for our
// objects.
func (s *stage) kinds(ctx context.Context, cfg *rest.Config) error {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	providers, err := capi.Manifests("127.0.0.1", capi.Ports{}, nil, false)
	if err != nil {
		return err
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
		return err
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o600); err != nil {
			return err
		}
	}
	mutating, validating, err := config.Webhooks()
	if err != nil {
		return err
	}
	capi.PointWebhooks("casement", fmt.Sprintf("https://127.0.0.1:%d", s.webhook), certificate,
		[]*admissionv1.MutatingWebhookConfiguration{mutating}, []*admissionv1.ValidatingWebhookConfiguration{validating})
	scheme, err := manager.Scheme()
	if err != nil {
		return err
	}
	h := s.herd
	if h.client, err = client.New(cfg, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, webhooks := range []client.Object{mutating, validating} {
		if err := h.client.Create(ctx, webhooks); err != nil {
			return err
		}
	}
	all, err := cache.New(cfg, cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		return err
	}
	return h.watch(ctx, all)
}

// booted is a Host that provisions every VM immediately, with a console on which the boot agent has
// ended.
type booted struct{}

func (booted) View(string) host.View {
	return host.View{Provisioned: host.ProvisioningReady, AgentReady: true}
}
func (booted) Start(host.VM)                        {}
func (booted) Stop(string)                          {}
func (booted) Delete(context.Context, string) error { return nil }
func (booted) Console(string) []byte                { return []byte("Plugins execution done\n") }

func (booted) Run(context.Context, string, string) (code int, stdout, stderr string, err error) {
	return 0, "", "", nil
}

package stub

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"casement.dev/casement/internal/sim/fabric"
)

// serviceWatch watches services and endpoint slices for all the kube-proxies and DNS servers of a
// cluster over the connection of the oldest member. When that member leaves, its watch continues
// until the next member's watch has read everything, because real kube-proxies have their own
// watches and no such gap.
type serviceWatch struct {
	net *fabric.Cluster
	log *slog.Logger

	mu      sync.Mutex
	members []*member
	stop    context.CancelFunc // ends the current watch, and the previous one until the current one has read everything
	by      *member            // the member whose connection is used
	names   map[string]fabric.Answer
}

// member is a program that uses the watch, with the connection that the watch uses while the member
// is the oldest.
type member struct {
	config func(context.Context) (*rest.Config, error)
}

func newServiceWatch(net *fabric.Cluster, log *slog.Logger) *serviceWatch {
	return &serviceWatch{net: net, log: log}
}

// join adds a member until leave is called.
func (w *serviceWatch) join(config func(context.Context) (*rest.Config, error)) (leave func()) {
	m := &member{config: config}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.members = append(w.members, m)
	w.elect()
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.members = slices.DeleteFunc(w.members, func(o *member) bool { return o == m })
		w.elect()
	}
}

// elect starts a watch for the oldest member unless it already has one; the caller has locked w.mu.
func (w *serviceWatch) elect() {
	if len(w.members) > 0 && w.by == w.members[0] {
		return
	}
	before := w.stop
	if before == nil {
		before = func() {}
	}
	if w.stop, w.by = nil, nil; len(w.members) == 0 {
		before()
		return
	}
	by := w.members[0]
	ctx, cancel := context.WithCancel(context.Background())
	w.by, w.stop = by, func() { cancel(); before() }
	go w.run(ctx, by.config, func() {
		before()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.by == by {
			w.stop = cancel
		}
	})
}

// settle is the time for which changes are collected before they are published.
const settle = 20 * time.Millisecond

// run publishes the watched services and endpoints until ctx ends; it calls synced after it has
// read all of them.
func (w *serviceWatch) run(ctx context.Context, connect func(context.Context) (*rest.Config, error), synced func()) {
	client, err := w.connect(ctx, connect)
	if err != nil {
		return
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim))
	services, slices := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	}
	for _, i := range []cache.SharedIndexInformer{services.Informer(), slices.Informer()} {
		if _, err := i.AddEventHandler(handler); err != nil {
			w.log.Error("watch services", "error", err)
			return
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	factory.WaitForCacheSync(ctx.Done())
	if ctx.Err() == nil {
		synced()
	}
	for pause(ctx, settle) {
		svcs, err1 := services.Lister().List(labels.Everything())
		eps, err2 := slices.Lister().List(labels.Everything())
		if err1 == nil && err2 == nil {
			w.publish(ctx, svcs, eps)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// connect retries until it has a client; its only error is that of ctx.
func (w *serviceWatch) connect(ctx context.Context, connect func(context.Context) (*rest.Config, error)) (kubernetes.Interface, error) {
	for {
		config, err := connect(ctx)
		if err == nil {
			var client kubernetes.Interface
			if client, err = kubernetes.NewForConfig(config); err == nil {
				return client, nil
			}
		}
		w.log.Error("watch services", "error", err)
		if !pause(ctx, time.Second) {
			return nil, ctx.Err()
		}
	}
}

func (w *serviceWatch) publish(ctx context.Context, services []*corev1.Service, endpoints []*discoveryv1.EndpointSlice) {
	translated, named := translate(services, endpoints), names(services, endpoints)
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() == nil { // otherwise a newer watch has published
		w.names = named
		w.net.SetServices(translated)
	}
}

// resolve resolves names of services like the cluster's DNS.
func (w *serviceWatch) resolve(name string) (fabric.Answer, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name = strings.TrimSuffix(strings.TrimSuffix(name, "."), ".cluster.local")
	a, ok := w.names[strings.TrimSuffix(name, ".svc")]
	return a, ok
}

// slim drops the fields of an object that are not used here.
func slim(obj any) (any, error) {
	if m, err := meta.Accessor(obj); err == nil {
		m.SetManagedFields(nil)
	}
	return obj, nil
}

// pause waits and reports whether ctx is still active.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// translate combines services with their endpoint slices in the form of the fabric.
func translate(services []*corev1.Service, endpoints []*discoveryv1.EndpointSlice) []fabric.Service {
	byService := group(endpoints)
	var out []fabric.Service
	for _, s := range services {
		if s.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		t := fabric.Service{
			Namespace: s.Namespace, Name: s.Name,
			ClusterIPs: addresses(s.Spec.ClusterIPs), Ingress: addresses(s.Spec.ExternalIPs),
			ClientIP:            s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP,
			Local:               s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal,
			HealthCheckNodePort: uint16(s.Spec.HealthCheckNodePort),
		}
		for _, in := range s.Status.LoadBalancer.Ingress {
			t.Ingress = append(t.Ingress, addresses([]string{in.IP})...)
		}
		for _, p := range s.Spec.Ports {
			if p.Protocol != corev1.ProtocolTCP && p.Protocol != "" {
				continue
			}
			t.Ports = append(t.Ports, fabric.ServicePort{
				Name: p.Name, Port: uint16(p.Port), NodePort: uint16(p.NodePort),
				Endpoints: serving(byService[s.Namespace+"/"+s.Name], p.Name),
			})
		}
		out = append(out, t)
	}
	return out
}

func group(endpoints []*discoveryv1.EndpointSlice) map[string][]*discoveryv1.EndpointSlice {
	out := map[string][]*discoveryv1.EndpointSlice{}
	for _, e := range endpoints {
		key := e.Namespace + "/" + e.Labels[discoveryv1.LabelServiceName]
		out[key] = append(out[key], e)
	}
	return out
}

// serving returns the endpoints of a port that are ready, or serve while they terminate, each once
// and in a stable order.
func serving(endpoints []*discoveryv1.EndpointSlice, port string) []fabric.Endpoint {
	var out []fabric.Endpoint
	for _, s := range endpoints {
		for _, p := range s.Ports {
			if p.Port == nil || p.Name == nil && port != "" || p.Name != nil && *p.Name != port {
				continue
			}
			for _, e := range s.Endpoints {
				ready := e.Conditions.Ready == nil || *e.Conditions.Ready
				ending := ptr.Deref(e.Conditions.Serving, false) && ptr.Deref(e.Conditions.Terminating, false)
				if !ready && !ending {
					continue
				}
				for _, ip := range addresses(e.Addresses) {
					at := fabric.Endpoint{Addr: netip.AddrPortFrom(ip, uint16(*p.Port)), Terminating: !ready}
					if e.NodeName != nil {
						at.Node = *e.NodeName
					}
					out = append(out, at)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b fabric.Endpoint) int { return a.Addr.Compare(b.Addr) })
	return slices.Compact(out)
}

// names maps "service.namespace" to the Service's cluster address, to the addresses of the ready
// endpoints of a headless Service, or to the name to which a Service of type ExternalName refers.
func names(services []*corev1.Service, endpoints []*discoveryv1.EndpointSlice) map[string]fabric.Answer {
	byService := group(endpoints)
	out := map[string]fabric.Answer{}
	for _, s := range services {
		a := fabric.Answer{IPs: addresses(s.Spec.ClusterIPs)}
		switch {
		case s.Spec.Type == corev1.ServiceTypeExternalName:
			a = fabric.Answer{Alias: strings.ToLower(s.Spec.ExternalName)}
		case len(a.IPs) == 0:
			for _, e := range byService[s.Namespace+"/"+s.Name] {
				for _, p := range e.Endpoints {
					if p.Conditions.Ready == nil || *p.Conditions.Ready {
						a.IPs = append(a.IPs, addresses(p.Addresses)...)
					}
				}
			}
			slices.SortFunc(a.IPs, netip.Addr.Compare)
			a.IPs = slices.Compact(a.IPs)
		}
		if len(a.IPs) > 0 || a.Alias != "" {
			out[s.Name+"."+s.Namespace] = a
		}
	}
	return out
}

// addresses returns the IPv4 addresses in a list and skips all other strings.
func addresses(in []string) []netip.Addr {
	var out []netip.Addr
	for _, s := range in {
		if ip, err := netip.ParseAddr(s); err == nil && ip.Unmap().Is4() {
			out = append(out, ip.Unmap())
		}
	}
	return out
}

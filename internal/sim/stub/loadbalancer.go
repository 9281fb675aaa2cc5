package stub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// finalizer keeps a service until its load balancer is deleted. Source:
	// k8s.io/cloud-provider/service/helpers, LoadBalancerCleanupFinalizer.
	finalizer = "service.kubernetes.io/load-balancer-cleanup"
	// firstRetry and lastRetry are the shortest and the longest pause before a failed service is
	// tried again. Source: k8s.io/cloud-provider/controllers/service, minRetryDelay and
	// maxRetryDelay.
	firstRetry, lastRetry = 5 * time.Second, 5 * time.Minute
)

// balanced is a service with a load balancer, and its load balancer settings.
type balanced struct {
	*corev1.Service
	balancing
	// publicPath and publicAddress are the ID and the address of its public IP.
	publicPath, publicAddress string
}

// failure is the last failed attempt of a service.
type failure struct {
	version string // resource version of the service
	text    string
	pause   time.Duration
	due     time.Time
}

// frontendName returns the name of a service in the cloud: "a" and its UID. Source:
// k8s.io/cloud-provider, DefaultLoadBalancerName.
func frontendName(s *corev1.Service) string {
	name := "a" + strings.ReplaceAll(string(s.UID), "-", "")
	return name[:min(len(name), 32)]
}

// mine matches the names of resources that belong to services.
var mine = regexp.MustCompile(`^a[0-9a-f]{31}(-|$)`)

func wantsBalancer(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.DeletionTimestamp == nil && s.Spec.LoadBalancerClass == nil
}

// reconcileServices creates the load balancers, public addresses and security rules of the
// cluster's services, and deletes those of deleted services. A failed service gets an event, keeps
// its resources, and does not delay the others.
func (c *controller) reconcileServices(ctx context.Context) error {
	all, err := c.services.List(labels.Everything())
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *corev1.Service) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	var wanted []balanced
	var leaving, kept []*corev1.Service
	for _, s := range all {
		switch {
		case wantsBalancer(s) && c.isBackingOff(s):
			kept = append(kept, s)
		case wantsBalancer(s):
			if b, err := c.prepare(ctx, s); err != nil {
				c.fail(s, err)
				kept = append(kept, s)
			} else {
				wanted = append(wanted, b)
			}
		case slices.Contains(s.Finalizers, finalizer):
			leaving = append(leaving, s)
		}
	}
	if len(wanted)+len(leaving)+len(kept) == 0 {
		return nil
	}
	var errs []error
	for _, internal := range []bool{false, true} {
		errs = append(errs, c.ensureBalancer(ctx, internal, wanted, leaving, kept))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := c.ensureSecurityRules(ctx, wanted, leaving); err != nil {
		return err
	}
	for _, s := range leaving {
		errs = append(errs, c.release(ctx, s))
	}
	return errors.Join(errs...)
}

// isBackingOff reports whether a service failed, has not changed since, and its next attempt is not due
// yet.
func (c *controller) isBackingOff(s *corev1.Service) bool {
	f, failed := c.failures[s.UID]
	return failed && f.version == s.ResourceVersion && time.Now().Before(f.due)
}

// fail records that a service failed, and reports the error in the log and in an event.
func (c *controller) fail(s *corev1.Service, err error) {
	last := c.failures[s.UID]
	next := failure{version: s.ResourceVersion, text: err.Error(), pause: firstRetry}
	if last.text == next.text {
		next.pause = min(2*last.pause, lastRetry)
	}
	next.due = time.Now().Add(next.pause)
	c.failures[s.UID] = next
	c.events.Eventf(s, corev1.EventTypeWarning, "SyncLoadBalancerFailed",
		"Error syncing load balancer: failed to ensure load balancer: %v", err)
	if last.text != next.text {
		c.printf("service %s/%s: error: %v", s.Namespace, s.Name, err)
	}
}

// prepare reads the settings of a service and creates the resources that its load balancer refers to.
func (c *controller) prepare(ctx context.Context, s *corev1.Service) (balanced, error) {
	b, err := balancingOf(s)
	if err != nil {
		return balanced{}, err
	}
	for _, annotation := range b.ignored {
		if !c.ignored[string(s.UID)+annotation] {
			c.ignored[string(s.UID)+annotation] = true
			c.events.Eventf(s, corev1.EventTypeWarning, "NotSimulated",
				"annotation %s has no effect: the cloud provider of this cluster is simulated", annotation)
		}
	}
	if s, err = c.ensureFinalizer(ctx, s); err != nil {
		return balanced{}, err
	}
	out := balanced{Service: s, balancing: b}
	if !b.internal {
		out.publicPath, out.publicAddress, err = c.ensurePublicIP(ctx, out)
		return out, err
	}
	if b.subnet != "" {
		err := c.arm.call(ctx, http.MethodGet, c.subnetPath(b.subnet), nil, nil)
		if isNotFound(err) {
			return out, fmt.Errorf("ensure(%s/%s): lb(%s) - failed to get subnet: %s/%s", s.Namespace, s.Name,
				path.Base(c.balancerPath(true)), c.Config.VNetName, b.subnet)
		}
		return out, err
	}
	return out, nil
}

func (c *controller) subnetPath(name string) string {
	return c.arm.network(c.Config.VNetResourceGroup, "virtualNetworks", c.Config.VNetName) + "/subnets/" + name
}

func (c *controller) ensureFinalizer(ctx context.Context, s *corev1.Service) (*corev1.Service, error) {
	if slices.Contains(s.Finalizers, finalizer) {
		return s, nil
	}
	s = s.DeepCopy()
	s.Finalizers = append(s.Finalizers, finalizer)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": s.ResourceVersion, "finalizers": s.Finalizers}})
	if err != nil {
		return nil, err
	}
	// The cloud provider may patch only the status of services; the patch of the status also writes
	// the metadata.
	out, err := c.client.CoreV1().Services(s.Namespace).Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("service %s/%s: add the finalizer: %w", s.Namespace, s.Name, err)
	}
	return out, nil
}

func (c *controller) publicIPPath(group, frontend string) string {
	return c.arm.network(cmp.Or(group, c.Config.ResourceGroup), "publicIPAddresses", c.ClusterName+"-"+frontend)
}

// ensurePublicIP returns the ID and the address of a service's public IP: the public IP that the
// service names, the one with the address that the service requests, or the service's own, which is
// created if necessary.
func (c *controller) ensurePublicIP(ctx context.Context, s balanced) (id, address string, err error) {
	id = c.publicIPPath(s.group, frontendName(s.Service))
	if s.publicIP != "" {
		id = c.arm.network(cmp.Or(s.group, c.Config.ResourceGroup), "publicIPAddresses", s.publicIP)
	} else if s.address != "" {
		if id, err = c.publicIPWith(ctx, s); err != nil {
			return "", "", err
		}
	}
	var doc document
	err = c.arm.call(ctx, http.MethodGet, id, nil, &doc)
	made := isNotFound(err)
	if made && s.publicIP != "" {
		return "", "", fmt.Errorf("PublicIP from annotation azure-pip-name(-IPv6)=%s for service %s/%s doesn't exist", s.publicIP,
			s.Namespace, s.Name)
	}
	if made {
		doc, err = document{
			"location": c.Config.Location, "sku": document{"name": "Standard"},
			"tags":       document{"k8s-azure-service": s.Namespace + "/" + s.Name, "k8s-azure-cluster-name": c.ClusterName},
			"properties": document{"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4"},
		}, nil
	}
	if err != nil {
		return "", "", fmt.Errorf("public IP: %w", err)
	}
	properties, _ := doc["properties"].(document)
	if labelled := label(properties, s.label); made || labelled {
		if doc, err = c.arm.put(ctx, id, doc); err != nil {
			return "", "", fmt.Errorf("public IP: %w", err)
		}
		properties, _ = doc["properties"].(document)
		c.printf("service %s/%s: wrote a public IP", s.Namespace, s.Name)
	}
	if address, _ = properties["ipAddress"].(string); address == "" {
		return "", "", errors.New("its public IP has no address")
	}
	return id, address, nil
}

// label sets the DNS label of a public IP to the service's, and reports whether it changed.
func label(properties document, want *string) bool {
	if want == nil {
		return false
	}
	settings, _ := properties["dnsSettings"].(document)
	if has, _ := settings["domainNameLabel"].(string); strings.EqualFold(has, *want) {
		return false
	}
	delete(properties, "dnsSettings")
	if *want != "" {
		properties["dnsSettings"] = document{"domainNameLabel": *want}
	}
	return true
}

// publicIPWith returns the ID of the public IP that has the address that a service requests.
func (c *controller) publicIPWith(ctx context.Context, s balanced) (string, error) {
	group := cmp.Or(s.group, c.Config.ResourceGroup)
	var all struct{ Value []document }
	if err := c.arm.call(ctx, http.MethodGet, strings.TrimSuffix(c.arm.network(group, "publicIPAddresses", ""), "/"), nil, &all); err != nil {
		return "", fmt.Errorf("public IPs of group %s: %w", group, err)
	}
	for _, doc := range all.Value {
		if properties, _ := doc["properties"].(document); properties["ipAddress"] == s.address {
			id, _ := doc["id"].(string)
			return id, nil
		}
	}
	return "", fmt.Errorf("user supplied IP Address %s was not found in resource group %s", s.address, group)
}

func (c *controller) balancerPath(internal bool) string {
	name := c.ClusterName
	if c.Config.LoadBalancerName != "" {
		name = c.Config.LoadBalancerName
	}
	if internal {
		name += "-internal"
	}
	return c.arm.network(c.Config.ResourceGroup, "loadBalancers", name)
}

// ensureBalancer updates one load balancer to match its services, keeps the children that belong to no
// service or to a service in kept, and publishes the addresses.
func (c *controller) ensureBalancer(ctx context.Context, internal bool, wanted []balanced, leaving, kept []*corev1.Service) error {
	services := slices.DeleteFunc(slices.Clone(wanted), func(s balanced) bool { return s.internal != internal })
	at := c.balancerPath(internal)
	if len(services) == 0 && len(leaving) == 0 && c.applied[at] == "" {
		return nil
	}
	var live document
	if err := c.arm.call(ctx, http.MethodGet, at, nil, &live); err != nil && !isNotFound(err) {
		return fmt.Errorf("load balancer: %w", err)
	}
	if live == nil && len(services) == 0 {
		delete(c.applied, at)
		return nil
	}
	live, err := c.write(ctx, at, live, services, kept)
	switch {
	case err != nil && len(services) > 1:
		// Azure refuses one of the services: each is added separately, so that the others work.
		good := []balanced{}
		for i, s := range services {
			others := slices.Clone(kept)
			for _, later := range services[i+1:] {
				others = append(others, later.Service)
			}
			with, err := c.write(ctx, at, live, append(slices.Clone(good), s), others)
			if err != nil {
				c.fail(s.Service, err)
				kept = append(kept, s.Service)
				continue
			}
			live, good = with, append(good, s)
		}
		services = good
	case err != nil && len(services) == 1:
		c.fail(services[0].Service, err)
		return nil
	case err != nil:
		return err
	}
	var errs []error
	for _, s := range services {
		ip := s.publicAddress
		if internal {
			ip = privateAddress(live, frontendName(s.Service))
		}
		errs = append(errs, c.publish(ctx, s.Service, ip))
	}
	return errors.Join(errs...)
}

// write updates a load balancer to match its services, and returns the new document, or after a
// failure the current one.
func (c *controller) write(ctx context.Context, at string, live document, services []balanced, kept []*corev1.Service) (document, error) {
	body := c.balancer(at, live, services, kept)
	data, err := json.Marshal(body)
	if err != nil {
		return live, err
	}
	switch {
	case live != nil && c.applied[at] == string(data):
		return live, nil
	case empty(body):
		if err := c.arm.delete(ctx, at); err != nil {
			return live, err
		}
		c.printf("load balancer %s deleted", path.Base(at))
		delete(c.applied, at)
		return nil, nil
	}
	made, err := c.arm.put(ctx, at, body)
	if err != nil {
		return live, err
	}
	c.applied[at] = string(data)
	return made, nil
}

func (c *controller) publish(ctx context.Context, s *corev1.Service, ip string) error {
	delete(c.failures, s.UID)
	if ip == "" || len(s.Status.LoadBalancer.Ingress) == 1 && s.Status.LoadBalancer.Ingress[0].IP == ip {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"loadBalancer": map[string]any{
		"ingress": []any{map[string]any{"ip": ip, "ipMode": corev1.LoadBalancerIPModeVIP}},
	}}})
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().Services(s.Namespace).Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("service %s/%s: publish its address: %w", s.Namespace, s.Name, err)
	}
	c.events.Event(s, corev1.EventTypeNormal, "EnsuredLoadBalancer", "Ensured load balancer")
	c.printf("service %s/%s: ensured load balancer at %s", s.Namespace, s.Name, ip)
	return nil
}

// release deletes the public address of a service, and then removes the service's finalizer.
func (c *controller) release(ctx context.Context, s *corev1.Service) error {
	delete(c.failures, s.UID)
	b, _ := balancingOf(s) // an invalid setting leaves the other settings at zero
	if err := c.arm.delete(ctx, c.publicIPPath(b.group, frontendName(s))); err != nil {
		return fmt.Errorf("service %s/%s: %w", s.Namespace, s.Name, err)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"resourceVersion": s.ResourceVersion,
			"finalizers":      slices.DeleteFunc(slices.Clone(s.Finalizers), func(f string) bool { return f == finalizer }),
		},
		"status": map[string]any{"loadBalancer": nil},
	})
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().Services(s.Namespace).Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("service %s/%s: remove the finalizer: %w", s.Namespace, s.Name, err)
	}
	c.printf("service %s/%s: deleted its load balancer", s.Namespace, s.Name)
	return nil
}

// securityPriority is the first priority of services' rules, as in the real provider.
const securityPriority = 500

// ensureSecurityRules opens the services' ports to the Internet and closes the ports of deleted
// services. It writes single rules of the node subnet's group, so that other rules are kept.
func (c *controller) ensureSecurityRules(ctx context.Context, wanted []balanced, leaving []*corev1.Service) error {
	if c.Config.SecurityGroup == "" {
		return nil
	}
	group := c.arm.network(c.Config.SecurityGroupGroup, "networkSecurityGroups", c.Config.SecurityGroup)
	want := map[string]document{}
	for _, s := range wanted {
		if s.internal {
			continue
		}
		for _, p := range s.Spec.Ports {
			if len(s.tags) == 0 || len(s.sources) > 0 {
				want[ruleName(s.Service, p)+"-Internet"] = securityRule(s, p, s.sources...)
			}
			for _, tag := range s.tags {
				want[ruleName(s.Service, p)+"-"+tag] = securityRule(s, p, tag)
			}
		}
	}
	var live struct {
		Properties struct {
			Rules []struct {
				Name       string
				Properties struct {
					Priority  int
					Direction string
				}
			} `json:"securityRules"`
		}
	}
	if err := c.arm.call(ctx, http.MethodGet, group, nil, &live); err != nil {
		return fmt.Errorf("security group %s: %w", c.Config.SecurityGroup, err)
	}
	taken := map[int]bool{}
	for _, r := range live.Properties.Rules {
		if strings.EqualFold(r.Properties.Direction, "Inbound") {
			taken[r.Properties.Priority] = true
		}
		if _, ok := want[r.Name]; ok {
			delete(want, r.Name)
		} else if belongs(r.Name, leaving) {
			if err := c.arm.delete(ctx, group+"/securityRules/"+r.Name); err != nil {
				return err
			}
		}
	}
	priority := securityPriority
	for _, name := range slices.Sorted(maps.Keys(want)) {
		for taken[priority] {
			priority++
		}
		taken[priority] = true
		want[name]["properties"].(document)["priority"] = priority
		if _, err := c.arm.put(ctx, group+"/securityRules/"+name, want[name]); err != nil {
			return err
		}
	}
	return nil
}

func belongs(rule string, services []*corev1.Service) bool {
	return slices.ContainsFunc(services, func(s *corev1.Service) bool { return strings.HasPrefix(rule, frontendName(s)+"-") })
}

// securityRule returns a rule that allows sources, by default the Internet, to connect to a port.
func securityRule(s balanced, p corev1.ServicePort, sources ...string) document {
	rule := document{
		"access": "Allow", "direction": "Inbound", "protocol": armProtocol(p.Protocol),
		"sourcePortRange": "*", "destinationPortRange": fmt.Sprint(p.Port), "destinationAddressPrefix": s.publicAddress,
	}
	if s.direct {
		rule["destinationPortRange"], rule["destinationAddressPrefix"] = fmt.Sprint(p.NodePort), "*"
	}
	switch len(sources) {
	case 0:
		rule["sourceAddressPrefix"] = "Internet"
	case 1:
		rule["sourceAddressPrefix"] = sources[0]
	default:
		rule["sourceAddressPrefixes"] = sources
	}
	return document{"properties": rule}
}

func armProtocol(p corev1.Protocol) string {
	if p == corev1.ProtocolUDP {
		return "Udp"
	}
	return "Tcp"
}

func ruleName(s *corev1.Service, p corev1.ServicePort) string {
	return fmt.Sprintf("%s-%s-%d", frontendName(s), strings.ToUpper(armProtocol(p.Protocol)), p.Port)
}

// backends returns the sorted addresses of the nodes that take part in load balancing.
func (c *controller) backends() []netip.Addr {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for _, n := range nodes {
		if ip, err := netip.ParseAddr(internalIP(n)); err == nil && backend(n) {
			out = append(out, ip)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

package stub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// finalizer keeps a service until its load balancer is gone.
	// Source: k8s.io/cloud-provider/service/helpers, LoadBalancerCleanupFinalizer.
	finalizer = "service.kubernetes.io/load-balancer-cleanup"
	// internalAnnotation asks for an address in the virtual network.
	internalAnnotation = "service.beta.kubernetes.io/azure-load-balancer-internal"
)

// frontendName returns the name of a service in the cloud: "a" and its UID. Source:
// k8s.io/cloud-provider, DefaultLoadBalancerName.
func frontendName(s *corev1.Service) string {
	name := "a" + strings.ReplaceAll(string(s.UID), "-", "")
	return name[:min(len(name), 32)]
}

// mine matches the names of resources that belong to a service.
var mine = regexp.MustCompile(`^a[0-9a-f]{31}(-|$)`)

func wantsBalancer(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.DeletionTimestamp == nil && s.Spec.LoadBalancerClass == nil
}

func isInternal(s *corev1.Service) bool { return s.Annotations[internalAnnotation] == "true" }

// reconcileServices creates the load balancers, public addresses and security rules of the
// cluster's services, and deletes those of deleted services.
func (c *controller) reconcileServices(ctx context.Context) error {
	all, err := c.services.List(labels.Everything())
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *corev1.Service) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	var wanted, leaving []*corev1.Service
	for _, s := range all {
		switch {
		case wantsBalancer(s):
			wanted = append(wanted, s)
		case slices.Contains(s.Finalizers, finalizer):
			leaving = append(leaving, s)
		}
	}
	if len(wanted)+len(leaving) == 0 {
		return nil
	}
	var errs []error
	for i, s := range wanted {
		if wanted[i], err = c.ensureFinalizer(ctx, s); err != nil {
			errs = append(errs, err)
			wanted[i] = nil
		}
	}
	wanted = slices.DeleteFunc(wanted, func(s *corev1.Service) bool { return s == nil })
	public := map[string]string{} // frontend name to address
	for _, s := range wanted {
		if isInternal(s) {
			continue
		}
		if public[frontendName(s)], err = c.ensurePublicIP(ctx, s); err != nil {
			errs = append(errs, err)
		}
	}
	for _, internal := range []bool{false, true} {
		errs = append(errs, c.ensureBalancer(ctx, internal, wanted, leaving, public))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := c.ensureSecurityRules(ctx, wanted, leaving, public); err != nil {
		return err
	}
	for _, s := range leaving {
		errs = append(errs, c.release(ctx, s))
	}
	return errors.Join(errs...)
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
	// The cloud provider may patch services' status alone; metadata comes with it.
	out, err := c.client.CoreV1().Services(s.Namespace).Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("service %s/%s: add the finalizer: %w", s.Namespace, s.Name, err)
	}
	return out, nil
}

func (c *controller) publicIPPath(frontend string) string {
	return c.arm.network(c.Config.ResourceGroup, "publicIPAddresses", c.ClusterName+"-"+frontend)
}

func (c *controller) ensurePublicIP(ctx context.Context, s *corev1.Service) (string, error) {
	path := c.publicIPPath(frontendName(s))
	var doc document
	err := c.arm.call(ctx, http.MethodGet, path, nil, &doc)
	if isNotFound(err) {
		doc, err = c.arm.put(ctx, path, document{
			"location": c.Config.Location, "sku": document{"name": "Standard"},
			"tags":       document{"k8s-azure-service": s.Namespace + "/" + s.Name, "k8s-azure-cluster-name": c.ClusterName},
			"properties": document{"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4"},
		})
		if err == nil {
			c.printf("service %s/%s: made a public IP", s.Namespace, s.Name)
		}
	}
	if err != nil {
		return "", fmt.Errorf("service %s/%s: public IP: %w", s.Namespace, s.Name, err)
	}
	properties, _ := doc["properties"].(document)
	ip, _ := properties["ipAddress"].(string)
	if ip == "" {
		return "", fmt.Errorf("service %s/%s: its public IP has no address", s.Namespace, s.Name)
	}
	return ip, nil
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

// ensureBalancer updates one load balancer to match its services, keeps its children that belong
// to no service, and publishes the addresses.
func (c *controller) ensureBalancer(ctx context.Context, internal bool, wanted, leaving []*corev1.Service, public map[string]string) error {
	services := slices.DeleteFunc(slices.Clone(wanted), func(s *corev1.Service) bool { return isInternal(s) != internal })
	path := c.balancerPath(internal)
	if len(services) == 0 && len(leaving) == 0 && c.applied[path] == "" {
		return nil
	}
	var live document
	if err := c.arm.call(ctx, http.MethodGet, path, nil, &live); err != nil && !isNotFound(err) {
		return fmt.Errorf("load balancer: %w", err)
	}
	if live == nil && len(services) == 0 {
		delete(c.applied, path)
		return nil
	}
	body := c.balancer(path, live, services)
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	switch {
	case live != nil && c.applied[path] == string(data):
	case empty(body):
		if err := c.arm.delete(ctx, path); err != nil {
			return err
		}
		c.printf("load balancer %s deleted", path[strings.LastIndexByte(path, '/')+1:])
		delete(c.applied, path)
		return nil
	default:
		if live, err = c.arm.put(ctx, path, body); err != nil {
			return err
		}
		c.applied[path] = string(data)
	}
	var errs []error
	for _, s := range services {
		ip := public[frontendName(s)]
		if internal {
			ip = privateAddress(live, frontendName(s))
		}
		errs = append(errs, c.publish(ctx, s, ip))
	}
	return errors.Join(errs...)
}

func (c *controller) publish(ctx context.Context, s *corev1.Service, ip string) error {
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
	c.printf("service %s/%s: ensured load balancer at %s", s.Namespace, s.Name, ip)
	return nil
}

// release deletes the public address of a service, and then removes the service's finalizer.
func (c *controller) release(ctx context.Context, s *corev1.Service) error {
	if err := c.arm.delete(ctx, c.publicIPPath(frontendName(s))); err != nil {
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

// securityPriority is where the rules of services begin, as in the real provider.
const securityPriority = 500

// ensureSecurityRules opens the services' ports for the Internet and closes those of
// deleted services. It writes single rules of the node subnet's group, so that others'
// rules are kept.
func (c *controller) ensureSecurityRules(ctx context.Context, wanted, leaving []*corev1.Service, public map[string]string) error {
	if c.Config.SecurityGroup == "" {
		return nil
	}
	group := c.arm.network(c.Config.SecurityGroupGroup, "networkSecurityGroups", c.Config.SecurityGroup)
	want := map[string]document{}
	for _, s := range wanted {
		if isInternal(s) {
			continue
		}
		for _, p := range s.Spec.Ports {
			want[ruleName(s, p)+"-Internet"] = securityRule(s, p, public[frontendName(s)])
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

func securityRule(s *corev1.Service, p corev1.ServicePort, address string) document {
	sources := s.Spec.LoadBalancerSourceRanges
	rule := document{
		"access": "Allow", "direction": "Inbound", "protocol": armProtocol(p.Protocol),
		"sourcePortRange": "*", "destinationPortRange": fmt.Sprint(p.Port), "destinationAddressPrefix": address,
	}
	if len(sources) == 0 {
		rule["sourceAddressPrefix"] = "Internet"
	} else {
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

// backends returns the addresses of the nodes that take part, sorted.
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

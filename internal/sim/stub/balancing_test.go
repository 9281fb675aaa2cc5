package stub

import (
	"context"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestBalancingOf checks the meaning of a service's annotations, and which values are refused.
func TestBalancingOf(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		want        func(b balancing) bool
		refused     string
	}{
		"nothing":         {nil, func(b balancing) bool { return !b.internal && b.minutes == 4 && b.of(80).seconds == 5 }, ""},
		"an internal one": {map[string]string{"azure-load-balancer-internal": "true"}, func(b balancing) bool { return b.internal }, ""},
		"not internal":    {map[string]string{"azure-load-balancer-internal": "false"}, func(b balancing) bool { return !b.internal }, ""},
		"an idle timeout": {map[string]string{"azure-load-balancer-tcp-idle-timeout": "30"},
			func(b balancing) bool { return b.minutes == 30 }, ""},
		"a short timeout":   {map[string]string{"azure-load-balancer-tcp-idle-timeout": "3"}, nil, "between 4 and 100"},
		"a worded timeout":  {map[string]string{"azure-load-balancer-tcp-idle-timeout": "5m"}, nil, "actual value: 5m"},
		"a frequent probe":  {map[string]string{"azure-load-balancer-health-probe-interval": "1"}, nil, "at least 5"},
		"one failed probe":  {map[string]string{"azure-load-balancer-health-probe-num-of-probe": "1"}, nil, "at least 2"},
		"no address prefix": {map[string]string{"azure-allowed-ip-ranges": "10.0.0.1"}, nil, "invalid address prefix"},
		"two prefixes": {map[string]string{"azure-allowed-ip-ranges": "10.0.0.0/8, 192.168.0.0/16"},
			func(b balancing) bool { return len(b.sources) == 2 }, ""},
		"a port's own path": {map[string]string{"azure-load-balancer-health-probe-request-path": "/a", "port_80_health-probe_x": "y",
			"port_443_health-probe-request-path": "/b"}, func(b balancing) bool {
			return b.of(80).path == "/a" && b.of(443).path == "/b" && len(b.ignored) == 1
		}, ""},
		"one without effect": {map[string]string{"azure-pls-create": "true"}, func(b balancing) bool {
			return len(b.ignored) == 1 && b.ignored[0] == annotationPrefix+"azure-pls-create"
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"example.com/x": "y"}}}
			for key, value := range test.annotations {
				s.Annotations[annotationPrefix+key] = value
			}
			b, err := balancingOf(s)
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("got %+v, %v", b, err)
				}
			} else if err != nil || !test.want(b) {
				t.Errorf("got %+v, %v", b, err)
			}
		})
	}
}

// TestBalancers: each service gets the load balancer that it requests. A failed service gets an
// event with the reason and does not delay the others.
func TestBalancers(t *testing.T) {
	cl := newCloud(t)
	ctx, cancel := context.WithCancel(t.Context())
	vnet := cl.arm.network("rg", "virtualNetworks", "v")
	if _, err := cl.arm.put(ctx, vnet+"/subnets/front", document{"properties": document{"addressPrefix": "10.7.0.0/24"}}); err != nil {
		t.Fatal(err)
	}
	own := cl.arm.network("rg", "publicIPAddresses", "mine")
	if _, err := cl.arm.put(ctx, own, document{"location": "westeurope", "sku": document{"name": "Standard"},
		"properties": document{"publicIPAllocationMethod": "Static"}}); err != nil {
		t.Fatal(err)
	}
	out := &log{}
	done := make(chan error, 1)
	go func() {
		done <- CloudController{Kubernetes: shared.config, Azure: cl.arm.azure, Config: cl.config, ClusterName: "balancers",
			Identity: "balancers", Out: out}.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		if t.Failed() {
			t.Log(out.String())
		}
	})
	const internal = "azure-load-balancer-internal"
	services := shared.client.CoreV1().Services("default")
	get := func(name string) *corev1.Service {
		s, err := services.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, annotations := range map[string]map[string]string{
		"b-plain":       {"azure-pls-create": "true"},
		"b-named":       {"azure-pip-name": "mine", "azure-dns-label-name": "casement-named"},
		"b-missing":     {"azure-pip-name": "nosuch"},
		"b-internal":    {internal: "true", "azure-load-balancer-internal-subnet": "front", "azure-load-balancer-ipv4": "10.7.0.9"},
		"b-no-subnet":   {internal: "true", "azure-load-balancer-internal-subnet": "nosuch"},
		"b-no-address":  {internal: "true", "azure-load-balancer-ipv4": "192.168.1.1"},
		"b-not-ours":    {"azure-load-balancer-ipv4": "20.1.2.3"},
		"b-timeout":     {"azure-load-balancer-tcp-idle-timeout": "1"},
		"b-direct":      {"azure-disable-load-balancer-floating-ip": "true"},
		"b-tag":         {"azure-allowed-service-tags": "AzureCloud"},
		"b-own-path":    {"azure-load-balancer-health-probe-protocol": "http", "port_80_health-probe-request-path": "/ready"},
		"b-without":     {"port_80_no_lb_rule": "true"},
		"b-other-group": {"azure-load-balancer-resource-group": "nosuch"},
	} {
		s := named(service("default", ""), name)
		s.Spec.Type, s.Annotations = corev1.ServiceTypeLoadBalancer, map[string]string{}
		for key, value := range annotations {
			s.Annotations[annotationPrefix+key] = value
		}
		if _, err := services.Create(ctx, s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	addressOf := func(name string) string {
		s := get(name)
		if len(s.Status.LoadBalancer.Ingress) == 0 {
			return ""
		}
		return s.Status.LoadBalancer.Ingress[0].IP
	}
	for _, name := range []string{"b-plain", "b-named", "b-internal", "b-direct", "b-tag", "b-own-path", "b-without"} {
		eventually(t, name+" has an address", func() bool { return addressOf(name) != "" })
	}
	warned := func(name string) (all string) {
		events, err := shared.client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events.Items {
			if e.Type == corev1.EventTypeWarning {
				all += e.Reason + ": " + e.Message + "\n"
			}
		}
		return all
	}
	for name, says := range map[string]string{
		"b-plain":       "NotSimulated: annotation service.beta.kubernetes.io/azure-pls-create has no effect",
		"b-missing":     "PublicIP from annotation azure-pip-name(-IPv6)=nosuch for service default/b-missing doesn't exist",
		"b-no-subnet":   "failed to get subnet: v/nosuch",
		"b-no-address":  "PrivateIPAddressNotInSubnet",
		"b-not-ours":    "user supplied IP Address 20.1.2.3 was not found in resource group rg",
		"b-timeout":     "between 4 and 100",
		"b-other-group": "ResourceGroupNotFound",
	} {
		eventually(t, name+" says "+says, func() bool { return strings.Contains(warned(name), says) })
		if name != "b-plain" && addressOf(name) != "" {
			t.Errorf("%s has the address %s", name, addressOf(name))
		}
	}
	if got := addressOf("b-internal"); got != "10.7.0.9" {
		t.Errorf("the internal address is %s", got)
	}
	var doc document
	if err := cl.arm.call(ctx, http.MethodGet, own, nil, &doc); err != nil {
		t.Fatal(err)
	}
	if p := doc["properties"].(document); p["ipAddress"] != addressOf("b-named") ||
		p["dnsSettings"].(document)["domainNameLabel"] != "casement-named" {
		t.Errorf("the named public IP: %v, the service has %s", p, addressOf("b-named"))
	}
	lb, _ := cl.server.Get(cl.arm.network("rg", "loadBalancers", "balancers"))
	for what, want := range map[string]string{"the probe's path": `"requestPath":"/ready"`, "no floating IP": `"enableFloatingIP":false`} {
		if !strings.Contains(strings.ReplaceAll(string(lb), " ", ""), want) {
			t.Errorf("%s: no %s in %s", what, want, lb)
		}
	}
	if name := frontendName(get("b-without")) + "-TCP-80"; strings.Contains(string(lb), name) {
		t.Errorf("a rule for a port without one: %s", name)
	}
	eventually(t, "a rule for the service tag", func() bool {
		group, _ := cl.server.Get(cl.arm.network("rg", "networkSecurityGroups", "node-nsg"))
		return strings.Contains(string(group), frontendName(get("b-tag"))+"-TCP-80-AzureCloud")
	})
	// A service that worked, and then requests an invalid setting, keeps its load balancer.
	before := get("b-direct")
	before.Annotations[annotationPrefix+"azure-load-balancer-tcp-idle-timeout"] = "1"
	if _, err := services.Update(ctx, before, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "b-direct says why", func() bool { return strings.Contains(warned("b-direct"), "between 4 and 100") })
	if lb, _ := cl.server.Get(cl.arm.network("rg", "loadBalancers", "balancers")); !strings.Contains(string(lb), frontendName(before)) {
		t.Errorf("the frontend of b-direct is gone: %s", lb)
	}
	all, err := services.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all.Items {
		if strings.HasPrefix(s.Name, "b-") {
			if err := services.Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "all are gone", func() bool {
		left, err := services.List(ctx, metav1.ListOptions{})
		return err == nil && len(left.Items) == len(all.Items)-13
	})
	if n := cl.count("Microsoft.Network/publicIPAddresses"); n != 1 {
		t.Errorf("%d public IPs are left, want the one that a service named", n)
	}
}

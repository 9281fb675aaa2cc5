package azuresim

import (
	"fmt"
	"testing"

	"casement.dev/casement/azuresim/internal/value"
)

// TestPortsOfAFrontend: a port of a frontend belongs to only one rule, of any kind.
func TestPortsOfAFrontend(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.group()
	for _, name := range []string{"p", "q"} {
		a.carried("PUT", networkPath("publicIPAddresses/"+name), `{"location": "westeurope", "sku": {"name": "Standard"},
			"properties": {"publicIPAllocationMethod": "Static"}}`)
	}
	lb := networkPath("loadBalancers/lb")
	frontend := func(name string) string {
		return fmt.Sprintf(`"frontendIPConfiguration": {"id": %q}`, idOf(lb)+"/frontendIPConfigurations/"+name)
	}
	a.carried("PUT", lb, fmt.Sprintf(`{"location": "westeurope", "sku": {"name": "Standard"}, "properties": {
		"frontendIPConfigurations": [{"name": "f", "properties": {"publicIPAddress": {"id": %q}}},
			{"name": "g", "properties": {"publicIPAddress": {"id": %q}}}],
		"backendAddressPools": [{"name": "b"}],
		"loadBalancingRules": [{"name": "api", "properties": {%s, "protocol": "Tcp", "frontendPort": 6443, "backendPort": 6443,
			"backendAddressPool": {"id": %q}}}]}}`, idOf(networkPath("publicIPAddresses/p")), idOf(networkPath("publicIPAddresses/q")),
		frontend("f"), idOf(lb)+"/backendAddressPools/b"))
	for _, test := range []struct {
		name, frontend, protocol string
		port                     int
		refused                  bool
	}{
		{"one", "f", "Tcp", 22, false},
		{"one", "f", "Tcp", 22, false}, // the same port again
		{"two", "f", "tcp", 22, true},
		{"two", "f", "All", 22, true},
		{"two", "f", "Udp", 22, false},
		{"three", "g", "Tcp", 22, false},
		{"four", "f", "Tcp", 6443, true},
		{"four", "f", "Tcp", 2201, false},
	} {
		status, answer, _ := a.speak("PUT", lb+"/inboundNatRules/"+test.name, fmt.Sprintf(
			`{"properties": {%s, "protocol": %q, "frontendPort": %d, "backendPort": 22}}`, frontend(test.frontend), test.protocol, test.port))
		if refused := value.Str(answer, "error", "code") == "RulesUseSameFrontendPortProtocolAndIPConfig"; refused != test.refused ||
			refused == (status < 300) {
			t.Errorf("%+v: %d %v", test, status, answer)
		}
		a.settle()
	}
}

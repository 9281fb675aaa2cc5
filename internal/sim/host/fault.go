package host

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/fault"
	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/sim/kubelet"
)

// GuestFault is a fault that can be injected into a guest.
type GuestFault struct {
	Name string `json:"name"`
	// OS is Windows, or any for all systems.
	OS string `json:"os"`
	// When is the time of the injection: at boot or immediately.
	When string `json:"comes"`
	Does string `json:"does"`
}

// GuestFaults lists the faults that can be injected into guests.
func GuestFaults() []GuestFault {
	var out []GuestFault
	for _, a := range guest.Faults() {
		d := GuestFault{Name: a.Name, OS: "any", When: "at once", Does: a.Does}
		if a.OS != "" {
			d.OS = a.OS
		}
		if a.Boot() {
			d.When = "boot"
		}
		out = append(out, d)
	}
	return out
}

// CheckGuestFault returns an error for a rule with an unknown guest fault.
func CheckGuestFault(r fault.Rule) error {
	if r.Kind != fault.Guest {
		return nil
	}
	if _, known := guest.FindFault(r.GuestFault); !known {
		return fmt.Errorf("guest fault %q is not known: casement azure faults guest-faults", r.GuestFault)
	}
	return nil
}

func faultTarget(vm host.VM) fault.Target {
	kind := "Microsoft.Compute/virtualMachines"
	if vm.ScaleSet != "" && strings.Contains(strings.ToLower(vm.ID), "/virtualmachinescalesets/") {
		kind = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines"
	}
	return fault.Target{Type: kind, Group: vm.ResourceGroup, Name: vm.Name}
}

// bootFaults returns the guest faults that active rules inject into a VM's first boot.
func (h *Host) bootFaults(g *machine) []guest.Fault {
	var out []guest.Fault
	for _, r := range h.azure.Faults.List() {
		a, known := guest.FindFault(r.GuestFault)
		if r.Kind != fault.Guest || !known || !a.Boot() || a.OS != "" && a.OS != g.vm.OS ||
			!h.azure.Faults.MatchBy(r.ID, faultTarget(g.vm)) {
			continue
		}
		out = append(out, a)
	}
	return out
}

// corrupting is a RoundTripper that corrupts the bootstrap secret for a guest that fetches it from
// a vault, as custom data would be corrupted.
type corrupting struct {
	*http.Transport
	faults []guest.Fault
}

// WithTLS returns the same transport with a program's own TLS configuration. If the configuration
// has no CAs, the guest's CAs apply.
func (s corrupting) WithTLS(c *tls.Config) http.RoundTripper {
	c = c.Clone()
	c.MinVersion = tls.VersionTLS12
	if c.RootCAs == nil {
		c.RootCAs = s.TLSClientConfig.RootCAs
	}
	s.Transport = s.Transport.Clone()
	s.TLSClientConfig = c
	return s
}

// RoundTrip implements http.RoundTripper.
func (s corrupting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.Transport.RoundTrip(r)
	if err != nil || len(s.faults) == 0 || !strings.HasPrefix(r.URL.Path, "/secrets/") {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var bundle map[string]any
	if json.Unmarshal(body, &bundle) == nil {
		if value, ok := bundle["value"].(string); ok {
			for _, a := range s.faults {
				value = a.CorruptSecret(value)
			}
			bundle["value"] = value
			if corrupted, err := json.Marshal(bundle); err == nil {
				body = corrupted
			}
		}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// inject injects the guest faults of active rules into a running guest, each rule once.
func (h *Host) inject(g *machine, rules ...fault.Rule) {
	for _, r := range rules {
		a, known := guest.FindFault(r.GuestFault)
		if r.Kind != fault.Guest || !known || a.Boot() || a.OS != "" && a.OS != g.vm.OS {
			continue
		}
		h.mu.Lock()
		body, n, again := g.guest, g.node, g.injected[r.ID]
		h.mu.Unlock()
		if body == nil || again || !h.azure.Faults.MatchBy(r.ID, faultTarget(g.vm)) {
			continue
		}
		h.mu.Lock()
		g.injected[r.ID] = true
		h.mu.Unlock()
		if err := body.Inject(a); err != nil {
			h.config.Log.Error(err, "a guest fault was not brought about", "vm", g.vm.Name)
		}
		n.observe()
	}
}

// Inject injects the fault of a new rule into the running guests.
func (h *Host) Inject(r fault.Rule) {
	for _, g := range h.all() {
		h.inject(g, r)
	}
}

// Recover removes the effects of a cleared rule from running guests.
func (h *Host) Recover(r fault.Rule) {
	a, known := guest.FindFault(r.GuestFault)
	if !known {
		return
	}
	for _, g := range h.all() {
		h.mu.Lock()
		body, n, has := g.guest, g.node, g.injected[r.ID]
		delete(g.injected, r.ID)
		h.mu.Unlock()
		if body == nil || !has {
			continue
		}
		if err := body.Heal(a); err != nil {
			h.config.Log.Error(err, "a guest fault was not healed", "vm", g.vm.Name)
		}
		n.observe()
	}
}

func (h *Host) all() []*machine {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*machine
	for _, g := range h.byID {
		out = append(out, g)
	}
	return out
}

// observe makes the kubelet examine its machine immediately.
func (n *node) observe() {
	n.mu.Lock()
	k := n.kubelet
	n.mu.Unlock()
	if k != nil {
		k.Observe()
	}
}

// evictionShare is the free share of the disk below which a kubelet evicts pods by default:
// nodefs.available<10%.
const evictionShare = 0.1

// health returns the faults of the machine that the kubelet detects.
func (n *node) health() kubelet.Health {
	m := n.body.Machine()
	v := m.Pulse.Get()
	h := kubelet.Health{DiskFull: v.Free < evictionShare, PodsCutOff: !v.PodNetwork, MemoryCommitted: v.Committed,
		ShimHangs: v.HungShim}
	runtime, _, _ := strings.Cut(m.Image.Runtime, ":")
	if s, ok := m.Services.Get(runtime); ok {
		h.RuntimeDown = !s.Running
	}
	hns, hasHNS := m.Services.Get("hns")
	switch {
	case n.vm.OS != guest.Windows:
	case hasHNS && !hns.Running:
		h.Sandbox = "rpc error: code = Unknown desc = failed to setup network for sandbox: hcnCreateEndpoint failed in Win32: " +
			"The RPC server is unavailable. (0x6ba)"
	case !v.PauseImage:
		h.Sandbox = fmt.Sprintf("rpc error: code = Unknown desc = failed to get sandbox image: failed to pull "+
			"image: no matching manifest for windows(%s)/amd64 in the manifest list entries", m.Image.Build)
	case v.StaleEndpoints > maxEndpoints:
		h.Sandbox = "rpc error: code = Unknown desc = failed to setup network for sandbox: hcnCreateEndpoint " +
			"failed in Win32: There are no more endpoints available from the endpoint mapper. (0x803b0014)"
	}
	return h
}

// maxEndpoints is the number of HNS endpoints that a node's overlay network of one /24 can have.
const maxEndpoints = 256

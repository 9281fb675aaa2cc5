package local

import (
	"bytes"
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

// Ailment is something that a guest can be made to have.
type Ailment struct {
	Name string `json:"name"`
	// OS is Windows, or any.
	OS string `json:"os"`
	// Comes is boot or at once.
	Comes string `json:"comes"`
	Does  string `json:"does"`
}

// Ailments lists what guests can be made to have.
func Ailments() []Ailment {
	var out []Ailment
	for _, a := range guest.Ailments() {
		d := Ailment{Name: a.Name, OS: "any", Comes: "at once", Does: a.Does}
		if a.OS != "" {
			d.OS = a.OS
		}
		if a.Boot() {
			d.Comes = "boot"
		}
		out = append(out, d)
	}
	return out
}

// checkAilment refuses a rule for an ailment that is not known.
func checkAilment(r fault.Rule) error {
	if r.Kind != fault.Guest {
		return nil
	}
	if _, known := guest.FindAilment(r.Ailment); !known {
		return fmt.Errorf("ailment %q is not known: casement azure faults ailments", r.Ailment)
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

// spoilers are the ailments that a VM's first boot has by the rules in force.
func (m *machines) spoilers(g *machine) []guest.Ailment {
	var out []guest.Ailment
	for _, r := range m.faults.List() {
		a, known := guest.FindAilment(r.Ailment)
		if r.Kind != fault.Guest || !known || !a.Boot() || a.OS != "" && a.OS != g.vm.OS || !m.faults.StrikeBy(r.ID, faultTarget(g.vm)) {
			continue
		}
		out = append(out, a)
	}
	return out
}

// spoiling spoils the bootstrap secret on its way to a guest that fetches it from a
// vault, as its custom data would be.
type spoiling struct {
	http.RoundTripper
	ailments []guest.Ailment
}

// RoundTrip implements http.RoundTripper.
func (s spoiling) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	if err != nil || len(s.ailments) == 0 || !strings.HasPrefix(r.URL.Path, "/secrets/") {
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
			for _, a := range s.ailments {
				value = a.SpoilSecret(value)
			}
			bundle["value"] = value
			if spoiled, err := json.Marshal(bundle); err == nil {
				body = spoiled
			}
		}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// afflict brings the ailments of the rules in force upon a running guest, each rule
// once.
func (m *machines) afflict(g *machine, rules ...fault.Rule) {
	for _, r := range rules {
		a, known := guest.FindAilment(r.Ailment)
		if r.Kind != fault.Guest || !known || a.Boot() || a.OS != "" && a.OS != g.vm.OS {
			continue
		}
		m.mu.Lock()
		body, n, again := g.guest, g.node, g.ailing[r.ID]
		m.mu.Unlock()
		if body == nil || again || !m.faults.StrikeBy(r.ID, faultTarget(g.vm)) {
			continue
		}
		m.mu.Lock()
		g.ailing[r.ID] = true
		m.mu.Unlock()
		if err := body.Ail(a); err != nil {
			m.log.Error(err, "an ailment was not brought about", "vm", g.vm.Name)
		}
		n.look()
	}
}

// afflictAll brings a new rule's ailment upon the guests that run.
func (m *machines) afflictAll(r fault.Rule) {
	for _, g := range m.all() {
		m.afflict(g, r)
	}
}

// heal undoes what a rule that is cleared has done to guests that run.
func (m *machines) heal(r fault.Rule) {
	a, known := guest.FindAilment(r.Ailment)
	if !known {
		return
	}
	for _, g := range m.all() {
		m.mu.Lock()
		body, n, has := g.guest, g.node, g.ailing[r.ID]
		delete(g.ailing, r.ID)
		m.mu.Unlock()
		if body == nil || !has {
			continue
		}
		if err := body.Heal(a); err != nil {
			m.log.Error(err, "an ailment was not healed", "vm", g.vm.Name)
		}
		n.look()
	}
}

func (m *machines) all() []*machine {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*machine
	for _, g := range m.byID {
		out = append(out, g)
	}
	return out
}

// look lets the kubelet see at once what has changed.
func (n *node) look() {
	n.mu.Lock()
	k := n.kubelet
	n.mu.Unlock()
	if k != nil {
		k.Look()
	}
}

// evictionShare is the free share of the disk below which a kubelet evicts by default:
// nodefs.available<10%.
const evictionShare = 0.1

// health is what the kubelet finds wrong with its machine.
func (n *node) health() kubelet.Health {
	m := n.body.Machine()
	v := m.Pulse.Get()
	h := kubelet.Health{DiskFull: v.Free < evictionShare, PodsCutOff: !v.PodNetwork}
	runtime, _, _ := strings.Cut(m.Image.Runtime, ":")
	if s, ok := m.Services.Get(runtime); ok {
		h.RuntimeDown = !s.Running
	}
	switch {
	case n.vm.OS != guest.Windows:
	case !v.PauseImage:
		h.Sandbox = fmt.Sprintf("rpc error: code = Unknown desc = failed to get sandbox image: failed to pull image: no matching manifest for windows(%s)/amd64 in the manifest list entries", m.Image.Build)
	case v.StaleEndpoints > maxEndpoints:
		h.Sandbox = "rpc error: code = Unknown desc = failed to setup network for sandbox: hcnCreateEndpoint failed in Win32: There are no more endpoints available from the endpoint mapper. (0x803b0014)"
	}
	return h
}

// maxEndpoints is what a node's overlay of one /24 can have.
const maxEndpoints = 256

package machine

import (
	"slices"
	"strings"
)

// hnsFile keeps the names of the guest's HNS networks, one a line.
const hnsFile = `C:\ProgramData\Microsoft\Windows\HNS\casement-networks.txt`

// HNSNetworks returns the networks of the Host Network Service: those that scripts created,
// and those that the CNI creates, which are an external one for the machine's own traffic
// and the CNI's own.
func (m *Machine) HNSNetworks() []string {
	var out []string
	if data, err := m.Root.ReadFile(hnsFile); err == nil {
		out = strings.Fields(string(data))
	}
	const configs = `C:\etc\cni\net.d`
	entries, err := m.Root.ReadDir(configs)
	if err != nil {
		return out
	}
	for _, e := range entries {
		data, err := m.Root.ReadFile(configs + `\` + e.Name())
		switch {
		case err != nil || !strings.Contains(e.Name(), ".conf"):
		case strings.Contains(string(data), `"calico"`):
			out = append(out, "External", "Calico")
		case strings.Contains(string(data), `"azure-vnet"`):
			out = append(out, "azure")
		case strings.Contains(string(data), `"flannel"`):
			out = append(out, "External", "flannel.4096")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// AddHNSNetwork creates a network, unless it exists.
func (m *Machine) AddHNSNetwork(name string) error {
	if slices.Contains(m.HNSNetworks(), name) {
		return nil
	}
	if err := m.Root.MkdirAll(`C:\ProgramData\Microsoft\Windows\HNS`); err != nil {
		return err
	}
	return m.Root.AppendFile(hnsFile, []byte(name+"\r\n"), 0o644)
}

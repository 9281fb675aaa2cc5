package machine

import (
	"strings"

	"casement.dev/casement/internal/sim/domain"
)

// The registry keys of the machine's DNS settings and domain. The value NV Domain becomes Domain when the
// machine starts.
const (
	adapterKey   = `HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\casement`
	tcpipKey     = `HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters`
	domainNow    = "Domain"
	domainLater  = "NV Domain"
	nameServer   = "NameServer"
	azurePlatDNS = "168.63.129.16"
)

// DNSServers returns the servers that the guest queries: those that it has set itself, else those of its interface or
// virtual network, else Azure's.
func (m *Machine) DNSServers() []string {
	if v, ok := m.Registry().Value(adapterKey, nameServer); ok && v.Text != "" {
		return strings.Split(v.Text, ",")
	}
	if len(m.DNS) > 0 {
		return m.DNS
	}
	return []string{azurePlatDNS}
}

// SetDNSServers sets the guest's own DNS servers; with none, the guest uses the network's.
func (m *Machine) SetDNSServers(servers []string) error {
	return m.Registry().Set(adapterKey, nameServer, Value{Kind: "String", Text: strings.Join(servers, ",")})
}

// Domain returns the DNS name of the domain that the machine is in; "" for a workgroup.
func (m *Machine) Domain() string {
	v, _ := m.Registry().Value(tcpipKey, domainNow)
	return v.Text
}

// JoinedDomain returns the domain that the machine is in after its next restart.
func (m *Machine) JoinedDomain() string {
	v, _ := m.Registry().Value(tcpipKey, domainLater)
	return v.Text
}

// Computer returns the machine's account in a domain.
func (m *Machine) Computer() domain.Computer {
	return domain.Computer{Name: strings.ToUpper(m.Hostname()), Owner: m.InstanceID}
}

// reachableDNS returns the DNS servers that the machine can reach: none if its network is down.
func (m *Machine) reachableDNS() []string {
	if !m.Pulse.Get().Network {
		return nil
	}
	return m.DNSServers()
}

// Join joins the machine to a domain. The join takes effect at the next restart.
func (m *Machine) Join(name string, by domain.Credential) error {
	joined, err := m.Directory.Join(name, m.reachableDNS(), m.Computer(), by)
	if err != nil {
		return err
	}
	return m.Registry().Set(tcpipKey, domainLater, Value{Kind: "String", Text: joined})
}

// Trusted returns nil if the machine's domain answers and knows the machine.
func (m *Machine) Trusted() error {
	return m.Directory.Trusts(m.Domain(), m.reachableDNS(), m.Computer())
}

// ManagedPassword requests the password of a gMSA from the domain: as the user by, or as the machine if by is nil.
func (m *Machine) ManagedPassword(name, account string, by *domain.Credential) error {
	if by != nil {
		return m.Directory.AsUser(name, m.reachableDNS(), *by, account)
	}
	if m.Domain() == "" {
		return domain.ErrNoSuchDomain
	}
	return m.Directory.AsComputer(name, m.reachableDNS(), m.Computer(), account)
}

// SettleDomain makes a join take effect, at the start of the machine.
func (m *Machine) SettleDomain() error {
	later := m.JoinedDomain()
	if !m.IsWindows() || later == m.Domain() {
		return nil
	}
	return m.Registry().Set(tcpipKey, domainNow, Value{Kind: "String", Text: later})
}

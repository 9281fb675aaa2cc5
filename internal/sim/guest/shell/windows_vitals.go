package shell

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// What shows and changes a guest's vitals.

func getInterface(_ context.Context, p *Process) int {
	mtu := p.Guest.Pulse.Get().MTU
	p.Printf("\r\nifIndex InterfaceAlias                  AddressFamily NlMtu(Bytes) InterfaceMetric Dhcp     ConnectionState PolicyStore\r\n")
	p.Printf("------- --------------                  ------------- ------------ --------------- ----     --------------- -----------\r\n")
	p.Printf("%-7d %-31s IPv4          %12d %15d Enabled  Connected       ActiveStore\r\n", 10, "vEthernet (Ethernet)", mtu, 15)
	p.Printf("%-7d %-31s IPv4          %12d %15d Disabled Connected       ActiveStore\r\n", 1, "Loopback Pseudo-Interface 1", 4294967295, 75)
	return 0
}

func setInterface(_ context.Context, p *Process) int {
	text, ok := option(p.Args, "-NlMtuBytes")
	if !ok {
		return p.Fail(0, "Set-NetIPInterface: simulated: only -NlMtuBytes has an effect")
	}
	mtu, err := strconv.Atoi(text)
	if err != nil || mtu < 352 || mtu > 65535 { // 352 is the least that Windows takes for IPv4
		return p.Fail(1, "Set-NetIPInterface : The parameter is incorrect.")
	}
	return p.edit(func(v *machine.Vitals) { v.MTU = mtu })
}

// edit changes the vitals for a command.
func (p *Process) edit(change func(*machine.Vitals)) int {
	if err := p.Guest.Pulse.Edit(change); err != nil {
		return p.Fail(1, "%v", err)
	}
	return 0
}

// netsh knows the dynamic port range, and nothing else.
func netsh(ctx context.Context, p *Process) int {
	line := strings.ToLower(strings.Join(p.Args[1:], " "))
	v := p.Guest.Pulse.Get()
	switch {
	case strings.Contains(line, "show dynamicport"):
		p.Printf("\r\nProtocol tcp Dynamic Port Range\r\n---------------------------------\r\nStart Port      : %d\r\nNumber of Ports : %d\r\n\r\n", 65536-v.DynamicPorts, v.DynamicPorts)
	case strings.Contains(line, "set dynamicport"):
		_, text, ok := strings.Cut(line, "num=")
		text, _, _ = strings.Cut(text, " ")
		n, err := strconv.Atoi(text)
		if !ok || err != nil || n < 255 || n > 64511 {
			return p.Fail(1, "The parameter is incorrect.")
		}
		p.Printf("Ok.\r\n")
		return p.edit(func(v *machine.Vitals) { v.DynamicPorts = n })
	default:
		return noEffect(ctx, p)
	}
	return 0
}

// connectionObjects are the connections that are open, and those that nobody has
// answered; where the open ones lead to is not simulated.
func connectionObjects(ps *powershell, args []string) ([]object, error) {
	const established, waiting = "Established", "SynSent"
	v, local := ps.shell.guest.Pulse.Get(), ps.shell.guest.IP().String()
	state, _ := option(args, "-State")
	var out []object
	for i := range v.Connections {
		if state == "" || strings.EqualFold(state, established) {
			out = append(out, object{kind: "connection", fields: []property{{"LocalAddress", local}, {"LocalPort", 65535 - i}, {"State", established}}})
		}
	}
	for i, remote := range v.Waiting {
		to, err := netip.ParseAddrPort(remote)
		if err != nil {
			return nil, err
		}
		if state == "" || strings.EqualFold(state, waiting) {
			out = append(out, object{kind: "connection", fields: []property{{"LocalAddress", local}, {"LocalPort", 65535 - v.Connections - i}, {"State", waiting}, {"RemoteAddress", to.Addr().String()}, {"RemotePort", int(to.Port())}}})
		}
	}
	return out, nil
}

// endpointObjects are the HNS endpoints that crashed pods have left. Those of pods
// that run are not kept.
func endpointObjects(ps *powershell, _ []string) ([]object, error) {
	var out []object
	for i := range ps.shell.guest.Pulse.Get().StaleEndpoints {
		out = append(out, object{kind: "hnsendpoint", fields: []property{{"Name", fmt.Sprintf("stale-%d", i)}, {"State", 3}}})
	}
	return out, nil
}

func testConnection(_ context.Context, p *Process) int {
	names := operand(p.Args[1:])
	host := p.Arg(1)
	if len(names) > 0 {
		host = names[0]
	}
	v := p.Guest.Pulse.Get()
	answers := "False" // what is not simulated does not answer
	if host == "169.254.169.254" && v.Metadata && v.Network {
		answers = "True"
	}
	port, _ := option(p.Args, "-Port")
	p.Printf("\r\nComputerName     : %s\r\nRemotePort       : %s\r\nInterfaceAlias   : vEthernet (Ethernet)\r\nTcpTestSucceeded : %s\r\n", host, port, answers)
	return 0
}

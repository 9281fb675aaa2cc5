package shell

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// Commands that show and change a guest's vitals: its disk, HNS, ports and network.

// edit changes the vitals for a command and returns the exit code.
func (p *Process) edit(change func(*machine.Vitals)) int {
	if err := p.Guest.Pulse.Edit(change); err != nil {
		return p.Fail(1, "%v", err)
	}
	return 0
}

// netsh shows and sets the dynamic port range; other contexts of netsh are not simulated.
func netsh(ctx context.Context, p *Process) int {
	line := strings.ToLower(strings.Join(p.Args[1:], " "))
	v := p.Guest.Pulse.Get()
	switch {
	case strings.Contains(line, "show dynamicport"):
		p.Printf("\r\nProtocol tcp Dynamic Port Range\r\n---------------------------------\r\n"+
			"Start Port      : %d\r\nNumber of Ports : %d\r\n\r\n", 65536-v.DynamicPorts, v.DynamicPorts)
	case strings.Contains(line, "set dynamicport"):
		_, text, ok := strings.Cut(line, "num=")
		text, _, _ = strings.Cut(text, " ")
		n, err := strconv.Atoi(text)
		if !ok || err != nil || n < 255 || n > 64511 {
			return p.Fail(1, "The parameter is incorrect.")
		}
		p.Printf("Ok.\r\n")
		return p.edit(func(v *machine.Vitals) { v.DynamicPorts = n })
	case !slices.Contains(netshContexts, strings.ToLower(p.Arg(1))):
		return p.Fail(1, "The following command was not found: %s.\r", strings.Join(p.Args[1:], " "))
	case slices.ContainsFunc(p.Args, func(a string) bool { return strings.EqualFold(a, "show") || a == "?" || a == "/?" }):
		return p.refuseAs(1, "%s", strings.Join(p.Args, " "))
	default:
		return noEffect(ctx, p)
	}
	return 0
}

// netshContexts are the contexts and verbs of netsh of Windows Server.
var netshContexts = strings.Fields("add advfirewall branchcache bridge delete dhcpclient dnsclient dump exec firewall help http " +
	"int interface ipsec lan mbn namespace netio p2p ras rpc set show trace wcn wfp winhttp winsock")

package shell

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// netLink is a network interface of the guest, as ip prints it.
type netLink struct {
	index                         int
	name, flags, mac, kind, scope string
	address                       string
}

func links(p *Process) []netLink {
	brd := "brd ff:ff:ff:ff:ff:ff"
	out := []netLink{{1, "lo", "<LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN",
		"loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00", "", "host lo", "127.0.0.1/8"}}
	if p.Guest.IP().IsValid() {
		out = append(out, netLink{2, "eth0",
			"<BROADCAST,MULTICAST,UP,LOWER_UP> mtu " + strconv.Itoa(p.Guest.Pulse.Get().MTU) + " qdisc mq state UP",
			"ether " + p.Guest.MAC() + " " + brd, "metric 100 ", "global eth0", p.Guest.IP().String() + "/16"})
	}
	return out
}

// ip implements link, addr and route. With -o it prints one line per interface; the 17th field is the hardware
// address, as templates expect.
func ip(ctx context.Context, p *Process, o options) int {
	args := o.operands
	if len(args) == 0 {
		return p.Fail(255, "Usage: ip [ OPTIONS ] OBJECT { COMMAND | help }")
	}
	what, args := args[0], args[1:]
	verb := "show"
	if len(args) > 0 && (strings.HasPrefix("show", args[0]) || strings.HasPrefix("list", args[0]) || args[0] == "ls" || args[0] == "lst") {
		args = args[1:]
	} else if len(args) > 0 && args[0] != "dev" && !strings.HasPrefix("eth0", args[0]) && args[0] != "lo" && args[0] != "default" {
		verb = args[0]
	}
	if len(args) > 0 && args[0] == "dev" {
		args = args[1:]
	}
	name := ""
	if len(args) > 0 && verb == "show" {
		name = args[0]
	}
	if o.has("s", "d") || len(args) > 1 && verb == "show" {
		return p.Refuse("ip %s", strings.Join(p.Args[1:], " "))
	}
	switch {
	case strings.HasPrefix("link", what) && verb == "set":
		if mtu, ok := linkMTU(args); ok {
			return p.setMTU(mtu)
		}
		return p.NoEffect(ctx, "ip %s %s", what, verb)
	case strings.HasPrefix("route", what) && verb == "get":
		p.Printf("%s via %s dev eth0 src %s uid 0 \n    cache \n", args[len(args)-1], gateway(p.Guest), p.Guest.IP())
		return 0
	case verb != "show":
		return p.NoEffect(ctx, "ip %s %s", what, verb)
	case strings.HasPrefix("route", what):
		p.Printf("default via %s dev eth0 proto dhcp src %s metric 100 \n", gateway(p.Guest), p.Guest.IP())
		if name == "" {
			network := netip.PrefixFrom(p.Guest.IP(), 16).Masked()
			p.Printf("%s dev eth0 proto kernel scope link src %s metric 100 \n", network, p.Guest.IP())
		}
		return 0
	case strings.HasPrefix("link", what), strings.HasPrefix("address", what):
		return showLinks(p, o, what[0] == 'l', name)
	}
	return p.Fail(1, "Object \"%s\" is unknown, try \"ip help\".", what)
}

// linkMTU returns the MTU in the arguments of ip link set for eth0; ok is false if they set anything else.
func linkMTU(args []string) (int, bool) {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "dev" || a == "set" })
	if len(args) != 3 || args[0] != "eth0" || args[1] != "mtu" {
		return 0, false
	}
	mtu, err := strconv.Atoi(args[2])
	return mtu, err == nil
}

// setMTU sets the MTU of eth0. The minimum is that of IPv4.
func (p *Process) setMTU(mtu int) int {
	if mtu < 68 || mtu > 65521 {
		return p.Fail(2, "Error: mtu %d is out of the device's range.", mtu)
	}
	if err := p.Guest.Pulse.Edit(func(v *machine.Vitals) { v.MTU = mtu }); err != nil {
		return p.failed("eth0", err)
	}
	return 0
}

func showLinks(p *Process, o options, link bool, name string) int {
	shown, brk := 0, "\n    "
	if o.has("o") {
		brk = `\    `
	}
	for _, l := range links(p) {
		if name != "" && name != l.name {
			continue
		}
		shown++
		state := "UP"
		if l.name == "lo" {
			state = "UNKNOWN"
		}
		switch {
		case o.has("br") && link:
			p.Printf("%-16s %-14s %s %s \n", l.name, state, strings.Fields(l.mac)[1], strings.Fields(l.flags)[0])
		case o.has("br"):
			p.Printf("%-16s %-14s %s \n", l.name, state, l.address)
		case link:
			p.Printf("%d: %s: %s mode DEFAULT group default qlen 1000%slink/%s\n", l.index, l.name, l.flags, brk, l.mac)
		case o.has("6"):
		case o.has("o"):
			p.Printf("%d: %s    inet %s %sscope %s\\       valid_lft forever preferred_lft forever\n", l.index,
				l.name, l.address, l.kind, l.scope)
		default:
			p.Printf("%d: %s: %s group default qlen 1000\n", l.index, l.name, l.flags)
			if !o.has("4") {
				p.Printf("    link/%s\n", l.mac)
			}
			p.Printf("    inet %s %sscope %s\n       valid_lft forever preferred_lft forever\n", l.address, l.kind, l.scope)
		}
	}
	if shown == 0 {
		return p.Fail(1, "Device \"%s\" does not exist.", name)
	}
	return 0
}

// gateway returns the machine's default gateway.
func gateway(m *machine.Machine) string {
	if g := m.Gateway(); g.IsValid() {
		return g.String()
	}
	return "10.0.0.1"
}

package walk

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/internal/diagnose/cause"
)

// Limits of a healthy Windows node.
const (
	// minMTU is the smallest MTU of the adapter for pods with an MTU of 1350 over VXLAN, whose headers take 50 bytes.
	minMTU = 1400
	// spareEndpoints is the number of HNS endpoints, in addition to two per pod, up to which there is no leak.
	spareEndpoints = 40
	// portShare is the maximum share of the dynamic port range that may be in use.
	portShare = 0.9
)

// firstNodePort and lastNodePort are the default range of node ports (kube-apiserver, --service-node-port-range).
const firstNodePort, lastNodePort = 30000, 32767

func match(pattern string) func(string, surroundings) string {
	re := regexp.MustCompile(pattern)
	return func(out string, _ surroundings) string {
		if at := re.FindStringIndex(out); at != nil {
			return strings.TrimSpace(cause.Line(out, at[0]))
		}
		return ""
	}
}

func stoppedService(out string, _ surroundings) string {
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Stopped" {
			return "service " + f[1] + " is Stopped"
		}
	}
	return ""
}

func brokenJSON(out string, _ surroundings) string {
	if out = strings.TrimSpace(out); out == "" || json.Valid([]byte(out)) {
		return ""
	}
	return `C:\sourcevip\sourceVip.json is no valid JSON`
}

func manyEndpoints(out string, at surroundings) string {
	n, err := strconv.Atoi(lastLine(out))
	if err != nil || n <= 2*at.pods+spareEndpoints {
		return ""
	}
	return fmt.Sprintf("%d HNS endpoints for %d pods", n, at.pods)
}

// interfaceRow matches a row of Get-NetIPInterface: index, alias, family, MTU.
var interfaceRow = regexp.MustCompile(`(?m)^\s*\d+\s+((?:vEthernet \()?Ethernet[^\r\n]*?)\s+IPv4\s+(\d+)`)

func smallMTU(out string, _ surroundings) string {
	for _, m := range interfaceRow.FindAllStringSubmatch(out, -1) {
		if mtu, err := strconv.Atoi(m[2]); err == nil && mtu < minMTU {
			return fmt.Sprintf("%s: NlMtu %d, and pods of 1350 need %d in VXLAN", m[1], mtu, minMTU)
		}
	}
	return ""
}

var portCount = regexp.MustCompile(`Number of Ports\s*:\s*(\d+)`)

func fewPorts(out string, _ surroundings) string {
	m := portCount.FindStringSubmatch(out)
	used, err := strconv.Atoi(lastLine(out))
	if m == nil || err != nil {
		return ""
	}
	if ports, err := strconv.Atoi(m[1]); err == nil && float64(used) >= portShare*float64(ports) {
		return fmt.Sprintf("%d connections, %d dynamic ports", used, ports)
	}
	return ""
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// objects parses the output of ConvertTo-Json, which is empty, an object or a list.
func objects[T any](out string) []T {
	var many []T
	if json.Unmarshal([]byte(out), &many) == nil {
		return many
	}
	var one T
	if json.Unmarshal([]byte(out), &one) == nil {
		return []T{one}
	}
	return nil
}

// noManagementIP finds networks that carry the node's own traffic and have no management IP. NAT networks need none.
func noManagementIP(out string, _ surroundings) string {
	for _, n := range objects[struct{ Name, Type, ManagementIP string }](out) {
		if n.ManagementIP == "" && slices.Contains([]string{"external", "overlay", "l2bridge", "l2tunnel"}, strings.ToLower(n.Type)) {
			return fmt.Sprintf("HNS network %s (%s) has no ManagementIP", n.Name, n.Type)
		}
	}
	return ""
}

// staleVIP finds a cached source VIP outside its expected range: with Flannel the node's pod range, otherwise the
// cluster's pod range.
func staleVIP(out string, at surroundings) string {
	var vip struct {
		IP4 struct {
			IP string `json:"ip"`
		} `json:"ip4"`
	}
	if json.Unmarshal([]byte(out), &vip) != nil {
		return ""
	}
	address, err := netip.ParsePrefix(vip.IP4.IP)
	if err != nil {
		return ""
	}
	ranges, whose := at.cluster.Spec.ClusterNetwork.Pods.CIDRBlocks, "the cluster's pods"
	if at.node != nil && at.node.Annotations[flannelBackend] != "" {
		ranges, whose = at.node.Spec.PodCIDRs, "the node"
	}
	if len(ranges) == 0 || within(address.Addr(), ranges) {
		return ""
	}
	return fmt.Sprintf("source VIP %s is not in %s, the range of %s", address.Addr(), strings.Join(ranges, ","), whose)
}

func within(a netip.Addr, ranges []string) bool {
	return slices.ContainsFunc(ranges, func(r string) bool {
		p, err := netip.ParsePrefix(r)
		return err == nil && p.Contains(a)
	})
}

var (
	exceptionList = regexp.MustCompile(`(?is)"ExceptionList"\s*:\s*\[([^\]]*)\]`)
	dnsServers    = regexp.MustCompile(`(?is)"nameservers"\s*:\s*\[([^\]]*)\]`)
)

// listed returns the elements of the JSON lists of strings that a pattern matches.
func listed(list *regexp.Regexp, out string) []string {
	var all []string
	for _, m := range list.FindAllStringSubmatch(out, -1) {
		for item := range strings.SplitSeq(m[1], ",") {
			if item = strings.Trim(strings.TrimSpace(item), `"`); item != "" {
				all = append(all, item)
			}
		}
	}
	return all
}

// wideException finds an exception from outbound NAT that includes public addresses.
func wideException(out string, _ surroundings) string {
	for _, item := range listed(exceptionList, out) {
		p, err := netip.ParsePrefix(item)
		if err != nil {
			continue
		}
		if a := p.Masked().Addr(); p.Bits() == 0 ||
			!a.IsPrivate() && !a.IsLinkLocalUnicast() && !azurePlatform.Contains(a) && !carrier.Contains(a) {
			return "ExceptionList names " + item
		}
	}
	return ""
}

var (
	// azurePlatform is the address of Azure's DNS, DHCP and health probes.
	azurePlatform = netip.MustParsePrefix("168.63.129.16/32")
	// carrier is the range of RFC 6598 (carrier-grade NAT), which clusters use as a private range.
	carrier = netip.MustParsePrefix("100.64.0.0/10")
)

// foreignDNS finds that none of the DNS servers configured for pods is the address of a Service.
func foreignDNS(out string, at surroundings) string {
	servers, services := listed(dnsServers, out), at.cluster.Spec.ClusterNetwork.Services.CIDRBlocks
	if len(servers) == 0 || len(services) == 0 {
		return ""
	}
	for _, s := range servers {
		if a, err := netip.ParseAddr(s); err == nil && within(a, services) {
			return ""
		}
	}
	return fmt.Sprintf("nameservers %s, and services are in %s", strings.Join(servers, ","), strings.Join(services, ","))
}

// pending is a TCP connection to which the peer has not responded.
type pending struct {
	LocalAddress, RemoteAddress string
	RemotePort                  int
}

func ownNodePort(out string, at surroundings) string {
	for _, c := range objects[pending](out) {
		own := c.RemoteAddress == c.LocalAddress || strings.HasPrefix(c.RemoteAddress, "127.")
		if at.node != nil {
			for _, a := range at.node.Status.Addresses {
				own = own || a.Address == c.RemoteAddress
			}
		}
		if own && c.RemotePort >= firstNodePort && c.RemotePort <= lastNodePort {
			return fmt.Sprintf("a connection to %s:%d, the node itself, is not answered", c.RemoteAddress, c.RemotePort)
		}
	}
	return ""
}

func serviceFromNode(out string, at surroundings) string {
	for _, c := range objects[pending](out) {
		if a, err := netip.ParseAddr(c.RemoteAddress); err == nil && within(a, at.cluster.Spec.ClusterNetwork.Services.CIDRBlocks) {
			return fmt.Sprintf("a connection to %s:%d, a service, is not answered", c.RemoteAddress, c.RemotePort)
		}
	}
	return ""
}

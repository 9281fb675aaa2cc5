package template

import (
	"math/big"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
)

var networkFunctions = functions{
	"parseCidr": unaryFunc(func(s string) any { return networkOf(s).object() }),
	"cidrSubnet": ternaryFunc(func(s string, length, index int64) any {
		n := networkOf(s)
		if length < int64(n.length) || length > int64(n.bits) {
			fail("could not generate subnet for network '%s' and CIDR value '%d'", s, length)
		}
		sub := network{length: int(length), bits: n.bits}
		count, at := new(big.Int).Quo(n.size(), sub.size()), big.NewInt(index)
		if at.Sign() < 0 || at.Cmp(count) >= 0 {
			fail("has the subnetIndex '%v', which is not a valid index of the subnet size '%v'", index, count)
		}
		return n.at(at.Mul(at, sub.size())) + "/" + strconv.Itoa(int(length))
	}),
	"cidrHost": binaryFunc(func(s string, index int64) any {
		n := networkOf(s)
		offset := new(big.Int).Add(big.NewInt(index), big.NewInt(1))
		if _, host, _ := n.usable(); offset.Sign() < 0 || offset.Cmp(host) > 0 {
			fail("could not calculate the CidrHost for network '%s' and CIDR value '%v'", s, index)
		}
		return n.at(offset)
	}),
}

// network is an IP network: its first address as a number, and the length of its prefix in bits.
type network struct {
	first        *big.Int
	length, bits int
}

var notAddress = regexp.MustCompile(`[^0-9a-fA-F./\s:]+`)

// networkOf parses a network as the library does that Azure uses: characters that an address cannot
// contain are ignored, missing parts of an IPv4 address are 0, and a missing prefix length is the
// length of the address's class. (Seen in recorded answers of Azure.)
func networkOf(text string) network {
	parts := strings.FieldsFunc(notAddress.ReplaceAllString(text, ""), func(r rune) bool { return r == '/' || r == ' ' || r == '\t' })
	bad := func() { fail("has a CIDR that is not valid: '%s'", text) }
	if len(parts) == 0 || len(parts) > 2 {
		bad()
	}
	host := parts[0]
	if octets := strings.Split(host, "."); !strings.Contains(host, ":") && len(octets) < 4 {
		last := len(octets) - 1
		host = strings.Join(append(octets[:last:last], strings.Repeat("0.", 3-last)+octets[last]), ".")
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		bad()
	}
	n := network{bits: ip.BitLen(), length: 64}
	if first := ip.AsSlice()[0]; ip.Is4() {
		n.length = cond(first < 128, 8, cond(first < 192, 16, 24))
	}
	if len(parts) == 2 {
		if n.length, err = strconv.Atoi(parts[1]); err != nil {
			n.length = maskLength(parts[1], n.bits)
		}
	}
	if n.length < 0 || n.length > n.bits {
		bad()
	}
	n.first = new(big.Int).SetBytes(netip.PrefixFrom(ip, n.length).Masked().Addr().AsSlice())
	return n
}

// maskLength returns the prefix length of a mask such as 255.255.255.0, or -1 if the text is no
// mask.
func maskLength(text string, size int) int {
	mask, err := netip.ParseAddr(text)
	for length := size; length >= 0 && err == nil; length-- {
		if (network{bits: size, length: length}).mask() == mask.String() {
			return length
		}
	}
	return -1
}

func power(bits int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(bits)) }

// size returns the number of addresses.
func (n network) size() *big.Int { return power(n.bits - n.length) }

// at returns the address at an offset from the first one.
func (n network) at(offset *big.Int) string { return n.address(new(big.Int).Add(n.first, offset)) }

func (n network) address(number *big.Int) string {
	ip, _ := netip.AddrFromSlice(number.FillBytes(make([]byte, n.bits/8)))
	return ip.String()
}

func (n network) mask() string { return n.address(new(big.Int).Sub(power(n.bits), n.size())) }

// usable returns the offsets of the first and the last host address, and of the last address.
func (n network) usable() (first, host, last *big.Int) {
	last = new(big.Int).Sub(n.size(), big.NewInt(1))
	switch {
	case n.bits == 128:
		return new(big.Int), last, last
	case n.length > 30:
		return new(big.Int), new(big.Int), last
	}
	return big.NewInt(1), new(big.Int).Sub(last, big.NewInt(1)), last
}

func (n network) object() *datum.Object {
	first, host, last := n.usable()
	o := datum.New("network", n.at(new(big.Int)), "netmask", n.mask())
	if n.bits == 32 {
		o.Set("broadcast", n.at(last))
	}
	return datum.Overlay(o, datum.New("firstUsable", n.at(first), "lastUsable", n.at(host), "cidr", int64(n.length)))
}

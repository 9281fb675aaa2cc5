package template

import (
	"fmt"
	"math/big"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func dateFunctions() []function {
	return []function{
		{name: "utcNow", eval: func(s *scope, a []any) (any, error) {
			if s.place&placeDefault == 0 {
				return nil, errPlace("utcNow")
			}
			if s.Now.IsZero() {
				return s.laterOf(showCall("utcNow", a))
			}
			if len(a) == 0 {
				a = []any{"yyyyMMddTHHmmssZ"}
			}
			return dateText("utcNow", s.Now.UTC(), a[0].(string))
		}},
		{name: "dateTimeAdd", eval: dateTimeAdd},
		{name: "dateTimeFromEpoch", eval: fromEpoch},
		{name: "dateTimeToEpoch", eval: func(_ *scope, a []any) (any, error) {
			t, ok := dateOf(a[0].(string))
			if !ok {
				return nil, azureSays("The parameter is not a valid ISO8601 DateTime string")
			}
			return t.Unix(), nil
		}},
	}
}

// dateOf reads a time in the forms that .NET takes without a culture; without an offset it is UTC.
func dateOf(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, day := range []string{"2006-01-02", "20060102", "2006/1/2", "1/2/2006", "2006-1-2", "2 Jan 2006", "Jan 2, 2006", "Mon, 02 Jan 2006",
		"2006-01"} {
		if t, err := time.Parse(day, s); err == nil {
			return t, true
		}
		for _, clock := range []string{"15:04:05.999999999", "15:04", "150405", "15:04:05"} {
			for _, zone := range []string{"Z07:00", "", " Z07:00", " GMT", "Z0700"} {
				for _, between := range []string{"T", " "} {
					if t, err := time.Parse(day+between+clock+zone, s); err == nil {
						return t.UTC(), true
					}
				}
			}
		}
	}
	return time.Time{}, false
}

var durations = regexp.MustCompile(`^(-?)P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

func dateTimeAdd(_ *scope, a []any) (any, error) {
	bad := func(which string, i int, what string) error {
		return azureSays("The %s parameter '%s' is no valid %s", which, a[i], what)
	}
	t, ok := dateOf(a[0].(string))
	if !ok {
		return nil, bad("first", 0, "ISO8601 DateTime string")
	}
	text := a[1].(string)
	m := durations.FindStringSubmatch(text)
	if m == nil || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return nil, bad("second", 1, "ISO8601 Duration string")
	}
	seconds := 0.0
	for i, unit := range []float64{365 * 86400, 30 * 86400, 86400, 3600, 60, 1} {
		if n := m[i+2]; n != "" {
			f, err := strconv.ParseFloat(n, 64)
			if err != nil {
				return nil, bad("second", 1, "ISO8601 Duration string")
			}
			seconds += f * unit
		}
	}
	if m[1] == "-" {
		seconds = -seconds
	}
	const most = 1e12
	if seconds > most || seconds < -most {
		return nil, bad("second", 1, "ISO8601 Duration string")
	}
	whole := int64(seconds)
	t = time.Unix(t.Unix()+whole, int64(t.Nanosecond())+int64((seconds-float64(whole))*1e9)).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return nil, fmt.Errorf("the added or subtracted value results in an un-representable DateTime")
	}
	f := "yyyy-MM-ddTHH:mm:ssZ"
	if len(a) == 3 {
		f = a[2].(string)
	}
	return dateText("dateTimeAdd", t, f)
}

func fromEpoch(_ *scope, a []any) (any, error) {
	n, is := a[0].(int64)
	if t, text := a[0].(string); text {
		var err error
		n, err = strconv.ParseInt(strings.TrimSpace(t), 10, 64)
		is = err == nil
	}
	if t := time.Unix(n, 0).UTC(); is && t.Year() >= 1 && t.Year() <= 9999 && n < 1<<40 && n > -1<<40 {
		return t.Format("2006-01-02T15:04:05Z"), nil
	}
	return nil, fmt.Errorf("'%v' is no time in seconds from 1970", a[0])
}

// standardDates are the standard formats of a DateTimeOffset in the invariant culture.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/standard-date-and-time-format-strings.
var standardDates = map[string]string{"d": "MM/dd/yyyy", "D": "dddd, dd MMMM yyyy", "f": "dddd, dd MMMM yyyy HH:mm",
	"F": "dddd, dd MMMM yyyy HH:mm:ss", "g": "MM/dd/yyyy HH:mm", "G": "MM/dd/yyyy HH:mm:ss", "m": "MMMM dd", "M": "MMMM dd",
	"o": "yyyy-MM-ddTHH:mm:ss.fffffffzzz", "O": "yyyy-MM-ddTHH:mm:ss.fffffffzzz", "r": "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
	"R": "ddd, dd MMM yyyy HH:mm:ss 'GMT'", "s": "yyyy-MM-ddTHH:mm:ss", "t": "HH:mm", "T": "HH:mm:ss", "u": "yyyy-MM-dd HH:mm:ss'Z'",
	"y": "yyyy MMMM", "Y": "yyyy MMMM"}

// dateText formats a time as .NET does.
func dateText(name string, t time.Time, format string) (any, error) {
	bad := fmt.Errorf("the template function '%s' has an invalid parameter. '%s' is not a valid DateTime format string", name, format)
	if format == "" {
		format = "G"
	}
	if len(format) == 1 {
		full, ok := standardDates[format]
		if !ok {
			return nil, bad
		}
		format = full
	}
	var out strings.Builder
	for i := 0; i < len(format); {
		c := format[i]
		n := 1
		for i+n < len(format) && format[i+n] == c {
			n++
		}
		switch c {
		case '\'', '"':
			end := strings.IndexByte(format[i+1:], c)
			if end < 0 {
				return nil, bad
			}
			out.WriteString(format[i+1 : i+1+end])
			i += end + 2
			continue
		case '\\', '%':
			if i+1 >= len(format) || c == '%' && format[i+1] == '%' {
				return nil, bad
			}
			if i++; c == '\\' {
				out.WriteByte(format[i])
				i++
				continue
			}
			n = 1
			if !datePart(&out, t, format[i], n) {
				out.WriteByte(format[i])
			}
			i++
			continue
		}
		if c == 'f' && n > 7 || c == 'F' && n > 7 {
			return nil, bad
		}
		if !datePart(&out, t, c, n) {
			out.WriteString(format[i : i+n])
		}
		i += n
	}
	return out.String(), nil
}

// datePart writes n repeated letters of a custom format; false if they are literals.
func datePart(out *strings.Builder, t time.Time, c byte, n int) bool {
	padded := func(v int) { fmt.Fprintf(out, "%0*d", n, v) }
	named := func(short, long string, v int) {
		switch n {
		case 1, 2:
			padded(v)
		case 3:
			out.WriteString(t.Format(short))
		default:
			out.WriteString(t.Format(long))
		}
	}
	two := func(v int) { n = min(n, 2); padded(v) }
	switch c {
	case 'd':
		named("Mon", "Monday", t.Day())
	case 'M':
		named("Jan", "January", int(t.Month()))
	case 'y':
		if n <= 2 {
			padded(t.Year() % 100)
		} else {
			padded(t.Year())
		}
	case 'H':
		two(t.Hour())
	case 'h':
		two((t.Hour()+11)%12 + 1)
	case 'm':
		two(t.Minute())
	case 's':
		two(t.Second())
	case 't':
		out.WriteString(t.Format("PM")[:min(n, 2)])
	case 'f', 'F':
		f := fmt.Sprintf("%09d", t.Nanosecond())[:n]
		if c == 'F' {
			f = strings.TrimRight(f, "0")
		}
		out.WriteString(f)
	case 'z':
		switch n {
		case 1:
			out.WriteString("+0")
		case 2:
			out.WriteString("+00")
		default:
			out.WriteString("+00:00")
		}
	case 'K':
		out.WriteString(strings.Repeat("+00:00", n))
	case 'g':
		out.WriteString("A.D.")
	default:
		return false
	}
	return true
}

func cidrFunctions() []function {
	return []function{
		{name: "parseCidr", eval: func(_ *scope, a []any) (any, error) {
			n, err := networkOf(a[0].(string))
			if err != nil {
				return nil, err
			}
			return n.object(), nil
		}},
		{name: "cidrSubnet", eval: cidrSubnet},
		{name: "cidrHost", eval: cidrHost},
	}
}

// network is an IP network: the number of its first address, and its length of bits.
type network struct {
	first  *big.Int
	length int
	bits   int
}

var notAddress = regexp.MustCompile(`[^0-9a-fA-F./\s:]+`)

// networkOf reads a network as the library does that Azure uses: signs that no address has are
// left out, parts of an IPv4 address that are missing are 0, and without a length it is that of
// the address's class. (Seen in recorded answers of Azure.)
func networkOf(text string) (network, error) {
	bad := fmt.Errorf("the specified CIDR '%s' is not valid", text)
	parts := strings.FieldsFunc(notAddress.ReplaceAllString(text, ""), func(r rune) bool { return r == '/' || r == ' ' || r == '\t' })
	if len(parts) == 0 || len(parts) > 2 {
		return network{}, bad
	}
	host := parts[0]
	if octets := strings.Split(host, "."); !strings.Contains(host, ":") && len(octets) < 4 {
		last := octets[len(octets)-1]
		for len(octets) < 4 {
			octets = append(octets[:len(octets)-1], "0", last)
		}
		host = strings.Join(octets, ".")
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return network{}, bad
	}
	n := network{bits: ip.BitLen(), length: 64}
	if ip.Is4() {
		switch b := ip.As4()[0]; {
		case b < 128:
			n.length = 8
		case b < 192:
			n.length = 16
		default:
			n.length = 24
		}
	}
	if len(parts) == 2 {
		if n.length, err = strconv.Atoi(parts[1]); err != nil {
			if n.length, err = maskLength(parts[1], n.bits); err != nil {
				return network{}, bad
			}
		}
		if n.length < 0 || n.length > n.bits {
			return network{}, bad
		}
	}
	n.first = new(big.Int).SetBytes(netip.PrefixFrom(ip, n.length).Masked().Addr().AsSlice())
	return n, nil
}

// maskLength returns the number of bits of a mask like 255.255.255.0.
func maskLength(text string, size int) (int, error) {
	mask, err := netip.ParseAddr(text)
	if err != nil || mask.BitLen() != size {
		return 0, fmt.Errorf("no mask")
	}
	for length := range size + 1 {
		if (network{bits: size, length: length}).mask() == mask.String() {
			return length, nil
		}
	}
	return 0, fmt.Errorf("no mask")
}

// size returns the number of addresses.
func (n network) size() *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(n.bits-n.length)) }

// at returns the address so many after the first one.
func (n network) at(offset *big.Int) string {
	return n.address(new(big.Int).Add(n.first, offset))
}

func (n network) address(number *big.Int) string {
	ip, _ := netip.AddrFromSlice(number.FillBytes(make([]byte, n.bits/8)))
	return ip.String()
}

func (n network) mask() string {
	all := new(big.Int).Lsh(big.NewInt(1), uint(n.bits))
	return n.address(all.Sub(all, n.size()))
}

func (n network) last() *big.Int { return new(big.Int).Sub(n.size(), big.NewInt(1)) }

// usable returns the offsets of the first and last address of a host.
func (n network) usable() (first, last *big.Int) {
	switch {
	case n.bits == 128:
		return new(big.Int), n.last()
	case n.length > 30:
		return new(big.Int), new(big.Int)
	}
	return big.NewInt(1), new(big.Int).Sub(n.last(), big.NewInt(1))
}

func (n network) object() *Object {
	first, last := n.usable()
	o := NewObject("network", n.at(new(big.Int)), "netmask", n.mask())
	if n.bits == 32 {
		o.Set("broadcast", n.at(n.last()))
	}
	o.Set("firstUsable", n.at(first))
	o.Set("lastUsable", n.at(last))
	o.Set("cidr", int64(n.length))
	return o
}

func cidrSubnet(_ *scope, a []any) (any, error) {
	n, err := networkOf(a[0].(string))
	if err != nil {
		return nil, err
	}
	length, index := a[1].(int64), big.NewInt(a[2].(int64))
	if length < int64(n.length) || length > int64(n.bits) {
		return nil, fmt.Errorf("could not generate subnet for network '%s' and CIDR value '%d'", a[0], length)
	}
	sub := network{length: int(length), bits: n.bits}
	count := new(big.Int).Quo(n.size(), sub.size())
	if index.Sign() < 0 || index.Cmp(count) >= 0 {
		return nil, fmt.Errorf("the specified subnetIndex '%v' is not a valid index of the subnet size '%v'", index, count)
	}
	return n.at(index.Mul(index, sub.size())) + "/" + strconv.Itoa(int(length)), nil
}

func cidrHost(_ *scope, a []any) (any, error) {
	n, err := networkOf(a[0].(string))
	if err != nil {
		return nil, err
	}
	offset := new(big.Int).Add(big.NewInt(a[1].(int64)), big.NewInt(1))
	if _, last := n.usable(); offset.Sign() < 0 || offset.Cmp(last) > 0 {
		return nil, fmt.Errorf("could not calculate the CidrHost for network '%s' and CIDR value '%v'", a[0], a[1])
	}
	return n.at(offset), nil
}

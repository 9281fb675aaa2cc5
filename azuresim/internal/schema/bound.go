package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed bounds.tsv
var boundsTSV string

// Bound is a requirement of Azure on a member that its description does not contain.
type Bound struct {
	// Code is Azure's error code for a value that is not allowed, "" for the provider's code. Words
	// is the message with the placeholders {value}, {path}, {name} of the member, {resource} and
	// {network}, which is the value without its host bits.
	Code, Words string
	// within is the name of a member of the member; if set, that inner member is checked.
	within string
	// allows reports whether a value is allowed.
	allows func(v any) bool
	// whole means that an array is checked as one value, and not each of its elements.
	whole bool
	// needs reports whether an object must have the member; nil means never.
	needs func(object map[string]any) bool
}

// bounds maps an object and a member in lower case, such as "subnetpropertiesformat.addressprefix",
// to the member's bounds.
var bounds = sync.OnceValue(func() map[string][]*Bound {
	out, err := parseBounds(boundsTSV)
	if err != nil {
		panic(fmt.Sprintf("bounds.tsv: %v", err)) // an error in the embedded file; any test finds it
	}
	return out
})

// boundColumns is the number of columns of the table: objects, members, allowed, code, words,
// source.
const boundColumns = 6

func parseBounds(text string) (map[string][]*Bound, error) {
	out := map[string][]*Bound{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != boundColumns || cells[5] == "" {
			return nil, fmt.Errorf("the line %q has not %d columns, or no source", line, boundColumns)
		}
		b, err := parseAllowed(cells[2])
		if err != nil {
			return nil, fmt.Errorf("the line %q: %w", line, err)
		}
		b.Code, b.Words = cells[3], cells[4]
		for object := range strings.FieldsSeq(strings.ToLower(cells[0])) {
			for path := range strings.FieldsSeq(cells[1]) {
				member, within, _ := strings.Cut(path, ".")
				one, key := *b, object+"."+strings.ToLower(member)
				one.within = within
				out[key] = append(out[key], &one)
			}
		}
	}
	return out, nil
}

// parseAllowed parses the column allowed into a bound. It contains the name of a form, a regular
// expression between slashes, a range such as "4..30" whose end is optional, "disjoint", "outside"
// with a network, or "present" with the objects that must have the member.
func parseAllowed(cell string) (*Bound, error) {
	if form := forms[cell]; form != nil {
		return &Bound{allows: ofText(form)}, nil
	}
	if len(cell) > 2 && cell[0] == '/' && cell[len(cell)-1] == '/' {
		re, err := regexp.Compile(cell[1 : len(cell)-1])
		if err != nil {
			return nil, fmt.Errorf("the expression %q: %w", cell, err)
		}
		return &Bound{allows: ofText(re.MatchString)}, nil
	}
	switch word, rest, _ := strings.Cut(cell, " "); word {
	case "disjoint":
		return &Bound{allows: disjoint, whole: true}, nil
	case "outside":
		network, err := netip.ParsePrefix(rest)
		return &Bound{allows: ofText(func(s string) bool { p, ok := prefixOf(s); return !ok || !p.Overlaps(network) })}, err
	case "present":
		needs, err := parseNeeds(rest)
		return &Bound{allows: func(any) bool { return true }, needs: needs}, err
	}
	first, last, ok := strings.Cut(cell, "..")
	least, err := strconv.ParseFloat(first, 64)
	most := math.Inf(1)
	if err == nil && last != "" {
		most, err = strconv.ParseFloat(last, 64)
	}
	if err != nil || !ok {
		return nil, fmt.Errorf("%q is no form, expression or range", cell)
	}
	return &Bound{allows: within(least, most)}, nil
}

// parseNeeds parses the objects that must have a member: "" means all, "unless protocol=Tcp" the
// objects whose member protocol has another value.
func parseNeeds(text string) (func(map[string]any) bool, error) {
	if text == "" {
		return func(map[string]any) bool { return true }, nil
	}
	condition, ok := strings.CutPrefix(text, "unless ")
	name, word, equal := strings.Cut(condition, "=")
	if !ok || !equal {
		return nil, fmt.Errorf("%q is not as \"unless protocol=Tcp\"", text)
	}
	return func(o map[string]any) bool {
		s, _ := valueOf(o, name).(string)
		return !strings.EqualFold(s, word)
	}, nil
}

// within returns a check that allows the numbers of a range.
func within(least, most float64) func(any) bool {
	return func(v any) bool {
		n, is := typed("IntegerType", v).(float64)
		return !is || least <= n && n <= most
	}
}

// ofRange returns the bound for a range in Azure's description, each end of which may be nil; nil
// if both are.
func ofRange(least, most *float64) *Bound {
	switch {
	case least == nil && most == nil:
		return nil
	case least == nil:
		return &Bound{Words: fmt.Sprintf("The value '{value}' of parameter '{path}' is out of range. The value must be at most %g.", *most),
			allows: within(math.Inf(-1), *most)}
	case most == nil:
		return &Bound{Words: fmt.Sprintf("The value '{value}' of parameter '{path}' is out of range. The value must be at least %g.", *least),
			allows: within(*least, math.Inf(1))}
	}
	return &Bound{Words: fmt.Sprintf("The value '{value}' of parameter '{path}' is out of range. The value must be between %g and %g, "+
		"inclusive.", *least, *most), allows: within(*least, *most)}
}

// ofText returns a check that applies a form to texts. It allows other types, which are a problem
// of another kind.
func ofText(form func(string) bool) func(any) bool {
	return func(v any) bool {
		s, is := v.(string)
		return !is || form(s)
	}
}

// forms are the forms of texts that Azure's description calls only strings.
var forms = map[string]func(string) bool{
	"address":        func(s string) bool { ip, err := netip.ParseAddr(s); return err == nil && ip.Zone() == "" },
	"ipv4":           func(s string) bool { ip, err := netip.ParseAddr(s); return err == nil && ip.Is4() },
	"ipv6":           func(s string) bool { ip, err := netip.ParseAddr(s); return err == nil && ip.Is6() && ip.Zone() == "" },
	"ipv4 or prefix": func(s string) bool { p, ok := prefixOf(s); return ok && p.Addr().Is4() },
	"prefix":         func(s string) bool { _, err := netip.ParsePrefix(s); return err == nil },
	"network":        isNetwork,
	// The name of a service is allowed too: AzureCloud, Storage.WestEurope, *.
	"prefix or name":           func(s string) bool { _, err := netip.ParsePrefix(s); return err == nil || isName(s) },
	"network or name":          func(s string) bool { return isNetwork(s) || isName(s) },
	"network, address or name": func(s string) bool { _, err := netip.ParseAddr(s); return err == nil || isNetwork(s) || isName(s) },
	"ports":                    isPorts,
}

// prefixOf parses a prefix, or an address as the prefix with only this address.
func prefixOf(s string) (netip.Prefix, bool) {
	if ip, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(ip, ip.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	return p, err == nil
}

// disjoint reports whether no two prefixes of an array overlap.
func disjoint(v any) bool {
	list, _ := v.([]any)
	var before []netip.Prefix
	for _, e := range list {
		s, _ := e.(string)
		p, ok := prefixOf(s)
		if ok && slices.ContainsFunc(before, p.Overlaps) {
			return false
		}
		before = append(before, p)
	}
	return true
}

// isNetwork reports whether a text is a prefix without host bits.
func isNetwork(s string) bool {
	p, err := netip.ParsePrefix(s)
	return err == nil && p == p.Masked()
}

var serviceName = regexp.MustCompile(`^(\*|[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)?)$`)

func isName(s string) bool { return serviceName.MatchString(s) }

// isPorts reports whether a text is a port, a range of ports, or "*".
func isPorts(s string) bool {
	first, last, ranged := strings.Cut(s, "-")
	from, err := strconv.ParseUint(first, 10, 16)
	if !ranged || err != nil {
		return s == "*" || err == nil
	}
	to, err := strconv.ParseUint(last, 10, 16)
	return err == nil && from <= to
}

// bound reports the first bound that does not allow a member's value or an element of it. An empty
// text counts as absent, because some clients send it; an empty element does not.
func (c *check) bound(bounds []*Bound, v any, path string) {
	if c.answer || v == "" {
		return
	}
	for _, b := range bounds {
		if v, path := b.of(v, path); v != nil && c.beyond(b, v, path) {
			return
		}
	}
}

// of returns the value that the bound checks in a member's value v, and its path.
func (b *Bound) of(v any, path string) (any, string) {
	if b.within == "" {
		return v, path
	}
	o, _ := v.(map[string]any)
	return valueOf(o, b.within), join(path, b.within)
}

// beyond reports a problem for the first element that a bound does not allow, or for the value
// itself if it is no array. It returns whether there is a problem.
func (c *check) beyond(b *Bound, v any, path string) bool {
	list, many := v.([]any)
	if !many || b.whole {
		if b.allows(v) {
			return false
		}
		c.report(OutOfBounds, path, "", v).Bound = b
		return true
	}
	for i, e := range list {
		if e == "" {
			e = " " // no form allows a blank
		}
		if c.beyond(b, e, fmt.Sprintf("%s[%d]", path, i)) {
			return true
		}
	}
	return false
}

// Says returns the message for a problem with a value in a resource that the bound does not allow.
func (b *Bound) Says(p Problem, resource string) string {
	text := p.Value
	if json.Unmarshal([]byte(p.Value), &text) != nil {
		text = p.Value // the value is a number
	}
	text = strings.TrimSpace(text)
	network := text
	if prefix, err := netip.ParsePrefix(text); err == nil {
		network = prefix.Masked().String()
	}
	return strings.NewReplacer("{value}", text, "{path}", p.Path, "{name}", p.name(), "{resource}", resource,
		"{network}", network).Replace(b.Words)
}

// name returns the name of the member that has the problem.
func (p Problem) name() string {
	name, _, _ := strings.Cut(p.Path[strings.LastIndex(p.Path, ".")+1:], "[")
	return name
}

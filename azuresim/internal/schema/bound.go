package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:embed bounds.tsv
var boundsTSV string

// Bound is what Azure demands of a member beyond its description.
type Bound struct {
	// Code is Azure's code for a value that is not allowed, "" for that of the provider; Words is its message with the places
	// {value}, {path}, {name} of the member, {resource} and {network}, which is the value without the bits of its host.
	Code, Words string
	// allows reports whether a value is allowed.
	allows func(v any) bool
}

// bounds are by object and member in lower case, as "subnetpropertiesformat.addressprefix".
var bounds = sync.OnceValue(func() map[string][]*Bound {
	out, err := parseBounds(boundsTSV)
	if err != nil {
		panic(fmt.Sprintf("bounds.tsv: %v", err)) // an error of the build, which any test shows
	}
	return out
})

// boundColumns of the table: objects, members, allowed, code, words, source.
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
		allows, err := parseAllowed(cells[2])
		if err != nil {
			return nil, fmt.Errorf("the line %q: %w", line, err)
		}
		b := &Bound{Code: cells[3], Words: cells[4], allows: allows}
		for object := range strings.FieldsSeq(strings.ToLower(cells[0])) {
			for member := range strings.FieldsSeq(strings.ToLower(cells[1])) {
				out[object+"."+member] = append(out[object+"."+member], b)
			}
		}
	}
	return out, nil
}

// parseAllowed reads the column allowed: a form, an expression between slashes, or a range as "4..30", whose end may be missing.
func parseAllowed(cell string) (func(any) bool, error) {
	if form := forms[cell]; form != nil {
		return ofText(form), nil
	}
	if len(cell) > 2 && cell[0] == '/' && cell[len(cell)-1] == '/' {
		re, err := regexp.Compile(cell[1 : len(cell)-1])
		if err != nil {
			return nil, fmt.Errorf("the expression %q: %w", cell, err)
		}
		return ofText(re.MatchString), nil
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
	return within(least, most), nil
}

// within allows the numbers of a range.
func within(least, most float64) func(any) bool {
	return func(v any) bool {
		n, is := typed("IntegerType", v).(float64)
		return !is || least <= n && n <= most
	}
}

// ofRange returns the bound of a range of Azure's description, whose ends may be nil; nil without both.
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

// ofText applies a form to texts; other types are an error of another kind.
func ofText(form func(string) bool) func(any) bool {
	return func(v any) bool {
		s, is := v.(string)
		return !is || form(s)
	}
}

// forms are the forms of texts that Azure's description calls strings.
var forms = map[string]func(string) bool{
	"address": func(s string) bool { ip, err := netip.ParseAddr(s); return err == nil && ip.Zone() == "" },
	"ipv4":    func(s string) bool { ip, err := netip.ParseAddr(s); return err == nil && ip.Is4() },
	"ipv6":    func(s string) bool { ip, err := netip.ParseAddr(s); return err == nil && ip.Is6() && ip.Zone() == "" },
	"prefix":  func(s string) bool { _, err := netip.ParsePrefix(s); return err == nil },
	"network": isNetwork,
	// the name of a service is allowed instead: AzureCloud, Storage.WestEurope, *
	"prefix or name":           func(s string) bool { _, err := netip.ParsePrefix(s); return err == nil || isName(s) },
	"network or name":          func(s string) bool { return isNetwork(s) || isName(s) },
	"network, address or name": func(s string) bool { _, err := netip.ParseAddr(s); return err == nil || isNetwork(s) || isName(s) },
	"ports":                    isPorts,
}

// isNetwork reports whether a text is a prefix without bits of a host.
func isNetwork(s string) bool {
	p, err := netip.ParsePrefix(s)
	return err == nil && p == p.Masked()
}

var serviceName = regexp.MustCompile(`^(\*|[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)?)$`)

func isName(s string) bool { return serviceName.MatchString(s) }

// isPorts reports whether a text is a port, a range of ports or all.
func isPorts(s string) bool {
	first, last, ranged := strings.Cut(s, "-")
	from, err := strconv.ParseUint(first, 10, 16)
	if !ranged || err != nil {
		return s == "*" || err == nil
	}
	to, err := strconv.ParseUint(last, 10, 16)
	return err == nil && from <= to
}

// bound reports a member's value, or its elements, that one of its bounds does not allow, each by the first of them. A text that is
// empty is as if it were absent, which some clients send; an element is not.
func (c *check) bound(bounds []*Bound, v any, path string) {
	if c.answer || bounds == nil || v == "" {
		return
	}
	if list, many := v.([]any); many {
		for i, e := range list {
			if e == "" {
				e = " " // which no form allows
			}
			c.bound(bounds, e, fmt.Sprintf("%s[%d]", path, i))
		}
		return
	}
	for _, b := range bounds {
		if !b.allows(v) {
			p := c.report(OutOfBounds, path, "", v)
			p.Bound = b
			return
		}
	}
}

// Says returns the message for a problem with a member of a resource that the bound does not allow.
func (b *Bound) Says(p Problem, resource string) string {
	text := p.Value
	if json.Unmarshal([]byte(p.Value), &text) != nil {
		text = p.Value // a number
	}
	text = strings.TrimSpace(text)
	network := text
	if prefix, err := netip.ParsePrefix(text); err == nil {
		network = prefix.Masked().String()
	}
	return strings.NewReplacer("{value}", text, "{path}", p.Path, "{name}", p.name(), "{resource}", resource,
		"{network}", network).Replace(b.Words)
}

// name returns the name of a problem's member.
func (p Problem) name() string {
	name, _, _ := strings.Cut(p.Path[strings.LastIndex(p.Path, ".")+1:], "[")
	return name
}

// Package name has Azure's rules for names and IDs in one table. Admission and the code that writes to Azure use the
// same table, so that a value that passes one check also passes the other.
//
// It does not use any spec and does not call Azure. Package desired imports it.
package name

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a name or ID.
type Kind string

// The kinds of names.
const (
	Subscription    Kind = "subscription ID"
	GUID            Kind = "GUID"
	Location        Kind = "location"
	ResourceGroup   Kind = "resource group"
	VirtualNetwork  Kind = "virtual network"
	Network         Kind = "network resource"
	PrivateEndpoint Kind = "private endpoint"
	DNSZone         Kind = "private DNS zone"
	VirtualMachine  Kind = "virtual machine"
	Size            Kind = "VM size"
	DiskSuffix      Kind = "disk suffix"
	Extension       Kind = "extension"
	Gallery         Kind = "gallery"
	CommunityName   Kind = "community gallery"
	Image           Kind = "image"
	ImageVersion    Kind = "image version"
	Zone            Kind = "zone"
	// Path is a path of names, such as a scope.
	Path Kind = "path of names"
)

// rule is the rule for one kind of name.
type rule struct {
	longest int
	pattern *regexp.Regexp
	says    string
}

// usual is the form of most names: it begins with a letter or digit and ends with a letter, digit or underscore.
var (
	guid    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	usual   = regexp.MustCompile(`^[A-Za-z0-9]([-\w.]*\w)?$`)
	plain   = regexp.MustCompile(`^[A-Za-z0-9][-\w]*$`)
	group   = regexp.MustCompile(`^[-\p{L}\p{N}_.()]*[-\p{L}\p{N}_()]$`)
	zone    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_][A-Za-z0-9_-]*){1,33}$`)
	machine = regexp.MustCompile(`^[A-Za-z0-9]([-\w.]*\w)?$`)
	word    = regexp.MustCompile(`^[A-Za-z0-9]+$`)
	size    = regexp.MustCompile(`^[A-Za-z0-9]\w*$`)
	suffix  = regexp.MustCompile(`^[-\w.]*\w$`)
	gallery = regexp.MustCompile(`^[A-Za-z0-9]([\w.]*[A-Za-z0-9])?$`)
	version = regexp.MustCompile(`^(latest|\d+\.\d+\.\d+)$`)
)

const usually = "must begin with a letter or digit, end with one or '_', and have letters, digits, '.', '_' and '-' between"

// rules returns the table.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules.
func rules() map[Kind]rule {
	return map[Kind]rule{
		Subscription:    {36, guid, "must be a GUID such as 11111111-2222-3333-4444-555555555555"},
		GUID:            {36, guid, "must be a GUID such as 11111111-2222-3333-4444-555555555555"},
		Location:        {64, word, "must be the name of a location such as westeurope"},
		ResourceGroup:   {90, group, "must have letters, digits, '_', '-', '.' and brackets, and no '.' at the end"},
		VirtualNetwork:  {64, regexp.MustCompile(`^[A-Za-z0-9][-\w.]*\w$`), usually + ", two at least"},
		Network:         {80, usual, usually},
		PrivateEndpoint: {64, regexp.MustCompile(`^[A-Za-z0-9][-\w.]*\w$`), usually + ", two at least"},
		DNSZone:         {253, zone, "must be two to 34 labels of letters, digits, '_' and '-', with dots between"},
		VirtualMachine:  {64, machine, usually},
		Size:            {64, size, "must be the name of a size such as Standard_D2s_v3"},
		DiskSuffix:      {40, suffix, "must have letters, digits, '.', '_' and '-', and end with a letter, a digit or '_'"},
		Extension:       {80, usual, usually},
		Gallery:         {80, gallery, "must have letters, digits, '.' and '_', with a letter or digit at both ends"},
		CommunityName:   {128, usual, usually},
		Image:           {80, usual, usually},
		ImageVersion:    {32, version, "must be latest or three numbers with dots between"},
		Zone:            {16, plain, "must be the number of a zone"},
	}
}

// Check returns the error in a name of a kind, or "".
func Check(kind Kind, value string) string {
	if kind == Path {
		return checkPath(value)
	}
	r := rules()[kind]
	if utf8.RuneCountInString(value) > r.longest {
		return fmt.Sprintf("has %d characters, and Azure takes %d at most for a %s", utf8.RuneCountInString(value), r.longest, kind)
	}
	if !r.pattern.MatchString(value) {
		return r.says
	}
	return ""
}

func checkPath(value string) string {
	trimmed := strings.TrimSuffix(value, "/")
	if !strings.HasPrefix(trimmed, "/") || slices.ContainsFunc(strings.Split(trimmed[1:], "/"), func(s string) bool { return !segment(s) }) {
		return "must be names with '/' before each"
	}
	return ""
}

// segment reports whether a text can be a name in an ID, so that it does not change the path.
func segment(s string) bool {
	odd := func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`<>%&\?#*:"`, r) }
	return s != "" && s != "." && s != ".." && len(s) <= 260 && utf8.ValidString(s) && !strings.ContainsFunc(s, odd)
}

// CheckID returns the error in the ID of a resource of one of the types, or "". A type is, for example,
// Microsoft.Compute/images; no type means any.
func CheckID(id string, types ...string) string {
	what := "must be the ID of a resource"
	if len(types) > 0 {
		what += " of type " + strings.Join(types, " or ")
	}
	what += ": /subscriptions/ID/resourceGroups/GROUP/providers/TYPE/NAME"
	parts := strings.Split(id, "/")
	if len(parts) < 9 || len(parts)%2 == 0 || parts[0] != "" || !strings.EqualFold(parts[1], "subscriptions") ||
		!strings.EqualFold(parts[3], "resourceGroups") || !strings.EqualFold(parts[5], "providers") ||
		slices.ContainsFunc(parts[1:], func(s string) bool { return !segment(s) }) {
		return what
	}
	found := []string{parts[6]}
	for i := 7; i < len(parts); i += 2 {
		found = append(found, parts[i])
	}
	if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(t, strings.Join(found, "/")) }) {
		return what
	}
	for kind, value := range map[Kind]string{Subscription: parts[2], ResourceGroup: parts[4]} {
		if wrong := Check(kind, value); wrong != "" {
			return what + "; its " + string(kind) + " " + wrong
		}
	}
	return ""
}

// CheckTag returns the error in a tag, or "".
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations.
func CheckTag(key, value string) string {
	const longestKey, longestValue = 512, 256
	odd := func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`<>%&\?/`, r) }
	switch {
	case key == "" || utf8.RuneCountInString(key) > longestKey || !utf8.ValidString(key) || strings.ContainsFunc(key, odd):
		return `a tag's name has 1 to 512 characters without < > % & \ ? /`
	case utf8.RuneCountInString(value) > longestValue || !utf8.ValidString(value):
		return "a tag's value has at most 256 characters"
	}
	return ""
}

package dotnet

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// maxWidth limits the widths in a composite format, and precisions, as .NET does.
const maxWidth = 1_000_000

// items matches the parts of a composite format that are not literal: {index,alignment:format}, and braces.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/composite-formatting.
var items = regexp.MustCompile(`\{\{|\}\}|\{([0-9]+) *(?:, *(-?[0-9]+) *)?(?::([^{}]*))?\}|[{}]`)

// Composite formats a number of arguments (args) with a composite format. item formats argument i with its own format;
// grow is called with a number of bytes before they are appended.
func Composite(form string, args int, item func(i int, spec string) (string, error), grow func(bytes int) error) (string, error) {
	var out strings.Builder
	at := 0
	for _, m := range items.FindAllStringSubmatchIndex(form, -1) {
		part := func(group int) string {
			if m[2*group] < 0 {
				return ""
			}
			return form[m[2*group]:m[2*group+1]]
		}
		out.WriteString(form[at:m[0]])
		at = m[1]
		if brace := part(0); brace == "{{" || brace == "}}" {
			out.WriteString(brace[:1])
			continue
		}
		if part(1) == "" {
			return "", ErrInput
		}
		index, err := strconv.Atoi(part(1))
		if err != nil || index >= args {
			return "", ErrIndex
		}
		width, err := strconv.Atoi(cmp.Or(part(2), "0"))
		if err != nil || max(width, -width) >= maxWidth {
			return "", ErrInput
		}
		text, err := item(index, part(3))
		if err != nil {
			return "", err
		}
		blank := max(0, max(width, -width)-Len(text))
		if err := grow(len(text) + blank); err != nil {
			return "", err
		}
		if width < 0 {
			out.WriteString(text)
		}
		out.WriteString(strings.Repeat(" ", blank))
		if width >= 0 {
			out.WriteString(text)
		}
	}
	return out.String() + form[at:], nil
}

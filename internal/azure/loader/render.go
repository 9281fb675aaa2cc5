package loader

import (
	"regexp"
	"strings"
)

// hostnameMark is replaced by the computer's name on the machine.
const hostnameMark = "casement.local-hostname.mark"

var (
	templateMarker = regexp.MustCompile(`(?i)^##\s*template:\s*jinja\s*\r?\n`)
	tag            = regexp.MustCompile(`(?s)\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}`)
	hostname       = regexp.MustCompile(`^\{\{-?\s*(?:(?:ds\.meta_data|v1)\s*(?:\.|` +
		`\[\s*["']))?(?:local[_-]hostname|hostname)(?:["']\s*\])?\s*-?\}\}$`)
	literal = regexp.MustCompile(`^\{\{\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\}\}$`)
	raw     = regexp.MustCompile(`(?s)^\{%-?\s*raw\s*-?%\}`)
	endRaw  = regexp.MustCompile(`\{%-?\s*endraw\s*-?%\}`)
)

// render evaluates a template as the image's agent does, for the expressions that bootstrap data uses: the computer's
// name, literals and raw text. Agents on Windows do not evaluate templates in a MIME part.
func render(data []byte) (string, error) {
	text := string(data)
	at := templateMarker.FindString(text)
	if at == "" {
		return text, nil
	}
	text = text[len(at):]
	var out strings.Builder
	for {
		m := tag.FindStringIndex(text)
		if m == nil {
			out.WriteString(text)
			return out.String(), nil
		}
		out.WriteString(text[:m[0]])
		found := text[m[0]:m[1]]
		text = text[m[1]:]
		switch {
		case raw.MatchString(found):
			end := endRaw.FindStringIndex(text)
			if end == nil {
				return "", refused("{% raw %} is not ended")
			}
			out.WriteString(text[:end[0]])
			text = text[end[1]:]
		case strings.HasPrefix(found, "{#"):
		case hostname.MatchString(found):
			out.WriteString(hostnameMark)
		case literal.MatchString(found):
			m := literal.FindStringSubmatch(found)
			out.WriteString(m[1] + m[2])
		default:
			return "", refused("it has a template expression other than the computer's name")
		}
	}
}

func refused(reason string) error {
	return &Error{"the bootstrap data", reason, `use {{ ds.meta_data["local_hostname"] }} alone, wrap other ` +
		`braces in {% raw %} and {% endraw %}, or keep this machine's bootstrap data in its custom data`}
}

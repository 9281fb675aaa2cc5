package bootstrap

import (
	"fmt"
	"regexp"
	"strings"
)

// Patterns of template text.
var (
	namePath     = regexp.MustCompile(`^[A-Za-z_]\w*(\s*\.\s*\w+|\s*\[\s*("[^"]*"|'[^']*'|\d+)\s*\])*`)
	afterName    = regexp.MustCompile(`^(\||\(|\[|\+|-|\*|/|~|%|==|!=|<|>|=|if\s|is\s|in\s|and\s|or\s|not\s)`)
	pathNoise    = regexp.MustCompile(`[\s"'\]]`)
	rawEnd       = regexp.MustCompile(`\{%[-+]?\s*endraw\s*[-+]?%\}`)
	instanceData = regexp.MustCompile(`\{\{\s*(ds|v1)\b`)
)

// jinja checks the template and returns the document with placeholders for expressions, with the same lines. The whole
// document is a template: double braces in files and commands are interpreted too.
func (c *checker) jinja(text string) string {
	var out strings.Builder
	line := 1
	for {
		before, tag, rest := nextTag(text)
		out.WriteString(before)
		line += strings.Count(before, "\n")
		if tag == "" {
			return out.String()
		}
		body, after, closed := strings.Cut(rest, closing(tag))
		if !closed {
			c.unclosed(tag, line)
			out.WriteString(rest)
			return out.String()
		}
		switch tag {
		case "{{":
			c.expression(body, line)
			out.WriteString("placeholder")
		case "{%":
			body, after = c.statement(body, after, line)
		case "{#":
			c.warn("", line, "the text from {# to #} is a comment to the template and disappears",
				"wrap scripts that contain it in {% raw %} and {% endraw %}")
		}
		out.WriteString(strings.Repeat("\n", strings.Count(body, "\n")))
		line += strings.Count(body, "\n")
		text = after
	}
}

// nextTag splits a text at the next opening of a tag.
func nextTag(text string) (before, tag, rest string) {
	for i := 0; i+1 < len(text); i++ {
		if text[i] == '{' && (text[i+1] == '{' || text[i+1] == '%' || text[i+1] == '#') {
			return text[:i], text[i : i+2], text[i+2:]
		}
	}
	return text, "", ""
}

func closing(tag string) string {
	return map[string]string{"{{": "}}", "{%": "%}", "{#": "#}"}[tag]
}

func (c *checker) unclosed(tag string, line int) {
	reason := fmt.Sprintf("%s opens a template tag that nothing closes, and the agent rejects the whole document", tag)
	if tag == "{#" {
		reason += " (bash's ${#name} is such a case)"
	}
	c.fail("", line, reason, "wrap the text in {% raw %} and {% endraw %}, or write the file base64-encoded")
}

// statement checks a {% %} tag. Text after a raw tag is copied up to its end. It returns the processed text and the
// remaining text.
func (c *checker) statement(body, after string, line int) (done, rest string) {
	word, _, _ := strings.Cut(strings.TrimSpace(strings.Trim(body, "-+")), " ")
	switch word {
	case "raw":
		m := rawEnd.FindStringIndex(after)
		if m == nil {
			c.fail("", line, "{% raw %} is not ended", "write {% endraw %} after the text")
			return body + after, ""
		}
		return body + after[:m[1]], after[m[1]:]
	case "if", "elif", "else", "endif", "for", "endfor", "set", "endset", "filter", "endfilter", "with", "endwith",
		"macro", "endmacro", "call", "endcall":
		return body, after
	}
	c.fail("", line,
		"{% is followed by a word that the template language does not have, and the agent rejects the whole document",
		"wrap the text in {% raw %} and {% endraw %}, or write the file base64-encoded")
	return body, after
}

// expression checks the variable that {{ }} refers to.
func (c *checker) expression(body string, line int) {
	body = strings.TrimSpace(strings.Trim(body, "-+"))
	path := namePath.FindString(body)
	rest := strings.TrimSpace(strings.TrimPrefix(body, path))
	literal := strings.HasPrefix(body, `"`) || strings.HasPrefix(body, `'`) || body != "" && strings.Trim(body[:1], "0123456789(") == ""
	switch {
	case literal:
		return
	case path == "" || rest != "" && !afterName.MatchString(rest):
		c.fail("", line, "the text in {{ }} is no template expression, and the agent rejects the whole document",
			"wrap it in {% raw %} and {% endraw %}, or write the file base64-encoded")
	case c.windows():
		c.variable(path, strings.HasPrefix(rest, "|") && strings.Contains(rest, "default"), line)
	}
}

// variable checks a name against the instance data that cloudbase-init has on Azure.
func (c *checker) variable(path string, hasDefault bool, line int) {
	keys := strings.FieldsFunc(pathNoise.ReplaceAllString(path, ""), func(r rune) bool { return r == '.' || r == '[' })
	name := strings.Join(keys, ".")
	if known(keys) || hasDefault && known(keys[:len(keys)-1]) {
		return
	}
	reason := fmt.Sprintf("%s is not among the instance data that cloudbase-init has on Azure", name)
	if len(keys) > 1 && known(keys[:len(keys)-1]) {
		reason += "; it becomes CI_MISSING_JINJA_VAR/" + keys[len(keys)-1]
	} else {
		reason += ", and the whole document fails"
	}
	c.fail("", line, reason, `use ds.meta_data["local_hostname"], which is the computer name`)
}

func known(keys []string) bool {
	switch strings.ReplaceAll(strings.Join(keys, "."), "-", "_") {
	case "ds", "v1", "ds.meta_data", "ds.meta_data.instance_id", "ds.meta_data.local_hostname", "ds.meta_data.hostname",
		"v1.instance_id", "v1.local_hostname", "v1.public_ssh_keys", "instance_id", "local_hostname", "public_ssh_keys":
		return true
	}
	return false
}

// unrendered warns about expressions in a document that is not a template.
func (c *checker) unrendered(text string) {
	for i, line := range strings.Split(text, "\n") {
		if instanceData.MatchString(line) {
			c.fail("", i+1, "the line has a template expression, but the document is not marked as a template "+
				"and keeps it as it is", "begin the document with ## template: jinja")
			return
		}
	}
}

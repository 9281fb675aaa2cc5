package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"casement.dev/casement/internal/redact"
)

// parameters are the query parameters that are kept. Other parameters sign the URL of an operation, or are the token of
// a list's page, which contains names of resources.
var parameters = []string{"api-version", "$filter", "$expand", "$top", "$select", "$orderby", "statusonly",
	"monitor", "forcedeletion", "hibernate", "skipshutdown"}

// address returns a URL without its secrets.
func (s *scrubber) address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	query := url.Values{}
	for name, values := range u.Query() {
		if slices.Contains(parameters, strings.ToLower(name)) {
			query[name] = values
		}
	}
	u.RawQuery, u.User, u.Fragment = strings.ReplaceAll(query.Encode(), "%24", "$"), nil, ""
	return s.text(u.String())
}

// headers returns the named headers without their secrets.
func (s *scrubber) headers(h http.Header, names ...string) map[string][]string {
	out := map[string][]string{}
	for _, name := range names {
		for _, v := range h[name] {
			if strings.Contains(v, "://") {
				v = s.address(v)
			}
			out[http.CanonicalHeaderKey(name)] = append(out[http.CanonicalHeaderKey(name)], s.text(v))
		}
	}
	return out
}

// text returns a text without tokens, keys and names.
func (s *scrubber) text(t string) string { return s.anonymous(redact.Text(t)) }

// body returns a JSON body without its secrets; any other body is left out.
func (s *scrubber) body(address string, body []byte) string {
	if len(bytes.TrimSpace(body)) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // a number keeps its notation
	var doc any
	if err := d.Decode(&doc); err != nil {
		return ""
	}
	w := walker{scrubber: s}
	if u, err := url.Parse(address); err == nil {
		w.all = tellsSecrets.MatchString(u.Path)
		w.secret = strings.Contains(strings.ToLower(u.Path), "/vaults/") && strings.Contains(strings.ToLower(u.Path), "/secrets")
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(w.value("", doc)); err != nil {
		return ""
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// tellsSecrets matches the paths of actions whose whole response is secret.
var tellsSecrets = regexp.MustCompile(`(?i)/(list\w*(keys|secrets?|credentials?|sas|tokens?)|regenerate\w*|` +
	`begingetaccess|retrieve\w+|generate\w*(sas|token)\w*)$`)

// walker has the state for one body.
type walker struct {
	*scrubber
	// all is true if all texts of the body are secret; secret is true if the body is a Key Vault secret.
	all, secret bool
}

// redacted is the replacement of secret texts.
const redacted = "redacted"

// replacements are used for the secrets whose form Azure, and the local Azure, check.
var replacements = map[string]any{
	"adminpassword": "Redacted-Passw0rd", "password": "Redacted-Passw0rd", "customdata": "cmVkYWN0ZWQ=", "userdata": "cmVkYWN0ZWQ=",
	"protectedsettings": map[string]any{}, "consolescreenshotbloburi": "https://redacted.blob.core.windows.net/",
	"serialconsolelogbloburi": "https://redacted.blob.core.windows.net/",
}

// secretName matches the names of fields whose values are always secret.
var secretName = regexp.MustCompile(`(?i)^(.*(password|passwd|secret|token|credential|connectionstring|` +
	`sharedkey|accountkey|privatekey|sas|sasuri)|(primary|secondary)(master)?(readonly)?key|customdata|` +
	`userdata|protectedsettings|protectedparameters|script|commandtoexecute|unattendcontent|.*serial\w*uri|` +
	`.*screenshot\w*uri|identitytoken|pfx|accesssas)$`)

// reference matches the names of fields that refer to a secret but do not contain one.
var reference = regexp.MustCompile(`(?i)(id|name|type|version)$`)

// value returns a field of a body with secret parts replaced; name is the field's name.
func (w walker) value(name string, v any) any {
	if secretName.MatchString(name) && !reference.MatchString(name) {
		return hidden(name, v)
	}
	switch v := v.(type) {
	case map[string]any:
		return w.object(v)
	case []any:
		for i := range v {
			v[i] = w.value(name, v[i])
		}
		return v
	case string:
		if w.all || w.secret && name == "value" {
			return redacted
		}
		if strings.EqualFold(name, "keyData") {
			v = publicKey(v)
		}
		return w.text(v)
	}
	return v
}

// object returns an object without its secrets.
func (w walker) object(o map[string]any) any {
	secure := secureParameters(o)
	out := make(map[string]any, len(o))
	for name, v := range o {
		switch {
		case name == "message" && isOutput(o), (name == "output" || name == "error") && isText(v) && o["executionState"] != nil,
			name == "content" && o["settingName"] != nil, name == "value" && w.isSecret(o):
			v = hidden("", v)
		case strings.EqualFold(name, "parameters") && len(secure) > 0:
			v = w.value(name, hide(v, secure))
		default:
			v = w.value(name, v)
		}
		out[w.anonymous(name)] = v
	}
	return out
}

func isText(v any) bool { _, ok := v.(string); return ok }

// isOutput reports whether an object is the output of a script.
func isOutput(o map[string]any) bool {
	code, _ := o["code"].(string)
	return strings.HasPrefix(code, "ComponentStatus/")
}

// isSecret reports whether an object declares its value as a secret.
func (w walker) isSecret(o map[string]any) bool {
	for _, field := range []string{"name", "keyName"} {
		if name, ok := o[field].(string); ok && secretName.MatchString(name) {
			return true
		}
	}
	return o["keyName"] != nil
}

// secureParameters returns the parameters that a deployment's template declares as secret.
func secureParameters(o map[string]any) (out []string) {
	template, _ := o["template"].(map[string]any)
	declared, _ := template["parameters"].(map[string]any)
	for name, d := range declared {
		p, _ := d.(map[string]any)
		if typ, _ := p["type"].(string); strings.HasPrefix(strings.ToLower(typ), "secure") {
			out = append(out, name)
		}
	}
	return out
}

// hide replaces parameters by name.
func hide(v any, names []string) any {
	given, _ := v.(map[string]any)
	for name, p := range given {
		if o, ok := p.(map[string]any); ok && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			given[name] = map[string]any{"value": hidden("", o["value"])}
		}
	}
	return v
}

// hidden returns the replacement of a secret value, with the same type and in a form that
// passes validation.
func hidden(name string, v any) any {
	if known, ok := replacements[strings.ToLower(name)]; ok && v != nil {
		return known
	}
	switch v := v.(type) {
	case string:
		return redacted
	case json.Number:
		return json.Number("0")
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, hidden("", e))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for i := range len(v) {
			out[fmt.Sprint(redacted, i)] = redacted
		}
		return out
	}
	return v
}

// publicKey returns an SSH key without the comment, which names its owner.
func publicKey(key string) string {
	fields := strings.Fields(key)
	return strings.Join(fields[:min(2, len(fields))], " ")
}

package redact

import (
	"regexp"
	"slices"
	"strings"
)

// rule replaces what matches with its own replacement text. may says of a text and
// its lower case whether there can be a match; it is much faster than the search.
type rule struct {
	find *regexp.Regexp
	with string
	may  func(s, lower string) bool
}

// apply replaces what the rules find. lower is the lower case of s, of which earlier
// rules may have taken something.
func apply(rules []rule, s, lower string) string {
	for _, r := range rules {
		if r.may(s, lower) {
			s = r.find.ReplaceAllString(s, r.with)
		}
	}
	return s
}

// holds and holdsLower are texts of which a match has one.
func holds(parts ...string) func(string, string) bool {
	return func(s, _ string) bool { return hasAny(s, parts) }
}

func holdsLower(parts ...string) func(string, string) bool {
	return func(_, lower string) bool { return hasAny(lower, parts) }
}

func hasAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// secretNames end the name of a field whose value is a secret. A name is also written
// with _ or nothing where - is.
var secretNames = []string{
	"passwd", "password", "passphrase", "client-secret", "client-certificate-data", "client-key-data", "access-token", "refresh-token", "bootstrap-token", "auth-token",
	"id-token", "identity-token", "session-token", "security-token", "join-token", "certificate-key", "account-key", "access-key", "storage-key", "shared-key",
	"private-key", "secret-key", "custom-data", "user-data", "sas-token", "token-secret", "connection-string", "protected-settings", "protected-parameters", "api-key",
}

// stems are what secretNames have in them, one each at least.
var stems = []string{"passw", "passphrase", "secret", "data", "token", "key", "connection", "protected"}

// secretWords matches the secretNames.
var secretWords = strings.ReplaceAll(strings.Join(secretNames, "|"), "-", "[-_]?")

// squeezed are the secretNames without their hyphens.
var squeezed = strings.Split(strings.ReplaceAll(strings.Join(secretNames, " "), "-", ""), " ")

var squeeze = strings.NewReplacer("-", "", "_", "")

// secretField says whether the value of a field is a secret by the field's name. A
// name of one common word is one in an object, and not in a sentence.
func secretField(name string) bool {
	name = squeeze.Replace(strings.ToLower(name))
	switch name {
	case "token", "secret", "authorization":
		return true
	}
	return slices.ContainsFunc(squeezed, func(end string) bool { return strings.HasSuffix(name, end) })
}

func named(s, lower string) bool { return strings.ContainsAny(s, ":=") && hasAny(lower, stems) }

// dotted says whether a dot has room for a bootstrap token around it.
func dotted(s, _ string) bool {
	for i := 6; i+16 < len(s); i++ {
		if s[i] == '.' && s[i-6] != '.' && s[i+16] != '.' {
			return true
		}
	}
	return false
}

// Values of fields: quoted, or up to what ends them in JSON, YAML, a connection string
// or a query.
const fieldValue = `("[^"]*"|'[^']*'|[^\s,;&}"']+)`

// schemes are those of HTTP's Authorization header but Bearer, which has a rule of its
// own. A value without a scheme is one when it is no word.
const schemes = `(?:basic|digest|negotiate|ntlm|sharedkey(?:lite)?|sharedaccesssignature|token|apikey)\s+[^\s"'][^\r\n"']*|[a-z0-9._~+/=-]*[0-9][a-z0-9._~+/=-]{11,}`

// private begins and ends what stands around a private key.
const (
	privateBegin = `-----BEGIN [A-Z ]*PRIVATE KEY-----`
	privateEnd   = `-----END [A-Z ]*PRIVATE KEY-----`
)

// texts are the rules of what is a secret wherever it stands: by its shape, or by the
// name of the field before it. They are applied in order; blocks come first, as they
// span lines.
var texts = []rule{
	{regexp.MustCompile(`(?s)` + privateBegin + `.*?(` + privateEnd + `|\z)`), Mark, holds("-----BEGIN")},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.?[A-Za-z0-9_-]*`), Mark, holds("eyJ")},
	{regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?)(?:` + schemes + `)`), "${1}" + Mark, holdsLower("authorization")},
	{regexp.MustCompile(`(?i)\bbearer\s+[^\s"']+`), "Bearer " + Mark, holdsLower("bearer")},
	// A bootstrap token: six characters, a dot, sixteen. The ID is public.
	{regexp.MustCompile(`\b([a-z0-9]{6})\.[a-z0-9]{16}\b`), "$1." + Mark, dotted},
	// A password's hash as in /etc/shadow, and a client secret of Microsoft Entra ID.
	{regexp.MustCompile(`\$(?:1|2[aby]|5|6|y)\$[./A-Za-z0-9$=,]{16,}`), Mark, holds("$")},
	{regexp.MustCompile(`\b[A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{31,34}`), Mark, holds("Q~")},
	{regexp.MustCompile(`(?i)(["']?[a-z0-9_.-]*(?:` + secretWords + `)["']?\s*[:=]\s*)` + fieldValue), "${1}" + Mark, named},
	// Names of one word: as an assignment, as a JSON member, or alone on a line of YAML.
	// A bootstrap token keeps its ID.
	{regexp.MustCompile(`(?i)(\b[a-z0-9_.-]*token=[a-z0-9]{6}\.)\[redacted\]|(\b[a-z0-9_.-]*token=)` + fieldValue), "${1}${2}" + Mark, holdsLower("token=")},
	{regexp.MustCompile(`(?i)(["'](?:token|secret)["']\s*:\s*)("[^"]*"|'[^']*')`), "${1}" + Mark, holdsLower(`token"`, `token'`, `secret"`, `secret'`)},
	{regexp.MustCompile(`(?im)^([ \t]*(?:- +)?token:[ \t]+)[^\s"']+([ \t]*\r?)$`), "${1}" + Mark + "${2}", holdsLower("token:")},
	{regexp.MustCompile(`(?i)(;\s*pwd\s*=\s*)` + fieldValue), "${1}" + Mark, holdsLower("pwd")},
	{regexp.MustCompile(`(?i)(<(?:\w*password|\w*secret)>\s*(?:<value>\s*)?)[^<\s][^<]*`), "${1}" + Mark, holdsLower("password>", "secret>")},
	{regexp.MustCompile(`(?i)([?&](?:code|access_token)=)[^&\s"']+`), "${1}" + Mark, func(s, _ string) bool { return strings.ContainsAny(s, "?&") }},
	{regexp.MustCompile(`(?i)((?:^|[?&;\s"']|%26|signature=)sig(?:=|%3d))[^&\s"';%]+(?:%[0-9a-f]{2}[^&\s"';%]*)*`), "${1}" + Mark, holdsLower("sig=", "sig%3d")},
	// What stands before the @ of an address: user and password, or a token alone.
	{regexp.MustCompile(`(://[^/\s:@"']*:)[^/\s@"']+@`), "${1}" + Mark + "@", holds("://")},
	{regexp.MustCompile(`(?i)(https?://)[^/\s:@"']{20,}@`), "${1}" + Mark + "@", holds("://")},
}

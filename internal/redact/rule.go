package redact

import (
	"regexp"
	"slices"
	"strings"
)

// rule replaces matches by its own replacement text. may reports whether a text can have a match; it is much faster
// than the search. when, if set, decides about a match from the match and its groups.
type rule struct {
	find *regexp.Regexp
	with string
	may  func(*subject) bool
	when func(groups []string) bool
}

// replace replaces the matches of the rule without calling may.
func (r rule) replace(s string) string {
	if r.when == nil {
		return r.find.ReplaceAllString(s, r.with)
	}
	var out []byte
	for {
		at := r.find.FindStringSubmatchIndex(s)
		if at == nil {
			return string(append(out, s...))
		}
		groups := make([]string, len(at)/2)
		for i := range groups {
			if at[2*i] >= 0 {
				groups[i] = s[at[2*i]:at[2*i+1]]
			}
		}
		end := at[1]
		if r.when(groups) {
			out = r.find.ExpandString(append(out, s[:at[0]]...), r.with, s, at)
		} else {
			// A name that is not a secret's may have a secret in its value, as in: it says: PIN=1.
			if at[3] > at[0] {
				end = at[3]
			}
			out = append(out, s[:end]...)
		}
		s = s[end:]
	}
}

// holds and holdsLower return functions that report whether a text contains one of the parts; every match contains one.
func holds(parts ...string) func(*subject) bool {
	return func(t *subject) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(t.text, part) })
	}
}

func holdsLower(parts ...string) func(*subject) bool {
	return func(t *subject) bool { return t.hasAny(parts) }
}

// secretNames are the ends of the names of fields whose value is a secret. A name may have _ or nothing instead of -.
var secretNames = []string{
	"passwd", "password", "passwort", "pass-word", "passphrase", "client-secret", "client-certificate-data",
	"client-key-data", "access-token", "refresh-token", "bootstrap-token", "auth-token",
	"id-token", "identity-token", "session-token", "security-token", "join-token", "certificate-key", "account-key",
	"access-key", "storage-key", "shared-key",
	"private-key", "encryption-key", "signing-key", "master-key", "function-key", "subscription-key",
	"host-key-secret", "credentials", "credential", "secret-key", "custom-data", "user-data", "sas-token",
	"token-secret", "connection-string", "protected-settings", "protected-parameters", "api-key",
	"shared-secret", "webhook-secret", "hmac-secret", "app-secret", "secret-id", "workspace-key", "wskey", "validation-key",
	"decryption-key", "psk", "pre-shared-key", "key-material",
}

// secretWords matches the secretNames.
var secretWords = strings.ReplaceAll(strings.Join(secretNames, "|"), "-", "[-_]?")

// squeezed are the secretNames without their hyphens.
var squeezed = strings.Split(strings.ReplaceAll(strings.Join(secretNames, " "), "-", ""), " ")

var squeeze = strings.NewReplacer("-", "", "_", "")

// secretField reports whether the value of a field is a secret according to the field's name. A single common word
// counts in an object, but not in a sentence.
func secretField(name string) bool {
	name = squeeze.Replace(strings.ToLower(name))
	switch name {
	case "secret", "authorization", "auth":
		return true
	}
	if strings.HasSuffix(name, "token") ||
		(strings.HasSuffix(name, "pass") || strings.HasSuffix(name, "pwd")) && password([]string{"", name}) {
		return true
	}
	return slices.ContainsFunc(squeezed, func(end string) bool { return strings.HasSuffix(name, end) })
}

// secretSegments are the parts of names of variables and fields whose values are secrets, either the whole name or a
// part between such boundaries as joint matches: SMTP_CRED, pinCode, hash-salt.
var secretSegments = strings.Fields(`cred creds pin salt pw pwd psw passcode passwort otp totp cookie cookies mnemonic
	instrumentationkey licensekey productkey activationcode seedphrase pat sas dsn`)

// joint matches the boundary between the parts of a name.
var joint = regexp.MustCompile(`[_.\-]+|([a-z0-9])([A-Z])`)

// secretSegment reports whether a part of a name, or two adjacent parts together, are in secretSegments.
func secretSegment(name string) bool {
	parts := strings.Fields(strings.ToLower(joint.ReplaceAllString(strings.Trim(name, "\"' \t\r\n:=>\\"), "$1 $2")))
	if len(parts) == 1 && (parts[0] == "pwd" || parts[0] == "pat") || slices.Contains(parts, "oldpwd") {
		return false // the working directory
	}
	for i, part := range parts {
		if slices.Contains(secretSegments, part) ||
			i+1 < len(parts) && slices.Contains(secretSegments, part+parts[i+1]) {
			return true
		}
	}
	return false
}

// password reports whether the first group is an assignment to the name of a password. PWD, the working directory, and
// some words with the same end are not.
func password(groups []string) bool {
	name := strings.ToLower(strings.Trim(groups[1], " \t\r\n\"':=>"))
	return name != "pwd" && name != "oldpwd" && !slices.ContainsFunc([]string{
		"bypass", "compass", "trespass", "surpass", "overpass",
	}, func(word string) bool { return strings.HasSuffix(name, word) })
}

// named reports whether a text contains one of the secretNames before an assignment.
func named(t *subject) bool {
	for i := range len(t.lower) {
		if c := t.lower[i]; c != ':' && c != '=' {
			continue
		}
		name := strings.TrimRight(t.lower[:i], " \t\r\n\f\v")
		if len(name) > 0 && (name[len(name)-1] == '"' || name[len(name)-1] == '\'') {
			name = name[:len(name)-1]
		}
		name = strings.TrimRight(name, `\`)
		name = squeeze.Replace(name[max(0, len(name)-longestName):])
		if slices.ContainsFunc(squeezed, func(end string) bool { return strings.HasSuffix(name, end) }) {
			return true
		}
	}
	return false
}

// longestName is longer than all secretNames.
const longestName = 40

// bootstrapToken reports whether a text contains a dot between characters of a bootstrap token.
func bootstrapToken(t *subject) bool {
	for i := 6; i+16 < len(t.text); i++ {
		if t.text[i] == '.' && allOf(t.text[i-6:i], lowerOrDigit) && allOf(t.text[i+1:i+17], lowerOrDigit) {
			return true
		}
	}
	return false
}

func lowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

func allOf(s string, is func(byte) bool) bool {
	for i := range len(s) {
		if !is(s[i]) {
			return false
		}
	}
	return true
}

// fieldValue matches values of fields: quoted, or up to their end in JSON, YAML, a connection string or a
// query.
const fieldValue = `(["'` + "`" + `]{2,}[\w+/=.-]+|"[^"]*"|'[^']*'|\\+"[^"]*"|["'][^"'\n]+|[^\s,;&}"']+)`

// segmentParts are texts of which every name with one of the secretSegments contains one.
var segmentParts = strings.Fields(`cred pin salt pw psw passcode passwort otp cookie mnemonic instrumentation license product
	activation seed pat sas dsn`)

// plainWords are values that only state whether something exists.
var plainWords = []string{"secrets", "true", "false", "null", "none", "yes", "no", "{", "[", Mark}

// plainParameters are URL parameters of Azure, Kubernetes and registries that contain no secrets.
var plainParameters = strings.Fields(`api-version timeout timeoutseconds limit watch resourceversion resourceversionmatch
	fieldselector labelselector follow taillines sinceseconds previous container allowwatchbookmarks dryrun fieldmanager
	fieldvalidation pretty $filter $top $expand sv sp se st spr sr ss srt service scope n version`)

// passwordWords are the natural-language words for a login secret.
const passwordWords = `password|passwort|kennwort|passphrase|passcode`

// digits reports whether a match contains a digit, or no lower case letter.
func digits(groups []string) bool {
	value := strings.TrimPrefix(groups[0], groups[1])
	return strings.ContainsAny(value, "0123456789") || value == strings.ToUpper(value)
}

// looksRandom reports whether the second group is neither a word in a sentence nor the name of an object, because it has
// letters of both cases and digits.
func looksRandom(groups []string) bool {
	value := groups[2]
	return strings.ContainsAny(value, "0123456789") && strings.ToLower(value) != value && strings.ToUpper(value) != value
}

// schemes are the schemes of HTTP's Authorization header except Bearer, which has its own
// rule. A value without a scheme is a secret if it is not a word.
const schemes = `(?:basic|digest|negotiate|ntlm|sharedkey(?:lite)?|sharedaccesssignature|token|` +
	`apikey)\s+[^\s"'][^\r\n"']*|[a-z0-9._~+/=-]*[0-9][a-z0-9._~+/=-]{11,}`

// private is the beginning and the end of the encapsulation of a private key.
const (
	privateBegin = `(?i:-----BEGIN[ A-Z0-9_-]*PRIVATE KEY(?: BLOCK)?-----)`
	privateEnd   = `(?i:-----END[ A-Z0-9_-]*PRIVATE KEY(?: BLOCK)?-----)`
)

// textRules are the rules that find secrets anywhere in a text, by their form or by the name of the field before them. They
// are applied in order; rules for blocks are first, because blocks span lines.
var textRules = []rule{
	{find: regexp.MustCompile(`(?s)` + privateBegin + `.*?(` + privateEnd + `|\z)`), with: Mark, may: holdsLower("-----begin")},
	{find: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.?[A-Za-z0-9_-]*`), with: Mark, may: holds("eyJ")},
	{find: regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?)(?:` + schemes + `)`), with: "${1}" + Mark,
		may: holdsLower("authorization")},
	{find: regexp.MustCompile(`(?i)\bbearer\s+[^\s"']+`), with: "Bearer " + Mark, may: holdsLower("bearer")},
	// A bootstrap token: six characters, a dot, sixteen. The ID is public.
	{find: regexp.MustCompile(`\b([a-z0-9]{6})\.[a-z0-9]{16}\b`), with: "$1." + Mark, may: bootstrapToken},
	// A password hash as in /etc/shadow, and a client secret of Microsoft Entra ID.
	{find: regexp.MustCompile(`\$(?:1|2[aby]|5|6|y)\$[./A-Za-z0-9$=,]{16,}`), with: Mark, may: holds("$")},
	{find: regexp.MustCompile(`[A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{31,34}`), with: Mark, may: holds("Q~")},
	{find: regexp.MustCompile(`(?i)(\bcredentials?\s*[:=]\s*)[^\s/"']+\s+/\s+[^\s"']+`), with: "${1}" + Mark, may: holdsLower("credential")},
	{find: regexp.MustCompile(`(?i)(\b(?:` + passwordWords + `)\s*=\s*N)'[^'\n]*'`), with: "${1}" + Mark, may: holdsLower("passw")},
	{find: regexp.MustCompile(`(?i)(["']?[a-z0-9_.-]*(?:` + secretWords + `)\\*["']?\s*(?:=>|:=|[:=])\s*)` +
		fieldValue), with: "${1}" + Mark, may: named},
	// Names of one word: in an assignment, as a JSON member, or alone on a line of YAML. A bootstrap token keeps its ID.
	{find: regexp.MustCompile(`(?i)(\b[a-z0-9_.-]*token=[a-z0-9]{6}\.)\[redacted\]|(\b[a-z0-9_.-]*token=)` +
		fieldValue), with: "${1}${2}" + Mark, may: holdsLower("token=")},
	{find: regexp.MustCompile(`(?i)(["'](?:token|secret)["']\s*:\s*)("[^"]*"|'[^']*')`), with: "${1}" + Mark,
		may: holdsLower(`token"`, `token'`, `secret"`, `secret'`)},
	{find: regexp.MustCompile(`(?im)^([ \t]*(?:- +)?token:[ \t]+)[^\s"']+([ \t]*\r?)$`),
		with: "${1}" + Mark + "${2}", may: holdsLower("token:")},
	{find: regexp.MustCompile(`(?i)(;\s*(?:pwd|secret)\s*=\s*)` + fieldValue), with: "${1}" + Mark, may: holdsLower("pwd", "secret")},
	{find: regexp.MustCompile(`(?i)(<(?:[\w:.-]*(?:` + secretWords + `|secret|token))>\s*(?:<value>\s*)?)` +
		`[^<\s][^<]*`), with: "${1}" + Mark, may: holds(">")},
	{find: regexp.MustCompile(`(?i)([?&](?:code|access_token)=)[^&\s"']+`), with: "${1}" + Mark,
		may: func(t *subject) bool { return strings.ContainsAny(t.text, "?&") }},
	{find: regexp.MustCompile(`(?i)((?:^|[?&;\s"']|%26|signature=)sig(?:=|%3d))[^&\s"';%]+(?:%[0-9a-f]{2}[^&\s"';%]*)*`),
		with: "${1}" + Mark, may: holdsLower("sig=", "sig%3d")},
	// XML with the name of the field in one attribute, and its value in the next.
	{find: regexp.MustCompile(`(?i)((?:key|name)\s*=\s*["'][\w:.-]*(?:` + secretWords + `|token|secret|pass|` +
		`pwd)["']\s*value\s*=\s*)("[^"]*"|'[^']*')`), with: "${1}" + Mark, may: holdsLower("value")},
	// JSON and YAML with the name in a field name, as in the environment of a container.
	{find: regexp.MustCompile(`(?i)(["']?name["']?\s*:\s*["']?[\w.-]*(?:` + secretWords +
		`|token|secret|pass|pwd)["']?\s*,?\s*["']?value["']?\s*:\s*)` +
		fieldValue), with: "${1}" + Mark, may: holdsLower("value")},
	// A user and a password in an HTTP Basic header.
	{find: regexp.MustCompile(`(?i)(\bbasic\s+)([a-z0-9+/]{8,}={0,2})`), with: "${1}" + Mark, may: holdsLower("basic"), when: credentials},
	// An HTTP header such as X-Auth-Token, in a message or as the argument of a program such as curl.
	{find: regexp.MustCompile(`(?i)(\bx-[\w-]*(?:token|key|secret|auth|password|` +
		`signature)[\w-]*["']?\s*[:=]\s*["']?)[^\s"',;]+`), with: "${1}" + Mark, may: holdsLower("x-")},
	{find: regexp.MustCompile(`(?i)((?:-H|--header)[\s=]*["']?[\w-]*(?:token|key|secret|` +
		`authorization)\s*:\s*)[^\s"'][^\r\n"']*`), with: "${1}" + Mark, may: holdsLower("-h", "--header")},
	// Short names: an assignment to DBPASS or MYSQL_PWD, a member or a field with a
	// prefix, the member auth of a registry's credentials, and .netrc.
	{find: regexp.MustCompile(`(?i)([a-z0-9_.-]*(?:pass|pwd)["']?\s*(?:=>|:=|=)\s*)` + fieldValue),
		with: "${1}" + Mark, may: holdsLower("pass", "pwd"), when: password},
	{find: regexp.MustCompile(`(?i)([a-z0-9_.-]*[a-z0-9][_.-]?(?:pass|pwd)["']?\s*:\s*)` + fieldValue),
		with: "${1}" + Mark, may: holdsLower("pass", "pwd"), when: password},
	{find: regexp.MustCompile(`(?i)([a-z0-9_.-]*[a-z0-9_.-]token\\*["']?\s*(?:=>|:=|:)\s*)("[^"]+"|\\+"[^"]*"|` +
		`'[^']+'|[\w.~+/=-]{8,})`), with: "${1}" + Mark, may: holdsLower("token")},
	// A part of a name: SMTP_CRED=, "pw":, InstrumentationKey=.
	{find: regexp.MustCompile(`([A-Za-z][\w.-]*\\*["']?[ \t]*(?:=>|:=|[:=])[ \t]*)` + fieldValue), with: "${1}" + Mark,
		may:  holdsLower(segmentParts...),
		when: func(groups []string) bool { return secretSegment(groups[1]) && !slices.Contains(plainWords, groups[2]) }},
	// Words that announce a secret in a sentence. The value ends with a space.
	{find: regexp.MustCompile(`(?i)(\b(?:(?:activation|licen[cs]e|product|recovery|confirmation|one-time|access|security|verification)` +
		`[ -](?:code|key|pin|id)s?|` + passwordWords + `)\b(?:\s+(?:of|for|von|für)\s+[^\s:=]+)?(?:\s+(?:is|was|ist|lautet|now|` +
		`set|reset|changed|from|to))*\s*[:=]?\s+["']?)[^\s"'<>,;]{4,}`),
		with: "${1}" + Mark, when: digits,
		may: holdsLower(" code", " key", " pin", "-code", "-key", "-pin", " id", "-id", "passw", "passphrase", "passcode", "kennwort")},
	{find: regexp.MustCompile(`(?i)(\b(?:` + passwordWords + `)\b\s*[:=]?\s+N?)("[^"\n]+"|'[^'\n]+')`), with: "${1}" + Mark,
		may: holdsLower("passw", "passphrase", "passcode", "kennwort")},
	{find: regexp.MustCompile(`(?i)(\bfrom\s+\[redacted\]\s+to\s+)[^\s"']+`), with: "${1}" + Mark, may: holds(Mark)},
	{find: regexp.MustCompile(`(?i)(\blog[io]n(?:\s+as)?\s+[\w.\\-]+:)[^\s@/]+(@)`), with: "${1}" + Mark + "${2}",
		may: holdsLower("login", "logon")},
	{find: regexp.MustCompile(`(?i)(\b(?:client secret|api key|secret|token|key|seed|(?:seed|recovery) phrase|` +
		`password for ["']?[\w.\\-]+["']?)(?:\s+(?:is|was))?\s*:?\s+["']?)([\w+/=~!]{10,})(["'\s,;]|$)`),
		with: "${1}" + Mark + "${3}", when: looksRandom,
		may: holdsLower("secret", "token", "key", "seed", "phrase", "password")},
	{find: regexp.MustCompile(`\b(?:[A-Z0-9]{5}-){4}[A-Z0-9]{5}\b`), with: Mark, may: holds("-")},
	{find: regexp.MustCompile(`(?i)(\b(?:set-)?cookie["']?\s*[:=]\s*["']?)[^\r\n"';]+` +
		`(?:;\s*(?:[\w.-]+=[^\r\n"';]*|httponly|secure|partitioned))*`), with: "${1}" + Mark, may: holdsLower("cookie")},
	// The value of a parameter in a URL, except public parameters.
	{find: regexp.MustCompile(`([?&]([\w.$-]+)=)([^&\s"'<>)\]]+)`), with: "${1}" + Mark, may: holds("?"),
		when: func(groups []string) bool { return !slices.Contains(plainParameters, strings.ToLower(groups[2])) }},
	{find: regexp.MustCompile(`(?i)("auth"\s*:\s*)"[\w+/=-]{8,}"`), with: "${1}" + Mark, may: holdsLower(`"auth"`)},
	{find: regexp.MustCompile(`(?i)(\blogin\s+\S+\s+password\s+)\S+`), with: "${1}" + Mark, may: holdsLower("login")},
	// The part of a URL before the @: user and password, or only a token.
	{find: regexp.MustCompile(`(://[^/\s:@"']*:)[^/\s@"']+@`), with: "${1}" + Mark + "@", may: holds("://")},
	{find: regexp.MustCompile(`(?i)(https?://)([^/\s:@"']{10,})@`), with: "${1}" + Mark + "@", may: holds("://"), when: mixed},
}

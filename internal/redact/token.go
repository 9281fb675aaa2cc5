package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// prefixes are the beginnings of tokens that identify their kind, in lower case: the service's mark, followed by at
// least 16 random characters.
var prefixes = strings.Fields(`
	ghp_ gho_ ghu_ ghs_ ghr_ github_pat_
	glpat- gldt- glft- glrt- glsoat- glptt- glimt- glagent- gloas- glffct- glcbt- gr1348941 glc_ glsa_
	doo_v1_ dop_v1_ dor_v1_ dp.pt. duffel_test_ duffel_live_ dt0c01. dnkey-
	sk-ant- sk-proj- sk-svcacct- sk-admin- pplx- hf_ api_org_
	live_ test_ flwseck_test- flwpubk_test- shpat_ shpca_ shppa_ shpss_ sq0atp- sq0csp-
	npm_ pypi- rubygems_ clojars_ rdme_ tfp_ lin_api_ lin_oauth_ ntn_
	ops_ age-secret-key-1 hrku- ico- fio-u- tk-us- pul- pnu_ pscale_tkn_ pscale_oauth_ pscale_pw_ sm_aat_ sm_pat_ sm_sat_
	atatt3 sgp_ sntrys_ sntryu_ xkeysib- pmak- nrak- nrii- s-s4t2ud- s-s4t2af- fo1_ fm1a_ fm1r_ fm2_ bedrock-api-key-
	aqvn ya29. sl. t1. pk. b_`)

// shapes are tokens that are also recognised by their length and alphabet. Each has a text that it contains, in lower case.
var shapes = []struct{ part, pattern string }{
	// AWS
	{"akia", `AKIA[A-Z0-9]{16}`}, {"asia", `ASIA[A-Z0-9]{16}`}, {"abia", `ABIA[A-Z0-9]{16}`},
	{"acca", `ACCA[A-Z0-9]{16}`}, {"a3t", `A3T[A-Z0-9]{17}`},
	{"absk", `ABSK[A-Za-z0-9+/]{100,}`},
	// Google, Meta, Square, Slack, payments
	{"aiza", `AIza[\w-]{35}`}, {"eaa", `EAA[MC][A-Za-z0-9]{100,}`}, {"eaaa", `EAAA[\w-]{22,}`},
	{"|", `\d{15,16}\|[\w-]{27,40}`}, {"%", `\d{15,16}%[\w-]{27,40}`},
	{"xox", `(?i:xox[a-z]-)[\w-]{7,}`}, {"xapp-", `(?i:xapp-)\d-\w+-\d+-\w+`}, {"xoxe.", `(?i:xoxe\.xox[bp]-)[\w-]{20,}`},
	{"flwseck", `FLWSECK_TEST-[A-Za-z0-9]{12}`}, {"k_test_", `[srp]k_test_\w{10,}`},
	{"k_live_", `[srp]k_live_\w{10,}`}, {"k_prod_", `[srp]k_prod_\w{10,}`},
	// HashiCorp, 1Password, Adobe, Airtable, Alibaba, JFrog, ClickHouse, Cloudflare, Databricks, EasyPost
	{"hv", `hv[sbr]\.[\w-]{24,}`}, {".atlasv1.", `[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}`}, {"a3-", `A3-[A-Z0-9]{6}-[A-Z0-9-]{20,}`},
	{"p8e-", `p8e-[A-Za-z0-9]{32}`}, {"pat", `pat[A-Za-z0-9]{14}\.[a-f0-9]{64}`}, {"ltai", `LTAI[A-Za-z0-9]{20}`},
	{"akcp", `AKCp[A-Za-z0-9]{69}`},
	{"cmvmd", `cmVmd[A-Za-z0-9]{59}`}, {"4b1d", `4b1d[A-Za-z0-9]{38}`},
	{"v1.0-", `v1\.0-[a-f0-9]{24}-[a-f0-9]{146}`}, {"dapi", `dapi[a-f0-9]{32}`},
	{"ezak", `EZAK[A-Za-z0-9]{54}`}, {"eztk", `EZTK[A-Za-z0-9]{54}`},
	// SendGrid, Harness, MaxMind, Octopus Deploy, Twilio, OpenAI, OpenShift, New Relic, Authress
	{"sg.", `SG\.[\w=.-]{60,}`}, {"at.", `[ps]at\.[\w-]{22}\.\w{24}\.\w{20}`},
	{"_mmk", `[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk`}, {"api-", `API-[A-Z0-9]{26}`},
	{"sk", `SK[0-9a-fA-F]{32}`}, {"t3blbkfj", `sk-[A-Za-z0-9]{20}T3BlbkFJ\w{20}`}, {"sha256~", `sha256~[\w-]{43}`},
	{"nrjs-", `NRJS-[a-f0-9]{19}`},
	{".acc", `(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[\w+/=-]{30,}`},
	// JSON Web Tokens and other tokens of JSON, also in base64 of base64
	{".ey", `ey[A-Za-z0-9]{17,}\.ey[\w/\\-]{17,}(?:\.[\w/\\-]*=*)?`}, {"eyjrijoi", `(?i:eyJrIjoi)[A-Za-z0-9]{60,}`},
	{"zxlk", `ZXlK[\w/+\\-]{40,}={0,2}`},
	// Microsoft's keys of 32 and 64 bytes with a signature in them, and any key of 64 bytes
	{"aiot", `[A-Za-z0-9+/]{33}AIoT[A-Za-z0-9+/]{5}[A-P]=`}, {"+a", `[A-Za-z0-9+/]{33}\+(?:ASb|AEh|ARm)[A-Za-z0-9+/]{5}[A-P]=`},
	{"azfu", `\w{44}AzFu\w{5}[AQgw]==`}, {"azse", `\w{42}AzSe\w{6}`}, {"+acr", `\w{42}\+ACR\w{6}`}, {"==", `[A-Za-z0-9+/]{86}==`},
}

// services are services whose tokens have no recognisable form: a value that is assigned to a name containing one of
// these words, and that is not a word itself, is a token. They are in lower case.
var services = strings.Fields(`
	adafruit adobe airtable algolia alibaba asana atlassian confluence jira beamer bitbucket bittrex meraki cloudflare codecov
	cohere co_api_key coinbase confluent contentful datadog dnkey discord droneci dropbox etsy facebook fastly finicity finnhub
	flickr freshbooks gitter gocardless heroku hubspot infracost intercom jfrog artifactory bintray xray kraken kucoin launchdarkly linear
	linkedin linked_in linked-in lob looker mailchimp mailgun mapbox mattermost messagebird message-bird message_bird netlify
	newrelic new-relic new_relic nytimes new-york-times, newyorktimes okta plaid privateai private-ai private_ai rapidapi sendbird sentry
	contribsys__com snyk sonar squarespace sumo telegr travis twitch twitter typeform yandex zendesk`)

// anyOf returns an expression that matches one of the words.
func anyOf(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = regexp.QuoteMeta(word)
	}
	return `(?:` + strings.Join(quoted, "|") + `)`
}

// assigned matches the text between a service's name and the value, in the languages of
// configuration and programs.
const assigned = `[ \t\w.-]{0,20}[\s'"]{0,3}(?:=>|=|>|:{1,3}=|\|\||:|\?=|,)[` + "`" + `'"\s=]{0,5}`

// tokens are the rules that find secrets only by their form, or by a service's name.
var tokens = slices.Concat(shaped(), []rule{
	{find: regexp.MustCompile(`(?i)(^|[^a-z0-9])` + anyOf(prefixes) + `([\w.~+/=-]{16,})`), with: "${1}" + Mark,
		may: holdsLower(prefixes...), when: mixed},
	{find: regexp.MustCompile(`(^|[^A-Za-z0-9+/_.-])s\.([A-Za-z0-9]{24})\b`), with: "${1}" + Mark, may: vaultToken, when: mixed},
	{find: regexp.MustCompile(`(?i)(` + anyOf(services) + assigned + `)([\w=%:+/-]{14,})`), with: "${1}" + Mark,
		may:  holdsLower(services...),
		when: func(groups []string) bool { return mixed(groups) && !strings.Contains(groups[2], "://") }},
	{find: regexp.MustCompile(`(?i)(password` + assigned + `)("[\w=-]{8,20}")`), with: "${1}" + Mark, may: holdsLower("password")},
	{find: regexp.MustCompile(`(_gitlab_session=)\w+`), with: "${1}" + Mark, may: holds("_gitlab_session=")},
	{find: regexp.MustCompile(`(hooks\.slack\.com/\w+/|webhook\.office\.com/\w+/|` +
		`discord(?:app)?\.com/api/webhooks/)[\w/@+-]+`), with: "${1}" + Mark, may: holds("hook")},
	// A value in the manifest of a Secret.
	{find: regexp.MustCompile(`(?im)^([ \t]+([\w.-]+):[ \t]+)["']?[a-z0-9+/]{10,}={0,3}["']?[ \t\r]*$`),
		with: "${1}" + Mark, may: holdsLower("kind: secret"), when: func(groups []string) bool {
			return groups[2] != "name" && groups[2] != "namespace" && groups[2] != "kind" && groups[2] != "resourceVersion"
		}},
	// A name that contains a word for a secret, with a random value.
	{find: regexp.MustCompile(`(?i)(` + anyOf(secretParts) + `[\w.-]{0,20}["']?\s*(?:=>|:=|` +
		`[:=])\s*["'` + "`" + `]?)([\w+/=-]{20,})`), with: "${1}" + Mark, may: func(t *subject) bool {
		return strings.ContainsAny(t.text, ":=") && t.hasAny(secretParts) && longWord(t.text)
	}, when: random},
})

// secretParts are parts of the names of fields that may contain a secret.
var secretParts = strings.Fields("access auth api cred key passw secret token")

// vaultToken reports whether a text contains the prefix of a token of HashiCorp Vault, and enough characters for the rest.
func vaultToken(t *subject) bool {
	for rest := t.text; ; {
		var found bool
		if _, rest, found = strings.Cut(rest, "s."); !found {
			return false
		}
		if len(rest) >= 24 && allOf(rest[:24], func(c byte) bool { return lowerOrDigit(c) || c >= 'A' && c <= 'Z' }) {
			return true
		}
	}
}

// shaped returns the rules for shapes.
func shaped() (rules []rule) {
	for _, s := range shapes {
		rules = append(rules, rule{find: regexp.MustCompile(`(^|[^A-Za-z0-9+/-])` + s.pattern), with: "${1}" + Mark,
			may: holdsLower(s.part)})
	}
	return rules
}

// longWord reports whether a text contains 20 consecutive characters of base64's alphabets.
func longWord(s string) bool {
	run := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '+', c == '/', c == '=':
			if run++; run == 20 {
				return true
			}
		default:
			run = 0
		}
	}
	return false
}

// mixed reports whether the last group is not a word: it has a digit, or letters of both cases.
func mixed(groups []string) bool {
	value := groups[len(groups)-1]
	lower, upper := strings.ContainsFunc(value, unicode.IsLower), strings.ContainsFunc(value[1:], unicode.IsUpper)
	return strings.ContainsAny(value, "0123456789") || lower && upper
}

var (
	uuid      = regexp.MustCompile(`(?i)^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	hexNumber = regexp.MustCompile(`(?i)^[0-9a-f]{32,}$`)
)

// random reports whether the last group is random: a long hexadecimal number, or digits and letters of both cases.
// UUIDs, which identify objects, and paths do not count.
func random(groups []string) bool {
	value := groups[len(groups)-1]
	if uuid.MatchString(value) || strings.HasPrefix(value, "/") {
		return false
	}
	return hexNumber.MatchString(value) ||
		strings.ContainsAny(value, "0123456789") && strings.ContainsFunc(value, unicode.IsLower) &&
			strings.ContainsFunc(value, unicode.IsUpper)
}

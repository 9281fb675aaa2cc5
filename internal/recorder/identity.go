package recorder

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// zero is the identifier that replaces the tenant's and the first subscription's.
const zero = "00000000-0000-0000-0000-000000000000"

var (
	guid         = regexp.MustCompile(`(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}`)
	subscription = regexp.MustCompile(`(?i)(?:subscriptions(?:/|%2f)|"subscriptionId"\s*:\s*")(` + guid.String()[4:] + `)`)
	tenant       = regexp.MustCompile(`(?i)(?:"(?:homeT|t)enantId"\s*:\s*"|(?:login|sts)\.[a-z.]+/|/tenants/)(` + guid.String()[4:] + `)`)
	mail         = regexp.MustCompile(`[\w.+#-]+@[\w-]+(?:\.[\w-]+)+`)
)

// scrubber removes secrets from recordings and replaces identifiers and names.
type scrubber struct {
	// ids replace identifiers, which are in lower case and without dashes; names
	// replace words.
	ids, names    map[string]string
	subscriptions int
}

func newScrubber() *scrubber {
	return &scrubber{ids: map[string]string{}, names: map[string]string{}}
}

// claims are the claims of an access token that identify the caller. The token is decoded but not verified.
type claims struct {
	Tenant  string `json:"tid"`
	Object  string `json:"oid"`
	Subject string `json:"sub"`
	App     string `json:"appid"`
	Party   string `json:"azp"`
	User    string `json:"upn"`
	Unique  string `json:"unique_name"`
	Display string `json:"name"`
	Given   string `json:"given_name"`
	Family  string `json:"family_name"`
	Address string `json:"ipaddr"`
}

// learn collects the identifiers in a call: the caller's in the token, and tenants and
// subscriptions anywhere.
func (s *scrubber) learn(req *http.Request, asked []byte, resp *http.Response, answered []byte) {
	if token, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer "); ok {
		s.caller(token)
	}
	for _, text := range []string{req.URL.String(), string(asked), resp.Header.Get("Location"),
		resp.Header.Get("Azure-AsyncOperation"), string(answered)} {
		for _, m := range subscription.FindAllStringSubmatch(text, -1) {
			if s.ids[plainID(m[1])] == "" {
				s.ids[plainID(m[1])] = fmt.Sprintf("00000000-0000-0000-0000-%012x", s.subscriptions)
				s.subscriptions++
			}
		}
		for _, m := range tenant.FindAllStringSubmatch(text, -1) {
			s.id(m[1], zero)
		}
	}
}

func (s *scrubber) caller(token string) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var c claims
	if err != nil || json.Unmarshal(payload, &c) != nil {
		return
	}
	s.id(c.Tenant, zero)
	for _, id := range []string{c.Object, c.Subject} {
		s.id(id, "00000000-0000-0000-0000-0000000000c1")
	}
	for _, id := range []string{c.App, c.Party} {
		s.id(id, "00000000-0000-0000-0000-0000000000c2")
	}
	for name, instead := range map[string]string{c.User: "caller@example.com", c.Unique: "caller@example.com",
		c.Display: "Caller", c.Given: "Caller", c.Family: "Caller", c.Address: "203.0.113.1"} {
		if len(name) > 3 { // a shorter name may be part of ordinary words
			s.names[name] = instead
		}
	}
}

// id records the replacement of an identifier, unless one is recorded already.
func (s *scrubber) id(id, instead string) {
	if key := plainID(id); guid.MatchString(id) && s.ids[key] == "" {
		s.ids[key] = instead
	}
}

func plainID(id string) string { return strings.ReplaceAll(strings.ToLower(id), "-", "") }

// anonymous replaces identifiers and names in a text.
func (s *scrubber) anonymous(text string) string {
	text = guid.ReplaceAllStringFunc(text, func(id string) string {
		instead := s.ids[plainID(id)]
		switch {
		case instead == "":
			return id
		case !strings.Contains(id, "-"):
			return plainID(instead)
		}
		return instead
	})
	for name, instead := range s.names {
		text = strings.ReplaceAll(text, name, instead)
	}
	return mail.ReplaceAllString(text, "someone@example.com")
}

package dotnet

import (
	"encoding/hex"
	"net/url"
	"regexp"
	"strings"
)

// URI returns the text of a URL as .NET's Uri writes it.
func URI(u *url.URL) string {
	if p := u.Port(); p == "443" && u.Scheme == "https" || p == "80" && u.Scheme == "http" {
		u.Host = strings.TrimSuffix(u.Host, ":"+p)
	}
	u.Host = strings.ToLower(u.Host)
	if u.Path == "" && u.Host != "" {
		u.Path = "/"
	}
	u.RawQuery = unsafe.ReplaceAllStringFunc(u.RawQuery, url.PathEscape)
	return u.String()
}

// EscapeData escapes a text as Uri.EscapeDataString does.
func EscapeData(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

var (
	// unsafe matches the characters that Uri escapes in a query.
	unsafe   = regexp.MustCompile("[^!-~]|[\"<>^`{|}]")
	percents = regexp.MustCompile("(?:%[0-9a-fA-F]{2})+")
)

// UnescapeData decodes %XX as Uri.UnescapeDataString does; other text is unchanged.
func UnescapeData(s string) string {
	return strings.ToValidUTF8(percents.ReplaceAllStringFunc(s, func(escaped string) string {
		data, _ := hex.DecodeString(strings.ReplaceAll(escaped, "%", ""))
		return string(data)
	}), "\ufffd")
}

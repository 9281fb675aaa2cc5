package proxy

import (
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// user is the user name that clients present with the password; it is not checked.
const user = "casement"

// Challenge is the Proxy-Authenticate header of a refusal.
const Challenge = `Basic realm="casement"`

// URL returns the address of a proxy in the form that clients expect, with its password.
func URL(address, password string) string {
	return (&url.URL{Scheme: "http", User: url.UserPassword(user, password), Host: address}).String()
}

// Authorized reports whether a request contains the password of the proxy (RFC 7617). An empty
// password admits no client.
func Authorized(r *http.Request, password string) bool {
	scheme, encoded, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	data, err := base64.StdEncoding.DecodeString(encoded)
	_, presented, ok := strings.Cut(string(data), ":")
	return err == nil && ok && strings.EqualFold(scheme, "Basic") && password != "" &&
		subtle.ConstantTimeCompare([]byte(presented), []byte(password)) == 1
}

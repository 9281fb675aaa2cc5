package arm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// blobPrefix begins the path of what the local Azure keeps in storage: the boot
// diagnostics of its VMs, which one reads with a signed address and no token.
const blobPrefix = "/bootdiagnostics/"

// defaultSAS is how long such an address is good unless a client asks otherwise.
const defaultSAS = 120 * time.Minute

// serveBootDiagnostics answers retrieveBootDiagnosticsData with signed addresses.
// There is no screenshot.
func serveBootDiagnostics(c *call, vm resourceID) *Error {
	var enabled, found bool
	var id string
	c.s.read(func(t *tx) {
		if d := t.find(vm.key()); d != nil {
			found, id, enabled = true, d.ID, boolean(props(d.Body), "diagnosticsProfile", "bootDiagnostics", "enabled")
		}
	})
	switch {
	case !found:
		return errNotFound(vm)
	case !enabled:
		// The code and words of the real refusal are not published.
		return conflict("OperationNotAllowed", "Boot diagnostics is not enabled for the VM '%s'.", vm.name())
	}
	life := defaultSAS
	if minutes, err := strconv.Atoi(c.query.Get("sasUriExpirationTimeInMinutes")); err == nil && minutes > 0 {
		life = time.Duration(minutes) * time.Minute
	}
	name := base64.RawURLEncoding.EncodeToString([]byte(id))
	end := strconv.FormatInt(c.s.clock.Now().Add(life).Unix(), 10)
	query := url.Values{"se": {end}, "sig": {c.s.signature(name, end)}}
	c.reply(http.StatusOK, object{"serialConsoleLogBlobUri": "https://" + c.host + blobPrefix + name + "/serialconsole.log?" + query.Encode()})
	return nil
}

func (s *Server) signature(name, end string) string {
	mac := hmac.New(sha256.New, computeOf(s).blobKey[:])
	fmt.Fprintf(mac, "%s\n%s", name, end)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// serveBlob answers a signed address; false means that the path is ARM's.
func serveBlob(c *call) bool {
	rest, ok := strings.CutPrefix(c.r.URL.Path, blobPrefix)
	if !ok {
		return false
	}
	name, _, _ := strings.Cut(rest, "/")
	end := c.query.Get("se")
	until, err := strconv.ParseInt(end, 10, 64)
	id, badName := base64.RawURLEncoding.DecodeString(name)
	if err != nil || badName != nil || !hmac.Equal([]byte(c.query.Get("sig")), []byte(c.s.signature(name, end))) || c.s.clock.Now().Unix() > until || hostOf(c.s) == nil {
		c.w.Header().Set("Content-Type", "application/xml")
		c.w.WriteHeader(http.StatusForbidden)
		_, _ = c.w.Write([]byte(`<?xml version="1.0" encoding="utf-8"?><Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate the request.</Message></Error>`)) // the client may be gone
		return true
	}
	c.w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = c.w.Write(hostOf(c.s).Console(string(id))) // the client may be gone
	return true
}

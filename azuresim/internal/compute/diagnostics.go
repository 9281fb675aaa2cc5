package compute

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

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// blobPrefix begins the paths of the VMs' boot diagnostics. The local Azure serves them itself in
// place of a storage account: clients read them with a signed URL and no token.
const blobPrefix = "/bootdiagnostics/"

// defaultSAS is how long a signed URL is valid unless the client requests another time.
const defaultSAS = 120 * time.Minute

// serveBootDiagnostics answers retrieveBootDiagnosticsData with signed URLs. There is no
// screenshot.
func serveBootDiagnostics(c *engine.Request, vm engine.ID) *engine.Error {
	var enabled, found bool
	var id string
	c.Server.Read(func(t *engine.Tx) {
		if d := t.Find(vm.Key()); d != nil {
			found, id, enabled = true, d.ID, value.Bool(value.Props(d.Body), "diagnosticsProfile", "bootDiagnostics", "enabled")
		}
	})
	switch {
	case !found:
		return engine.ErrNotFound(vm)
	case !enabled:
		// Azure's real code and message of this refusal are not published.
		return engine.Conflict("OperationNotAllowed", "Boot diagnostics is not enabled for the VM '%s'.", vm.Name())
	}
	life := defaultSAS
	if minutes, err := strconv.Atoi(c.Query.Get("sasUriExpirationTimeInMinutes")); err == nil && minutes > 0 {
		life = time.Duration(minutes) * time.Minute
	}
	name := base64.RawURLEncoding.EncodeToString([]byte(id))
	end := strconv.FormatInt(c.Server.Clock.Now().Add(life).Unix(), 10)
	query := url.Values{"se": {end}, "sig": {signature(c.Server, name, end)}}
	c.Reply(http.StatusOK, value.Object{
		"serialConsoleLogBlobUri": "https://" + c.Host + blobPrefix + name + "/serialconsole.log?" + query.Encode(),
	})
	return nil
}

func signature(s *engine.Server, name, end string) string {
	mac := hmac.New(sha256.New, computeOf(s).blobKey[:])
	fmt.Fprintf(mac, "%s\n%s", name, end)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// serveBlob answers a request with a signed URL; it returns false if the path belongs to ARM.
func serveBlob(c *engine.Request) bool {
	rest, ok := strings.CutPrefix(c.HTTP.URL.Path, blobPrefix)
	if !ok {
		return false
	}
	name, _, _ := strings.Cut(rest, "/")
	end := c.Query.Get("se")
	until, err := strconv.ParseInt(end, 10, 64)
	id, badName := base64.RawURLEncoding.DecodeString(name)
	if err != nil || badName != nil ||
		!hmac.Equal([]byte(c.Query.Get("sig")), []byte(signature(c.Server, name, end))) ||
		c.Server.Clock.Now().Unix() > until || hostOf(c.Server) == nil {
		c.Writer.Header().Set("Content-Type", "application/xml")
		c.Writer.WriteHeader(http.StatusForbidden)
		// the client may be gone
		_, _ = c.Writer.Write([]byte(`<?xml version="1.0" ` +
			`encoding="utf-8"?><Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate ` +
			`the request.</Message></Error>`))
		return true
	}
	c.Writer.Header().Set("Content-Type", "application/octet-stream")
	_, _ = c.Writer.Write(hostOf(c.Server).Console(string(id))) // the client may be gone
	return true
}

package engine

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim/internal/value"
)

// preconditions returns an error unless the headers If-Match and If-None-Match hold.
func (c *Request) preconditions(k *Type, old *Doc) *Error {
	failed := Refuse(http.StatusPreconditionFailed, "PreconditionFailed",
		"The condition in the request's headers is not met by the resource %s.", c.ID)
	if m := c.HTTP.Header.Get("If-Match"); m != "" && old == nil {
		return failed
	} else if m != "" && m != "*" && !strings.Contains(m, old.etag(k)) {
		return mismatch(k, m, old)
	}
	if c.HTTP.Header.Get("If-None-Match") == "*" && old != nil {
		return failed
	}
	return nil
}

// mismatch returns the error for a write of a resource that has changed since the client read it.
// Source: https://github.com/kubernetes-sigs/cloud-provider-azure/issues/9728 for
// Microsoft.Compute.
func mismatch(k *Type, sent string, old *Doc) *Error {
	if k.ETag == EtagCount {
		return Refuse(http.StatusPreconditionFailed, "PreconditionFailed",
			"Etag provided in if-match header %s does not match etag %s of resource.", sent, old.etag(k))
	}
	e := Refuse(http.StatusPreconditionFailed, "PreconditionFailed", "Precondition failed.")
	e.Details = []*Error{{Code: "PreconditionFailedEtagMismatch", Message: fmt.Sprintf(
		"Etag provided in if-match header %s does not match etag W/\"%s\" of resource %s in NRP data store.", sent, old.ETag, old.ID)}}
	return e
}

// etag returns the part of a document's ETag that is compared.
func (d *Doc) etag(k *Type) string {
	if k.ETag == EtagCount {
		return value.Str(d.Body, "etag")
	}
	return d.ETag
}

// Count sets the ETag of a document of a type with EtagCount to the number that follows the ETag of
// old, which may be nil.
func (d *Doc) Count(old *Doc) {
	n := 0
	if old != nil {
		n, _ = strconv.Atoi(strings.Trim(value.Str(old.Body, "etag"), `"`)) // 0 for a record that is older than the counted ETag
	}
	d.Body["etag"] = strconv.Quote(strconv.Itoa(n + 1))
}

// Package userdata has the steps of reading custom data that both image agents share: gzip, MIME parts and Jinja. It
// is pure: bytes in, bytes out. The agents (cloudinit, cloudbase) know the meaning of a part and their own
// differences.
package userdata

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSize is the maximum size of a decompressed document. Azure accepts 64 KiB of custom data, so this is
// generous.
const maxSize = 16 << 20

// maxDepth bounds nested multipart documents.
const maxDepth = 8

// IsGzip reports whether data begins with gzip's magic number.
func IsGzip(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

// Plain returns data, decompressed if it is compressed with gzip.
func Plain(data []byte) ([]byte, error) {
	if IsGzip(data) {
		return Gunzip(data)
	}
	return data, nil
}

// Gunzip decompresses gzip data, up to 16 MiB.
func Gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("gunzip: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("gunzip: %w", err)
	}
	if len(out) > maxSize {
		return nil, fmt.Errorf("gunzip: the data grows beyond %d bytes", maxSize)
	}
	return out, nil
}

// Part is one leaf of a MIME document.
type Part struct {
	// Type is the media type without parameters, in lower case.
	Type     string
	Filename string
	Body     []byte
}

// Split returns the leaves of a MIME message in document order, with their transfer encoding undone.
func Split(data []byte) ([]Part, error) {
	msg, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the MIME headers: %w", err)
	}
	return split(header(msg.Header), msg.Body, 0)
}

type header map[string][]string

func (h header) get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// split returns the leaves of a message with a header; depth is its nesting.
func split(h header, body io.Reader, depth int) ([]Part, error) {
	if depth > maxDepth {
		return nil, errors.New("multipart documents are nested too deep")
	}
	kind, params, err := mime.ParseMediaType(h.get("Content-Type"))
	if err != nil && kind == "" {
		kind = "text/plain"
	}
	if !strings.HasPrefix(kind, "multipart/") {
		data, err := decode(h.get("Content-Transfer-Encoding"), body)
		if err != nil {
			return nil, err
		}
		_, disposition, err := mime.ParseMediaType(h.get("Content-Disposition"))
		name := ""
		if err == nil {
			name = path.Base(strings.ReplaceAll(disposition["filename"], `\`, "/"))
		}
		return []Part{{Type: kind, Filename: name, Body: data}}, nil
	}
	var parts []Part
	mr := multipart.NewReader(body, params["boundary"])
	for {
		p, err := mr.NextRawPart()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return parts, nil
		}
		if err != nil {
			return parts, fmt.Errorf("read part %d of the multipart document: %w", len(parts)+1, err)
		}
		inner, err := split(header(p.Header), p, depth+1)
		if err != nil {
			return parts, err
		}
		parts = append(parts, inner...)
	}
}

// rawUnicodeEscape encodes text with Python's codec raw_unicode_escape: characters outside ASCII become bytes of
// Latin-1, or escapes. Both agents decode the parts of a message in this way.
func rawUnicodeEscape(data []byte) []byte {
	if !slices.ContainsFunc(data, func(b byte) bool { return b >= 0x80 }) || !utf8.Valid(data) {
		return data
	}
	var out []byte
	for _, r := range string(data) {
		switch {
		case r < 0x100:
			out = append(out, byte(r))
		case r < 0x10000:
			out = fmt.Appendf(out, "\\u%04x", r)
		default:
			out = fmt.Appendf(out, "\\U%08x", r)
		}
	}
	return out
}

func decode(encoding string, body io.Reader) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	data, err := io.ReadAll(io.LimitReader(body, maxSize))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // the last boundary may be missing
	}
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "7bit", "8bit", "binary":
		data = rawUnicodeEscape(data)
	}
	if err != nil {
		return nil, fmt.Errorf("undo the transfer encoding of a MIME part: %w", err)
	}
	return data, nil
}

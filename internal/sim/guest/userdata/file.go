package userdata

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Decode undoes the encoding of a write_files item. The second result is false
// for an encoding that is not known; the content is then as it was.
func Decode(content, encoding string) ([]byte, bool, error) {
	raw := []byte(content)
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "text/plain", "utf-8":
		return raw, true, nil
	case "gz", "gzip":
		out, err := Gunzip(raw)
		return out, true, err
	case "b64", "base64":
		out, err := unbase64(content)
		return out, true, err
	case "gz+base64", "gzip+base64", "gz+b64", "gzip+b64":
		packed, err := unbase64(content)
		if err != nil {
			return nil, true, err
		}
		out, err := Gunzip(packed)
		return out, true, err
	}
	return raw, false, nil
}

// unbase64 tolerates the newlines that a block scalar brings.
func unbase64(s string) ([]byte, error) {
	out, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		return nil, fmt.Errorf("undo base64: %w", err)
	}
	return out, nil
}

// Mode reads permissions, an octal string or an integer; 0644 when there are none
// or they cannot be read, which the second result tells.
func Mode(v any) (fs.FileMode, bool) {
	switch p := v.(type) {
	case nil:
		return 0o644, true
	case int:
		return fs.FileMode(p).Perm(), true
	case string:
		if n, err := strconv.ParseUint(strings.TrimPrefix(p, "0o"), 8, 32); err == nil {
			return fs.FileMode(n).Perm(), true
		}
	}
	return 0o644, false
}

// String returns v if it is a string, else "".
func String(v any) string { s, _ := v.(string); return s }

// Strings returns v as a list of strings: a list's strings, or a string split at
// commas.
func Strings(v any) []string {
	var out []string
	switch t := v.(type) {
	case string:
		for s := range strings.SplitSeq(t, ",") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	case []any:
		for _, e := range t {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

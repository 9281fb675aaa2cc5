package userdata

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Decode undoes the encoding of a write_files item. The second result is false for an unknown encoding; the content
// is then unchanged.
func Decode(content, encoding string) ([]byte, bool, error) {
	raw := []byte(content)
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "text/plain", "utf-8":
		return raw, true, nil
	case "gz", "gzip":
		out, err := unzip(raw)
		return out, true, err
	case "b64", "base64":
		out, err := unbase64(content)
		return out, true, err
	case "gz+base64", "gzip+base64", "gz+b64", "gzip+b64":
		packed, err := unbase64(content)
		if err != nil {
			return nil, true, err
		}
		out, err := unzip(packed)
		return out, true, err
	}
	return raw, false, nil
}

// DecodeSteps decodes like Decode, except that it returns the input of a failed step with the step's error: the decoded
// bytes if base64 succeeds and gzip fails.
func DecodeSteps(content, encoding string) ([]byte, bool, error) {
	out, known, err := Decode(content, encoding)
	if err == nil {
		return out, known, nil
	}
	if name := strings.ToLower(strings.TrimSpace(encoding)); strings.Contains(name, "+b") {
		if plain, bad := unbase64(content); bad == nil {
			return plain, known, err
		} else if out, gzipBad := unzip([]byte(content)); gzipBad == nil {
			return out, known, bad
		}
	}
	return []byte(content), known, err
}

// unzip undoes gzip. Empty data stays empty, as in Python.
func unzip(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, nil
	}
	return Gunzip(data)
}

// unbase64 decodes as Python does: characters that are not base64 are skipped, and only
// wrong padding is an error.
func unbase64(s string) ([]byte, error) {
	letters, padding := 0, 0
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '+', r == '/':
			if padding == 0 {
				letters++
				b.WriteRune(r)
			}
		case r == '=':
			padding++
		}
	}
	if letters%4 == 1 || letters%4 > 1 && letters%4+padding < 4 {
		return nil, errors.New("undo base64: incorrect padding")
	}
	return base64.RawStdEncoding.DecodeString(b.String())
}

// PythonText returns a YAML value as Python's str prints it. cloud-init converts file contents and words that are no
// strings so.
func PythonText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return pythonRepr(v)
}

func pythonRepr(v any) string {
	var parts []string
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case string:
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`).Replace(v) + "'"
	case time.Time:
		return v.Format("2006-01-02")
	case []any:
		for _, item := range v {
			parts = append(parts, pythonRepr(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, pythonRepr(k)+": "+pythonRepr(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// IsTrue reports whether cloud-init takes a flag as true.
func IsTrue(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case int:
		return v == 1
	case string:
		return slices.Contains([]string{"true", "1", "on", "yes"}, strings.ToLower(strings.TrimSpace(v)))
	}
	return false
}

// Mode returns permissions from an octal string or an integer. If there are none or they cannot be read, it returns
// 0644, and the second result is false if they cannot be read.
func Mode(v any) (fs.FileMode, bool) {
	switch p := v.(type) {
	case nil:
		return 0o644, true
	case int:
		return fs.FileMode(p).Perm(), true
	case float64:
		return fs.FileMode(int(p)).Perm(), true
	case bool:
		if p {
			return 1, true
		}
		return 0, true
	case string:
		if n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(p), "0o"), 8, 32); err == nil {
			return fs.FileMode(n).Perm(), true
		}
	}
	return 0o644, false
}

// String returns v if it is a string, else "".
func String(v any) string { s, _ := v.(string); return s }

// Strings returns v as a list of strings: the strings of a list, or a string split at commas.
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

package redact

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// base64Run matches text that may be base64, on one or several lines.
var base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{20,}(?:[ \t]*\r?\n[ \t]*[A-Za-z0-9+/_-]{20,})*(?:[ ` +
	`\t]*\r?\n[ \t]*[A-Za-z0-9+/_-]+)?={0,2}`)

// maxDepth is the maximum number of encodings of a text that are decoded.
const maxDepth = 3

// encoded replaces the base64 of texts with secrets.
func encoded(s string, depth int) string {
	if depth >= maxDepth || !longWord(s) {
		return s
	}
	return base64Run.ReplaceAllStringFunc(s, func(run string) string {
		// The last line may belong to the following text and not be base64.
		for _, part := range []string{run, run[:max(strings.LastIndexByte(run, '\n'), 0)]} {
			if text, ok := decoded(part); ok && redacted(text, depth+1) != text {
				return Mark + strings.TrimPrefix(run[len(part):], "=")
			}
		}
		return run
	})
}

var alphabet = strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "", " ", "", "\t", "", "=", "")

// credentials reports whether the last group is the base64 of a user and a password.
func credentials(groups []string) bool {
	text, ok := decoded(groups[len(groups)-1])
	return ok && strings.Contains(text, ":")
}

// maxUnpacked is the maximum number of bytes that are decompressed.
const maxUnpacked = 1 << 20

// unpacked returns the decompressed content of gzip data, as far as it can be read: a line may contain only the beginning.
func unpacked(data []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(io.LimitReader(r, maxUnpacked)) // the error means that the rest is missing
	return out
}

// decoded returns the text that is encoded in base64: UTF-8, UTF-16 as PowerShell uses it, or UTF-8 in gzip.
func decoded(run string) (string, bool) {
	run = alphabet.Replace(run)
	data, err := base64.RawStdEncoding.DecodeString(run)
	if err != nil || len(data) < 8 {
		return "", false
	}
	if data[0] == 0x1f && data[1] == 0x8b {
		data = unpacked(data)
	} else if data[1] == 0 && data[3] == 0 {
		units := make([]uint16, len(data)/2)
		for i := range units {
			units[i] = uint16(data[2*i]) | uint16(data[2*i+1])<<8
		}
		data = []byte(string(utf16.Decode(units)))
	}
	if len(data) == 0 || !utf8.Valid(data) ||
		strings.ContainsFunc(string(data), func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }) {
		return "", false
	}
	return string(data), true
}

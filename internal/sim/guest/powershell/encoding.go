package powershell

import (
	"bytes"
	"encoding/base64"
	endian "encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encode returns text in an encoding of Windows PowerShell. With start it includes the byte order mark, if the encoding has one.
func encode(s, encoding string, start bool) []byte {
	switch strings.ToLower(encoding) {
	case "unicode", "string", "unknown", "utf-16", "utf-16le":
		out := utf16Bytes(s, endian.LittleEndian)
		if start {
			return append([]byte{0xff, 0xfe}, out...)
		}
		return out
	case "bigendianunicode":
		out := utf16Bytes(s, endian.BigEndian)
		if start {
			return append([]byte{0xfe, 0xff}, out...)
		}
		return out
	case "utf8":
		if start {
			return append([]byte{0xef, 0xbb, 0xbf}, s...)
		}
	case "ascii":
		return singleByte(s, 127)
	case "default", "ansi", "oem", "":
		return singleByte(s, 255)
	}
	return []byte(s)
}

// singleByte returns text with one byte per character. Characters above last become ?.
func singleByte(s string, last rune) []byte {
	out := make([]byte, 0, len(s))
	for _, c := range s {
		if c > last {
			c = '?'
		}
		out = append(out, byte(c))
	}
	return out
}

type order interface {
	AppendUint16(b []byte, v uint16) []byte
}

func utf16Bytes(s string, o order) []byte {
	out := make([]byte, 0, 2*len(s))
	for _, u := range utf16.Encode([]rune(s)) {
		out = o.AppendUint16(out, u)
	}
	return out
}

func fromUTF16(b []byte, o endian.ByteOrder) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = o.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// decode returns the text of a file: by its byte order mark, or as UTF-8 or, if that is not valid, Latin-1.
func decode(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return fromUTF16(b[2:], endian.LittleEndian)
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return fromUTF16(b[2:], endian.BigEndian)
	case bytes.HasPrefix(b, []byte{0xef, 0xbb, 0xbf}):
		return string(b[3:])
	case utf8.Valid(b):
		return string(b) // Most files without a mark are UTF-8. Windows would read them in its ANSI code page.
	}
	return latin1(b)
}

// latin1 returns the text of bytes in Latin-1.
func latin1(b []byte) string {
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return string(out)
}

// decodeAs returns the text of bytes in an encoding that a script names.
func decodeAs(b []byte, encoding string) string {
	switch encoding {
	case "unicode":
		return fromUTF16(b, endian.LittleEndian)
	case "bigendianunicode":
		return fromUTF16(b, endian.BigEndian)
	case "ascii":
		return string(singleByte(latin1(b), 127))
	case "default":
		return latin1(b)
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}

// encodingOf returns the encoding that a value of -Encoding names, or otherwise without a value.
func encodingOf(v any, otherwise string) (string, error) {
	if v == nil {
		return otherwise, nil
	}
	if o, ok := v.(*object); ok && o.kind == kindEncoding {
		return text(o.read("name")), nil
	}
	switch low := strings.ToLower(text(v)); low {
	case "unicode", "string", "unknown", "bigendianunicode", "utf8", "ascii", "default", "oem", "byte":
		return low, nil
	case "utf7", "utf32":
		return "", lacking("the encoding %s", low)
	}
	return "", unbindable("Encoding", "Cannot convert value \"%s\" to type "+
		"\"Microsoft.PowerShell.Commands.FileSystemCmdletProviderEncoding\".", text(v))
}

// DecodeCommand reads the argument of -EncodedCommand.
func DecodeCommand(text string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%2 != 0 {
		return "", fmt.Errorf("not base64 of UTF-16")
	}
	return fromUTF16(raw, endian.LittleEndian), nil
}

// lines returns the lines of a text.
func lines(s string) []any {
	var out []any
	for line := range strings.Lines(s) {
		out = append(out, strings.TrimRight(line, "\r\n"))
	}
	return out
}

// Text returns a script file's content.
func Text(data []byte) string { return decode(data) }

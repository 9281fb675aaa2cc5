package template

import (
	"crypto/sha1" //nolint:gosec // a UUID of version 5 is made with it
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// units returns a text as .NET has it: texts are counted and cut in units of UTF-16.
func units(s string) []uint16 { return utf16.Encode([]rune(s)) }

func fromUnits(u []uint16) string { return string(utf16.Decode(u)) }

func utf16Len(s string) int {
	n := len(s)
	for _, r := range s {
		switch size := utf8.RuneLen(r); {
		case size == 4:
			n -= 2
		case size > 1:
			n -= size - 1
		}
	}
	return n
}

// invariant changes the case of each letter by itself, as .NET does without a culture.
func invariant(s string, to func(rune) rune) string {
	return strings.Map(func(r rune) rune {
		if m := to(r); utf16.RuneLen(m) == utf16.RuneLen(r) && (r < 128) == (m < 128) {
			return m
		}
		return r
	}, s)
}

func textFunctions() []function {
	return []function{
		{name: "concat", eval: concat},
		{name: "toLower", eval: pure(func(a []any) any { return invariant(a[0].(string), unicode.ToLower) })},
		{name: "toUpper", eval: pure(func(a []any) any { return invariant(a[0].(string), unicode.ToUpper) })},
		{name: "trim", eval: pure(func(a []any) any { return strings.TrimSpace(a[0].(string)) })},
		{name: "replace", eval: replace},
		{name: "substring", eval: substring},
		{name: "indexOf", eval: func(s *scope, a []any) (any, error) { return indexOf("indexOf", a, false) }},
		{name: "lastIndexOf", eval: func(s *scope, a []any) (any, error) { return indexOf("lastIndexOf", a, true) }},
		{name: "startsWith", eval: func(_ *scope, a []any) (any, error) {
			u, w := units(fold(a[0].(string))), units(fold(a[1].(string)))
			return len(u) >= len(w) && slices.Equal(u[:len(w)], w), nil
		}},
		{name: "endsWith", eval: func(_ *scope, a []any) (any, error) {
			u, w := units(fold(a[0].(string))), units(fold(a[1].(string)))
			return len(u) >= len(w) && slices.Equal(u[len(u)-len(w):], w), nil
		}},
		{name: "padLeft", eval: padLeft},
		{name: "split", eval: split},
		{name: "join", eval: join},
		{name: "format", eval: format},
		{name: "uniqueString", eval: func(_ *scope, a []any) (any, error) { return uniqueString(joined(a)), nil }},
		{name: "guid", eval: func(_ *scope, a []any) (any, error) { return guid(joined(a)), nil }},
		{name: "newGuid", eval: newGUID},
	}
}

// plainText returns the text that texts, integers and booleans are joined as.
func plainText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case bool:
		if v {
			return "True", true
		}
		return "False", true
	}
	return "", false
}

func concat(_ *scope, args []any) (any, error) {
	if len(args) > 0 && !slices.ContainsFunc(args, func(v any) bool { return kindOf(v) != kindArray }) {
		out := []any{}
		for _, a := range args {
			out = append(out, a.([]any)...)
		}
		return out, nil
	}
	var out strings.Builder
	for _, a := range args {
		t, ok := plainText(a)
		if !ok {
			return nil, errors.New("either all or none of the parameters must be an array, and others texts, integers or booleans")
		}
		out.WriteString(t)
	}
	return out.String(), nil
}

func replace(_ *scope, a []any) (any, error) {
	text, old, with := a[0].(string), a[1].(string), a[2].(string)
	if old == "" {
		return nil, errors.New("expects its second parameter to not be null or empty")
	}
	if n := strings.Count(text, old); n*len(with) > maxText {
		return nil, errWork
	}
	return strings.ReplaceAll(text, old, with), nil
}

func substring(_ *scope, a []any) (any, error) {
	u, start := units(a[0].(string)), a[1].(int64)
	switch {
	case start < 0:
		return nil, azureSays("The index parameter cannot be less than zero. The index: '%d'", start)
	case start > int64(len(u)):
		return nil, azureSays("The index parameter cannot be larger than "+
			"the length of the string. The index parameter: '%d', the length of the string parameter: '%d'", start, len(u))
	case len(a) == 2:
		return fromUnits(u[start:]), nil
	}
	n := a[2].(int64)
	if n < 0 || n > int64(len(u))-start {
		return nil, azureSays("The index and length parameters must refer "+
			"to a location within the string. The index parameter: '%d', the length parameter: '%d', the length of the string "+
			"parameter: '%d'", start, n, len(u))
	}
	return fromUnits(u[start : start+n]), nil
}

// fold returns a text in a form that is equal for texts that differ in case alone.
func fold(s string) string { return invariant(s, unicode.ToUpper) }

func indexOf(name string, a []any, last bool) (any, error) {
	if list, is := a[0].([]any); is {
		at := -1
		for i, v := range list {
			if equal(v, a[1]) && (at < 0 || last) {
				at = i
			}
		}
		return int64(at), nil
	}
	of, is := a[1].(string)
	if !is {
		return nil, fmt.Errorf("the template language function '%s' expects its second parameter to be of type 'String'. The provided "+
			"value is of type '%s'", name, kindOf(a[1]))
	}
	in, of := fold(a[0].(string)), fold(of)
	at := strings.Index(in, of)
	if last {
		at = strings.LastIndex(in, of)
	}
	if at < 0 {
		return int64(-1), nil
	}
	return int64(utf16Len(in[:at])), nil
}

func padLeft(_ *scope, a []any) (any, error) {
	text, _ := plainText(a[0])
	width, with := a[1].(int64), " "
	if len(a) == 3 {
		with = a[2].(string)
	}
	switch {
	case width < 1 || width > 16:
		return nil, fmt.Errorf("the second parameter is invalid. Total width "+
			"must be a positive integer value and not greater than '16', while '%d' was provided", width)
	case utf16Len(with) != 1:
		return nil, fmt.Errorf("the third parameter is invalid. The padding character must be a single character, while '%s' was provided", with)
	}
	return strings.Repeat(with, max(0, int(width)-utf16Len(text))) + text, nil
}

func split(_ *scope, a []any) (any, error) {
	var by []string
	switch d := a[1].(type) {
	case string:
		by = []string{d}
	case []any:
		for _, e := range d {
			t, is := e.(string)
			if !is {
				return nil, fmt.Errorf("expects its second parameter to be of type 'String or Array "+
					"of Strings'. The array has a value of type '%s'", kindOf(e))
			}
			by = append(by, t)
		}
	}
	out := []any{}
	text, from := a[0].(string), 0
	for at := 0; at < len(text); {
		n := 0
		if r, size := utf8.DecodeRuneInString(text[at:]); len(by) == 0 && unicode.IsSpace(r) {
			n = size
		}
		for _, d := range by {
			if d != "" && strings.HasPrefix(text[at:], d) {
				n = len(d)
				break
			}
		}
		if n == 0 {
			at++
			continue
		}
		out = append(out, text[from:at])
		at += n
		from = at
	}
	return append(out, text[from:]), nil
}

func join(_ *scope, a []any) (any, error) {
	var parts []string
	n := 0
	for i, v := range a[0].([]any) {
		t, ok := plainText(v)
		if !ok {
			return nil, fmt.Errorf("expects its first parameter to be an array only containing "+
				"elements of type(s) 'String, Integer, Boolean'. The provided value contains an element of type '%s' at index %d", kindOf(v), i)
		}
		parts = append(parts, t)
		n += len(t)
	}
	if by := a[1].(string); n+len(parts)*len(by) > maxText {
		return nil, errWork
	}
	return strings.Join(parts, a[1].(string)), nil
}

func joined(args []any) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a.(string)
	}
	return strings.Join(parts, "-")
}

// uniqueString is Azure's hash of a text: two interleaved halves of Murmur's mixing over words of
// four bytes, written with 13 letters of five bits each. (Seen in recorded answers of Azure.)
func uniqueString(s string) string {
	const a, b, c, d = 0x239b961b, 0xab0e9789, 0x561ccd1b, 0x0bcaa747
	var h1, h2 uint32
	data := []byte(s)
	n := uint32(len(data))
	for ; len(data) >= 8; data = data[8:] {
		k1, k2 := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
		h1 = (bits.RotateLeft32(h1^bits.RotateLeft32(k1*a, 15)*b, 19)+h2)*5 + c
		h2 = (bits.RotateLeft32(h2^bits.RotateLeft32(k2*b, 17)*a, 13)+h1)*5 + d
	}
	if len(data) > 0 {
		var rest [8]byte
		copy(rest[:], data)
		h1 ^= bits.RotateLeft32(binary.LittleEndian.Uint32(rest[:])*a, 15) * b
		if len(data) > 4 {
			h2 ^= bits.RotateLeft32(binary.LittleEndian.Uint32(rest[4:])*b, 17) * a
		}
	}
	h1, h2 = h1^n, h2^n
	h1 += h2
	h2 += h1
	h1, h2 = finish(h1), finish(h2)
	h1 += h2
	h2 += h1
	number := uint64(h2)<<32 | uint64(h1)
	out := make([]byte, 13)
	for i := range out {
		out[i] = "abcdefghijklmnopqrstuvwxyz234567"[number>>59]
		number <<= 5
	}
	return string(out)
}

func finish(h uint32) uint32 {
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// guidSpace is the namespace of the UUIDs that guid makes. (Seen in recorded answers of Azure.)
var guidSpace = [16]byte{0x11, 0xfb, 0x06, 0xfb, 0x71, 0x2d, 0x4d, 0xdd, 0x98, 0xc7, 0xe7, 0x1b, 0xbd, 0x58, 0x88, 0x30}

func guid(s string) string {
	h := sha1.Sum(append(guidSpace[:], s...)) //nolint:gosec // RFC 4122 says so
	return uuid([16]byte(h[:16]), 5)
}

func uuid(b [16]byte, version byte) string {
	b[6], b[8] = b[6]&0x0f|version<<4, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func newGUID(s *scope, _ []any) (any, error) {
	switch {
	case s.place&placeDefault == 0:
		return nil, errPlace("newGuid")
	case s.NewGUID == nil:
		return s.laterOf("newGuid()")
	}
	return s.NewGUID(), nil
}

// errPlace is the error of a function that is not allowed where it is.
func errPlace(name string) error {
	return fmt.Errorf("the template function '%s' is not expected at this location", name)
}

// azureSays returns an error in the words of Azure's engine, which are sentences.
func azureSays(format string, args ...any) error { return fmt.Errorf(format, args...) }

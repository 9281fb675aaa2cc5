package template

import (
	"crypto/sha1" // for UUIDs of version 5
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
	"casement.dev/casement/internal/dotnet"
)

var textFunctions = functions{
	"concat":      concat,
	"toLower":     unaryFunc(func(s string) any { return dotnet.Lower(s) }),
	"toUpper":     unaryFunc(func(s string) any { return dotnet.Upper(s) }),
	"trim":        unaryFunc(func(s string) any { return strings.TrimSpace(s) }),
	"replace":     replace,
	"substring":   substring,
	"indexOf":     func(_ *scope, a []any) any { return indexOf(a, strings.Index, slices.IndexFunc[[]any]) },
	"lastIndexOf": func(_ *scope, a []any) any { return indexOf(a, strings.LastIndex, lastIndexFunc) },
	"startsWith":  binaryFunc(func(s, with string) any { return strings.HasPrefix(dotnet.Upper(s), dotnet.Upper(with)) }),
	"endsWith":    binaryFunc(func(s, with string) any { return strings.HasSuffix(dotnet.Upper(s), dotnet.Upper(with)) }),
	"padLeft": func(_ *scope, a []any) any {
		text, _ := plainText(a[0])
		width, with := a[1].(int64), arg(a, 2, " ")
		if width < 1 || width > 16 {
			fail("expects a total width between 1 and 16, while '%d' was provided", width)
		}
		if dotnet.Len(with) != 1 {
			fail("expects a padding character that is a single one, while '%s' was provided", with)
		}
		return strings.Repeat(with, max(0, int(width)-dotnet.Len(text))) + text
	},
	"split":        binaryFunc(split),
	"join":         join,
	"format":       format,
	"uniqueString": func(_ *scope, a []any) any { return uniqueString(joined(a)) },
	"guid":         func(_ *scope, a []any) any { return guid(joined(a)) },
	"newGuid": func(s *scope, _ []any) any {
		s.need(placeDefault)
		if s.NewGUID == nil {
			return datum.Later{}
		}
		return s.NewGUID()
	},
}

// plainText returns the text by which concatenations represent texts, integers and booleans.
func plainText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case bool:
		return cond(v, "True", "False"), true
	}
	return "", false
}

func concat(_ *scope, a []any) any {
	var text strings.Builder
	list := []any{}
	arrays := len(a) > 0 && kindOf(a[0]) == kindArray
	for _, v := range a {
		t, plain := plainText(v)
		l, isArray := v.([]any)
		if plain == arrays || isArray != arrays {
			fail("expects either all or none of the parameters to be arrays, and others to be texts, integers or booleans")
		}
		text.WriteString(t)
		list = append(list, l...)
	}
	if arrays {
		return list
	}
	return text.String()
}

func replace(s *scope, a []any) any {
	text, old, with := a[0].(string), a[1].(string), a[2].(string)
	if old == "" {
		fail("expects its second parameter to not be null or empty")
	}
	s.spendText(strings.Count(text, old) * len(with))
	return strings.ReplaceAll(text, old, with)
}

func substring(_ *scope, a []any) any {
	u, start := dotnet.Units(a[0].(string)), a[1].(int64)
	n := arg(a, 2, int64(len(u))-start)
	if start < 0 || start > int64(len(u)) || n < 0 || n > int64(len(u))-start {
		fail("expects an index and length of a location within the string. The index parameter: '%d', the length parameter: '%d', the "+
			"length of the string parameter: '%d'", start, n, len(u))
	}
	return dotnet.FromUnits(u[start : start+n])
}

// lastIndexFunc is slices.IndexFunc that searches from the end.
func lastIndexFunc(list []any, is func(any) bool) int {
	i := len(list) - 1
	for i >= 0 && !is(list[i]) {
		i--
	}
	return i
}

func indexOf(a []any, inText func(s, of string) int, inList func(list []any, is func(any) bool) int) any {
	if list, is := a[0].([]any); is {
		return int64(inList(list, func(v any) bool { return datum.Equal(v, a[1]) }))
	}
	of, is := a[1].(string)
	if !is {
		fail("expects its parameter 2 to be of type 'String'. The provided value is of type '%s'", kindOf(a[1]))
	}
	in := dotnet.Upper(a[0].(string))
	at := inText(in, dotnet.Upper(of))
	return int64(dotnet.Len(in[:max(at, 0)]) + min(at, 0))
}

func split(text string, by any) any {
	list, isList := by.([]any)
	if !isList {
		list = []any{by}
	}
	delimiters := each(list, func(d any) string {
		t, is := d.(string)
		if !is {
			fail("expects its second parameter to be of type 'String or Array of Strings'. The array has a value of type '%s'", kindOf(d))
		}
		return regexp.QuoteMeta(t)
	})
	pattern := strings.Join(slices.DeleteFunc(delimiters, func(d string) bool { return d == "" }), "|")
	switch {
	case len(list) == 0:
		pattern = `[\s\v\p{Z}\x{85}]` // white space, if there is no delimiter
	case pattern == "":
		return []any{text}
	}
	return anys(regexp.MustCompile(pattern).Split(text, -1))
}

func join(s *scope, a []any) any {
	by := a[1].(string)
	parts := make([]string, len(a[0].([]any)))
	s.spendText(len(parts) * len(by))
	for i, v := range a[0].([]any) {
		t, ok := plainText(v)
		if !ok {
			fail("expects its first parameter to be an array of elements of the types 'String, Integer, Boolean'. The provided value "+
				"contains an element of type '%s' at index %d", kindOf(v), i)
		}
		parts[i] = t
	}
	return strings.Join(parts, by)
}

func joined(args []any) string { return strings.Join(texts(args), "-") }

// uniqueString is returns Azure's hash of a text: two interleaved halves of Murmur's mixing over
// words of four bytes, written with 13 letters of five bits each. (Seen in recorded answers of
// Azure.)
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
	var rest [8]byte // zeros do not change the hash
	copy(rest[:], data)
	h1 ^= bits.RotateLeft32(binary.LittleEndian.Uint32(rest[:])*a, 15) * b
	h2 ^= bits.RotateLeft32(binary.LittleEndian.Uint32(rest[4:])*b, 17) * a
	h1, h2 = h1^n, h2^n
	h1 += h2
	h2 += h1
	h1, h2 = finish(h1), finish(h2)
	h1 += h2
	h2 += h1
	number := binary.BigEndian.AppendUint64(nil, uint64(h2)<<32|uint64(h1))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(number))
}

func finish(h uint32) uint32 {
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// guidSpace is the namespace of the UUIDs that the function guid returns. (Seen in recorded answers
// of Azure.)
var guidSpace = [16]byte{0x11, 0xfb, 0x06, 0xfb, 0x71, 0x2d, 0x4d, 0xdd, 0x98, 0xc7, 0xe7, 0x1b, 0xbd, 0x58, 0x88, 0x30}

// guid returns the UUID of version 5 of a text.
func guid(s string) string {
	b := sha1.Sum(append(guidSpace[:], s...)) // as RFC 4122 defines
	b[6], b[8] = b[6]&0x0f|5<<4, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

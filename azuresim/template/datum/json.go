package datum

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"casement.dev/casement/internal/dotnet"
)

// culture is the culture in which the deployment service writes numbers.
var culture = dotnet.Invariant()

// MarshalJSON implements json.Marshaler.
func (o *Object) MarshalJSON() ([]byte, error) { return Encode(o), nil }

// Encode returns the compact JSON of a value. A Later is encoded as the text of its expression.
func Encode(v any) []byte { return Append(nil, v, '"') }

// Append appends the JSON of a value, with the given quotes around texts.
func Append(b []byte, v any, quote byte) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case *big.Int:
		return v.Append(b, 10)
	case float64:
		return append(b, floatText(v)...)
	case string:
		return appendText(b, v, quote)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = Append(b, e, quote)
		}
		return append(b, ']')
	case *Object:
		b = append(b, '{')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, v.keys[i], quote), ':')
			b = Append(b, v.values[i], quote)
		}
		return append(b, '}')
	case Later:
		return appendText(b, v.String(), quote)
	}
	return append(b, "null"...)
}

// floatText returns a number in the form of .NET's JSON: with a decimal point, so that it remains a
// float.
func floatText(f float64) string {
	s, _ := culture.Number(dotnet.Float(f, 64), "") // cannot fail: every number has this form
	switch {
	case strings.ContainsAny(s, "Ny"):
		return `"` + s + `"`
	case !strings.ContainsAny(s, ".E"):
		return s + ".0"
	}
	return s
}

func appendText(b []byte, s string, quote byte) []byte {
	b = append(b, quote)
	for _, r := range s {
		switch i := strings.IndexRune("\n\r\t\b\f", r); {
		case r == rune(quote) || r == '\\':
			b = append(b, '\\', byte(r))
		case i >= 0:
			b = append(b, '\\', "nrtbf"[i])
		case r < ' ' || r == 0x85 || r == 0x2028 || r == 0x2029:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, quote)
}

// Plain returns a value in the form of encoding/json, integers as float64.
func Plain(v any) (plain any) {
	_ = json.Unmarshal(Encode(v), &plain) // cannot fail: Encode returns JSON
	return plain
}

// Of converts a value of encoding/json to a value of the language, with sorted keys.
func Of(plain any) any {
	data, _ := json.Marshal(plain)
	v, _ := Decode(data)
	return v
}

package template

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"strconv"
	"strings"

	"casement.dev/casement/azuresim/template/datum"
	"casement.dev/casement/internal/dotnet"
)

var convertFunctions = functions{
	"string": unaryFunc(func(v any) any {
		if t, ok := plainText(v); ok {
			return t
		}
		return string(datum.Encode(v))
	}),
	"int": unaryFunc(func(v any) any {
		if t, is := v.(string); is {
			n, err := strconv.ParseInt(strings.TrimSpace(t), 10, 64)
			if err != nil {
				fail("cannot convert provided value '%s' to integer value", t)
			}
			return n
		}
		return v
	}),
	"bool":  unaryFunc(toBool),
	"float": unaryFunc(toFloat),
	"array": unaryFunc(func(v any) any {
		if list, is := v.([]any); is {
			return list
		}
		return []any{v}
	}),
	"json":           unaryFunc(fromJSON),
	"null":           func(*scope, []any) any { return nil },
	"base64":         unaryFunc(func(s string) any { return base64.StdEncoding.EncodeToString([]byte(s)) }),
	"base64ToString": unaryFunc(func(s string) any { return fromBase64(s) }),
	"base64ToJson":   unaryFunc(func(s string) any { return fromJSON(fromBase64(s)) }),
	"dataUri": unaryFunc(func(v any) any {
		kind, t := "text/plain", ""
		if s, is := v.(string); is {
			t = s
		} else {
			kind, t = "application/json", string(datum.Encode(v))
		}
		return "data:" + kind + ";charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(t))
	}),
	"dataUriToString": unaryFunc(func(s string) any {
		rest, ok := strings.CutPrefix(s, "data:")
		kind, data, comma := strings.Cut(rest, ",")
		if !ok || !comma {
			fail("expects its parameter to be formatted as a valid data URI. The provided value '%s' was not formatted correctly", s)
		}
		if data = dotnet.UnescapeData(data); strings.HasSuffix(strings.ToLower(kind), ";base64") {
			return fromBase64(data)
		}
		return data
	}),
	"uri":                  binaryFunc(joinURI),
	"uriComponent":         unaryFunc(func(s string) any { return dotnet.EscapeData(s) }),
	"uriComponentToString": unaryFunc(func(s string) any { return dotnet.UnescapeData(strings.ReplaceAll(s, "+", " ")) }),
	"parseUri":             unaryFunc(parseURI),
	"buildUri":             unaryFunc(buildURI),
}

func toBool(v any) any {
	switch v := v.(type) {
	case bool:
		return v
	case int64, *big.Int, float64:
		return compareNumbers(v, int64(0)) != 0
	case string:
		if t := strings.ToLower(strings.TrimSpace(v)); t == "true" || t == "false" {
			return t == "true"
		}
	}
	return failConvert()
}

func failConvert() any {
	return fail("was invoked with a parameter that is not valid. The value cannot be converted to the target type")
}

func toFloat(v any) any {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case string:
		t := strings.ReplaceAll(strings.TrimSpace(v), ",", "")
		f, err := strconv.ParseFloat(t, 64)
		if (err == nil || math.IsInf(f, 0)) && !strings.ContainsAny(t, "xXpP_") && !strings.HasSuffix(strings.ToLower(t), "inf") {
			return f
		}
	}
	return failConvert()
}

func fromJSON(s string) any {
	v, err := datum.Decode([]byte(s))
	if err != nil {
		fail("expects a text that is a valid JSON string: %w", err)
	}
	return v
}

func fromBase64(text string) string {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		fail("expects its parameter to be a valid base64 string: %w", err)
	}
	return strings.ToValidUTF8(string(data), "\ufffd")
}

func absolute(text string) *url.URL {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || !u.IsAbs() || u.Opaque != "" {
		fail("expects its first argument to be a uri string. The provided value is '%s'", text)
	}
	return u
}

func joinURI(base, more string) any {
	from := absolute(base)
	relative, err := url.Parse(strings.ReplaceAll(more, `\`, "/"))
	if err != nil {
		relative, err = url.Parse(strings.ReplaceAll(more, "%", "%25"))
	}
	if err != nil {
		fail("expects its second argument to be a relative or absolute uri string")
	}
	return dotnet.URI(from.ResolveReference(relative))
}

func parseURI(text string) any {
	u := absolute(text)
	out := datum.New("scheme", u.Scheme, "host", u.Hostname())
	if port, err := strconv.ParseInt(u.Port(), 10, 64); err == nil {
		out.Set("port", port)
	}
	out.Set("path", u.EscapedPath())
	if u.RawQuery != "" {
		out.Set("query", "?"+u.RawQuery)
	}
	return out
}

func buildURI(o *datum.Object) any {
	u := &url.URL{Scheme: o.Text("scheme"), Host: o.Text("host"), RawQuery: strings.TrimPrefix(o.Text("query"), "?")}
	if u.Scheme == "" || u.Host == "" {
		fail("expects its parameter to have a scheme and a host")
	}
	if port, ok := o.Get("port"); ok && port != nil {
		u.Host = fmt.Sprintf("%s:%v", u.Host, port)
	}
	u.Path = "/" + strings.TrimPrefix(o.Text("path"), "/")
	return dotnet.URI(u)
}

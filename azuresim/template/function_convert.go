package template

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
)

func convertFunctions() []function {
	return []function{
		{name: "string", eval: toText},
		{name: "int", eval: toInt},
		{name: "bool", eval: toBool},
		{name: "float", eval: toFloat},
		{name: "array", eval: func(_ *scope, a []any) (any, error) {
			if _, is := a[0].([]any); is {
				return a[0], nil
			}
			return []any{a[0]}, nil
		}},
		{name: "json", eval: fromJSON},
		{name: "null", eval: func(*scope, []any) (any, error) { return nil, nil }},
		{name: "base64", eval: pure(func(a []any) any { return base64.StdEncoding.EncodeToString([]byte(a[0].(string))) })},
		{name: "base64ToString", eval: func(_ *scope, a []any) (any, error) {
			return fromBase64("base64ToString", a[0].(string))
		}},
		{name: "base64ToJson", eval: func(s *scope, a []any) (any, error) {
			t, err := fromBase64("base64ToJson", a[0].(string))
			if err != nil {
				return nil, err
			}
			return fromJSON(s, []any{t})
		}},
		{name: "dataUri", eval: dataURI},
		{name: "dataUriToString", eval: fromDataURI},
		{name: "uri", eval: joinURI},
		{name: "uriComponent", eval: func(_ *scope, a []any) (any, error) { return escape(a[0].(string)), nil }},
		{name: "uriComponentToString", eval: pure(func(a []any) any { return unescape(strings.ReplaceAll(a[0].(string), "+", " ")) })},
	}
}

func toText(_ *scope, a []any) (any, error) {
	if t, ok := plainText(a[0]); ok {
		return t, nil
	}
	return string(Encode(a[0])), nil
}

func toInt(_ *scope, a []any) (any, error) {
	t, is := a[0].(string)
	if !is {
		return a[0], nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(t), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("cannot convert provided value '%s' to integer value", t)
	}
	return n, nil
}

func errConvert(name string) error {
	return fmt.Errorf("the template language function '%s' was invoked with a parameter that is not valid. The value cannot be "+
		"converted to the target type", name)
}

func toBool(_ *scope, a []any) (any, error) {
	switch v := a[0].(type) {
	case bool:
		return v, nil
	case int64:
		return v != 0, nil
	case *big.Int:
		return v.Sign() != 0, nil
	case float64:
		return v != 0, nil
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
	}
	return nil, errConvert("bool")
}

func toFloat(_ *scope, a []any) (any, error) {
	switch v := a[0].(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case string:
		t := strings.ReplaceAll(strings.TrimSpace(v), ",", "")
		if f, err := strconv.ParseFloat(t, 64); err == nil && !strings.ContainsAny(t, "xXpP_") {
			return f, nil
		}
	}
	return nil, errConvert("float")
}

func fromJSON(_ *scope, a []any) (any, error) {
	v, err := Decode([]byte(a[0].(string)))
	if err != nil {
		return nil, azureSays("The argument provided is not a valid JSON string: %w", err)
	}
	return v, nil
}

func fromBase64(name, text string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return "", fmt.Errorf("the template language function '%s' expects its parameter to be a valid base64 string: %w", name, err)
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(data), "\ufeff"), "\ufffd"), nil
}

func dataURI(_ *scope, a []any) (any, error) {
	kind, t := "application/json", ""
	switch v := a[0].(type) {
	case string:
		kind, t = "text/plain", v
	default:
		t = string(Encode(v))
	}
	return "data:" + kind + ";charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(t)), nil
}

func fromDataURI(_ *scope, a []any) (any, error) {
	bad := fmt.Errorf("expects its parameter to be formatted as a valid data URI. The provided value '%s' was not formatted correctly", a[0])
	rest, ok := strings.CutPrefix(a[0].(string), "data:")
	kind, data, comma := strings.Cut(rest, ",")
	if !ok || !comma {
		return nil, bad
	}
	data = unescape(data)
	if strings.HasSuffix(strings.ToLower(kind), ";base64") {
		t, err := fromBase64("dataUriToString", data)
		if err != nil {
			return nil, bad
		}
		return t, nil
	}
	return data, nil
}

func joinURI(_ *scope, a []any) (any, error) {
	base, err := url.Parse(strings.TrimSpace(a[0].(string)))
	if err != nil || !base.IsAbs() || base.Opaque != "" {
		return nil, fmt.Errorf("expects its first argument to be a uri string. The provided value is '%s'", a[0])
	}
	relative, err := url.Parse(strings.ReplaceAll(a[1].(string), `\`, "/"))
	if err != nil {
		relative, err = url.Parse(strings.ReplaceAll(a[1].(string), "%", "%25"))
	}
	if err != nil {
		return nil, errors.New("expects its second argument to be a relative or absolute uri string")
	}
	out := base.ResolveReference(relative)
	if p := out.Port(); p == "443" && out.Scheme == "https" || p == "80" && out.Scheme == "http" {
		out.Host = strings.TrimSuffix(out.Host, ":"+p)
	}
	out.Host = strings.ToLower(out.Host)
	if out.Path == "" && out.Host != "" {
		out.Path = "/"
	}
	return out.String(), nil
}

func escape(s string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		if letter(c) || digit(c) || strings.IndexByte("-.~", c) >= 0 {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// unescape resolves %XX; what is no escape stays.
func unescape(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return strings.ToValidUTF8(string(out), "\ufffd")
}

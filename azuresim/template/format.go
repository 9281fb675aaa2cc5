package template

import (
	"math/big"

	"casement.dev/casement/azuresim/template/datum"
	"casement.dev/casement/internal/dotnet"
)

// culture is the culture in which Azure's engine writes numbers and times.
var culture = dotnet.Invariant()

// format is .NET's composite formatting.
func format(s *scope, a []any) any {
	text, err := dotnet.Composite(a[0].(string), len(a)-1, func(i int, spec string) (string, error) { return formatValue(a[i+1], spec) },
		func(bytes int) error { s.spendText(bytes); return nil })
	if err != nil {
		fail("has a format that is invalid: '%w'", err)
	}
	return text
}

func formatValue(v any, spec string) (string, error) {
	text, plain := plainText(v)
	switch n := v.(type) {
	case float64:
		return culture.Number(dotnet.Float(n, 64), spec)
	case int64:
		return culture.Number(dotnet.Int(n, 64), spec)
	case *big.Int:
		return culture.Number(dotnet.Whole(n, 64), spec)
	}
	if plain || v == nil {
		return text, nil
	}
	return string(datum.Append(nil, v, '\'')), nil // with single quotes, only in format (Bicep's published tests)
}

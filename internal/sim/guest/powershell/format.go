package powershell

import (
	"cmp"
	"errors"
	"math/big"
	"strings"
	"time"

	"casement.dev/casement/internal/dotnet"
)

// english is the culture of the image; invariant is the culture in which values become part of a text.
var english, invariant = dotnet.FrameworkUS(), dotnet.FrameworkInvariant()

// cultureOf returns the culture that an argument of a method names, or english.
func cultureOf(args []any, i int) *dotnet.Culture {
	if i < len(args) {
		if o, ok := args[i].(*object); ok && text(o) == "" {
			return invariant
		}
	}
	return english
}

// format applies the operator -f, which is .NET's composite formatting.
func (r *run) format(left, right any) (any, error) {
	form, err := r.text(left)
	if err != nil {
		return nil, err
	}
	args := []any{right}
	if a, ok := right.(*array); ok && strings.HasSuffix(a.kind, "[]") {
		args = a.items
	}
	return r.composite(form, args)
}

// composite applies a composite format of .NET to arguments.
func (r *run) composite(form string, args []any) (any, error) {
	size := len(form)
	s, err := dotnet.Composite(form, len(args), func(i int, spec string) (string, error) {
		if a, ok := args[i].(*array); ok && a.item != "" {
			return a.kind + "[" + typeName(a.item) + "]", nil
		} else if isList(args[i]) {
			return kindOf(args[i]), nil
		}
		return r.formatted(args[i], spec, english)
	}, func(bytes int) error {
		if size += bytes; size > maxValue {
			return r.take(size)
		}
		return nil
	})
	if reason, ok := errors.AsType[dotnet.Error](err); ok {
		return nil, broken("RuntimeException", "FormatError", "Error formatting a string: %s.", reason)
	}
	return s, cmp.Or(err, r.take(len(s)))
}

// formatException converts an error of package dotnet to a FormatException.
func formatException(err error) error {
	if reason, ok := errors.AsType[dotnet.Error](err); ok {
		return thrown("FormatException", "%s", reason)
	}
	return err
}

// hasFormats reports whether a value can be formatted with a format of .NET.
func hasFormats(v any) bool {
	switch v.(type) {
	case time.Time, time.Duration, guid, enumMember:
		return true
	}
	_, is := numberOf(v)
	return is
}

// numberOf returns a number for formatting; the result is false for other values.
func numberOf(v any) (dotnet.Number, bool) {
	if n, kind, ok := wholeOf(v); ok {
		bits := map[string]int{"SByte": 8, "Byte": 8, "Int16": 16, "UInt16": 16, "Int32": 32, "UInt32": 32}[kind]
		whole := big.NewInt(n)
		if kind == "UInt64" {
			whole.SetUint64(uint64(n))
		}
		return dotnet.Whole(whole, cmp.Or(bits, 64)), true
	}
	switch v := v.(type) {
	case float64:
		return dotnet.Float(v, 64), true
	case short:
		return dotnet.Float(float64(v), 32), true
	case decimal:
		return dotnet.Decimal(v.String()), true
	}
	return dotnet.Number{}, false
}

// number returns the text of a floating point number.
func number[F float64 | short](f F) string {
	n, _ := numberOf(any(f))
	s, _ := invariant.Number(n, "")
	return s
}

// formatted returns a value in a .NET format and a culture.
func (r *run) formatted(v any, spec string, c *dotnet.Culture) (string, error) {
	switch v := v.(type) {
	case typeValue:
		return typeName(v.name), nil
	case time.Time:
		return c.Date(v, zoneOf(v), cmp.Or(spec, "G"))
	case time.Duration:
		return dotnet.Span(v, spec)
	case guid:
		return dotnet.GUID(string(v), spec)
	case *object:
		if spec != "" && isCustom(v) { // the format applies to the values of the object's properties
			own := custom()
			for _, f := range v.fields {
				value, err := r.formatted(f.value, spec, c)
				if err != nil {
					return "", err
				}
				own.set(f.name, value)
			}
			return r.text(own)
		}
	}
	if n, ok := numberOf(v); ok && spec != "" {
		return c.Number(n, spec)
	}
	return r.text(v)
}

// localZone and utcZone are the time zones of dates whose Kind is Local or Utc; any other zone means
// Unspecified. All of them are UTC, the machine's time zone.
var localZone, utcZone = time.FixedZone("local", 0), time.FixedZone("utc", 0)

// zoneOf returns the suffix of a date for the kind that its zone marks.
func zoneOf(t time.Time) string {
	switch t.Location() {
	case localZone:
		return "+00:00"
	case utcZone:
		return "Z"
	}
	return ""
}

// dated returns a date in a standard format of the image's culture.
func dated(t time.Time, spec string) string {
	s, _ := english.Date(t, zoneOf(t), spec)
	return s
}

// parsed returns the result of parsing a date. A date with a zone becomes a local date.
func parsed(t time.Time, zoned bool, err error) (time.Time, error) {
	if zoned {
		t = t.In(localZone)
	}
	return t, err
}

package powershell

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// format returns the -f operator: composite formatting of .NET.
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

// formats reports values whose text has formats.
func formats(v any) bool {
	switch v.(type) {
	case time.Time, time.Duration, int64, float64, short, sized, decimal, guid, enumMember:
		return true
	}
	return false
}

func (r *run) composite(form string, args []any) (any, error) {
	bad := func() (any, error) {
		return nil, broken("RuntimeException", "FormatError", "Error formatting a string: Input string was not in a correct format..")
	}
	var b strings.Builder
	for i := 0; i < len(form); i++ {
		c := form[i]
		if (c == '{' || c == '}') && i+1 < len(form) && form[i+1] == c {
			b.WriteByte(c)
			i++
			continue
		}
		if c == '}' {
			return bad()
		}
		if c != '{' {
			b.WriteByte(c)
			continue
		}
		end := strings.IndexByte(form[i:], '}')
		if end < 0 {
			return bad()
		}
		item, spec, _ := strings.Cut(form[i+1:i+end], ":")
		i += end
		at, width, aligned := strings.Cut(item, ",")
		n, err := strconv.Atoi(strings.TrimSpace(at))
		if err != nil || n < 0 {
			return bad()
		}
		if n >= len(args) {
			return nil, broken("RuntimeException", "FormatError", "Error formatting a string: Index (zero "+
				"based) must be greater than or equal to zero and less than the size of the argument list..")
		}
		v, err := r.formatOne(args[n], spec)
		if err != nil {
			return nil, err
		}
		s := text(v)
		if a, ok := args[n].(*array); ok && a.item != "" {
			s = a.kind + "[" + typeName(a.item) + "]"
		} else if isList(args[n]) {
			s = kindOf(args[n])
		}
		if aligned {
			w, err := strconv.Atoi(strings.TrimSpace(width))
			if err != nil || w > maxItems || w < -maxItems {
				return bad()
			}
			s = fmt.Sprintf("%*s", w, s)
		}
		if b.WriteString(s); b.Len() > maxValue {
			return nil, r.take(b.Len())
		}
	}
	return b.String(), r.take(b.Len())
}

// formatOne returns a value in a format of .NET.
func (r *run) formatOne(v any, spec string) (any, error) {
	if t, ok := v.(time.Time); ok && spec == "" {
		spec = "G"
		v = t
	}
	if t, ok := v.(typeValue); ok {
		return typeName(t.name), nil
	}
	if spec == "" {
		return r.text(v)
	}
	switch v := v.(type) {
	case time.Time:
		return dateFormat(v, spec)
	case time.Duration:
		return spanFormat(v, spec)
	case int64, float64, short, bool, sized, decimal:
		if _, isBool := v.(bool); isBool {
			return r.text(v)
		}
		return numberFormat(v, spec)
	case guid:
		switch strings.ToLower(spec) {
		case "n":
			return strings.ReplaceAll(string(v), "-", ""), nil
		case "d":
			return string(v), nil
		case "b":
			return "{" + string(v) + "}", nil
		}
		return nil, lacking("the format %q of GUIDs", spec)
	case *object:
		if isCustom(v) { // its values take the format
			own := custom()
			for _, f := range v.fields {
				value, err := r.formatOne(f.value, spec)
				if err != nil {
					return nil, err
				}
				own.set(f.name, value)
			}
			return r.text(own)
		}
	}
	return r.text(v)
}

func numberFormat(v any, spec string) (any, error) {
	f, _ := float(v)
	letter, digits := spec[0]|0x20, -1
	if len(spec) > 1 {
		if n, err := strconv.Atoi(spec[1:]); err == nil && n >= 0 && n < 100 {
			digits = n
		} else {
			return customNumber(f, spec)
		}
	}
	n, _, isInt := wholeOf(v)
	switch letter {
	case 'n':
		return grouped(f, or(digits, 2)), nil
	case 'f':
		return fixed(f, or(digits, 2)), nil
	case 'p':
		return grouped(f*100, or(digits, 2)) + " %", nil
	case 'd':
		if !isInt {
			return nil, broken("RuntimeException", "FormatError", "Error formatting a string: Format specifier was invalid..")
		}
		if n < 0 {
			return fmt.Sprintf("-%0*d", max(digits, 1), -n), nil
		}
		return fmt.Sprintf("%0*d", max(digits, 1), n), nil
	case 'x':
		if !isInt {
			return nil, broken("RuntimeException", "FormatError", "Error formatting a string: Format specifier was invalid..")
		}
		u := uint64(n)
		if n < 0 && n >= math.MinInt32 {
			u = uint64(uint32(n))
		}
		if spec[0] == 'x' {
			return fmt.Sprintf("%0*x", max(digits, 1), u), nil
		}
		return fmt.Sprintf("%0*X", max(digits, 1), u), nil
	case 'c':
		return "$" + grouped(f, or(digits, 2)), nil
	case 'g', 'r':
		if letter == 'g' && digits > 0 {
			return strconv.FormatFloat(f, 'g', digits, 64), nil
		}
		return number(f), nil
	case 'e':
		if d, ok := parseDecimal(strconv.FormatFloat(f, 'f', -1, 64)); ok && digits >= 0 && digits < 15 { // halves go up
			n := len(strings.TrimLeft(strings.ReplaceAll(strings.TrimPrefix(d.String(), "-"), ".", ""), "0"))
			if n == digits+2 && strings.HasSuffix(strings.TrimRight(d.String(), "0"), "5") {
				f = math.Nextafter(f, f*2)
			}
		}
		s := strconv.FormatFloat(f, spec[0], or(digits, 6), 64)
		at := strings.LastIndexAny(s, "+-") + 1
		return s[:at] + strings.Repeat("0", max(3-len(s[at:]), 0)) + s[at:], nil
	}
	return customNumber(f, spec)
}

func or(n, otherwise int) int {
	if n < 0 {
		return otherwise
	}
	return n
}

// fixed rounds halves away from zero, as .NET Framework does.
func fixed(f float64, digits int) string {
	scale := math.Pow(10, float64(digits))
	if digits <= 15 && math.Abs(f)*scale < 1<<52 {
		f = math.Round(f*scale) / scale
	}
	return strconv.FormatFloat(f, 'f', digits, 64)
}

func grouped(f float64, digits int) string {
	s := fixed(f, digits)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return sign + whole
}

// customNumber returns a format of 0, # and a point.
func customNumber(f float64, spec string) (any, error) {
	if strings.Trim(spec, "0#.,%") != "" {
		return nil, lacking("the number format %q", spec)
	}
	percent := strings.Contains(spec, "%")
	if percent {
		f *= 100
		spec = strings.ReplaceAll(spec, "%", "")
	}
	sign := ""
	if f < 0 {
		sign, f = "-", -f
	}
	whole, part, _ := strings.Cut(spec, ".")
	s := fixed(f, len(part))
	if strings.Contains(whole, ",") {
		s = grouped(f, len(part))
	}
	for strings.HasSuffix(part, "#") && strings.HasSuffix(s, "0") && strings.Contains(s, ".") {
		part, s = part[:len(part)-1], s[:len(s)-1]
	}
	s = strings.TrimSuffix(s, ".")
	integer, rest, point := strings.Cut(s, ".")
	for len(integer) < strings.Count(whole, "0") {
		integer = "0" + integer
	}
	if integer == "0" && !strings.Contains(whole, "0") {
		integer = ""
	}
	if point {
		integer += "." + rest
	}
	if percent {
		integer += "%"
	}
	if strings.Trim(integer, "0.,%") == "" {
		sign = ""
	}
	return sign + integer, nil
}

// dateParts are the parts of a date format, the longest first.
var dateParts = []struct{ from, to string }{
	{"yyyy", "2006"}, {"yy", "06"}, {"MMMM", "January"}, {"MMM", "Jan"}, {"MM", "01"}, {"M", "1"},
	{"dddd", "Monday"}, {"ddd", "Mon"}, {"dd", "02"}, {"d", "2"},
	{"HH", "15"}, {"hh", "03"}, {"h", "3"}, {"mm", "04"}, {"m", "4"}, {"ss", "05"}, {"s", "5"}, {"tt", "PM"},
	{"zzz", "-07:00"}, {"zz", "-07"}, {"K", "Z07:00"},
}

// localZone and utcZone mark the kind of a date: one of the clock, one in UTC, and any other is unspecified. All
// have the machine's zone, which is UTC.
var localZone, utcZone = time.FixedZone("local", 0), time.FixedZone("utc", 0)

func zoneOf(t time.Time) string {
	switch t.Location() {
	case localZone:
		return "+00:00"
	case utcZone:
		return "Z"
	}
	return ""
}

var standardDates = map[string]string{
	"d": "1/2/2006", "D": "Monday, January 2, 2006", "t": "3:04 PM", "T": "3:04:05 PM", "g": "1/2/2006 3:04 PM",
	"G": "1/2/2006 3:04:05 PM", "f": "Monday, January 2, 2006 3:04 PM",
	"F": "Monday, January 2, 2006 3:04:05 PM",
	"s": "2006-01-02T15:04:05", "u": "2006-01-02 15:04:05Z", "o": "2006-01-02T15:04:05.0000000Z",
	"O": "2006-01-02T15:04:05.0000000Z", "R": "Mon, 02 Jan 2006 15:04:05 GMT",
	"r": "Mon, 02 Jan 2006 15:04:05 GMT",
}

func dateFormat(t time.Time, spec string) (any, error) {
	switch {
	case spec == "o" || spec == "O":
		return t.Format("2006-01-02T15:04:05.0000000") + zoneOf(t), nil
	case strings.Contains(spec, "K"):
		v, err := dateFormat(t, strings.ReplaceAll(spec, "K", "'\x00'"))
		return strings.ReplaceAll(text(v), "\x00", zoneOf(t)), err
	}
	if form, ok := standardDates[spec]; ok {
		return t.Format(form), nil
	}
	var b strings.Builder
	for i := 0; i < len(spec); {
		c := spec[i]
		if c == '\'' || c == '"' {
			end := strings.IndexByte(spec[i+1:], c)
			if end < 0 {
				return nil, broken("System.FormatException", "FormatException", "Input string was not in a correct format.")
			}
			b.WriteString(spec[i+1 : i+1+end])
			i += end + 2
			continue
		}
		if c == '\\' && i+1 < len(spec) {
			b.WriteByte(spec[i+1])
			i += 2
			continue
		}
		if c == 'f' {
			n := 0
			for i < len(spec) && spec[i] == 'f' {
				n, i = n+1, i+1
			}
			b.WriteString(fmt.Sprintf("%09d", t.Nanosecond())[:min(n, 9)])
			continue
		}
		if c == 'H' && !strings.HasPrefix(spec[i:], "HH") {
			b.WriteString(strconv.Itoa(t.Hour()))
			i++
			continue
		}
		found := false
		for _, p := range dateParts {
			if strings.HasPrefix(spec[i:], p.from) {
				b.WriteString(t.Format(p.to))
				i += len(p.from)
				found = true
				break
			}
		}
		if !found {
			if isLetter(c) && c != 'T' && c != 'Z' && c != '_' {
				return nil, lacking("the date format %q", spec)
			}
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), nil
}

// spanFormat returns a TimeSpan in a format (.NET: standard and custom TimeSpan format strings).
func spanFormat(d time.Duration, spec string) (any, error) {
	sign, size := "", max(d, -d)
	if d < 0 {
		sign = "-"
	}
	days, hours, minutes, seconds := int(size.Hours())/24, int(size.Hours())%24, int(size.Minutes())%60, int(size.Seconds())%60
	part := fmt.Sprintf("%07d", size%time.Second/100)
	switch spec {
	case "c", "t", "T":
		return span(d), nil
	case "g":
		out := fmt.Sprintf("%d:%02d:%02d", hours, minutes, seconds)
		if days > 0 {
			out = fmt.Sprintf("%d:%s", days, out)
		}
		if short := strings.TrimRight(part, "0"); short != "" {
			out += "." + short
		}
		return sign + out, nil
	case "G":
		return fmt.Sprintf("%s%d:%02d:%02d:%02d.%s", sign, days, hours, minutes, seconds, part), nil
	}
	var b strings.Builder
	for i := 0; i < len(spec); {
		c := spec[i]
		n := len(spec[i:]) - len(strings.TrimLeft(spec[i:], string(c)))
		value, most := 0, 2
		switch c {
		case 'd':
			value, most = days, 8
		case 'h':
			value = hours
		case 'm':
			value = minutes
		case 's':
			value = seconds
		case 'f', 'F':
			if n > 7 {
				return nil, badFormat()
			}
			digits := part[:n]
			if c == 'F' {
				digits = strings.TrimRight(digits, "0")
			}
			b.WriteString(digits)
			i += n
			continue
		case '\\':
			if i+1 >= len(spec) {
				return nil, badFormat()
			}
			b.WriteByte(spec[i+1])
			i += 2
			continue
		case '\'', '"':
			end := strings.IndexByte(spec[i+1:], c)
			if end < 0 {
				return nil, badFormat()
			}
			b.WriteString(spec[i+1 : i+1+end])
			i += end + 2
			continue
		case '%':
			i++
			continue
		default:
			return nil, badFormat()
		}
		if n > most || len(spec) == 1 {
			return nil, badFormat()
		}
		fmt.Fprintf(&b, "%0*d", n, value)
		i += n
	}
	return b.String(), nil
}

func badFormat() error {
	return broken("RuntimeException", "FormatError", "Error formatting a string: Input string was not in a correct format..")
}

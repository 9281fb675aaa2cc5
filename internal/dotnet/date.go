package dotnet

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// standard returns the custom format for a standard format; "" is the default format of a DateTimeOffset. Source:
// https://learn.microsoft.com/dotnet/standard/base-types/standard-date-and-time-format-strings.
func (c *Culture) standard(spec string) (string, bool) {
	form, ok := map[string]string{"": c.day + " " + c.longClock + " zzz", "d": c.day, "D": c.longDay, "t": c.clock, "T": c.longClock,
		"f": c.longDay + " " + c.clock, "F": c.longDay + " " + c.longClock, "U": c.longDay + " " + c.longClock,
		"g": c.day + " " + c.clock, "G": c.day + " " + c.longClock, "m": c.monthAndDay, "M": c.monthAndDay,
		"y": c.yearAndMonth, "Y": c.yearAndMonth, "o": "yyyy-MM-ddTHH:mm:ss.fffffffK", "O": "yyyy-MM-ddTHH:mm:ss.fffffffK",
		"r": "ddd, dd MMM yyyy HH:mm:ss 'GMT'", "R": "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
		"s": "yyyy-MM-ddTHH:mm:ss", "u": "yyyy-MM-dd HH:mm:ss'Z'"}[spec]
	return form, ok
}

// parts matches the parts of a custom format of dates or spans: literals, and letters that may be repeated. Source:
// https://learn.microsoft.com/dotnet/standard/base-types/custom-date-and-time-format-strings.
var parts = regexp.MustCompile(`(?s)'[^']*'|"[^"]*"|\\.|%[^%]|d+|f+|F+|g+|h+|H+|K+|m+|M+|s+|t+|y+|z+|.`)

// split splits a custom format: it calls emit with each part and the letter that the part repeats, which is 0 for a literal.
func split(custom string, emit func(letter byte, part string) error) error {
	for _, part := range parts.FindAllString(custom, -1) {
		var err error
		switch {
		case strings.ContainsAny(part[:1], `'"\%`) && len(part) == 1, len(part) > 7 && (part[0] == 'f' || part[0] == 'F'):
			return ErrInput
		case part[0] == '\'' || part[0] == '"':
			err = emit(0, part[1:len(part)-1])
		case part[0] == '\\':
			err = emit(0, part[1:])
		default:
			part = strings.TrimPrefix(part, "%")
			err = emit(part[0], part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dateForms are the layouts, in Go's form, for a letter of a custom format that is repeated once, twice and so on.
var dateForms = map[byte][]string{'d': {"2", "02", "Mon", "Monday"}, 'M': {"1", "01", "Jan", "January"}, 'H': {"15"}, 'h': {"3", "03"},
	'm': {"4", "04"}, 's': {"5", "05"}, 't': {"PM"}, 'y': {"2006"}, 'z': {"-07", "-07", "-07:00"}, 'g': {"A.D."}}

// Date formats a time. zone is the text for K: "Z", an offset, or "" if the kind of the time is unspecified.
func (c *Culture) Date(t time.Time, zone, spec string) (string, error) {
	custom, standard := c.standard(spec)
	if !standard {
		if custom = spec; len(spec) == 1 {
			return "", ErrInput // a single letter is a standard format
		}
	}
	out := ""
	err := split(custom, func(letter byte, part string) error {
		switch letter {
		case 0:
			out += part
		case 'K':
			out += strings.Repeat(zone, len(part))
		default:
			text := datePart(t, part)
			if letter == 'F' && text == "" { // an empty fraction has no point
				out = strings.TrimSuffix(out, ".")
			}
			out += text
		}
		return nil
	})
	return out, err
}

// datePart returns the text for a repeated letter of a custom format; any other character is a literal.
func datePart(t time.Time, part string) string {
	n := len(part)
	fraction := fmt.Sprintf("%09d", t.Nanosecond())[:min(n, 9)]
	forms, known := dateForms[part[0]]
	switch {
	case part[0] == 'f':
		return fraction
	case part[0] == 'F':
		return strings.TrimRight(fraction, "0")
	case !known:
		return part
	}
	text := t.Format(forms[min(n, len(forms))-1])
	switch number, _ := strconv.Atoi(text); {
	case part[0] == 'y':
		return fmt.Sprintf("%0*d", n, number%cond(n < 3, 100, 10_000))
	case part[0] == 'H':
		return fmt.Sprintf("%0*d", min(n, 2), number)
	case part == "t":
		return text[:1]
	case part == "z":
		return fmt.Sprintf("%+d", number)
	}
	return text
}

// spanLetters are the letters of a custom format of spans: the maximum number of repetitions, and the number of units
// that make one unit of the next letter.
var spanLetters = map[byte]struct {
	most       int
	unit, next time.Duration
}{
	'd': {8, 24 * time.Hour, 1 << 62}, 'h': {2, time.Hour, 24 * time.Hour}, 'm': {2, time.Minute, time.Hour},
	's': {2, time.Second, time.Minute}, 'f': {7, 1, time.Second}, 'F': {7, 1, time.Second},
}

// Span formats a TimeSpan; the format "" means c. Source:
// https://learn.microsoft.com/dotnet/standard/base-types/standard-timespan-format-strings.
func Span(d time.Duration, spec string) (string, error) {
	sign, size := cond(d < 0, "-", ""), max(d, -d)
	days, fraction := size >= 24*time.Hour, size%time.Second/100 > 0
	switch spec {
	case "", "c", "t", "T":
		spec = cond(days, `d\.`, "") + `hh\:mm\:ss` + cond(fraction, `\.fffffff`, "")
	case "g":
		spec = cond(days, `d\:`, "") + `%h\:mm\:ss` + cond(fraction, `\.FFFFFFF`, "")
	case "G":
		spec = `d\:hh\:mm\:ss\.fffffff`
	default:
		if sign = ""; len(spec) == 1 {
			return "", ErrInput
		}
	}
	out := sign
	err := split(spec, func(letter byte, part string) error {
		l, known := spanLetters[letter]
		n := len(part)
		if letter == 0 {
			out += part
			return nil
		}
		if !known || n > l.most {
			return ErrInput
		}
		value := int64(size % l.next / l.unit)
		switch letter {
		case 'f':
			out += fmt.Sprintf("%09d", value)[:n]
		case 'F':
			out += strings.TrimRight(fmt.Sprintf("%09d", value)[:n], "0")
		default:
			out += fmt.Sprintf("%0*d", n, value)
		}
		return nil
	})
	return out, err
}

package template

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var dateFunctions = functions{
	"utcNow": func(s *scope, a []any) any {
		s.need(placeDefault)
		if s.Now.IsZero() {
			return later{}
		}
		return dateText(s.Now.UTC(), arg(a, 0, "yyyyMMddTHHmmssZ"))
	},
	"dateTimeAdd": func(_ *scope, a []any) any {
		t := dateOf(a[0].(string))
		seconds, nanoseconds := durationOf(a[1].(string))
		t = time.Unix(t.Unix()+seconds, int64(t.Nanosecond())+nanoseconds).UTC()
		if !representable(t) {
			fail("was asked for a value that results in an un-representable DateTime")
		}
		return dateText(t, arg(a, 2, "yyyy-MM-ddTHH:mm:ssZ"))
	},
	"dateTimeFromEpoch": fn1(func(v any) any {
		n, err := strconv.ParseInt(strings.TrimSpace(fmt.Sprint(v)), 10, 64)
		if t := time.Unix(n, 0).UTC(); err == nil && representable(t) && n < 1<<40 && n > -1<<40 {
			return t.Format("2006-01-02T15:04:05Z")
		}
		return fail("has the value '%v', which is no time in seconds from 1970", v)
	}),
	"dateTimeToEpoch": fn1(func(s string) any { return dateOf(s).Unix() }),
}

func representable(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// The forms of days, and of times of a day, that .NET takes without a culture.
var (
	dayForms = []string{"2006-01-02", "20060102", "2006/1/2", "1/2/2006", "2006-1-2", "2 Jan 2006", "Jan 2, 2006", "2 January 2006",
		"January 2, 2006", "Mon, 02 Jan 2006", "Monday, 02 January 2006", "2006-01"}
	clockForms = []string{"15:04:05.999999999", "15:04", "150405", "3:04 PM", "3:04:05 PM"}
	zoneForms  = []string{"Z07:00", "", " Z07:00", " GMT", "Z0700"}
)

// dateOf reads a time; without an offset it is UTC.
func dateOf(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, day := range dayForms {
		if t, err := time.Parse(day, s); err == nil {
			return t
		}
		for _, clock := range clockForms {
			for _, zone := range zoneForms {
				for _, between := range []string{"T", " "} {
					if t, err := time.Parse(day+between+clock+zone, s); err == nil {
						return t.UTC()
					}
				}
			}
		}
	}
	fail("has an invalid parameter: '%s' is not a valid ISO8601 DateTime string", s)
	return time.Time{}
}

var durations = regexp.MustCompile(`^\s*(-?)P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?\s*$`)

// durationOf reads an ISO 8601 duration: a year has 365 days and a month 30.
func durationOf(text string) (whole int64, nanoseconds int64) {
	m := durations.FindStringSubmatch(text)
	seconds := 0.0
	for i, unit := range []float64{365 * 86400, 30 * 86400, 86400, 3600, 60, 1} {
		if m != nil && m[i+2] != "" {
			n, _ := strconv.ParseFloat(m[i+2], 64)
			seconds += n * unit
		}
	}
	const most = 1e12
	if bare := strings.TrimSpace(text); m == nil || strings.HasSuffix(bare, "P") || strings.HasSuffix(bare, "T") || seconds > most {
		fail("has an invalid parameter: '%s' is not a valid ISO8601 Duration string", text)
	}
	if m[1] == "-" {
		seconds = -seconds
	}
	return int64(seconds), int64((seconds - float64(int64(seconds))) * 1e9)
}

// standardDates are the standard formats of a DateTimeOffset in the invariant culture.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/standard-date-and-time-format-strings.
var standardDates = map[string]string{"d": "MM/dd/yyyy", "D": "dddd, dd MMMM yyyy", "f": "dddd, dd MMMM yyyy HH:mm",
	"F": "dddd, dd MMMM yyyy HH:mm:ss", "g": "MM/dd/yyyy HH:mm", "G": "MM/dd/yyyy HH:mm:ss", "m": "MMMM dd", "M": "MMMM dd",
	"o": "yyyy-MM-ddTHH:mm:ss.fffffffzzz", "O": "yyyy-MM-ddTHH:mm:ss.fffffffzzz", "r": "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
	"R": "ddd, dd MMM yyyy HH:mm:ss 'GMT'", "s": "yyyy-MM-ddTHH:mm:ss", "t": "HH:mm", "T": "HH:mm:ss", "u": "yyyy-MM-dd HH:mm:ss'Z'",
	"y": "yyyy MMMM", "Y": "yyyy MMMM", "": "MM/dd/yyyy HH:mm:ss zzz"}

// dateParts matches the parts of a custom format: literals, and letters that may be repeated.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/custom-date-and-time-format-strings.
var dateParts = regexp.MustCompile(`(?s)'[^']*'|"[^"]*"|\\.|%[^%]|d+|f+|F+|g+|h+|H+|K|m+|M+|s+|t+|y+|z+|.`)

// customDates are what a letter of a custom format yields if it is repeated once, twice and more often, in Go's own form.
var customDates = map[byte][]string{'d': {"2", "02", "Mon", "Monday"}, 'M': {"1", "01", "Jan", "January"}, 'H': {"15"}, 'h': {"3", "03"},
	'm': {"4", "04"}, 's': {"5", "05"}, 't': {"PM"}, 'y': {"2006"}, 'z': {"-07", "-07", "-07:00"}, 'K': {"-07:00"}, 'g': {"A.D."}}

// dateText formats a time, which is of UTC, as .NET does.
func dateText(t time.Time, format string) any {
	custom, standard := standardDates[format]
	if custom = cond(standard, custom, format); len(custom) == 1 {
		custom = "'" // a letter by itself is a standard format
	}
	out := ""
	for _, part := range dateParts.FindAllString(custom, -1) {
		quoted := strings.ContainsRune(`'"\%`, rune(part[0]))
		if quoted && len(part) == 1 || strings.HasPrefix(part, "ffffffff") || strings.HasPrefix(part, "FFFFFFFF") {
			fail("has an invalid parameter: '%s' is not a valid DateTime format string", format)
		}
		switch {
		case part[0] == '\'' || part[0] == '"':
			out += strings.Trim(part, part[:1])
		case part[0] == '\\':
			out += part[1:]
		case part[0] == '%':
			out += datePart(t, part[1:])
		case part[0] == 'F' && datePart(t, part) == "": // without a fraction there is no point
			out = strings.TrimSuffix(out, ".")
		default:
			out += datePart(t, part)
		}
	}
	return out
}

// datePart returns what a repeated letter of a custom format yields; what is none is a literal.
func datePart(t time.Time, part string) string {
	n := len(part)
	fraction := fmt.Sprintf("%09d", t.Nanosecond())[:min(n, 9)]
	forms, known := customDates[part[0]]
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
		return "+0"
	}
	return text
}

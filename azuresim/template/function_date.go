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
	"dateTimeAdd": dateTimeAdd,
	"dateTimeFromEpoch": fn1(func(v any) any {
		n, is := v.(int64)
		if t, text := v.(string); text {
			var err error
			n, err = strconv.ParseInt(strings.TrimSpace(t), 10, 64)
			is = err == nil
		}
		if t := time.Unix(n, 0).UTC(); is && representable(t) && n < 1<<40 && n > -1<<40 {
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

func dateTimeAdd(_ *scope, a []any) any {
	t := dateOf(a[0].(string))
	seconds, nanoseconds := durationOf(a[1].(string))
	t = time.Unix(t.Unix()+seconds, int64(t.Nanosecond())+nanoseconds).UTC()
	if !representable(t) {
		fail("was asked for a value that results in an un-representable DateTime")
	}
	return dateText(t, arg(a, 2, "yyyy-MM-ddTHH:mm:ssZ"))
}

// standardDates are the standard formats of a DateTimeOffset in the invariant culture.
// Source: https://learn.microsoft.com/dotnet/standard/base-types/standard-date-and-time-format-strings.
var standardDates = map[string]string{"d": "MM/dd/yyyy", "D": "dddd, dd MMMM yyyy", "f": "dddd, dd MMMM yyyy HH:mm",
	"F": "dddd, dd MMMM yyyy HH:mm:ss", "g": "MM/dd/yyyy HH:mm", "G": "MM/dd/yyyy HH:mm:ss", "m": "MMMM dd", "M": "MMMM dd",
	"o": "yyyy-MM-ddTHH:mm:ss.fffffffzzz", "O": "yyyy-MM-ddTHH:mm:ss.fffffffzzz", "r": "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
	"R": "ddd, dd MMM yyyy HH:mm:ss 'GMT'", "s": "yyyy-MM-ddTHH:mm:ss", "t": "HH:mm", "T": "HH:mm:ss", "u": "yyyy-MM-dd HH:mm:ss'Z'",
	"y": "yyyy MMMM", "Y": "yyyy MMMM", "": "MM/dd/yyyy HH:mm:ss zzz"}

// customDates are what a letter of a custom format yields if it is repeated once, twice and more often, in Go's own form; others are
// literals. Source: https://learn.microsoft.com/dotnet/standard/base-types/custom-date-and-time-format-strings.
var customDates = map[byte][]string{'d': {"2", "02", "Mon", "Monday"}, 'M': {"1", "01", "Jan", "January"}, 'H': {"", "15"},
	'h': {"3", "03"}, 'm': {"4", "04"}, 's': {"5", "05"}, 't': {"", "PM"}, 'y': {"", "06"}, 'z': {"", "-07", "-07:00"},
	'K': {"-07:00"}, 'g': {"A.D."}}

// dateText formats a time as .NET does.
func dateText(t time.Time, format string) any {
	bad := func() { fail("has an invalid parameter: '%s' is not a valid DateTime format string", format) }
	rest, standard := standardDates[format]
	if rest = cond(standard, rest, format); len(rest) == 1 {
		bad()
	}
	var out strings.Builder
	for rest != "" {
		c := rest[0]
		n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
		switch c {
		case '\'', '"':
			text, more, ended := strings.Cut(rest[1:], rest[:1])
			if !ended {
				bad()
			}
			out.WriteString(text)
			rest = more
			continue
		case '\\', '%':
			if len(rest) < 2 || rest[:2] == "%%" {
				bad()
			}
			if rest = rest[1:]; c == '\\' {
				out.WriteByte(rest[0])
				rest = rest[1:]
				continue
			}
			c, n = rest[0], 1
		}
		if part, ok := datePart(t, c, n); ok {
			if part == "" && c == 'F' { // without a fraction there is no point
				text := strings.TrimSuffix(out.String(), ".")
				out.Reset()
				out.WriteString(text)
			}
			out.WriteString(part)
		} else if c == 'f' || c == 'F' {
			bad()
		} else {
			out.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	return out.String()
}

// datePart returns what n repeated letters of a custom format yield; false if they are literals.
func datePart(t time.Time, c byte, n int) (string, bool) {
	fraction := fmt.Sprintf("%09d", t.Nanosecond())[:min(n, 9)]
	forms, known := customDates[c]
	switch {
	case c == 'y' && n != 2:
		return fmt.Sprintf("%0*d", n, t.Year()%cond(n == 1, 100, 1_000_000)), true
	case c == 'f':
		return fraction, n <= 7
	case c == 'F':
		return strings.TrimRight(fraction, "0"), n <= 7
	case c == 'H' && n == 1:
		return strconv.Itoa(t.Hour()), true
	case c == 't' && n == 1:
		return t.Format("PM")[:1], true
	case c == 'z' && n == 1:
		return "+0", true
	case !known:
		return "", false
	case c == 'K':
		return strings.Repeat("+00:00", n), true
	}
	return t.Format(forms[min(n, len(forms))-1]), true
}

package template

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/azuresim/template/datum"
)

var dateFunctions = functions{
	"utcNow": func(s *scope, a []any) any {
		s.need(placeDefault)
		if s.Now.IsZero() {
			return datum.Later{}
		}
		return dateText(s.Now.UTC(), arg(a, 0, "yyyyMMddTHHmmssZ"))
	},
	"dateTimeAdd": func(s *scope, a []any) any {
		t := dateOf(s, a[0].(string))
		seconds, nanoseconds := durationOf(a[1].(string))
		t = time.Unix(t.Unix()+seconds, int64(t.Nanosecond())+nanoseconds).UTC()
		if !representable(t) {
			fail("was asked for a value that results in an un-representable DateTime")
		}
		return dateText(t, arg(a, 2, "yyyy-MM-ddTHH:mm:ssZ"))
	},
	"dateTimeFromEpoch": unaryFunc(func(v any) any {
		n, err := strconv.ParseInt(strings.TrimSpace(fmt.Sprint(v)), 10, 64)
		if t := time.Unix(n, 0).UTC(); err == nil && representable(t) && n < 1<<40 && n > -1<<40 {
			return t.Format("2006-01-02T15:04:05Z")
		}
		return fail("has the value '%v', which is no time in seconds from 1970", v)
	}),
	"dateTimeToEpoch": func(s *scope, a []any) any { return dateOf(s, a[0].(string)).Unix() },
}

func representable(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// dateOf parses a time; without an offset it is UTC.
func dateOf(s *scope, text string) time.Time {
	t, _, err := culture.ParseDate(text, s.Now)
	if err != nil {
		t, _, err = culture.ParseExact(text, "yyyyMMddTHHmmssK", s.Now) // the form of utcNow
	}
	if err != nil {
		fail("has an invalid parameter: '%s' is not a valid ISO8601 DateTime string", text)
	}
	return t
}

var durations = regexp.MustCompile(`^\s*(-?)P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?\s*$`)

// durationOf parses an ISO 8601 duration: a year has 365 days and a month 30.
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

// dateText formats a UTC time as .NET formats a DateTimeOffset, which does not support the format
// U.
func dateText(t time.Time, format string) any {
	text, err := culture.Date(t, "+00:00", format)
	if err != nil || format == "U" {
		fail("has an invalid parameter: '%s' is not a valid DateTime format string", format)
	}
	return text
}

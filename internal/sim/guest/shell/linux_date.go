package shell

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func date(_ context.Context, p *Process, o options) int {
	now := p.now().UTC()
	if o.has("r") {
		info, err := p.Guest.Root.Stat(p.Abs(o.value("r")))
		if err != nil {
			return p.Fail(1, "date: %s: %s", o.value("r"), reason(err))
		}
		now = info.ModTime().UTC()
	}
	if o.has("d") {
		at, ok := parseDate(o.value("d"), now)
		if !ok {
			return p.refuseAs(1, "date -d %q", o.value("d"))
		}
		now = at.UTC()
	}
	if len(o.operands) > 1 {
		return p.Fail(1, "date: extra operand '%s'", o.operands[1])
	}
	if zone := p.Env["TZ"]; !o.has("u") && strings.Trim(zone, ":") != "" &&
		!slices.Contains([]string{"UTC", "UTC0", "Etc/UTC", "GMT", "Universal", "Zulu"}, strings.Trim(zone, ":")) {
		return p.Refuse("date in the time zone %s", zone)
	}
	format := "%a %b %e %H:%M:%S UTC %Y"
	switch {
	case len(o.operands) > 0 && strings.HasPrefix(o.operands[0], "+"):
		format = o.operands[0][1:]
	case len(o.operands) > 0:
		return p.Refuse("date %s: a guest's clock cannot be set", o.operands[0])
	case o.has("I"):
		format = map[string]string{
			"": "%Y-%m-%d", "date": "%Y-%m-%d", "hours": "%Y-%m-%dT%H+00:00", "minutes": "%Y-%m-%dT%H:%M+00:00",
			"seconds": "%Y-%m-%dT%H:%M:%S+00:00", "s": "%Y-%m-%dT%H:%M:%S+00:00",
		}[o.value("I")]
	case o.has("R"):
		format = "%a, %d %b %Y %H:%M:%S +0000"
	case o.has("rfc-3339"):
		format = map[string]string{"date": "%Y-%m-%d", "seconds": "%Y-%m-%d %H:%M:%S+00:00"}[o.value("rfc-3339")]
	}
	text, unknown := dateText(format, now)
	if unknown != "" || format == "" {
		return p.Refuse("date with the format %s", unknown)
	}
	p.Printf("%s\n", text)
	return 0
}

// dateText formats a time as strftime does.
func dateText(format string, t time.Time) (text, unknown string) {
	layouts := map[byte]string{'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05",
		'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06", 'y': "06", 'I': "03", 'p': "PM",
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'e': "_2", 'R': "15:04",
		'r': "03:04:05 PM", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05"}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		pad := byte(0)
		if format[i] == '^' && i+1 < len(format) {
			upper, unknown := dateText("%"+format[i+1:i+2], t)
			if unknown != "" {
				return "", unknown
			}
			b.WriteString(strings.ToUpper(upper))
			i++
			continue
		}
		if (format[i] == '-' || format[i] == '_' || format[i] == '0') && i+1 < len(format) {
			pad = format[i]
			i++
		}
		digits := 9
		if format[i] >= '1' && format[i] <= '9' && i+1 < len(format) && format[i+1] == 'N' {
			digits = int(format[i] - '0')
			i++
		}
		part := ""
		switch c := format[i]; c {
		case '%':
			part = "%"
		case 'n':
			part = "\n"
		case 't':
			part = "\t"
		case 's':
			part = strconv.FormatInt(t.Unix(), 10)
		case 'N':
			part = t.Format(".000000000")[1 : 1+digits]
		case 'j':
			part = t.Format("002")
		case 'u':
			part = strconv.Itoa((int(t.Weekday())+6)%7 + 1)
		case 'w':
			part = strconv.Itoa(int(t.Weekday()))
		case 'k':
			part = fmt.Sprintf("%2d", t.Hour())
		case 'l':
			part = fmt.Sprintf("%2d", (t.Hour()+11)%12+1)
		case 'C':
			part = fmt.Sprintf("%02d", t.Year()/100)
		case 'q':
			part = strconv.Itoa((int(t.Month())-1)/3 + 1)
		case 'P':
			part = strings.ToLower(t.Format("PM"))
		case 'G', 'V', 'g':
			year, week := t.ISOWeek()
			part = map[byte]string{'G': strconv.Itoa(year), 'V': fmt.Sprintf("%02d", week), 'g': fmt.Sprintf("%02d", year%100)}[c]
		case 'U':
			part = fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7)
		case 'W':
			part = fmt.Sprintf("%02d", (t.YearDay()+6-(int(t.Weekday())+6)%7)/7)
		case ':':
			if !strings.HasPrefix(format[i:], ":z") {
				return "", "%:"
			}
			i++
			part = "+00:00"
		case 'Z':
			part = "UTC"
		case 'z':
			part = "+0000"
		default:
			layout, ok := layouts[c]
			if !ok {
				return "", "%" + string(rune(c))
			}
			part = t.Format(layout)
		}
		if pad == '-' {
			if part = strings.TrimLeft(part, "0 "); part == "" {
				part = "0"
			}
		}
		b.WriteString(part)
	}
	return b.String(), ""
}

// parseDate reads the dates of date -d and touch -d that scripts write.
func parseDate(text string, now time.Time) (time.Time, bool) {
	text = strings.TrimSpace(text)
	if seconds, ok := strings.CutPrefix(text, "@"); ok {
		n, err := strconv.ParseInt(seconds, 10, 64)
		return time.Unix(n, 0).UTC(), err == nil
	}
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02",
		"2006-01-02 15:04:05 UTC", "2006-01-02 UTC", time.RFC1123, time.RFC1123Z, time.UnixDate, "Jan _2 15:04:05 2006 MST",
		"2 Jan 2006", "2 January 2006", "20060102",
		"Jan 2 2006", "Jan 2, 2006", "January 2, 2006", "01/02/2006", "2006-01-02 15:04:05 -0700", "2 Jan 2006 15:04:05", "2006/01/02",
		"2006-01-02T15:04", "20060102T150405Z", "Jan 2 15:04:05 2006", "2006-01-02 15:04:05.999999999",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	switch text {
	case "now", "today", "":
		return now, true
	case "yesterday":
		return now.AddDate(0, 0, -1), true
	case "tomorrow":
		return now.AddDate(0, 0, 1), true
	}
	return relativeDate(strings.Fields(text), now)
}

// relativeDate reads a date with what is added to it: 2024-01-31 12:00 UTC + 1 day, next week, 3 days ago.
func relativeDate(words []string, now time.Time) (time.Time, bool) {
	if len(words) == 0 {
		return now, true
	}
	for n := len(words); n > 0; n-- { // the longest start that is a date by itself
		if n == len(words) {
			continue
		}
		head := strings.Join(words[:n], " ")
		if len(words[0]) > 2 && (words[0][0] >= '0' && words[0][0] <= '9' && strings.ContainsAny(words[0], "-:") || words[0][0] == '@' ||
			slices.Contains([]string{"now", "today", "yesterday", "tomorrow"}, words[0]) || words[0][0] >= 'A' && words[0][0] <= 'Z') {
			if from, ok := parseDate(head, now); ok {
				return relativeDate(words[n:], from)
			}
		}
	}
	switch words[0] {
	case "next":
		words = append([]string{"1"}, words[1:]...)
	case "last":
		words = append([]string{"-1"}, words[1:]...)
	case "+", "-":
		if len(words) < 2 {
			return now, false
		}
		words = append([]string{words[0] + words[1]}, words[2:]...)
	case "UTC", "GMT", "Z":
		return relativeDate(words[1:], now)
	}
	if at, err := time.Parse("15:04:05", words[0]); err == nil {
		now = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
		return relativeDate(words[1:], now)
	}
	if at, err := time.Parse("15:04", words[0]); err == nil {
		now = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
		return relativeDate(words[1:], now)
	}
	if i := strings.IndexFunc(words[0], func(r rune) bool { return r >= 'a' && r <= 'z' }); i > 0 { // +1day
		words = append([]string{words[0][:i], words[0][i:]}, words[1:]...)
	}
	sign := 1
	rest := words[min(2, len(words)):]
	if len(rest) > 0 && rest[0] == "ago" {
		sign, rest = -1, rest[1:]
	}
	if len(rest) > 0 {
		next, ok := relativeDate(words[:2], now)
		if !ok {
			return now, false
		}
		if sign < 0 {
			next = now.Add(now.Sub(next))
			if back, ok := relativeDate([]string{strings.TrimPrefix("-"+words[0], "--"), words[1]}, now); ok {
				next = back
			}
		}
		return relativeDate(rest, next)
	}
	words = words[:min(2, len(words))]
	if len(words) != 2 {
		return time.Time{}, false
	}
	n, err := strconv.Atoi(words[0])
	n *= sign
	switch strings.TrimSuffix(words[1], "s") {
	case "sec", "second":
		now = now.Add(time.Duration(n) * time.Second)
	case "min", "minute":
		now = now.Add(time.Duration(n) * time.Minute)
	case "hour":
		now = now.Add(time.Duration(n) * time.Hour)
	case "day":
		now = now.AddDate(0, 0, n)
	case "week":
		now = now.AddDate(0, 0, 7*n)
	case "month":
		now = now.AddDate(0, n, 0)
	case "year":
		now = now.AddDate(n, 0, 0)
	default:
		return time.Time{}, false
	}
	return now, err == nil
}

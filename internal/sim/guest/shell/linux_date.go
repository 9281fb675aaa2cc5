package shell

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
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
		at, err := parseDate(o.value("d"), now)
		if err == errNoDate {
			return p.Fail(1, "date: invalid date '%s'", o.value("d"))
		}
		if err != nil {
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

// dateText formats a time as strftime does. unknown is the first directive that is unknown, or "".
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
		pad, upper, width := byte(0), false, 0
		for ; i+1 < len(format) && strings.IndexByte("-_0^", format[i]) >= 0; i++ {
			if upper = upper || format[i] == '^'; format[i] != '^' {
				pad = format[i]
			}
		}
		for ; i+1 < len(format) && format[i] >= '0' && format[i] <= '9'; i++ {
			width = min(width*10+int(format[i]-'0'), 1000)
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
			part = t.Format(".000000000")[1 : 1+min(cmp.Or(width, 9), 9)]
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
			zone := map[int]string{1: "+00:00", 2: "+00:00:00", 3: "+00"}[len(format[i:])-len(strings.TrimLeft(format[i:], ":"))]
			if i += strings.Count(zone, ":") + map[bool]int{true: 3}[zone == "+00"]; zone == "" || i >= len(format) || format[i] != 'z' {
				return "", "%:"
			}
			part = zone
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
		number := strings.Trim(part, "0123456789 ") == ""
		if trimmed := strings.TrimLeft(part, "0 "); pad == '_' && number {
			part = strings.Repeat(" ", len(part)-len(trimmed)) + trimmed
		}
		if pad == '0' {
			part = strings.ReplaceAll(part, " ", "0")
		}
		if upper {
			part = strings.ToUpper(part)
		}
		if missing := width - len(part); missing > 0 && pad != '-' {
			fill := " "
			if pad == '0' || pad == 0 && number && part[0] != ' ' {
				fill = "0"
			}
			part = strings.Repeat(fill, missing) + part
		}
		b.WriteString(part)
	}
	return b.String(), ""
}

// dateItems matches an item of a date as GNU's parser accepts it (coreutils' manual, "Date input formats"), the
// longest form first. Each named group is the field that it sets.
var dateItems = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`@(?P<epoch>-?\d+)(?:\.\d+)?`,
	`(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})(?:t|\b)`,
	`(?P<month>\d{1,2})/(?P<day>\d{1,2})(?:/(?P<year>\d{4}|\d\d))?\b`,
	`(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)\b`,
	`(?P<day>\d{1,2})[ -]*(?P<name>` + monthNames + `)[a-z]*\.?(?:[ -]*(?P<year>\d{4}))?\b`,
	`(?P<name>` + monthNames + `)[a-z]*\.? *(?P<day>\d{1,2})\b(?:,? +(?P<year>\d{4})\b)?`,
	`(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)? *` +
		`(?:(?P<half>am|pm)\b|(?P<zone>[-+] *\d\d?(?::?\d\d)?))?`,
	`(?P<hour>\d{1,2}) *(?P<half>am|pm)\b`,
	`(?P<utc>utc|gmt|z)\b`,
	`(?P<count>[-+]? *\d+|next|first|last|this|) *(?P<unit>year|month|fortnight|week|day|hour|minute|min|second|sec)s?\b(?P<ago> +ago)?`,
	`(?P<count>next|last|this|) *(?P<weekday>sun|mon|tue|wed|thu|fri|sat)[a-z]*,?`,
	`(?P<relative>now|today|yesterday|tomorrow)\b`,
	`(?P<year>\d{4})\b`,
}, `|`) + `)`)

const monthNames = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"

// dateWords matches the beginnings of the words in GNU's dates.
var dateWords = regexp.MustCompile(`^(?:` + monthNames + `|sun|mon|tue|wed|thu|fri|sat|year|month|fortnight|week|day|hour|min|sec|` +
	`next|last|this|first|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|now|today|yesterday|tomorrow|ago|` +
	`am|pm|utc|gmt|ut|wet|west|bst|art|brt|brst|nst|ndt|ast|adt|clt|clst|est|edt|cst|cdt|mst|mdt|pst|pdt|akst|akdt|hst|hast|hadt|` +
	`sst|wat|cet|cest|met|mez|mest|mesz|eet|eest|cat|sast|eat|msk|msd|ist|sgt|kst|jst|gst|nzst|nzdt|dst|[a-z](?:[^a-z]|$)|tz=|[^a-z])`)

const (
	errNoDate      = saying("no date")
	errUnknownDate = saying("a date of an unknown form")
)

// parseDate parses a date of date -d and touch -d. It distinguishes texts that the real program refuses too from
// forms that are not simulated.
func parseDate(text string, now time.Time) (time.Time, error) {
	rest := strings.TrimSpace(strings.ToLower(text))
	set := map[string]string{}
	add := map[string]int{}
	for rest != "" {
		m := dateItems.FindStringSubmatch(rest)
		if m == nil && !dateWords.MatchString(rest) {
			return now, errNoDate
		}
		if m == nil {
			return now, errUnknownDate
		}
		item := map[string]string{}
		for i, name := range dateItems.SubexpNames() {
			if name != "" && m[i] != "" {
				item[name] = m[i]
			}
		}
		if item["unit"] != "" {
			n, err := strconv.Atoi(strings.ReplaceAll(cmp.Or(item["count"], "1"), " ", ""))
			if err != nil {
				n = map[string]int{"next": 1, "first": 1, "last": -1}[item["count"]]
			}
			if item["ago"] != "" {
				n = -n
			}
			add[item["unit"]] += n
			item = map[string]string{"relative": "now"}
		}
		for name, value := range item {
			if set[name] != "" && name != "relative" && name != "utc" {
				return now, errNoDate
			}
			set[name] = value
		}
		add["day"] += map[string]int{"yesterday": -1, "tomorrow": 1}[item["relative"]]
		rest = strings.TrimLeft(rest[len(m[0]):], " \t")
	}
	return dateOf(set, add, now)
}

// dateOf returns the date with the given fields. As in GNU's parser, the day defaults to today and the time to
// midnight, unless only a distance is given.
func dateOf(set map[string]string, add map[string]int, now time.Time) (time.Time, error) {
	n := func(name string, other int) int {
		if v, err := strconv.Atoi(set[name]); err == nil {
			return v
		}
		return other
	}
	year, month, day := now.Date()
	dated := set["day"] != "" || set["weekday"] != ""
	year, month, day = n("year", year), time.Month(n("month", int(month))), n("day", day)
	if set["name"] != "" {
		month = time.Month(strings.Index(monthNames, set["name"])/4 + 1)
	}
	if len(set["year"]) == 2 {
		year += 1900 + map[bool]int{true: 100}[year < 69]
	}
	hour, minute, second, nano := 0, 0, 0, 0
	switch {
	case set["hour"] != "":
		hour, minute, second = n("hour", 0), n("minute", 0), n("second", 0)
		nano, _ = strconv.Atoi((set["fraction"] + "000000000")[:9])
		if set["half"] != "" && (hour < 1 || hour > 12) {
			return now, errNoDate
		} else if set["half"] != "" {
			hour = hour%12 + map[string]int{"pm": 12}[set["half"]]
		}
	case set["relative"] != "" && !dated:
		hour, minute, second, nano = now.Hour(), now.Minute(), now.Second(), now.Nanosecond()
	}
	if set["year"] != "" && set["day"] == "" {
		return now, errUnknownDate
	}
	t := time.Date(year, month, day, hour, minute, second, nano, time.UTC)
	if t.Day() != day || t.Month() != month || hour > 23 || minute > 59 || second > 59 {
		return now, errNoDate
	}
	if zone := strings.NewReplacer(":", "", " ", "").Replace(set["zone"]); zone != "" {
		value, _ := strconv.Atoi(zone)
		if len(zone) <= 3 {
			value *= 100
		}
		if value > 2400 || value < -2400 {
			return now, errNoDate
		}
		t = t.Add(-time.Duration(value/100)*time.Hour - time.Duration(value%100)*time.Minute)
	}
	if set["weekday"] != "" && set["day"] == "" {
		ordinal := map[string]int{"next": 1, "last": -1}[set["count"]]
		distance := (strings.Index("sunmontuewedthufrisat", set["weekday"])/3 - int(t.Weekday()) + 7) % 7
		if ordinal > 0 && distance != 0 {
			ordinal--
		}
		t = t.AddDate(0, 0, distance+7*ordinal)
	}
	t = t.AddDate(add["year"], add["month"], add["day"]+7*add["week"]+14*add["fortnight"])
	t = t.Add(time.Duration(add["hour"])*time.Hour + time.Duration(add["minute"]+add["min"])*time.Minute +
		time.Duration(add["second"]+add["sec"])*time.Second)
	if epoch := set["epoch"]; epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || len(set) > 1 {
			return now, errUnknownDate
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	return t, nil
}

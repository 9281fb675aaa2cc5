package dotnet

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fields are the parts of a parsed time; -1 means that a part is missing.
type fields struct {
	year, month, day, hour, minute, second, nanosecond int
	afternoon                                          int // 0 is before noon, 1 is after it
	weekday                                            int
	offset                                             int // seconds east of UTC
	zoned                                              bool
}

func noFields() fields {
	return fields{year: -1, month: -1, day: -1, hour: -1, minute: -1, second: -1, afternoon: -1, weekday: -1}
}

// time returns the time of the fields in UTC. A missing date means today, and a missing year this year; other missing
// fields have their smallest value.
func (f fields) time(now time.Time) (time.Time, error) {
	switch {
	case f.afternoon == 1 && f.hour < 12:
		f.hour += 12
	case f.afternoon == 0 && f.hour == 12:
		f.hour = 0
	case f.afternoon == 0 && f.hour > 12:
		return time.Time{}, ErrDate
	}
	if f.year < 0 && f.month < 0 && f.day < 0 {
		f.month, f.day = int(now.Month()), now.Day()
	}
	year, month, day := cond(f.year < 0, now.Year(), f.year), cond(f.month < 0, 1, f.month), cond(f.day < 0, 1, f.day)
	hour, minute, second := max(f.hour, 0), max(f.minute, 0), max(f.second, 0)
	t := time.Date(year, time.Month(month), day, hour, minute, second, f.nanosecond, time.UTC)
	switch {
	case year < 1 || year > 9999 || month < 1 || month > 12 || t.Day() != day || hour > 23 || minute > 59 || second > 59:
		return time.Time{}, ErrCalendar
	case f.weekday >= 0 && int(t.Weekday()) != f.weekday:
		return time.Time{}, ErrWeekday
	}
	return t.Add(-time.Duration(f.offset) * time.Second), nil
}

// set sets the field for a letter of a custom format.
func (f *fields) set(letter byte, text string) {
	n, _ := strconv.Atoi(text)
	switch letter {
	case 'y':
		f.year = fullYear(n, len(text))
	case 'M':
		if f.month = n; text[0] > '9' {
			f.month = named(text, time.January, time.December)
		}
	case 'd':
		if text[0] > '9' {
			f.weekday = named(text, time.Sunday, time.Saturday)
		} else {
			f.day = n
		}
	case 'h', 'H':
		f.hour = n
	case 'm':
		f.minute = n
	case 's':
		f.second = n
	case 'f', 'F':
		f.nanosecond = fraction(text)
	case 't':
		f.afternoon = cond(text[0]|0x20 == 'p', 1, 0)
	case 'z', 'K':
		f.zone(text)
	}
}

// fullYear completes a year of two digits; the latest is 2049.
func fullYear(n, digits int) int {
	if digits > 2 {
		return n
	}
	return n + cond(n < 50, 2000, 1900)
}

// fraction returns the nanoseconds for the digits after a point, rounded to seven digits.
func fraction(digits string) int {
	f, _ := strconv.ParseFloat("0."+digits, 64)
	return int(f*1e7+0.5) * 100
}

// zone sets the offset for Z, GMT or an offset; "" sets none.
func (f *fields) zone(text string) {
	if f.zoned = text != ""; !f.zoned || strings.ContainsAny(text[:1], "ZzGg") {
		return
	}
	digits := strings.ReplaceAll(text[1:], ":", "")
	hours, minutes := digits, "0"
	if len(digits) > 2 {
		hours, minutes = digits[:2], digits[2:]
	}
	h, _ := strconv.Atoi(hours)
	m, _ := strconv.Atoi(minutes)
	f.offset = cond(text[0] == '-', -60, 60) * (60*h + m)
}

// named returns the number of a month or day with a name or its first three letters, or -1.
func named[T interface {
	~int
	String() string
}](text string, first, last T) int {
	for n := first; n <= last; n++ {
		if name := n.String(); strings.EqualFold(text, name) || strings.EqualFold(text, name[:3]) {
			return int(n)
		}
	}
	return -1
}

// readForms are the patterns that match a letter of a custom format that is repeated once, twice and so on.
var readForms = map[byte][]string{'d': {`\d{1,2}`, `\d{2}`, days, days}, 'M': {`\d{1,2}`, `\d{2}`, months, months},
	'H': {`\d{1,2}`, `\d{2}`}, 'h': {`0?[1-9]|1[0-2]`, `0[1-9]|1[0-2]`}, 'm': {`\d{1,2}`, `\d{2}`}, 's': {`\d{1,2}`, `\d{2}`},
	't': {`[AP]`, `[AP]M`}, 'y': {`\d{1,2}`, `\d{2}`, `\d{3,4}`, `\d{4}`}, 'z': {`[-+]\d{1,2}`, `[-+]\d{2}`, `[-+]\d{2}:?\d{2}`},
	'K': {`(?:Z|[-+]\d{2}:\d{2})?`}}

const (
	days   = `(?:sun|mon|tue|wed|thu|fri|sat)[a-z]*`
	months = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*`
)

// maxForm limits the length of a format for parsing a time.
const maxForm = 1000

// ParseExact parses a time in a given format and returns it in UTC; zoned is true if the text has a zone.
func (c *Culture) ParseExact(text, spec string, now time.Time) (t time.Time, zoned bool, err error) {
	custom, standard := c.standard(spec)
	switch {
	case spec == "":
		return t, false, ErrSpecifier
	case !standard && len(spec) == 1:
		return t, false, ErrInput
	case !standard:
		custom = spec
	}
	if len(spec) > maxForm {
		return t, false, ErrInput
	}
	pattern, letters := `(?is)^`, ""
	err = split(custom, func(letter byte, part string) error {
		forms, is := readForms[letter]
		switch n := strconv.Itoa(len(part)); {
		case letter == 'f':
			forms = []string{`\d{` + n + `}`}
		case letter == 'F': // an empty fraction has no point
			pattern, forms = strings.TrimSuffix(pattern, `\.`)+`\.?`, []string{`\d{0,` + n + `}`}
		case !is:
			pattern += regexp.QuoteMeta(part)
			return nil
		}
		pattern += `(` + forms[min(len(part), len(forms))-1] + `)`
		letters += part[:1]
		return nil
	})
	if err != nil {
		return t, false, err
	}
	form, err := regexp.Compile(pattern + `$`)
	if err != nil { // the format is not UTF-8
		return t, false, ErrInput
	}
	m := form.FindStringSubmatch(text)
	if m == nil {
		return t, false, ErrDate
	}
	f := noFields()
	for i := range len(letters) {
		f.set(letters[i], m[i+1])
	}
	if f.month == 0 || f.day == 0 {
		return t, false, ErrCalendar
	}
	t, err = f.time(now)
	return t, f.zoned, err
}

// clocks matches a time of day with its zone; zones matches a zone after a date.
var (
	clocks = regexp.MustCompile(`(?i)(?:^|T|[\s,])\s*(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?(?:\s*([AP]M))?|\s*([AP]M))` +
		`(?:\s*(Z|GMT|[-+]\d{2}(?::?\d{2})?))?(?:$|[\s,])`)
	zones     = regexp.MustCompile(`(?i)\dZ$`)
	separator = regexp.MustCompile(`\s*,\s*|\.\s+|[-/.]|\s+`)
)

// ParseDate parses a time in any form that .NET accepts without a given format, and returns it in UTC; zoned is true if
// the text has a zone. It supports the forms with three parts, one separator and English names, as observed in
// PowerShell's output.
func (c *Culture) ParseDate(text string, now time.Time) (t time.Time, zoned bool, err error) {
	f := noFields()
	text = strings.TrimSpace(text)
	if m := clocks.FindStringSubmatchIndex(text); m != nil {
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		for i, letter := range []byte("Hmsf") {
			if g := group(i + 1); g != "" {
				f.set(letter, g)
			}
		}
		if half := cmp.Or(group(5), group(6)); half != "" {
			f.set('t', half)
		}
		f.zone(group(7))
		before, after := strings.Trim(text[:m[0]], " ,"), strings.Trim(text[m[1]:], " ,")
		if before != "" && after != "" { // the date has to be in one piece
			return t, false, ErrDate
		}
		text = before + after
	} else if zones.MatchString(text) {
		f.zoned, text = true, text[:len(text)-1]
	}
	if text != "" || f.hour < 0 {
		if !c.readDay(&f, separator.Split(text, -1)) {
			return t, false, ErrDate
		}
	}
	if t, err = f.time(now); err != nil {
		err = ErrDate
	}
	return t, f.zoned, err
}

// readDay parses the words of a date: numbers, and names of a month and a day of the week.
func (c *Culture) readDay(f *fields, words []string) bool {
	var numbers []string
	first := 0 // the number of numbers before the month's name
	for _, w := range words {
		month, weekday := named(w, time.January, time.December), named(w, time.Sunday, time.Saturday)
		switch {
		case w == "":
			return false
		case strings.Trim(w, "0123456789") == "" && len(w) <= 4:
			numbers = append(numbers, w)
		case month > 0 && f.month < 0:
			f.month, first = month, len(numbers)
		case weekday >= 0 && f.weekday < 0:
			f.weekday = weekday
		default:
			return false
		}
	}
	// order has a letter for each number: the field that the number sets.
	order, long := "", slices.IndexFunc(numbers, func(n string) bool { return len(n) > 2 })
	switch named := f.month > 0; {
	case named && len(numbers) == 1:
		order = cond(long == 0 || first == 1 && strings.HasPrefix(c.yearAndMonth, "y"), "y", "d")
	case named && len(numbers) == 2:
		order = cond(long == 0, "yd", "dy")
	case !named && len(numbers) == 2:
		order = cond(long == 0, "yM", cond(long == 1, "My", "Md"))
	case !named && len(numbers) == 3:
		order = cond(long == 0, "yMd", "Mdy")
	default:
		return false
	}
	for i, n := range numbers {
		if len(n) > 2 && order[i] != 'y' {
			return false
		}
		f.set(order[i], n)
	}
	return f.month != 0 && f.day != 0
}

// spans matches a span: only days, or hours and minutes with optional other parts.
var spans = regexp.MustCompile(`^(-?)(?:(\d{1,8})|(?:(\d{1,8})\.)?(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,7}))?)?|` +
	`(\d{1,8}):(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,7}))?)$`)

// maxDays limits the days of a span: more days do not fit into a time.Duration.
const maxDays = 106_750

// ParseSpan parses a span: [-][d.]hh:mm[:ss[.fffffff]], d:hh:mm:ss or days.
func ParseSpan(text string) (time.Duration, bool) {
	m := spans.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, false
	}
	number := func(i int, other ...int) int {
		for _, o := range other {
			i = cond(m[i] == "", o, i)
		}
		n, _ := strconv.Atoi(m[i])
		return n
	}
	d, h, min, s := number(2, 3, 8), number(4, 9), number(5, 10), number(6, 11)
	if d > maxDays || h > 23 || min > 59 || s > 59 {
		return 0, false
	}
	span := time.Duration(d*24+h)*time.Hour + time.Duration(min)*time.Minute + time.Duration(s)*time.Second +
		time.Duration(fraction(cmp.Or(m[7], m[12], "0")))
	return cond(m[1] == "-", -span, span), true
}

package logs

import (
	"regexp"
	"strings"
	"time"
)

// stamp is one format of a line's time.
type stamp struct {
	find   *regexp.Regexp
	layout string
}

// stamps are the time formats of the logs that casement reads: RFC 3339 (containers, journalctl, text handlers),
// Python's (cloud-init and cloudbase-init, the latter with a dot), and klog's, which has no year.
var stamps = []stamp{
	{regexp.MustCompile(`^(?:time=")?(?:time=)?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))`), time.RFC3339Nano},
	{regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4})`), "2006-01-02T15:04:05-0700"},
	{regexp.MustCompile(`^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[.,]\d+`), time.DateTime},
	{regexp.MustCompile(`^[IWEF](\d{4} \d\d:\d\d:\d\d\.\d+)`), "0102 15:04:05.000000"},
}

// When parses the time at the beginning of a log line; ok is false if there is none. Times without a zone are read as
// UTC, the zone of Azure's images; the year that klog omits is taken from now.
func When(line string, now time.Time) (at time.Time, ok bool) {
	for _, s := range stamps {
		m := s.find.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		t, err := time.Parse(s.layout, m[1])
		if err != nil {
			continue
		}
		if !strings.Contains(s.layout, "2006") {
			t = t.AddDate(now.UTC().Year(), 0, 0)
			if t.After(now.AddDate(0, 0, 1)) { // a line of last December that is read in January
				t = t.AddDate(-1, 0, 0)
			}
		}
		return t, true
	}
	return time.Time{}, false
}

// recent drops lines that are older than a time. A line without a time is treated like the line before it; lines before
// the first time are kept.
type recent struct {
	since, now time.Time
	old        bool
}

func (r *recent) pass(line string) bool {
	if r.since.IsZero() {
		return true
	}
	if at, ok := When(line, r.now); ok {
		r.old = at.Before(r.since)
	}
	return !r.old
}

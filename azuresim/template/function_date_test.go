package template

import "testing"

// TestDates: times, durations and their formats.
func TestDates(t *testing.T) {
	holds(t, [][2]string{
		{"[dateTimeAdd('January 2, 2024', ' P1D ', 'ss.FFF')]", `"00"`},
		{"[dateTimeAdd('2 January 2024 10:11 PM', 'PT0S')]", `"2024-01-02T22:11:00Z"`},
		{"[dateTimeAdd('2024-02-29', 'PT0S', '%H %t y yyyyy gg K')]", `"0 A 24 02024 A.D. +00:00"`},
		{"[dateTimeAdd('2024', 'PT0S')]", "DateTime string"},
		{"[dateTimeAdd('2024-01-31', 'P1M', 'yyyy-MM-dd')]", `"2024-03-01"`},
		{"[dateTimeAdd('2024-01-01T00:00:00+02:00', 'PT0S')]", `"2023-12-31T22:00:00Z"`},
		{"[dateTimeToEpoch('1970-01-02T00:00:00Z')]", "86400"}, {"[dateTimeAdd('2024-01-01', 'PT')]", "ISO8601 Duration"},
		{"[dateTimeAdd('2024-01-01T13:00:00Z', 'PT0S', 'hh tt')]", `"01 PM"`}, {"[utcNow()]", "not expected at this location"},
	})
}

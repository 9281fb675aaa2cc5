package model

import (
	"slices"
	"strings"
	"time"
)

// Minute counts the calls that the local Azure received in one minute.
type Minute struct {
	At time.Time `json:"at"`
	// Kinds counts calls: read, write, delete, poll, refused and throttled.
	Kinds map[string]int `json:"kinds"`
	// Types counts calls by resource type.
	Types map[string]int `json:"types"`
}

// Call is one request that the local Azure answered.
type Call struct {
	At           time.Time
	Method, Type string
	Status       int
}

// kind returns the key in Minute.Kinds under which a call is counted.
func (c Call) kind() string {
	switch {
	case c.Status == 429:
		return "throttled"
	case c.Status >= 400 && c.Status != 404:
		return "refused"
	case c.Type == "operations":
		return "poll"
	case c.Method == "GET" || c.Method == "HEAD":
		return "read"
	case c.Method == "DELETE":
		return "delete"
	}
	return "write"
}

// MaxMinutes is the number of minutes for which counts of calls are kept.
const MaxMinutes = 30

// Tally adds calls to minutes and returns the minutes to keep, oldest first.
func Tally(minutes []Minute, calls []Call) []Minute {
	for _, c := range calls {
		at := c.At.Truncate(time.Minute)
		i := slices.IndexFunc(minutes, func(m Minute) bool { return m.At.Equal(at) })
		if i < 0 {
			minutes = append(minutes, Minute{At: at, Kinds: map[string]int{}, Types: map[string]int{}})
			i = len(minutes) - 1
		}
		minutes[i].Kinds[c.kind()]++
		minutes[i].Types[strings.TrimPrefix(c.Type, "Microsoft.")]++
	}
	slices.SortFunc(minutes, func(a, b Minute) int { return a.At.Compare(b.At) })
	return slices.Clone(minutes[max(0, len(minutes)-MaxMinutes):])
}

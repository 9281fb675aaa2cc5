package recordings

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Messages of refusals that name another resource: a resource that no write has created yet, and a
// resource that another write is changing.
var (
	missing  = regexp.MustCompile(`^Resource (/\S+) not found\.$`)
	changing = regexp.MustCompile(`"Operation \w+ \([^)]*\) is updating resource (/[^\s"]+)\.`)
)

// decided returns the calls in the order in which Azure decided them. Recordings have the order of
// the responses, and calls overlap: a call, also a read, that was refused because a resource did
// not exist was decided before the write that created the resource; a call that was refused because
// of another write was decided after that write.
func decided(calls []call) []call {
	order := make([]int, len(calls))
	for i := range order {
		order[i] = i
	}
	for i, c := range calls {
		if c.Response.Code < 400 {
			continue
		}
		at, to := slices.Index(order, i), -1
		if !c.writes() {
			to = maker(calls, order[:at], c.lacked())
		} else if m := changing.FindStringSubmatch(c.Response.Body); m != nil {
			if n := slices.IndexFunc(order[at:], func(j int) bool { return calls[j].changed(m[1]) }); n > 0 {
				to = at + n
			}
		} else if m := missing.FindStringSubmatch(errorOf([]byte(c.Response.Body)).Message); m != nil {
			to = slices.IndexFunc(order[:at], func(j int) bool { return calls[j].changed(m[1]) })
		}
		if to >= 0 {
			order = slices.Insert(slices.Delete(order, at, at+1), to, i)
		}
	}
	out := make([]call, len(calls))
	for k, i := range order {
		out[k] = calls[i]
	}
	return out
}

// changed reports whether a call is an accepted write of a resource or of a child of it.
func (c call) changed(id string) bool {
	at := strings.ToLower(path(c.Request.URL))
	id = strings.ToLower(id)
	return c.writes() && c.Response.Code < 400 && (at == id || strings.HasPrefix(at, id+"/"))
}

// maker returns the index in order of the last write that created or deleted an object, if that
// write created it; otherwise -1.
func maker(calls []call, order []int, object string) int {
	for k := len(order) - 1; object != "" && k >= 0; k-- {
		c := calls[order[k]]
		at := strings.ToLower(path(c.Request.URL))
		if !c.writes() || c.Response.Code >= 400 || at != object && !strings.HasPrefix(object, at+"/") {
			continue
		}
		if c.Request.Method == http.MethodPut && at == object {
			return k
		}
		return -1
	}
	return -1
}

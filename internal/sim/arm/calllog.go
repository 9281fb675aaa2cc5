package arm

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// keptCalls bounds the calls that are remembered one by one.
const keptCalls = 2048

// Call is one request that was answered.
type Call struct {
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Type   string    `json:"type"`
	Status int       `json:"status"`
	Caller string    `json:"caller"`
}

// Counter counts equal calls.
type Counter struct {
	Verb   string `json:"verb"`
	Type   string `json:"type"`
	Status int    `json:"status"`
	Caller string `json:"caller"`
	Count  int    `json:"count"`
}

// CallLog is what was asked of the local Azure. Polls of operations are counted
// apart from other reads.
type CallLog struct {
	Counters                                 []Counter `json:"counters"`
	Recent                                   []Call    `json:"recent"`
	Reads, Writes, Deletes, Polls, Throttled int
}

type callLog struct {
	mu       sync.Mutex
	counters map[Counter]int
	recent   []Call
}

func newCallLog() *callLog { return &callLog{counters: map[Counter]int{}} }

func (l *callLog) add(c *call) {
	caller, _, _ := strings.Cut(c.r.UserAgent(), " ")
	typ := c.id.fullType()
	if _, poll := c.operationPath(); poll {
		typ = "operations"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counters[Counter{Verb: c.r.Method, Type: typ, Status: c.status, Caller: caller}]++
	if len(l.recent) >= keptCalls {
		l.recent = slices.Delete(l.recent, 0, keptCalls/2)
	}
	l.recent = append(l.recent, Call{Time: c.s.clock.Now(), Method: c.r.Method, Path: c.r.URL.Path, Type: typ, Status: c.status, Caller: caller})
}

// CallLog returns what was asked so far.
func (s *Server) CallLog() CallLog {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	out := CallLog{Recent: slices.Clone(s.calls.recent)}
	for key, n := range s.calls.counters {
		key.Count = n
		out.Counters = append(out.Counters, key)
		switch {
		case key.Type == "operations":
			out.Polls += n
		case key.Verb == http.MethodGet || key.Verb == http.MethodHead:
			out.Reads += n
		case key.Verb == http.MethodDelete:
			out.Deletes += n
		default:
			out.Writes += n
		}
		if key.Status == http.StatusTooManyRequests {
			out.Throttled += n
		}
	}
	slices.SortFunc(out.Counters, func(a, b Counter) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Verb+a.Type+a.Caller, b.Verb+b.Type+b.Caller)
	})
	return out
}

// stir wakes those who wait for a guest.
func (r *running) stir() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.ended)
	r.ended = make(chan struct{})
}

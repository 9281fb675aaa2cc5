package engine

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// keptCalls is the number of most recent calls that the log keeps individually.
const keptCalls = 2048

// Call is one answered request in the call log.
type Call struct {
	// Number counts all calls since the server began, from 1.
	Number uint64    `json:"number"`
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Type   string    `json:"type"`
	Status int       `json:"status"`
	Caller string    `json:"caller"`
	// Code is the error code of the answer; Fault is the kind and ID of the fault rule that
	// matched.
	Code  string `json:"code,omitempty"`
	Fault string `json:"fault,omitempty"`
	// APIVersion is the api-version of the request.
	APIVersion string `json:"apiVersion,omitempty"`
	// Seconds is the duration of the answer.
	Seconds float64 `json:"seconds"`
	// Principal is the object ID of the caller.
	Principal string `json:"-"`
}

// Counter is the number of calls of one kind.
type Counter struct {
	Verb   string `json:"verb"`
	Type   string `json:"type"`
	Status int    `json:"status"`
	Caller string `json:"caller"`
	Count  int    `json:"count"`
}

// CallLog summarises the calls that the local Azure has answered. Polls of operations are counted
// separately from other reads.
type CallLog struct {
	Counters                                 []Counter `json:"counters"`
	Recent                                   []Call    `json:"recent"`
	Reads, Writes, Deletes, Polls, Throttled int
	// Unsupported counts the calls that the local Azure does not model.
	Unsupported int
}

type callLog struct {
	mu       sync.Mutex
	counters map[Counter]int
	recent   []Call
	// writes are the most recent calls other than reads.
	writes []Call
	last   uint64
}

func newCallLog() *callLog { return &callLog{counters: map[Counter]int{}} }

func (l *callLog) add(c *Request) {
	caller, _, _ := strings.Cut(c.HTTP.UserAgent(), " ")
	typ := c.ID.FullType()
	if _, poll := c.OperationPath(); poll {
		typ = "operations"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counters[Counter{Verb: c.HTTP.Method, Type: typ, Status: c.status, Caller: caller}]++
	l.last++
	now := c.Server.Clock.Now()
	call := Call{Principal: c.Principal, Number: l.last, Time: now, Method: c.HTTP.Method, Path: c.HTTP.URL.Path,
		Type: typ, Status: c.status, Caller: caller,
		Code: c.Writer.Header().Get("x-ms-error-code"), Fault: c.fault, APIVersion: c.Version, Seconds: now.Sub(c.begun).Seconds()}
	l.recent = keep(l.recent, call)
	if c.HTTP.Method != http.MethodGet && c.HTTP.Method != http.MethodHead && c.ID.Subscription != "" {
		l.writes = keep(l.writes, call)
	}
}

// keep appends a call; when there are too many calls, it drops the older half.
func keep(calls []Call, c Call) []Call {
	if len(calls) >= keptCalls {
		calls = slices.Delete(calls, 0, keptCalls/2)
	}
	return append(calls, c)
}

// Writes returns the most recent calls other than reads.
func Writes(s *Server) []Call {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	return slices.Clone(s.calls.writes)
}

// CallsAfter returns the calls in the log whose number is higher than after.
func (s *Server) CallsAfter(after uint64) []Call {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	i, _ := slices.BinarySearchFunc(s.calls.recent, after+1, func(c Call, n uint64) int { return cmp.Compare(c.Number, n) })
	return slices.Clone(s.calls.recent[i:])
}

// CallLog returns the summary of all calls so far.
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
		if key.Status == http.StatusNotImplemented {
			out.Unsupported += n
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

// broadcast wakes all requests that wait for a guest's answer.
func (r *running) broadcast() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.ended)
	r.ended = make(chan struct{})
}

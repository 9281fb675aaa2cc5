package engine

import "time"

// Latency scales how long Azure's operations last: 1 is Azure's pace, 0.1 ten times as fast, 0
// (Instant) a few milliseconds for each operation.
type Latency float64

const (
	Instant Latency = 0
	Azure   Latency = 1
)

// instantDelay is how long an operation lasts in instant mode, so that clients still have to poll
// it.
const instantDelay = 3 * time.Millisecond

func (s *Server) Latency(azure time.Duration) time.Duration {
	if s.pace == Instant {
		return instantDelay
	}
	return time.Duration(float64(azure) * float64(s.pace))
}

// Of scales a duration of Azure's for a delay that is not an operation; it is 0 in instant mode.
func (l Latency) Of(azure time.Duration) time.Duration {
	return time.Duration(float64(azure) * float64(l))
}

package engine

import "time"

// Latency scales the durations Azure's operations take: 1 is Azure, 0.1 ten
// times as fast, 0 (Instant) a few milliseconds for each.
type Latency float64

const (
	Instant Latency = 0
	Azure   Latency = 1
)

// instantDelay keeps the long-running protocol alive in instant mode.
const instantDelay = 3 * time.Millisecond

func (s *Server) Latency(azure time.Duration) time.Duration {
	if s.pace == Instant {
		return instantDelay
	}
	return time.Duration(float64(azure) * float64(s.pace))
}

// Of is how long something takes that ends without an operation; nothing in instant
// mode.
func (l Latency) Of(azure time.Duration) time.Duration {
	return time.Duration(float64(azure) * float64(l))
}

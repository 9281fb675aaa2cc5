package shell

import (
	"errors"
	"time"
)

// Bounds of the HTTP requests of the guest's programs: the time of one request, and the bytes of its answer.
const (
	askTimeout = 30 * time.Second
	maxAnswer  = 1 << 20
)

// errNoNetwork is the error of requests in a guest without a network.
var errNoNetwork = errors.New("this guest is simulated and downloads nothing")

// saying is an error with the text of the real program.
type saying string

// Error implements error.
func (e saying) Error() string { return string(e) }

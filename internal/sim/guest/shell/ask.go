package shell

import (
	"errors"
	"time"
)

// Bounds of what a program of the guest asks by HTTP.
const (
	askTimeout = 30 * time.Second
	maxAnswer  = 1 << 20
)

// errNoNetwork is the error of requests in a guest without a network.
var errNoNetwork = errors.New("this guest is simulated and downloads nothing")

// saying is an error as the real program says it.
type saying string

// Error implements error.
func (e saying) Error() string { return string(e) }

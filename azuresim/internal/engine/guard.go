package engine

import (
	"fmt"
	"net/http"
	"runtime/debug"
)

// guarded answers a request. A panic in the server fails only that request: the client gets
// Azure's internal server error, and the log gets the stack.
func (c *Request) guarded() (err *Error) {
	defer func() {
		if p := recover(); p != nil {
			c.Server.Log.Error(fmt.Errorf("%v", p),
				"A request could not be answered; this is a mistake of the local Azure", "method", c.HTTP.Method,
				"path", c.HTTP.URL.Path, "stack", string(debug.Stack()))
			err = Refuse(http.StatusInternalServerError, "InternalServerError",
				"Encountered internal server error in the local Azure. Its log has the details.")
		}
	}()
	return c.serve()
}

// try runs fn. If fn panics, try discards fn's changes and unlocks the store before the panic
// continues, so that other requests do not wait without end.
func (s *Server) try(t *Tx, fn func(*Tx) error) error {
	ended := false
	defer func() {
		if !ended {
			t.revert()
			s.mu.Unlock()
		}
	}()
	err := fn(t)
	ended = true
	return err
}

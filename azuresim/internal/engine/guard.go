package engine

import (
	"fmt"
	"net/http"
	"runtime/debug"
)

// guarded answers a request. A mistake of ours in answering one costs that
// request alone: the client hears what Azure says of its own mistakes, and the
// stack is in the log.
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

// try runs fn, and lets go of the store before a panic goes on, so that nothing
// of fn's changes stays and no request waits without end.
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

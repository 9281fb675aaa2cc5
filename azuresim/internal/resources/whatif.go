package resources

import (
	"net/http"

	"casement.dev/casement/azuresim/internal/engine"
)

func whatIf(c *engine.Request, id engine.ID) *engine.Error {
	return engine.Refuse(http.StatusNotImplemented, "x", "x")
}

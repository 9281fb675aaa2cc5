package compute

import (
	_ "embed"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
)

// kept lists the resource types whose documents have no effect.
//
//go:embed kept.txt
var kept string

func keptTypes() []engine.Type {
	return engine.KeptTypes("Microsoft.Compute", kept, engine.Type{Style: engine.StyleCompute, Takes: 5 * time.Second})
}

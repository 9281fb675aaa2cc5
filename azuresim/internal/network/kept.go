package network

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
	return engine.KeptTypes(networkSpace, kept, engine.Type{Style: engine.StyleNetwork, ETag: engine.EtagWeak,
		Takes: 5 * time.Second, Retry: engine.Retry{Write: 10, Delete: 10}})
}

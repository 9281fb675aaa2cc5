// Package lro kills the local Azure, as kill -9 does, during a hundred long-running operations, and checks
// that each ends as Azure promises once it is back: an acknowledged operation continues, and any other is
// complete or has no effect.
package lro

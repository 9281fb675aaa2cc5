// Package lro kills the local Azure, like kill -9, during a hundred long-running operations, and
// checks that after the restart each ends as Azure promises: an acknowledged operation continues,
// and any other is complete or has no effect.
package lro

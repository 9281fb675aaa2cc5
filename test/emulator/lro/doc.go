// Package lro kills the local Azure, as kill -9 does, while a hundred
// long-running operations are under way, and looks whether each ends as Azure
// promises once it is back: what was acknowledged is carried on, what was not is
// wholly there or not at all.
package lro

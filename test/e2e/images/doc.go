// Package images builds node images on a local plane as a user does, and makes machines of them:
// each Windows release, builds that are killed and resumed, a cluster whose pool moves from one
// version to the next, and builds that fail, of which nothing is left.
//
// It holds tests only.
package images

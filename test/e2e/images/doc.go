// Package images builds node images on a local plane as a user does, and creates machines from
// them: each Windows release, builds that are killed and resumed, a cluster whose pool moves from
// one version to the next, and failing builds, which leave no resources.
//
// It contains only tests.
package images

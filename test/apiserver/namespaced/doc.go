// Package namespaced installs the overlay for single namespaces into a real API server and runs the
// manager with the overlay's rights: they must be enough for the whole life of a cluster, and give
// no access to other namespaces.
package namespaced

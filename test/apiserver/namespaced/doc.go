// Package namespaced installs the overlay for single namespaces into a real API server
// and runs the manager with the rights that it gives: they have to be enough for a whole
// life of a cluster, and for nothing in other namespaces.
package namespaced

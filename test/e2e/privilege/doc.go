// Package privilege compares the rights that casement-manager has with the rights that it uses, in
// both directions: its role in the management cluster with the API server's audit log, and the list
// of Azure actions with the local Azure's call log. The local plane runs the manager with the
// installed role, so that a missing right fails every other end-to-end test as well.
package privilege

// Package autoscaler runs the real cluster-autoscaler, from a given path, with clusters of a local
// plane: groups of machines, of machine pools and of a ClusterClass scale from and to zero, and
// conditions prevent scaling.
package autoscaler

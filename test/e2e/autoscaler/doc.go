// Package autoscaler runs the real cluster-autoscaler, a program that is given by its path,
// against clusters of a local plane: from and to groups of none, as machines, in machine pools
// and of a class, with what makes it stop.
package autoscaler

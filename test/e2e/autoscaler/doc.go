// Package autoscaler runs the real cluster-autoscaler, a program at a given path, against clusters of a
// local plane: groups scale from and to zero, as machines, in machine pools and of a class, and conditions
// stop it from scaling.
package autoscaler

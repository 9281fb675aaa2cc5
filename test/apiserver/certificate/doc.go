// Package certificate contains only tests: replicas of the manager share webhook certificates that
// a real API server trusts.
package certificate

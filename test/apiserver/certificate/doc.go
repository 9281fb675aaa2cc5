// Package certificate holds tests only: replicas of the manager share webhook certificates that a real API server trusts.
package certificate

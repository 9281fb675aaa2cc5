// Package crash kills the supervisor at seeded random moments while a cluster is created, scaled
// and deleted, and checks that every cluster is resumed.
//
// It contains only tests.
package crash

// Package helm installs, upgrades and uninstalls the chart of a release with Helm itself, its Go
// module, on a bare local plane.
//
// It contains only tests.
package helm

// Package helm installs, upgrades and uninstalls the chart of a release with Helm itself, its Go
// module, on a local plane that has nothing but Kubernetes.
//
// It holds tests only.
package helm

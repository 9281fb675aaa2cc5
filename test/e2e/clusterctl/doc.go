// Package clusterctl installs casement with the real clusterctl of the Cluster API release that
// go.mod names, from a local repository onto a bare local plane, and performs an operator's tasks:
// it creates a Windows cluster, describes it, upgrades the provider under it and moves it to
// another management cluster. It needs the programs of `make programs`.
package clusterctl

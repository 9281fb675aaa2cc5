#!/usr/bin/env bash
# Builds the programs of the images that a bare local plane runs as processes
# (bin/programs), and clusterctl (bin/clusterctl), all of the Cluster API release
# that go.mod names. clusterctl has dependencies of its own, hence its own go.mod.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(go list -m -f '{{.Version}}' sigs.k8s.io/cluster-api)
IFS=. read -r major minor _ <<< "${version#v}"
package=sigs.k8s.io/cluster-api
flags="-s -w -X $package/version.gitVersion=$version -X $package/version.gitMajor=$major -X $package/version.gitMinor=$minor -X $package/version.gitTreeState=clean"
go build -ldflags "$flags" -o bin/programs/cluster-api-controller $package/core
go build -ldflags "$flags" -o bin/programs/kubeadm-bootstrap-controller $package/bootstrap/kubeadm
go build -ldflags "$flags" -o bin/programs/kubeadm-control-plane-controller $package/controlplane/kubeadm
go build -modfile=hack/clusterctl/go.mod -ldflags "$flags" -o bin/clusterctl $package/cmd/clusterctl

#!/usr/bin/env bash
# Moves k8s.io/kubernetes and every staging module to one version, with the controller-runtime
# that goes with it, and the constants and pages that name it. `go get` of Kubernetes alone
# leaves the staging modules behind without a word.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?give the version, such as 1.37.3}
constants=internal/kuberelease/kuberelease.go
constant() { sed -n "s/^\t$1 = \"\(.*\)\"$/\1/p" $constants; }
default=$(constant Default) previous=$(constant Previous)
minor=${version%.*} before=${default#v}
before=${before%.*}
pages=(README.md docs/*.md test/e2e/capi/azure.yaml)

old=$(sed -n 's#^\tk8s.io/kubernetes v1\.#v0.#p' go.mod)
modules=$(awk -v v="$old" '$1 ~ /^k8s\.io\// && $2 == v { print $1 }' go.mod)
get=("k8s.io/kubernetes@v$version")
for m in $modules; do get+=("$m@v0.${version#1.}"); done
if [ "$minor" != "$before" ]; then
  get+=(sigs.k8s.io/controller-runtime@latest)
  sed -i "s/$previous/$default/g" "${pages[@]}"
  sed -i "s/^\tPrevious = .*/\tPrevious = \"$default\"/" $constants
  sed -i "s/kubernetesVersion: .*/kubernetesVersion: \"$minor\"/" hack/crd-ref-docs.yaml
  sed -i "s/^const Embedded = .*/const Embedded = \"$minor\"/" internal/sim/staticpod/version.go
fi
go get "${get[@]}"
go mod tidy
sed -i "s/$default/v$version/g" "${pages[@]}"
sed -i "s/^\tDefault = .*/\tDefault = \"v$version\"/" $constants

if [ "$minor" != "$before" ]; then
  cat <<END
Kubernetes $minor is a new minor. These tables want a row; docs/design/adding.md says more:
  internal/image/endoflife.go               the end of its support
  internal/addons/addons.go                 cloudProvider
  internal/controlplane/addons.go           coreDNS
  internal/sim/staticpod/lost.go            what it has dropped: go test ./cmd/casement-kube names it
  azuresim/internal/compute/image.go        galleryPatches
  internal/preflight/support.go             clusterAPI, if Cluster API was raised
  internal/sim/staticpod, support_test.go   go test . -update writes docs/support.md
END
fi

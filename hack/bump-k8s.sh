#!/usr/bin/env bash
# Moves k8s.io/kubernetes and every staging module to one version, with the constants and
# pages that name it. `go get` of Kubernetes alone leaves the staging modules behind
# without a word.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?give the version, such as 1.36.4}
old=$(sed -n 's#^\tk8s.io/kubernetes v1\.#v0.#p' go.mod)
modules=$(awk -v v="$old" '$1 ~ /^k8s\.io\// && $2 == v { print $1 }' go.mod)
go get "k8s.io/kubernetes@v$version" $(for m in $modules; do echo "$m@v0.${version#1.}"; done)
go mod tidy

constants=internal/kuberelease/kuberelease.go
before=$(sed -n 's/^\tDefault = "\(.*\)"$/\1/p' $constants)
[ "${before%.*}" = "v${version%.*}" ] || sed -i "s/^\tPrevious = .*/\tPrevious = \"$before\"/" $constants
sed -i "s/$before/v$version/g" README.md docs/*.md test/e2e/capi/azure.yaml
sed -i "s/^\tDefault = .*/\tDefault = \"v$version\"/" $constants

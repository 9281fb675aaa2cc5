#!/usr/bin/env bash
# Prints the linker flags that tell Kubernetes its version, read from go.mod.
# Without them it calls itself v0.0.0, which Cluster API and kubectl refuse.
set -euo pipefail
version=$(sed -n 's#^\tk8s.io/kubernetes \(v[^ ]*\).*#\1#p' "$(dirname "$0")/../go.mod")
IFS=. read -r major minor _ <<<"${version#v}"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  printf -- '-X %s.gitVersion=%s -X %s.gitMajor=%s -X %s.gitMinor=%s ' "$package" "$version" "$package" "$major" "$package" "$minor"
done

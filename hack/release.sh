#!/usr/bin/env bash
# Makes a release in dist/: the binaries, the files of the clusterctl provider and
# checksums of all. hack/release.sh v0.1.0
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?name the version, such as v0.1.0}
dir=dist/infrastructure-azure/$version
rm -rf "$dir" && mkdir -p "$dir"
go run ./hack/release --dir "$dir" --image "${IMAGE:-ghcr.io/casement-dev/casement-manager}:$version"
for program in casement casement-manager casement-kube; do
  flags="-s -w"
  [ "$program" = casement-kube ] && flags="$flags $(hack/kube-ldflags.sh)"
  CGO_ENABLED=0 go build -trimpath -ldflags "$flags" -o "$dir/${program}_linux_$(go env GOARCH)" "./cmd/$program"
done
(cd "$dir" && sha256sum -- * > SHA256SUMS)
ls -l "$dir"

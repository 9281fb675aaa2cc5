#!/usr/bin/env bash
# Makes a release in dist/: the files of the clusterctl provider, the binaries, the
# image of casement-manager, bills of materials, provenance, and checksums of all. The same
# commit makes the same files. With SIGNING_KEY, the file of a private key, checksums and
# provenance are signed. hack/release.sh v0.1.0
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?name the version, such as v0.1.0}
dir=dist/infrastructure-azure/$version
name=${IMAGE:-ghcr.io/casement-dev/casement-manager}
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
rm -rf "$dir" && mkdir -p "$dir"
go run ./hack/release --dir "$dir" --image "$name:$version" --version "$version"

pack() { # FILE DIR ROOT: an archive that is the same for the same files
  tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$time" -C "$2" -c "$3" | gzip -n > "$1"
}
pack "$dir/casement-${version#v}.tgz" "$dir" casement && rm -r "$dir/casement"
pack "$dir/casement-namespaced.tgz" "$dir" casement-namespaced && rm -r "$dir/casement-namespaced"

build() { # PROGRAM ARCH [LDFLAGS]
  CGO_ENABLED=0 GOOS=linux GOARCH=$2 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= ${3:-}" -o "$dir/$1_linux_$2" "./cmd/$1"
  go run ./hack/release --sbom "$dir/$1_linux_$2" --version "$version" > "$dir/$1_linux_$2.cdx.json"
}
programs=()
for arch in ${ARCHES:-amd64 arm64}; do
  build casement "$arch"
  build casement-manager "$arch"
  [ -n "${WITHOUT_KUBE:-}" ] || build casement-kube "$arch" "$(hack/kube-ldflags.sh)"
  programs+=(--program "$arch=$dir/casement-manager_linux_$arch")
done
digest=$(go run ./hack/image --name "$name:$version" --entry casement-manager "${programs[@]}" --time "$time" \
  --version "$version" --revision "$(git rev-parse HEAD)" --source https://casement.dev/casement --out "$dir/casement-manager-image.tar")
echo "$name:$version@$digest" > "$dir/casement-manager-image.txt"
man=$(mktemp -d)
SOURCE_DATE_EPOCH=$time go run ./cmd/casement docs --format man "$man"
pack "$dir/casement-man.tar.gz" "$man" .
rm -r "$man"
go run ./hack/release --seal --dir "$dir" --version "$version" --commit "$(git rev-parse HEAD)" --key "${SIGNING_KEY:-}"
[ -n "${SIGNING_KEY:-}" ] || echo "not signed: SIGNING_KEY names no key"
ls -l "$dir"

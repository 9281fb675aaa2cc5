#!/usr/bin/env bash
# Makes a release in dist/ (DIST names another folder): the files of the clusterctl provider, the binaries, the client
# for Linux, macOS and Windows with its manifest for krew, the images of casement-manager
# and of casement lint, bills of materials, provenance, and checksums of all. The same
# commit makes the same files, which hack/release-check.sh checks. With SIGNING_KEY, the file
# of a private key, checksums and provenance are signed. hack/release.sh v0.1.0
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?name the version, such as v0.1.0}
changed=$(git status --porcelain)
[ -z "$changed" ] || { printf 'the provenance names a commit, and the tree is none: commit or remove\n%s\n' "$changed" >&2; exit 1; }
dir=${DIST:-dist}/infrastructure-azure/$version
name=${IMAGE:-ghcr.io/casement-dev/casement-manager}
lint=${LINT_IMAGE:-ghcr.io/casement-dev/casement-lint}
downloads=${DOWNLOADS:-https://github.com/casement-dev/casement/releases/download}
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
rm -rf "$dir" && mkdir -p "$dir"
go run ./hack/release --dir "$dir" --image "$name:$version" --version "$version"

pack() { # ARCHIVE DIR FILE...: an archive that is the same for the same files
  tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$time" -C "$2" -c "${@:3}" | gzip -n > "$1"
}
pack "$dir/casement-${version#v}.tgz" "$dir" casement && rm -r "$dir/casement"
pack "$dir/casement-namespaced.tgz" "$dir" casement-namespaced && rm -r "$dir/casement-namespaced"

build() { # PROGRAM OS ARCH FILE [LDFLAGS]
  CGO_ENABLED=0 GOOS=$2 GOARCH=$3 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= ${5:-}" -o "$dir/$4" "./cmd/$1"
  go run ./hack/release --sbom "$dir/$4" --version "$version" > "$dir/$4.cdx.json"
}

client() { # OS ARCH FILE NAME: the client, and an archive of it under the name that users call
  hack/client.sh "$1" "$2" "$dir/$3"
  go run ./hack/release --sbom "$dir/$3" --version "$version" > "$dir/$3.cdx.json"
  local files
  files=$(mktemp -d)
  cp "$dir/$3" "$files/$4"
  cp LICENSE "$files/"
  pack "$dir/kubectl-casement_$1_$2.tar.gz" "$files" LICENSE "$4"
  rm -r "$files"
}

image() { # FILE NAME ENTRY PROGRAM [OPTION...]: an image, and its name with its digest
  local digest programs=()
  for arch in $arches; do programs+=(--program "$arch=$dir/$4_linux_$arch"); done
  digest=$(go run ./hack/image --name "$2:$version" --entry "$3" "${programs[@]}" --time "$time" --version "$version" \
    --revision "$(git rev-parse HEAD)" --source https://casement.dev/casement --out "$dir/$1-image.tar" "${@:5}")
  echo "$2:$version@$digest" > "$dir/$1-image.txt"
}

arches=${ARCHES:-amd64 arm64}
for arch in $arches; do
  build casement linux "$arch" "casement_linux_$arch"
  build casement-manager linux "$arch" "casement-manager_linux_$arch"
  [ -n "${WITHOUT_KUBE:-}" ] || build casement-kube linux "$arch" "casement-kube_linux_$arch" "$(hack/kube-ldflags.sh)"
  client linux "$arch" "casement-client_linux_$arch" casement
  client darwin "$arch" "casement_darwin_$arch" casement
  client windows "$arch" "casement_windows_$arch.exe" casement.exe
done
go run ./hack/release --krew --dir "$dir" --version "$version" --downloads "$downloads" > "$dir/casement.yaml"
image casement-manager "$name" casement-manager casement-manager
image casement-lint "$lint" casement casement-client --argument lint
man=$(mktemp -d)
SOURCE_DATE_EPOCH=$time go run ./cmd/casement docs --format man "$man"
pack "$dir/casement-man.tar.gz" "$man" .
rm -r "$man"
go run ./hack/release --seal --dir "$dir" --version "$version" --commit "$(git rev-parse HEAD)" --key "${SIGNING_KEY:-}"
[ -n "${SIGNING_KEY:-}" ] || echo "not signed: SIGNING_KEY names no key"
ls -l "$dir"

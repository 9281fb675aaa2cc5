#!/usr/bin/env bash
# Makes a release of the last commit twice and fails where a byte differs: from two clones, in
# folders of other names and depths, with another time zone, umask and user's settings. Both are
# signed with the same new key and verified with its public half. ARCHES, WITHOUT_KUBE as of
# hack/release.sh. RECOMPILE=1 gives the second one a compiler cache of its own; without it both
# share what was compiled, and only what is linked and packed is made twice.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${V:-v0.0.0-check}
commit=$(git rev-parse HEAD)
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/key.pem" 2>/dev/null
openssl pkey -in "$work/key.pem" -pubout -out "$work/release.pub"

make_in() { # FOLDER: a clone there, and its release in FOLDER/dist
  git clone --quiet . "$1/casement"
  git -C "$1/casement" checkout --quiet --detach "$commit" # the branch may have moved on since the first
  SIGNING_KEY=$work/key.pem DIST=$1/dist "$1/casement/hack/release.sh" "$version" > "$1.log" 2>&1 || { tail -20 "$1.log"; exit 1; }
}
mkdir -p "$work/a" "$work/b/of/another/depth"
(umask 022 && TZ=UTC LC_ALL=C make_in "$work/a")
cache=$(go env GOCACHE)
[ -z "${RECOMPILE:-}" ] || cache=$work/cache
(umask 077 && TZ=Pacific/Apia LC_ALL=C.UTF-8 GOCACHE=$cache make_in "$work/b/of/another/depth")

one=$work/a/dist/infrastructure-azure/$version two=$work/b/of/another/depth/dist/infrastructure-azure/$version
diff -r "$one" "$two"
go run ./hack/release --verify --dir "$two" --key "$work/release.pub"
echo "the same, byte by byte: $(ls "$one" | wc -l) files, $(du -sm "$one" | cut -f1) MiB${RECOMPILE:+, compiled twice}"

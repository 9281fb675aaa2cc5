#!/usr/bin/env bash
# Builds the client for a system and fails when it has 61 MB or more.
# hack/client.sh OS ARCH FILE
#
# Inlining is off: it would add 7 MB, most of them tables, and a client waits for files and
# servers. Methods that no code calls stay linked, because text/template calls any by name.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$(dirname "$3")"
CGO_ENABLED=0 GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false -tags client -gcflags all=-l -ldflags '-s -w -buildid=' \
  -o "$3" ./cmd/casement
size=$(wc -c < "$3")
printf '%s/%s\t%d.%d MB\n' "$1" "$2" $((size / 1000000)) $((size % 1000000 / 100000))
[ "$size" -lt 61000000 ] || { echo "$3: the client has 61 MB or more" >&2; exit 1; }

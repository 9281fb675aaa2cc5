#!/usr/bin/env bash
# hack/format.sh fails where a Go file is not formatted, or a word of code or docs is misspelled.
set -euo pipefail
cd "$(dirname "$0")/.."
unformatted=$(git ls-files '*.go' | xargs gofmt -l)
if [[ -n $unformatted ]]; then
	printf 'gofmt -w:\n%s\n' "$unformatted" >&2
	exit 1
fi
# Left alone: an image, half of C:\k\other, ipconfig /registerdns, and a word as Azure spells it.
git ls-files '*.go' '*.md' | grep -v -e testdata -e zz_generated |
	xargs go tool -modfile=hack/tools/go.mod misspell -error -i mosquitto,ther,registerdns,globaly

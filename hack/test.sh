#!/usr/bin/env bash
# hack/test.sh ARGUMENTS... runs `go test ARGUMENTS...`, shows what it prints, and ends with the packages that took longest,
# the total and whether all passed. The test binaries are linked without symbols, which takes a third less of the processor.
set -uo pipefail
began=$SECONDS
out=$(mktemp)
trap 'rm -f "$out"' EXIT
go test -ldflags='-s -w' "$@" 2>&1 | grep --line-buffered -v 'no test files' | tee "$out"
status=${PIPESTATUS[0]}
printf '\nSlowest packages (10 s or more):\n'
awk '($1 == "ok" || $1 == "FAIL") && $3 ~ /^[0-9.]+s$/ && $3 + 0 >= 10 { printf "%8.1f s  %s\n", $3, $2 }' "$out" | sort -rn
printf '%d packages passed, %d failed, in %d s\n' "$(grep -c '^ok' "$out")" "$(grep -c '^FAIL[[:space:]]*[^[:space:]]' "$out")" $((SECONDS - began))
exit "$status"

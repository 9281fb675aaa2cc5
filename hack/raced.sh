#!/usr/bin/env bash
# Prints the packages that run under the race detector: those whose files start goroutines or guard what several share, and the
# tests that run the managers, the local Azure and the plane's client together in one process.
set -euo pipefail
cd "$(dirname "$0")/.."
echo ./test/apiserver/integration ./test/e2e/lint ./test/e2e/ssh # first, because they take longest
git grep -lE '^\s*go (func\b|[a-z])|"sync"|"sync/atomic"|/errgroup"|t\.Parallel\(' -- '*.go' ':!test' ':!cmd/casement-kube' ':!internal/controlplane' |
	xargs -n1 dirname | grep -v -e testdata -e '^\.$' | sort -u | sed 's|^|./|'

#!/usr/bin/env bash
# hack/lines.sh [COMMIT]... prints the lines that were written by hand, by room, at each commit (HEAD without one): those of
# programs and those of tests.
set -euo pipefail
cd "$(dirname "$0")/.."
for commit in "${@:-HEAD}"; do
	printf '%s\n' "$(git log -1 --format='%h %cs' "$commit")"
	git grep -cI '' "$commit" -- '*.go' '*.sh' ':!*zz_generated*' | awk -F: '
		function room(p) {
			if (p ~ /_test\.go$|^test\/|^internal\/testing\//) kind = 2; else kind = 1
			if (p ~ /^(test|internal\/testing)\//) return "tests of several rooms"
			if (p ~ /^(api|internal\/(azure|controller|webhook|manager|grant|metric|queue))\//) return "provider"
			if (p ~ /^internal\/sim\/guest\/powershell\//) return "guests: PowerShell"
			if (p ~ /^internal\/sim\/guest\/shell\//) return "guests: shell"
			if (p ~ /^internal\/sim\/guest\//) return "guests: the rest"
			if (p ~ /^internal\/sim\//) return "simulated kubelets, network and programs"
			if (p ~ /^azuresim\//) return "local Azure"
			if (p ~ /^internal\/(capi|plane|kubeproc|controlplane|helm)\//) return "local plane"
			if (p ~ /^internal\/(lint|preflight|kubechange)\//) return "lint and preflight"
			if (p ~ /^internal\/(diagnose|ui|mcp)\//) return "diagnosis"
			if (p ~ /^internal\/cli\//) return "command line"
			if (p ~ /^internal\//) return "what several rooms use"
			return "programs, generators, rules of the tree"
		}
		{ r = room($2); n[r, kind] += $3; all[kind] += $3; seen[r] }
		END {
			for (r in seen) printf "%7d %7d  %s\n", n[r, 1], n[r, 2], r | "sort -k3"
			close("sort -k3")
			printf "%7d %7d  all\n", all[1], all[2]
		}'
done

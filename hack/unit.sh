#!/usr/bin/env bash
# Prints the packages whose tests need no program from bin/: they depend on no package that starts one.
set -euo pipefail
module=casement.dev/casement
# These packages start programs. go list fails if one of them has moved.
go list ./internal/testing/kubetest ./internal/testing/plane ./internal/kubeproc >/dev/null
own=$(go list ./... | grep -v -e /cmd/casement-kube -e /internal/controlplane)
# shellcheck disable=SC2086 # a list of packages
{
	go list -test -f '{{.ImportPath}} {{join .Deps " "}} ' $own | grep '^[^ ]*\.test ' |
		grep -E "$module/internal/testing/(kubetest|plane) " | sed 's/\.test .*//'
	# The command line links kubeproc too, but only tests that import it themselves start it.
	go list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}} ' $own |
		grep -E " $module/internal/kubeproc " | cut -d' ' -f1
} | sort -u | comm -13 - <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' $own | sort)

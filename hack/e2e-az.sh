#!/usr/bin/env bash
# Runs the az command line against the local Azure (test/emulator/az). Where az is missing
# it is installed from the distribution's packages, which needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v az >/dev/null; then
	apt-get update -q
	apt-get install -q -y --no-install-recommends azure-cli
fi
az version --query '"azure-cli"' -o tsv
go run ./test/emulator/az -casement bin/casement "$@"

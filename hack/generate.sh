#!/usr/bin/env bash
# Make everything under api/, config/ and docs/reference/ that is generated. The
# tools are those that hack/tools/go.mod pins.
set -euo pipefail
cd "$(dirname "$0")/.."

gen() { go tool -modfile=hack/tools/go.mod controller-gen "$@"; }

gen object paths=./api/...
gen crd paths=./api/... output:crd:dir=config/crd/bases
gen webhook paths=./internal/webhook output:webhook:dir=config/webhook
gen rbac:roleName=casement-manager paths="{./internal/controller/...,./internal/manager}" output:rbac:dir=config/rbac


#!/usr/bin/env bash
# Makes everything that is generated. `make verify` fails when it changes a file.
set -euo pipefail
cd "$(dirname "$0")/.."
gen() { go tool -modfile=hack/tools/go.mod controller-gen "$@"; }
gen object paths=./api/... paths=./internal/helm/v1alpha1
gen crd:crdVersions=v1 paths=./api/... output:crd:dir=config/crd/bases
gen crd:crdVersions=v1 paths=./internal/helm/v1alpha1 output:crd:dir=internal/helm/crds
gen webhook paths=./internal/webhook/... output:webhook:dir=config/webhook
hack/match-conditions.sh config/webhook/manifests.yaml
gen rbac:roleName=casement-manager 'paths=./internal/controller/...;./internal/manager/...' output:rbac:dir=config/rbac
go generate ./internal/capi/...
mkdir -p bin
go run ./hack/writable > bin/writable.tsv
mv bin/writable.tsv internal/azure/writable/writable.tsv
go test ./internal/webhook -run 'TestGolden|TestDocumented|TestCAPZFields' -update
go test ./internal/lint/rules -run TestDocumented -update
go test ./internal/windows -run 'TestNetworkPage|TestBuildsPage|TestSupportPage' -update
go test ./internal/kubechange -run TestPage -update
go test ./internal/repair -run TestPage -update
go test ./azuresim/template -run TestDocumentedFunctions -update
go test . -run TestAzureVersions -update
go tool -modfile=hack/tools/go.mod crd-ref-docs --log-level=ERROR --source-path=api/v1beta1 \
  --config=hack/crd-ref-docs.yaml --renderer=markdown --output-path=docs/reference/api.md
go test ./internal/cli -run TestFace -update
go test . -run TestSupport -update
go run ./hack/packages > docs/reference/packages.md
# Built first: a tree that does not build keeps its pages.
go build -o bin/casement ./cmd/casement
rm -f docs/cli/*.md
bin/casement docs docs/cli

#!/usr/bin/env bash
# Makes the directory that 'make e2e-capz CAPZ=DIR' takes from the Go modules of CAPZ and of the Azure Service Operator that it
# names, which is much to compile: hack/capz-release.sh DIR [VERSION]. The operator's release has kinds of more groups.
set -euo pipefail
mkdir -p "$1/programs"
dir=$(cd "$1" && pwd) version=${2:-v1.26.0} tools=$(cd "$(dirname "$0")" && pwd)/tools/go.mod
src=$(mktemp -d)
trap 'rm -rf "$src"' EXIT
fetch() { # fetch NAME MODULE@VERSION: a copy that can be written to
	cp -r "$(go mod download -json "$2" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')" "$src/$1"
	chmod -R u+w "$src/$1"
}
go build -modfile="$tools" -o "$src/controller-gen" sigs.k8s.io/controller-tools/cmd/controller-gen
GOBIN=$src go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.1
fetch capz "sigs.k8s.io/cluster-api-provider-azure@$version"
operator=$(cd "$src/capz" && go list -m -f '{{.Version}}' github.com/Azure/azure-service-operator/v2)
fetch operator "github.com/Azure/azure-service-operator/v2@$operator"

cd "$src/operator"
go build -o "$dir/programs/azureserviceoperator" ./cmd/controller
paths=$(printf 'paths=./api/%s/... ' network containerservice kubernetesconfiguration resources)
# shellcheck disable=SC2086 # a word for each
"$src/controller-gen" crd:allowDangerousTypes=true webhook rbac:roleName=manager-role $paths paths=./internal/controllers/... \
	output:crd:dir=config/crd/generated/bases output:webhook:dir=config/webhook output:rbac:dir=config/rbac
(
	cd config/crd/generated
	"$src/kustomize" create --autodetect --recursive
	cat >>kustomization.yaml <<-'PATCH'
		patches:
		- target: {kind: CustomResourceDefinition}
		  patch: |-
		    - op: add
		      path: /spec/conversion
		      value:
		        strategy: Webhook
		        webhook:
		          conversionReviewVersions: [v1]
		          clientConfig:
		            service: {namespace: azureserviceoperator-system, name: azureserviceoperator-webhook-service, path: /convert, port: 443}
		    - op: add
		      path: /metadata/annotations/cert-manager.io~1inject-ca-from
		      value: azureserviceoperator-system/azureserviceoperator-serving-cert
	PATCH
)
grep -rlE 'VERSION|localhost:5000' config | xargs sed -i -e "s/\${VERSION}/$operator/" \
	-e "s#localhost:5000/azureserviceoperator:latest#mcr.microsoft.com/k8s/azureserviceoperator:$operator#"
sed -i '/^- \.\.\/crd$/d' config/default/kustomization.yaml
sed -i 's/replicas: 2/replicas: 1/' config/manager/manager.yaml # a process outside of a cluster elects no leader
mkdir -p "$dir/programs/azureserviceoperator.files/crds"
"$src/kustomize" build config/crd -o "$dir/programs/azureserviceoperator.files/crds"
"$src/kustomize" build config/default >"$src/capz/config/aso/operator.yaml"

cd "$src/capz"
go build -o "$dir/programs/cluster-api-azure-controller" .
sed -i 's#https://.*/azureserviceoperator_v.*\.yaml#operator.yaml#' config/aso/kustomization.yaml
sed -i "s#image: .*/cluster-api-azure-controller:.*#image: registry.k8s.io/cluster-api-azure/cluster-api-azure-controller:$version#" \
	config/capz/manager_image_patch.yaml
"$src/kustomize" build config/default >"$dir/infrastructure-components.yaml"
cp metadata.yaml templates/cluster-template*.yaml "$dir"

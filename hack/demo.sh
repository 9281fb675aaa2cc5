#!/usr/bin/env bash
# From nothing to a Windows cluster that serves a page; run again it changes
# nothing. Expects casement on the PATH. KUBERNETES_VERSION is the cluster's, if not the default.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${CLUSTER_NAME:-demo}
kubeconfig=${CASEMENT_DEMO_KUBECONFIG:-$PWD/bin/$name.kubeconfig}
unset KUBECONFIG

say() { printf '\n== %s\n' "$*"; }
workload() { casement kubectl --kubeconfig "$kubeconfig" "$@"; }

say "casement up: a management API server, Cluster API and a local Azure on this machine"
casement up

say "casement generate cluster $name --flavor windows: 1 control plane, 1 Linux, 1 Windows Server 2022 and 1 2025 node"
export WORKER_MACHINE_COUNT=1 WINDOWS_WORKER_MACHINE_COUNT=1
WINDOWS_SERVER_VERSION=windows-2022 casement generate cluster "$name" --flavor windows | casement kubectl apply -f -
# The same template with the other release and another name of the group adds that group.
WINDOWS_SERVER_VERSION=windows-2025 casement generate cluster "$name" --flavor windows |
  sed "s/$name-md-win/$name-md-win25/" | casement kubectl apply -f -

say "casement wait $name"
casement wait "$name" --timeout 10m
casement get kubeconfig "$name" >"$kubeconfig"
chmod 600 "$kubeconfig"

say "kubectl get nodes -o wide"
workload get nodes -o wide

say "IIS on Windows, behind a load balancer"
workload apply -f examples/iis.yaml
workload rollout status deployment/iis --timeout 3m
casement fetch service/iis --cluster "$name" --timeout 2m

cat <<END

== Next
  export KUBECONFIG=\$(casement status -o kubeconfig)    the management cluster
  casement tree $name                                    its Cluster API objects
  casement logs WINDOWS-NODE                             how a Windows machine booted
  casement kubectl scale machinedeployment $name-md-win --replicas 3
  casement kubectl --kubeconfig $kubeconfig get pods -A
  make down                                              end it and delete its state
END

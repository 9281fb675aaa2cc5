//go:build e2e

package capi

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// object is an object of a template whose variables are not replaced yet.
type object map[string]any

// at returns the map at a path, which it creates if it is missing.
func (o object) at(path ...string) map[string]any {
	m := map[string]any(o)
	for _, key := range path {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	return m
}

func (o object) kind() string { s, _ := o["kind"].(string); return s }

func (o object) label(key string) { o.at("metadata", "labels")[key] = "" }

// flavor is a template that a spec needs and that casement does not publish: a published template
// with a change.
type flavor struct {
	name, base string
	change     func([]object) []object
}

// flavors are the templates that are written beside the published ones, so that clusterctl finds
// them.
var flavors = []flavor{
	{"kcp-md-taints", "-windows", withTaints},
	{"md-remediation", "-windows", withHealthCheck},
	{"kcp-adoption", "", inTwoSteps},
	{"scale", "-topology-windows", windowsAlone},
	{"topology-taints", "-topology-windows", withTaints},
	{"kcp-remediation", "", behindGate},
}

// writeFlavors writes the flavors, which it derives from the templates in dir.
func writeFlavors(t *testing.T, dir string) {
	t.Helper()
	for _, f := range flavors {
		base, err := os.ReadFile(filepath.Join(dir, "cluster-template"+f.base+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		// A variable inside a list in brackets is not valid YAML until it is replaced.
		base = bytes.ReplaceAll(base, []byte("[${AZURE_SSH_PUBLIC_KEY:= }]"), []byte("[]"))
		var objects []object
		for _, doc := range strings.Split(string(base), "\n---\n") {
			o := object{}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Fatalf("%s: %v", f.base, err)
			}
			objects = append(objects, o)
		}
		var out []string
		for _, o := range f.change(objects) {
			doc, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(doc))
		}
		if err := os.WriteFile(filepath.Join(dir, "cluster-template-"+f.name+".yaml"),
			[]byte(strings.Join(out, "---\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// withTaints adds to control plane and workers the taints that the rollout spec checks.
func withTaints(all []object) []object {
	taints := []any{
		map[string]any{"key": "pre-existing-on-initialization-taint", "value": "on-initialization-value",
			"effect": "PreferNoSchedule", "propagation": "OnInitialization"},
		map[string]any{"key": "pre-existing-always-taint", "value": "always-value", "effect": "PreferNoSchedule", "propagation": "Always"},
	}
	for _, o := range all {
		switch o.kind() {
		case "KubeadmControlPlane":
			o.at("spec", "machineTemplate", "spec")["taints"] = taints
		case "MachineDeployment":
			o.at("spec", "template", "spec")["taints"] = taints
		case "Cluster":
			if o.at("spec")["topology"] == nil {
				continue
			}
			topology := object(o.at("spec", "topology"))
			topology.at("controlPlane")["taints"] = taints
			for _, d := range topology.at("workers")["machineDeployments"].([]any) {
				d.(map[string]any)["taints"] = taints
			}
		}
	}
	return all
}

// windowsAlone removes all but the Windows workers of a topology, because the scale spec expects
// one MachineDeployment.
func windowsAlone(all []object) []object {
	for _, o := range all {
		if o.kind() == "Cluster" {
			workers := o.at("spec", "topology", "workers")
			workers["machineDeployments"] = slices.DeleteFunc(workers["machineDeployments"].([]any), func(d any) bool {
				return d.(map[string]any)["class"] != "windows"
			})
		}
	}
	return all
}

// gate is a command that waits until a ConfigMap of the management cluster contains a signal, and
// writes its own signal into the ConfigMap. Its arguments are a token, the server and the
// namespace.
const gate = `#!/bin/bash
set -o errexit -o pipefail
map=$2/api/v1/namespaces/$3/configmaps/mhc-test
until [ "$(curl -sk -H "Authorization: Bearer $1" $map | jq -r .data.signal)" = pass ]; do
  sleep 1
done
curl -sk -X PATCH -H "Authorization: Bearer $1" -H "Content-Type: application/strategic-merge-patch+json" \
  --data '{"data":{"signal":"ack-pass"}}' $map
`

// behindGate makes control plane machines wait for the signal of the remediation spec, and adds a
// MachineHealthCheck for the machines that the spec marks.
func behindGate(all []object) []object {
	all = slices.DeleteFunc(all, func(o object) bool { return o.kind() == "MachineHealthCheck" })
	for _, o := range all {
		if o.kind() == "KubeadmControlPlane" {
			config := o.at("spec", "kubeadmConfigSpec")
			files, _ := config["files"].([]any)
			config["files"] = append(files,
				map[string]any{"path": "/gate.sh", "permissions": "0755", "owner": "root:root", "content": gate})
			config["preKubeadmCommands"] = []any{`/gate.sh "${TOKEN}" "${SERVER}" "${NAMESPACE}"`}
		}
	}
	return append(all, healthCheck(map[string]any{"cluster.x-k8s.io/control-plane": "", "mhc-test": "fail"},
		map[string]any{"nodeStartupTimeoutSeconds": 30}))
}

// healthCheck returns a MachineHealthCheck for Machines with the labels and the node condition that
// Cluster API's specs set.
func healthCheck(labels, checks map[string]any) object {
	checks["unhealthyNodeConditions"] = []any{map[string]any{"type": "e2e.remediation.condition", "status": "False", "timeoutSeconds": 10}}
	return object{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineHealthCheck",
		"metadata": map[string]any{"name": "${CLUSTER_NAME}-mhc-0", "namespace": "${NAMESPACE:=default}"},
		"spec": map[string]any{
			"clusterName": "${CLUSTER_NAME}",
			"selector":    map[string]any{"matchLabels": labels},
			"checks":      checks,
			"remediation": map[string]any{"triggerIf": map[string]any{"unhealthyLessThanOrEqualTo": "100%"}},
		},
	}
}

// withHealthCheck replaces the template's MachineHealthChecks by one for all workers, with the
// condition that the remediation spec sets.
func withHealthCheck(all []object) []object {
	const label = "e2e.remediation.label"
	all = slices.DeleteFunc(all, func(o object) bool { return o.kind() == "MachineHealthCheck" })
	for _, o := range all {
		if o.kind() == "MachineDeployment" {
			o.at("spec", "template", "metadata", "labels")[label] = ""
			delete(o.at("spec"), "remediation")
		}
	}
	return append(all, healthCheck(map[string]any{label: ""}, map[string]any{}))
}

// inTwoSteps returns the template's control plane first as a Machine without an owner, and then as
// the KubeadmControlPlane that adopts it.
func inTwoSteps(all []object) []object {
	const name = "${CLUSTER_NAME}-control-plane-0"
	var first, second []object
	metadata := func() map[string]any {
		return map[string]any{
			"name": name, "namespace": "${NAMESPACE:=default}",
			"labels": map[string]any{"cluster.x-k8s.io/control-plane": ""},
		}
	}
	ref := func(group, kind string) map[string]any {
		return map[string]any{"apiGroup": group, "kind": kind, "name": name}
	}
	for _, o := range all {
		switch o.kind() {
		case "Cluster":
			alone := object(maps.Clone(o))
			alone["spec"] = maps.Clone(o.at("spec"))
			alone["metadata"] = maps.Clone(o.at("metadata"))
			alone.at("metadata")["labels"] = maps.Clone(o.at("metadata", "labels"))
			delete(alone.at("spec"), "controlPlaneRef")
			first, second = append(first, alone), append(second, o)
		case "KubeadmControlPlane":
			config := o.at("spec", "kubeadmConfigSpec")
			// The credentials Secret of a template's machines has another name than the Secret of a
			// single machine, but the adopted machine and the template must agree.
			secret := object(config["files"].([]any)[0].(map[string]any)).at("contentFrom", "secret")
			secret["name"] = name + "-azure-json"
			// The first machine is created by kubeadm init; with a joinConfiguration it would be
			// taken for a machine that joined.
			alone := maps.Clone(config)
			delete(alone, "joinConfiguration")
			first = append(first,
				object{"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig", "metadata": metadata(), "spec": alone},
				object{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata(), "spec": map[string]any{
					"clusterName": "${CLUSTER_NAME}", "version": "${KUBERNETES_VERSION}",
					"bootstrap":         map[string]any{"configRef": ref("bootstrap.cluster.x-k8s.io", "KubeadmConfig")},
					"infrastructureRef": ref("infrastructure.cluster.x-k8s.io", "AzureMachine"),
				}})
			second = append(second, o)
		case "AzureMachineTemplate":
			if o.at("metadata")["name"] == "${CLUSTER_NAME}-control-plane" {
				first = append(first, object{"apiVersion": o["apiVersion"], "kind": "AzureMachine",
					"metadata": metadata(), "spec": o.at("spec", "template", "spec")})
				second = append(second, o)
			}
		case "AzureCluster", "AzureClusterIdentity":
			first = append(first, o)
		}
	}
	for _, o := range first {
		o.label("kcp-adoption.step1")
	}
	for _, o := range second {
		o.label("kcp-adoption.step2")
	}
	return append(first, second...)
}

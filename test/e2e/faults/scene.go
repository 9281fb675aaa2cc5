package faults

import (
	"encoding/json"
	"fmt"
	"strings"

	"casement.dev/casement/internal/testing/plane"
)

// scene is the cluster that the faults are injected into.
type scene struct {
	plane *plane.Plane
	// workload runs kubectl with the workload cluster.
	workload func(args ...string) string
	// set is the name of the Windows MachineDeployment.
	set string
}

// manage runs kubectl with the management cluster.
func (s *scene) manage(args ...string) string {
	return s.plane.Run(nil, append([]string{"kubectl"}, args...)...)
}

// machines returns the Windows machines' names.
func (s *scene) machines() []string {
	return strings.Fields(s.manage("get", "machines", "-l", "cluster.x-k8s.io/deployment-name="+s.set, "-o",
		"jsonpath={.items[*].metadata.name}"))
}

// grow adds a second Windows machine; shrink removes all machines but one.
func (s *scene) grow() { s.manage("scale", "machinedeployment", s.set, "--replicas=2") }

func (s *scene) shrink(keep string) {
	for _, m := range s.machines() {
		if m != keep {
			s.manage("annotate", "machine", m, "cluster.x-k8s.io/delete-machine=yes", "--overwrite")
		}
	}
	s.manage("scale", "machinedeployment", s.set, "--replicas=1")
}

// node returns the node of the first Windows machine.
func (s *scene) node() string {
	return strings.Fields(s.workload("get", "nodes", "-l", "kubernetes.io/os=windows", "-o", "jsonpath={.items[*].metadata.name}"))[0]
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: win}
spec:
  selector: {matchLabels: {app: win}}
  template:
    metadata: {labels: {app: win}}
    spec:
      terminationGracePeriodSeconds: 0
      nodeSelector: {kubernetes.io/os: windows}
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: "mcr.microsoft.com/windows/nanoserver:ltsc2022", ports: [{containerPort: 80}],
        readinessProbe: {tcpSocket: {port: 80}}}]
`

// again recreates the Windows pod.
func (s *scene) again() { s.workload("delete", "pod", "-l", "app=win", "--now") }

// nowhere prevents a DaemonSet from running on new nodes; everywhere allows it again.
func nowhere(set string) func(*scene) {
	return func(s *scene) {
		s.patch(set, `{"spec":{"updateStrategy":{"type":"OnDelete"},`+
			`"template":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":`+

			`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["`+
			s.node()+`"]}]}]}}}}}}}`)
	}
}

func everywhere(set string) func(*scene) {
	return func(s *scene) {
		s.patch(set, `{"spec":{"updateStrategy":{"type":"RollingUpdate"},"template":{"spec":{"affinity":null}}}}`)
	}
}

func (s *scene) patch(set, patch string) {
	s.workload("patch", "daemonset", set, "-n", "kube-system", "--type=merge", "-p", patch)
}

// restart recreates a DaemonSet's pods.
func restart(set string) func(*scene) {
	return func(s *scene) {
		for _, pod := range strings.Fields(s.workload("get", "pods", "-n", "kube-system", "-o", "name")) {
			if strings.HasPrefix(pod, "pod/"+set+"-") {
				s.workload("delete", "-n", "kube-system", pod, "--now", "--ignore-not-found") // the DaemonSet controller may have deleted it already
			}
		}
	}
}

// forgetName removes the node's name from kube-proxy's environment.
func forgetName(s *scene) {
	s.workload("set", "env", "daemonset/kube-proxy-windows", "-n", "kube-system", "NODE_NAME-", "NODENAME-")
}

func undo(set string) func(*scene) {
	return func(s *scene) { s.workload("rollout", "undo", "daemonset/"+set, "-n", "kube-system") }
}

// run returns a step that runs a pod with an image on an operating system; end deletes the pod.
func run(os, image string) func(*scene) {
	return func(s *scene) {
		s.workload("run", "odd", "--image="+image, "--restart=Always", fmt.Sprintf(
			`--overrides={"spec":{"nodeSelector":{"kubernetes.io/os":%q},"terminationGracePeriodSeconds":0}}`, os))
	}
}

func end(s *scene) { s.workload("delete", "pod", "odd", "--now") }

// deleteNode deletes a node whose machine no MachineHealthCheck may replace meanwhile.
func deleteNode(s *scene) {
	s.manage("annotate", "machine", s.machines()[0], "cluster.x-k8s.io/skip-remediation=yes", "--overwrite")
	s.workload("delete", "node", s.node())
}

// restartKubelet makes the kubelet of the first Windows machine register again.
func restartKubelet(s *scene) {
	s.plane.Run(nil, "ssh", s.machines()[0], "--", "powershell", "Restart-Service", "kubelet")
}

func pause(yes string) func(*scene) {
	return func(s *scene) {
		s.manage("patch", "cluster", "demo", "--type=merge", "-p", `{"spec":{"paused":`+yes+`}}`)
	}
}

// password returns a step that sets the password of the template's first user, or removes
// it.
func password(text string) func(*scene) {
	return func(s *scene) {
		patch := `[{"op":"add","path":"/spec/template/spec/users/0/passwd","value":"` + text + `"}]`
		if text == "" {
			patch = `[{"op":"remove","path":"/spec/template/spec/users/0/passwd"}]`
		}
		s.manage("patch", "kubeadmconfigtemplate", s.set, "--type=json", "-p", patch)
	}
}

// flannel returns a step that sets flanneld's state of the overlay on the first Windows
// node, or removes it.
func flannel(backend string) func(*scene) {
	const key = "flannel.alpha.coreos.com/backend-data"
	return func(s *scene) {
		if backend == "" {
			s.workload("annotate", "node", s.node(), key+"-")
			return
		}
		s.workload("annotate", "node", s.node(), key+"="+backend, "--overwrite")
	}
}

const tigeraCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tigerastatuses.operator.tigera.io}
spec:
  group: operator.tigera.io
  scope: Cluster
  names: {kind: TigeraStatus, plural: tigerastatuses, singular: tigerastatus}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const tigeraDegraded = `
apiVersion: operator.tigera.io/v1
kind: TigeraStatus
metadata: {name: calico-windows}
status:
  conditions:
  - {type: Degraded, status: "True", reason: ResourceValidationError,
     message: "StrictAffinity is false, it must be set to 'true' in the default IPAMConfig if using Calico IPAM on Windows"}
`

// tigera makes Calico's operator report that it does not install Calico for Windows; noTigera
// removes the operator.
func tigera(s *scene) {
	s.applied(tigeraCRD)
	s.workload("wait", "--for=condition=Established", "crd/tigerastatuses.operator.tigera.io", "--timeout=30s")
	s.applied(tigeraDegraded)
}

func noTigera(s *scene) { s.workload("delete", "crd", "tigerastatuses.operator.tigera.io") }

// applied applies a manifest to the workload cluster.
func (s *scene) applied(manifest string) {
	s.plane.Run([]byte(manifest), "kubectl", "--kubeconfig", s.plane.Kubeconfig("demo"), "apply", "-f", "-")
}

// tooLong is one character longer than a NetBIOS name can be.
const tooLong = "windows-node-001"

// longName registers a Windows node with a name that no computer can have. Its provider ID is in
// another resource group, because the cloud provider would delete a node without a machine, and
// Cluster API finds no node for a Machine whose provider ID two nodes have.
func longName(s *scene) {
	s.applied("apiVersion: v1\nkind: Node\nmetadata: {name: " + tooLong + "}\nspec: {providerID: 'azure:///subscriptions/" +
		"00000000-0000-0000-0000-000000000000/resourceGroups/elsewhere/providers/Microsoft.Compute/virtualMachines/" + tooLong + "'}\n")
	s.workload("patch", "node", tooLong, "--subresource=status", "--type=merge", "-p",
		`{"status":{"nodeInfo":{"operatingSystem":"windows"}}}`)
}

func noLongName(s *scene) { s.workload("delete", "node", tooLong, "--ignore-not-found") }

// newRelease replaces the Windows machine by a machine with Windows Server 2025, and then corrupts
// the new machine's sandbox image.
func newRelease(s *scene) {
	const next = "demo-md-win-2025"
	var template map[string]any
	text := strings.ReplaceAll(s.manage("get", "azuremachinetemplate", s.set, "-o", "json"), "windows-2022", "windows-2025")
	if err := json.Unmarshal([]byte(text), &template); err != nil {
		s.plane.Fatal(err)
	}
	owners := template["metadata"].(map[string]any)["ownerReferences"]
	template["metadata"] = map[string]any{"name": next, "namespace": "default", "ownerReferences": owners}
	delete(template, "status")
	data, err := json.Marshal(template)
	if err != nil {
		s.plane.Fatal(err)
	}
	before := s.machines()
	s.plane.Run(data, "kubectl", "apply", "-f", "-")
	s.manage("patch", "machinedeployment", s.set, "--type=merge", "-p",
		`{"spec":{"template":{"spec":{"infrastructureRef":{"name":"`+next+`"}}}}}`)
	for _, m := range before {
		s.manage("wait", "--for=delete", "machine/"+m, "--timeout=3m")
	}
	s.plane.Run(nil, "wait", "demo", "--timeout", "3m")
	s.plane.Run(nil, append([]string{"azure", "faults", "add"}, guestFault("pause-image")...)...)
	s.again()
}

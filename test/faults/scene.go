package faults

import (
	"fmt"
	"strings"

	"casement.dev/casement/test/plane"
)

// scene is the cluster that the faults come upon.
type scene struct {
	plane *plane.Plane
	// workload is kubectl of the cluster.
	workload func(args ...string) string
	// set is the name of the Windows MachineDeployment.
	set string
}

// manage is kubectl of the management cluster.
func (s *scene) manage(args ...string) string {
	return s.plane.Run(nil, append([]string{"kubectl"}, args...)...)
}

// machines are the Windows machines' names.
func (s *scene) machines() []string {
	return strings.Fields(s.manage("get", "machines", "-l", "cluster.x-k8s.io/deployment-name="+s.set, "-o", "jsonpath={.items[*].metadata.name}"))
}

// grow asks for a second Windows machine; shrink takes away all but the first.
func (s *scene) grow() { s.manage("scale", "machinedeployment", s.set, "--replicas=2") }

func (s *scene) shrink(keep string) {
	for _, m := range s.machines() {
		if m != keep {
			s.manage("annotate", "machine", m, "cluster.x-k8s.io/delete-machine=yes", "--overwrite")
		}
	}
	s.manage("scale", "machinedeployment", s.set, "--replicas=1")
}

// node is the node of the first Windows machine.
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
      containers: [{name: c, image: "mcr.microsoft.com/windows/nanoserver:ltsc2022"}]
`

// again makes the Windows pod anew.
func (s *scene) again() { s.workload("delete", "pod", "-l", "app=win", "--now") }

// nowhere lets a DaemonSet run on no node that is new, everywhere lets it again.
func nowhere(set string) func(*scene) {
	return func(s *scene) {
		s.patch(set, `{"spec":{"updateStrategy":{"type":"OnDelete"},"template":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["`+s.node()+`"]}]}]}}}}}}}`)
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

// restart makes a DaemonSet's pods anew.
func restart(set string) func(*scene) {
	return func(s *scene) {
		for _, pod := range strings.Fields(s.workload("get", "pods", "-n", "kube-system", "-o", "name")) {
			if strings.HasPrefix(pod, "pod/"+set+"-") {
				s.workload("delete", "-n", "kube-system", pod, "--now")
			}
		}
	}
}

// forgetName takes the node's name out of kube-proxy's environment.
func forgetName(s *scene) {
	s.workload("set", "env", "daemonset/kube-proxy-windows", "-n", "kube-system", "NODE_NAME-", "NODENAME-")
}

func undo(set string) func(*scene) {
	return func(s *scene) { s.workload("rollout", "undo", "daemonset/"+set, "-n", "kube-system") }
}

// run runs a pod of an image on an operating system; end deletes it.
func run(os, image string) func(*scene) {
	return func(s *scene) {
		s.workload("run", "odd", "--image="+image, "--restart=Always", fmt.Sprintf(`--overrides={"spec":{"nodeSelector":{"kubernetes.io/os":%q},"terminationGracePeriodSeconds":0}}`, os))
	}
}

func end(s *scene) { s.workload("delete", "pod", "odd", "--now") }

func deleteNode(s *scene) { s.workload("delete", "node", s.node()) }

// restartKubelet lets the kubelet of the first Windows machine register again.
func restartKubelet(s *scene) {
	s.plane.Run(nil, "ssh", s.machines()[0], "--", "powershell", "Restart-Service", "kubelet")
}

func pause(yes string) func(*scene) {
	return func(s *scene) {
		s.manage("patch", "cluster", "demo", "--type=merge", "-p", `{"spec":{"paused":`+yes+`}}`)
	}
}

// password gives the template's first user a password, or takes it away.
func password(text string) func(*scene) {
	return func(s *scene) {
		patch := `[{"op":"add","path":"/spec/template/spec/users/0/passwd","value":"` + text + `"}]`
		if text == "" {
			patch = `[{"op":"remove","path":"/spec/template/spec/users/0/passwd"}]`
		}
		s.manage("patch", "kubeadmconfigtemplate", s.set, "--type=json", "-p", patch)
	}
}

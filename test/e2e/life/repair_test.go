package life

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

const healthCheck = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: demo-win, namespace: default}
spec:
  clusterName: demo
  selector: {matchLabels: {%s: %s}}
  checks:
    nodeStartupTimeoutSeconds: 100
    unhealthyNodeConditions:
    - {type: Ready, status: Unknown, timeoutSeconds: 5}
    - {type: Ready, status: "False", timeoutSeconds: 30}
`

// checkHealth adds a MachineHealthCheck for the Windows machines.
func (l *life) checkHealth() {
	_, _, selector := l.group()
	key, value, _ := strings.Cut(selector, "=")
	l.p.Run(fmt.Appendf(nil, healthCheck, key, value), "kubectl", "apply", "-f", "-")
}

// repair breaks a Windows node's machine with harm and waits until it has been replaced. harm
// returns a text that a condition must contain meanwhile, or "".
func (l *life) repair(harm func(node) (said string)) {
	l.checkHealth()
	victim := l.nodes(true)[0]
	l.heard = l.sayings()
	if said := harm(victim); said != "" {
		l.hear(said)
	}
	l.until("another node", func() string {
		return l.missing(true, 2, func(n node) bool { return n.Metadata.Name != victim.Metadata.Name })
	})
	l.p.Run(nil, "azure", "faults", "clear")
	l.until("pods", func() string { return l.missingPods(l.release) })
	l.settled()
}

const computeVersion = "2024-07-01"

func (n node) vm() string { return relative(strings.TrimPrefix(n.Spec.ProviderID, "azure://")) }

func (l *life) deleteVM(n node) string {
	l.p.Azure("DELETE", n.vm(), computeVersion, nil)
	if l.pools {
		return "" // the instance's object is deleted with the instance
	}
	return "was deleted in Azure, not through Kubernetes"
}

func (l *life) stopVM(n node) string {
	l.p.Azure("POST", n.vm()+"/powerOff", computeVersion, nil)
	return "is stopped in Azure"
}

func (l *life) evict(n node) string {
	l.p.Azure("POST", n.vm()+"/simulateEviction", computeVersion, nil)
	return "is deallocated in Azure"
}

func (l *life) stopKubelet(n node) string {
	name := path.Base(n.vm())
	if l.pools {
		name = "*_" + name
	}
	l.p.Run(nil, "azure", "faults", "add", "guest", "--guest-fault", "kubelet-stopped", "--name", name)
	return ""
}

// failedVM lets Azure fail to provision a machine's VM.
func (l *life) failedVM() {
	l.p.Run(nil, "azure", "faults", "add", "boot-failure", "--type", l.vmType(), "--count", "1")
	l.outgrow("OSProvisioningTimedOut")
}

// failedInterface lets Azure fail to provision a machine's network interface.
func (l *life) failedInterface() {
	l.p.Run(nil, "azure", "faults", "add", "operation", "--type", "*/networkInterfaces", "--verb", "PUT", "--code",
		"InternalServerError", "--message", "the interface broke", "--count", "1")
	l.outgrow("the interface broke")
}

// failedBootstrap gives a machine bootstrap data with which it can never join.
func (l *life) failedBootstrap() {
	l.p.Run(nil, "azure", "faults", "add", "guest", "--guest-fault", "bad-token", "--type", l.vmType(), "--count", "1")
	l.outgrow("the machine has not become a node")
}

// evictLater lets Azure evict a machine some time after it has started.
func (l *life) evictLater() {
	l.p.Run(nil, "azure", "faults", "add", "eviction", "--type", l.vmType(), "--delay", "30s", "--count", "1")
	l.outgrow("is deallocated in Azure")
}

func (l *life) vmType() string {
	if l.pools {
		return "*/virtualMachineScaleSets/virtualMachines"
	}
	return "*/virtualMachines"
}

// outgrow requests a third Windows machine, about which the infrastructure reports the text said,
// gets a healthy machine, and scales back to two.
func (l *life) outgrow(said string) {
	l.heard = l.sayings()
	l.resize(3)
	l.hear(said)
	l.until("three Windows nodes", func() string { return l.missing(true, 3, anyNode) })
	l.p.Run(nil, "azure", "faults", "clear")
	l.settled()
	l.scale(2)
}

// hear waits until a message of the infrastructure that was not in heard contains a text, and
// records the message.
func (l *life) hear(said string) {
	l.t.Helper()
	l.until(said, func() string {
		all := l.sayings()
		for _, s := range all {
			if strings.Contains(s, said) && !slices.Contains(l.heard, s) {
				l.note("%.200s", s)
				return ""
			}
		}
		return strings.Join(all, "\n")
	})
}

// sayings returns the messages of the infrastructure's conditions that are not True, and of the
// infrastructure's events.
func (l *life) sayings() []string {
	var objects struct {
		Items []struct {
			Kind           string
			Message        string
			InvolvedObject struct{ Kind string }
			Status         struct {
				Conditions []struct{ Status, Message string }
			}
		}
	}
	out := l.management("get", "azuremachines,azuremachinepools,azuremachinepoolmachines,events", "-o", "json")
	if err := json.Unmarshal([]byte(out), &objects); err != nil {
		l.t.Fatal(err)
	}
	var all []string
	for _, o := range objects.Items {
		if o.Kind == "Event" && strings.HasPrefix(o.InvolvedObject.Kind, "Azure") {
			all = append(all, o.Message)
		}
		for _, c := range o.Status.Conditions {
			if c.Status != "True" && c.Message != "" {
				all = append(all, c.Message)
			}
		}
	}
	return all
}

// evictable returns a manifest with its Windows machines as spot machines, if the test needs that.
func (l *life) evictable(manifest string) string {
	documents := strings.Split(manifest, "\n---\n")
	for i, d := range documents {
		name, indent := "\n  name: demo-md-win\n", "      "
		if l.pools {
			name, indent = "\n  name: demo-mp-win\n", "    "
		}
		if strings.Contains(d, "\nkind: AzureMachine") && strings.Contains(d, name) {
			documents[i] = strings.Replace(d, "\n"+indent+"osDisk:", "\n"+indent+"spotVMOptions: {}\n"+indent+"osDisk:", 1)
		}
	}
	return strings.Join(documents, "\n---\n")
}

// relative returns an ID without the subscription.
func relative(id string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(id, "/subscriptions/"), "/")
	return "/" + rest
}

package life

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// lasting is a pod that ends slowly, with a budget that allows no eviction, and a volume on the
// node where it runs.
const lasting = `
apiVersion: v1
kind: Pod
metadata: {name: lasting, labels: {app: lasting}}
spec:
  nodeName: %[1]s
  os: {name: windows}
  terminationGracePeriodSeconds: 60
  containers:
  - name: service
    image: mcr.microsoft.com/windows/nanoserver:ltsc2022
    lifecycle: {preStop: {sleep: {seconds: 20}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: lasting}
spec: {minAvailable: 1, selector: {matchLabels: {app: lasting}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: lasting}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  csi: {driver: disk.csi.azure.com, volumeHandle: lasting}
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: lasting}
spec: {attacher: disk.csi.azure.com, nodeName: %[1]s, source: {persistentVolumeName: lasting}}
`

// preStop is the time that the lasting pod takes to end.
const preStop = 20 * time.Second

// drains replaces a machine whose drain is blocked: first by a disruption budget, then by a pod
// that ends slowly, then by a volume that is still attached.
func (l *life) drains() {
	var victim, machine string
	l.do("budget holds the drain", func() {
		victim = l.nodes(true)[0].Metadata.Name
		l.p.Run(fmt.Appendf(nil, lasting, victim), "kubectl", "--kubeconfig", l.p.Kubeconfig("demo"), "apply", "-f", "-")
		l.kubectl("patch", "volumeattachment", "lasting", "--subresource", "status", "--type", "merge", "-p",
			`{"status":{"attached":true}}`)
		l.until("the lasting pod", func() string {
			if phase := l.kubectl("get", "pod", "lasting", "-o", "jsonpath={.status.phase}"); phase != "Running" {
				return phase
			}
			return ""
		})
		machine = l.machineOf(victim)
		l.management("delete", "machine", machine, "--wait=false")
		l.awaitDeleting(machine, "DrainingNode", "disruption budget")
		if _, deleted := l.lastingPod(); !deleted.IsZero() {
			l.t.Error("the pod was deleted against its budget")
		}
	})
	l.do("pod ends slowly", func() {
		l.kubectl("delete", "poddisruptionbudget", "lasting")
		var asked time.Time
		l.until("the end of the lasting pod", func() string {
			there, deleted := l.lastingPod()
			if !deleted.IsZero() {
				asked = deleted
			}
			if there {
				return "it is there"
			}
			return ""
		})
		took := time.Since(asked)
		l.note("it had %.0f s", took.Seconds())
		// Times in the API server have whole seconds.
		if asked.IsZero() || took < preStop-time.Second {
			l.t.Errorf("the pod was asked to end at %s and was gone after %s, before its preStop hook was done", asked, took)
		}
	})
	l.do("volume detached", func() {
		l.awaitDeleting(machine, "WaitingForVolumeDetach", "")
		if nodes := l.nodes(true); !strings.Contains(fmt.Sprint(nodes), victim) {
			l.t.Errorf("node %s is gone, and its volume attached", victim)
		}
		l.kubectl("delete", "volumeattachment", "lasting")
		l.until("another node", func() string {
			return l.missing(true, 2, func(n node) bool { return n.Metadata.Name != victim })
		})
		l.until("pods", func() string { return l.missingPods(l.release) })
		l.settled()
	})
}

func (l *life) machineOf(node string) string {
	out := l.management("get", "machines", "-o", `jsonpath={range .items[*]}{.status.nodeRef.name} {.metadata.name}{"\n"}{end}`)
	for line := range strings.Lines(out) {
		if name, machine, _ := strings.Cut(strings.TrimSpace(line), " "); name == node {
			return machine
		}
	}
	l.t.Fatalf("no Machine has node %s:\n%s", node, out)
	return ""
}

// awaitDeleting waits until the Deleting condition of a Machine has a reason and its message
// contains a text.
func (l *life) awaitDeleting(machine, reason, message string) {
	l.t.Helper()
	l.until(reason, func() string {
		out := l.management("get", "machine", machine, "-o",
			`jsonpath={.status.conditions[?(@.type=="Deleting")].reason} {.status.conditions[?(@.type=="Deleting")].message}`)
		if !strings.HasPrefix(out, reason) || !strings.Contains(out, message) {
			return out
		}
		l.note("%.120s", strings.ReplaceAll(out, "\n", " "))
		return ""
	})
}

// lastingPod reports whether the pod exists, and when its deletion was requested.
func (l *life) lastingPod() (there bool, deleted time.Time) {
	var list struct {
		Items []struct {
			Metadata struct {
				DeletionTimestamp          time.Time
				DeletionGracePeriodSeconds int
			}
		}
	}
	if err := json.Unmarshal([]byte(l.kubectl("get", "pods", "-l", "app=lasting", "-o", "json")), &list); err != nil {
		l.t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return false, deleted
	}
	m := list.Items[0].Metadata
	if !m.DeletionTimestamp.IsZero() {
		deleted = m.DeletionTimestamp.Add(-time.Duration(m.DeletionGracePeriodSeconds) * time.Second)
	}
	return true, deleted
}

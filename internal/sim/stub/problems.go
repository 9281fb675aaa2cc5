package stub

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// monitor is a condition that node-problem-detector maintains on a Windows node, with its command.
type monitor struct {
	kind, healthy, unhealthy, says string
	argv                           []string
}

// powershell returns the command line of a script or a command.
func powershell(args ...string) []string {
	return append([]string{"powershell.exe", "-NoProfile", "-ExecutionPolicy", "Bypass"}, args...)
}

// running returns a command that exits with 1 unless a service runs. The real health checker also
// checks whether the service answers.
func running(service string) []string {
	return powershell("-Command", "if (\"$((Get-Service "+service+").Status)\" -ne 'Running') { 'the service "+service+
		" does not run'; exit 1 }")
}

// monitors returns the conditions of the addon. Source:
// github.com/kubernetes/node-problem-detector, config/windows-health-checker-*.json.
func monitors() []monitor {
	return []monitor{
		{"KubeletUnhealthy", "KubeletIsHealthy", "KubeletUnhealthy", "kubelet answers", running("kubelet")},
		{"ContainerRuntimeUnhealthy", "ContainerRuntimeIsHealthy", "ContainerdUnhealthy", "containerd answers", running("containerd")},
		{"HostNetworkUnhealthy", "HostNetworkIsHealthy", "HostNetworkUnhealthy", "HNS runs and has a network",
			powershell("-File", `C:\hpc\monitors\hns.ps1`)},
	}
}

// monitorPeriod is the invoke_interval of the addon.
const monitorPeriod = 30 * time.Second

// problemDetector maintains the conditions of node-problem-detector: services that do not run, and
// the result of the addon's script for HNS.
func (c *Cluster) problemDetector(ctx context.Context, env Env) error {
	last := ""
	for {
		wait := monitorPeriod
		if err := setConditions(ctx, env, observed(ctx, env)); err != nil {
			if ctx.Err() == nil && err.Error() != last {
				last = err.Error()
				env.printf("set the conditions of node %s: %s", env.NodeName, last)
			}
			wait = time.Second
		} else {
			last = ""
		}
		if !pause(ctx, wait) {
			return nil
		}
	}
}

// observed runs the monitors and returns the conditions.
func observed(ctx context.Context, env Env) []corev1.NodeCondition {
	now := metav1.Now()
	var list []corev1.NodeCondition
	for _, m := range monitors() {
		one := corev1.NodeCondition{Type: corev1.NodeConditionType(m.kind), Status: corev1.ConditionFalse, Reason: m.healthy, Message: m.says,
			LastHeartbeatTime: now, LastTransitionTime: now}
		if env.Exec != nil {
			out := &strings.Builder{}
			if code, err := env.Exec(ctx, m.argv, out); err == nil && code == 1 {
				one.Status, one.Reason, one.Message = corev1.ConditionTrue, m.unhealthy, strings.TrimSpace(out.String())
			}
		}
		list = append(list, one)
	}
	return list
}

// setConditions writes conditions to the node; they replace conditions of the same types.
func setConditions(ctx context.Context, env Env, list []corev1.NodeCondition) error {
	core, err := env.core(ctx)
	if err != nil {
		return err
	}
	node, err := core.Nodes().Get(ctx, env.NodeName, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	for i := range list {
		for _, old := range node.Status.Conditions {
			if old.Type == list[i].Type && old.Status == list[i].Status {
				list[i].LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": list}})
	if err != nil {
		return err
	}
	_, err = core.Nodes().Patch(ctx, env.NodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

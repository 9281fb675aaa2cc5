package stub

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// windowsConditions are the conditions that node-problem-detector sets on a Windows node without
// problems. Source: github.com/kubernetes/node-problem-detector,
// config/windows-health-checker-*.json.
var windowsConditions = []corev1.NodeCondition{
	{Type: "KubeletUnhealthy", Reason: "KubeletIsHealthy"},
	{Type: "ContainerRuntimeUnhealthy", Reason: "ContainerRuntimeIsHealthy"},
	{Type: "HostNetworkUnhealthy", Reason: "HostNetworkIsHealthy"},
}

// problemDetector sets the conditions of node-problem-detector once. It detects nothing.
func (c *Cluster) problemDetector(ctx context.Context, env Env) error {
	now := metav1.Now()
	var list []corev1.NodeCondition
	for _, one := range windowsConditions {
		one.Status, one.LastHeartbeatTime, one.LastTransitionTime = corev1.ConditionFalse, now, now
		one.Message = "simulated: nothing is detected"
		list = append(list, one)
	}
	for last := ""; ; {
		err := setConditions(ctx, env, list)
		if err == nil {
			env.printf("the conditions of node %s are set", env.NodeName)
			<-ctx.Done()
			return nil
		}
		if ctx.Err() != nil {
			return nil
		}
		if err.Error() != last {
			last = err.Error()
			env.printf("set the conditions of node %s: %s", env.NodeName, last)
		}
		if !pause(ctx, time.Second) {
			return nil
		}
	}
}

// setConditions adds conditions to the node's, replacing those of the same type.
func setConditions(ctx context.Context, env Env, list []corev1.NodeCondition) error {
	core, err := env.core(ctx)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": list}})
	if err != nil {
		return err
	}
	_, err = core.Nodes().Patch(ctx, env.NodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

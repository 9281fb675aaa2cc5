package terminal

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/testing/golden"
	"casement.dev/casement/internal/testing/plane"
	"casement.dev/casement/internal/testing/tmux"
)

// shortage creates a cluster of one machine that Azure refuses because of a quota.
func shortage(t *testing.T, c client.Client) {
	t.Helper()
	const ns, name, worker = "screens", "demo", "demo-md-win-x7k2p-9fq4c"
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
		t.Fatal(err)
	}
	is := func(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}
	}
	meta := func(name string, more map[string]string) metav1.ObjectMeta {
		labels := map[string]string{clusterv1.ClusterNameLabel: "demo"}
		for k, v := range more {
			labels[k] = v
		}
		return metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels}
	}
	ref := func(kind, name string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: name}
	}
	quota := "Operation could not be completed as it results in exceeding approved standardDSv3Family Cores quota. Additional details - " +
		"Location: westeurope, Current Limit: 10, Current Usage: 10, Additional Required: 2, (Minimum) New Limit Required: 12."

	cluster := &clusterv1.Cluster{ObjectMeta: meta(name, nil)}
	cluster.Spec.InfrastructureRef = ref("AzureCluster", name)
	cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "demo.westeurope.cloudapp.azure.com", Port: 6443}
	store(t, c, cluster, func() {
		cluster.Status.Phase = string(clusterv1.ClusterPhaseProvisioned)
		cluster.Status.Initialization.InfrastructureProvisioned = new(true)
		cluster.Status.Conditions = []metav1.Condition{is(clusterv1.ClusterAvailableCondition, metav1.ConditionFalse, "NotAvailable",
			"* WorkersAvailable:\n  * MachineDeployment demo-md-win: 0 available replicas, at least 1 required "+
				"(spec.strategy.rollout.maxUnavailable is 0, spec.replicas is 1)")}
	})
	azure := &infrav1.AzureCluster{ObjectMeta: meta(name, nil)}
	azure.Spec.Location = "westeurope"
	store(t, c, azure, func() {
		azure.SetConditions([]metav1.Condition{is(clusterv1.ReadyCondition, metav1.ConditionTrue, "Ready", "")})
	})
	deployment := &clusterv1.MachineDeployment{ObjectMeta: meta("demo-md-win", nil)}
	deployment.Spec.ClusterName, deployment.Spec.Replicas = name, new(int32(1))
	deployment.Spec.Selector.MatchLabels = map[string]string{"d": "win"}
	deployment.Spec.Template.Labels = map[string]string{"d": "win"}
	deployment.Spec.Template.Spec = clusterv1.MachineSpec{
		ClusterName: name, Version: "v1.36.3", InfrastructureRef: ref("AzureMachineTemplate", "demo-md-win"),
	}
	deployment.Spec.Template.Spec.Bootstrap.DataSecretName = new("boot")
	store(t, c, deployment, func() {
		deployment.Status.Replicas, deployment.Status.ReadyReplicas = new(int32(1)), new(int32(0))
		deployment.Status.Conditions = []metav1.Condition{is(clusterv1.MachineDeploymentAvailableCondition,
			metav1.ConditionFalse, "NotAvailable", "0 available replicas, at least 1 required")}
	})
	template := &infrav1.AzureMachineTemplate{ObjectMeta: meta("demo-md-win", nil)}
	template.Spec.Template.Spec = infrav1.AzureMachineSpec{VMSize: "Standard_D2s_v3", OSDisk: infrav1.OSDisk{OSType: "Windows"}}
	if err := c.Create(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	machine := &clusterv1.Machine{ObjectMeta: meta(worker, map[string]string{clusterv1.MachineDeploymentNameLabel: "demo-md-win"})}
	machine.Spec = deployment.Spec.Template.Spec
	machine.Spec.InfrastructureRef = ref("AzureMachine", worker)
	store(t, c, machine, func() {
		machine.Status.Phase = string(clusterv1.MachinePhaseProvisioning)
		machine.Status.Conditions = []metav1.Condition{is(clusterv1.MachineReadyCondition, metav1.ConditionFalse,
			"NotReady", "* InfrastructureReady: VMRunning: "+quota)}
	})
	vm := &infrav1.AzureMachine{ObjectMeta: meta(worker, nil)}
	vm.Spec.VMSize, vm.Spec.OSDisk.OSType = "Standard_D2s_v3", "Windows"
	store(t, c, vm, func() {
		vm.SetConditions([]metav1.Condition{
			is(clusterv1.ReadyCondition, metav1.ConditionFalse, "QuotaExceeded", "VMRunning: "+quota),
			is(infrav1.VMRunningCondition, metav1.ConditionFalse, "QuotaExceeded", quota),
		})
	})
}

// TestScreens compares the output of commands about a cluster with golden files: for terminals of
// three widths, with and without colours, and for a pipe.
func TestScreens(t *testing.T) {
	casement := plane.Binary(t, "casement")
	shortage(t, newClient(t))
	config, home := kubeconfig(t), t.TempDir()
	for name, args := range map[string]string{"tree": "tree demo", "why": "why demo",
		"why-machine": "why demo-md-win-x7k2p-9fq4c", "wait": "wait demo --timeout 4s", "get": "get clusters"} {
		command := fmt.Sprintf("CASEMENT_HOME=%s %s %s -n screens --kubeconfig %s", home, casement, args, config)
		hold := func(as, shown string) {
			golden.Compare(t, filepath.Join("testdata", name+"-"+as+".txt"), []byte(shown))
		}
		for _, width := range []int{60, 80, 200} {
			t.Run(fmt.Sprintf("%s-%d", name, width), func(t *testing.T) {
				shown := tmux.Run(t, width, nil, command)
				hold(fmt.Sprint(width), shown)
				if plain := tmux.Run(t, width, []string{"NO_COLOR=1"}, command); plain != shown {
					t.Errorf("with NO_COLOR it shows something else:\n%s", plain)
				}
			})
		}
		t.Run(name+"-pipe", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, _ := exec.CommandContext(ctx, "sh", "-c", command+" 2>&1").Output() // problems change only the exit code
			if strings.Contains(string(out), "\x1b") {
				t.Errorf("a pipe gets control functions: %q", out)
			}
			hold("pipe", tmux.Stable(string(out)))
		})
	}
}

package azuremachine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/cause"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/redact"
)

const (
	// firstLook is how long a virtual machine may take to become a node before its
	// console is read; each further look comes after twice the time, up to lastLook.
	// A machine that joins in time costs no call.
	firstLook = time.Minute
	lastLook  = time.Hour
	// consoleLines are looked at from the console's end, and lastLines shown.
	consoleLines = 200
	lastLines    = 3
)

// lookAtBootstrap says in BootstrapSucceeded why a virtual machine that is there has
// not become a node, as far as its serial console tells. It returns when to look
// again, 0 for not at all.
func (r *Reconciler) lookAtBootstrap(ctx context.Context, s *scope, now time.Time) time.Duration {
	m := s.azureMachine
	if s.machine.Status.NodeRef.IsDefined() {
		if conditions.IsFalse(m, infrav1.BootstrapSucceededCondition) && !desired.WantsBootstrapExtension(s.azureCluster, m) {
			condition.True(m, infrav1.BootstrapSucceededCondition, condition.Provisioned)
		}
		return 0
	}
	since := conditions.Get(m, infrav1.VMRunningCondition)
	if s.vm == nil || since == nil || since.Status == metav1.ConditionFalse && since.Reason != creating {
		return 0
	}
	age := now.Sub(since.LastTransitionTime.Time)
	if age < firstLook {
		return firstLook - age
	}
	if age > lastLook {
		return 0
	}
	text, err := s.azure.Console(ctx, desired.VMID(s.azureCluster, s.vmName))
	if err != nil {
		ctrl.LoggerFrom(ctx).V(2).Info("The serial console was not read", "reason", err.Error())
		return age
	}
	if reason, message, failed := bootstrapFailure(text, s.machine.Name); failed {
		condition.False(m, infrav1.BootstrapSucceededCondition, reason, message)
	}
	return age
}

// bootstrapFailure finds the last thing on a console that explains why a bootstrap
// failed, and says what failed, the last lines and the next step. It shows no secret.
func bootstrapFailure(console, machine string) (reason, message string, found bool) {
	var lines []string
	for line := range strings.Lines(console) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, redact.Text(line))
		}
	}
	lines = lines[max(0, len(lines)-consoleLines):]
	for _, line := range slices.Backward(lines) {
		c, _, ok := cause.Classify(line)
		if !ok {
			continue
		}
		end := strings.Join(lines[max(0, len(lines)-lastLines):], " | ")
		return c.Name, fmt.Sprintf("the machine has not become a node: %s: %s; %s; see casement logs %s; last lines: %s", c.Says, line, c.Fix, machine, end), true
	}
	return "", "", false
}

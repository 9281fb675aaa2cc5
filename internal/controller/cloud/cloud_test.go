package cloud

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/plan"
)

func TestExplain(t *testing.T) {
	done := plan.ResourceStatus{State: plan.Done}
	waits := plan.ResourceStatus{State: plan.Waiting, Reason: "WaitingForNeeds", Message: "waits for nic"}
	creating := plan.ResourceStatus{State: plan.Waiting, Reason: "Creating", Message: "creating nic"}
	retried := plan.ResourceStatus{State: plan.Waiting, Reason: "InvalidResourceReference", Class: arm.Conflict, Message: "no such network"}
	failed := plan.ResourceStatus{State: plan.Failed, Reason: "SubnetIsFull", Class: arm.Quota, Message: "no room"}
	for _, test := range []struct {
		name            string
		resources       []plan.ResourceStatus
		reason, message string
	}{
		{"at work", []plan.ResourceStatus{done, waits, creating}, "Creating", "1 of 3 Azure resources done, creating nic"},
		{"refused and tried again", []plan.ResourceStatus{waits, creating, retried}, "InvalidResourceReference", "no such network"},
		{"failed", []plan.ResourceStatus{creating, failed}, "SubnetIsFull", "no room"},
		{"nothing to do", nil, "Creating", "0 of 0 Azure resources done"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if reason, message := Explain(plan.Outcome{Resources: test.resources},
				"Creating"); reason != test.reason || message != test.message {
				t.Errorf("%s: %s", reason, message)
			}
		})
	}
}

func TestRetryOf(t *testing.T) {
	for _, test := range []struct {
		name   string
		err    error
		wait   time.Duration
		reason string
	}{
		{"throttled", &arm.Error{Class: arm.Throttled, RetryAfter: 42 * time.Second}, 42 * time.Second, "Throttled"},
		{"denied", &arm.Error{Class: arm.Denied}, DeniedWait, "Denied"},
		{"network", errors.New("connection refused"), TransientWait, "AzureUnreachable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if wait, reason := RetryOf(test.err); wait != test.wait || reason != test.reason {
				t.Errorf("%s %s", wait, reason)
			}
		})
	}
}

func TestIdentityFinalizer(t *testing.T) {
	c := &infrav1.AzureCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "win"}}
	// the result of: printf default-win | sha224sum
	const want = "azurecluster.infrastructure.cluster.x-k8s.io/0cb781deef855a82f62117963aa0059c2b327265c84777a7d7ae37da"
	if got := identityFinalizer(c); got != want {
		t.Errorf("finalizer %s, want %s", got, want)
	}
}

func TestNextLook(t *testing.T) {
	const period = 10 * time.Minute
	start := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	moment := func(key string, now time.Time) time.Time { return now.Add(NextLook(period, key, now)) }
	spread := map[time.Duration]bool{}
	for _, key := range []string{"a", "b", "c", ""} {
		first := moment(key, start)
		for at := time.Duration(0); at < 3*period; at += 17 * time.Second {
			now := start.Add(at)
			wait := NextLook(period, key, now)
			if wait < period/10 || wait > period*11/10 {
				t.Errorf("%q at %v: wait %v", key, at, wait)
			}
			if off := moment(key, now).Sub(first) % period; off != 0 {
				t.Errorf("%q at %v: %v beside its moments", key, at, off)
			}
		}
		spread[first.Sub(start)] = true
	}
	if len(spread) < 3 {
		t.Error("clusters meet in one moment")
	}
	if got := NextLook(0, "a", start); got != 0 {
		t.Errorf("without a period: %v", got)
	}
}

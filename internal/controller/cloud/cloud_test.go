package cloud

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/plan"
)

func TestStatesAndTokens(t *testing.T) {
	tokens := []plan.Token{{
		ID:   "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/loadBalancers/lb",
		Verb: plan.Put, Resume: `{"type":"x"}`, Begun: time.Unix(1000, 0).UTC(), Attempts: 2,
	}}
	states := States(tokens)
	if len(states) != 1 || states[0].Name != "lb" || states[0].ResourceGroup != "g" || states[0].Type != "PUT" {
		t.Errorf("states %+v", states)
	}
	foreign := infrav1.LongRunningOperationState{ServiceName: "loadbalancers", Type: "PUT", Name: "lb", Data: "eyJ0eXBlIjoieCJ9"}
	unreadable := infrav1.LongRunningOperationState{ServiceName: infrav1.OperationService, Type: "PUT", Name: "lb", Data: "{"}
	if diff := cmp.Diff(tokens, Tokens(append(states, foreign, unreadable))); diff != "" {
		t.Errorf("tokens differ (-want +got):\n%s", diff)
	}
}

// TestKept: a poll that found nothing new changes no state; everything else does.
func TestKept(t *testing.T) {
	begun := time.Unix(1000, 0).UTC()
	resume := func(url, state string) string {
		return `{"type":"RawMessage","token":{"asyncURL":"` + url + `","state":"` + state + `"}}`
	}
	token := plan.Token{ID: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm", Verb: plan.Put,
		Resume: resume("https://a/1", "Creating"), Begun: begun, NotBefore: begun.Add(time.Second)}
	before := States([]plan.Token{token})
	for _, test := range []struct {
		name   string
		change func(*plan.Token)
		kept   bool
	}{
		{"nothing", func(*plan.Token) {}, true},
		{"a poll", func(t *plan.Token) {
			t.NotBefore, t.Resume = begun.Add(time.Minute), resume("https://a/1", "InProgress")
		}, true},
		{"another address", func(t *plan.Token) { t.Resume = resume("https://a/2", "Creating") }, false},
		{"another operation", func(t *plan.Token) { t.Begun = begun.Add(time.Minute) }, false},
		{"its end", func(t *plan.Token) { t.Resume = "" }, false},
		{"a failure", func(t *plan.Token) { t.Class = arm.Quota }, false},
		{"another resource", func(t *plan.Token) { t.ID += "2" }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			after := token
			test.change(&after)
			states := States([]plan.Token{after})
			want := states
			if test.kept {
				want = before
			}
			if diff := cmp.Diff(want, Kept(before, states)); diff != "" {
				t.Errorf("states differ (-want +got):\n%s", diff)
			}
		})
	}
	if left := Kept(before, nil); len(left) != 0 {
		t.Errorf("an operation that has ended is kept: %v", left)
	}
}

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
		{"denied", &arm.Error{Class: arm.Denied}, deniedWait, "Denied"},
		{"network", errors.New("connection refused"), transientWait, "AzureUnreachable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if wait, reason := RetryOf(test.err); wait != test.wait || reason != test.reason {
				t.Errorf("%s %s", wait, reason)
			}
		})
	}
}

func TestImage(t *testing.T) {
	machine := func(os string, annotations map[string]string) *infrav1.AzureMachine {
		m := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
		m.Spec.OSDisk.OSType = os
		return m
	}
	own := machine("Linux", nil)
	own.Spec.Image = &infrav1.Image{ID: new("/subscriptions/s/my-image")}
	for _, test := range []struct {
		name, version string
		machine       *infrav1.AzureMachine
		want          string
	}{
		{"own", "v1.36.3", own, "/subscriptions/s/my-image"},
		{"gallery", "v1.34.1", machine("Windows", map[string]string{"windowsServerVersion": "windows-2025"}),
			"ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019/capi-win-2025-containerd/1.34.1"},
		{"marketplace", "v1.22.1", machine("Windows", nil), "cncf-upstream:capi-windows:k8s-1dot22dot1-windows-2019-containerd:latest"},
	} {
		t.Run(test.name, func(t *testing.T) {
			image, err := Image(&test.machine.Spec, test.machine.Annotations, test.version)
			if err != nil || ImageName(image) != test.want {
				t.Errorf("image %s, %v, want %s", ImageName(image), err, test.want)
			}
		})
	}
	if _, err := Image(&machine("Windows", nil).Spec, nil, "one"); err == nil {
		t.Error("a version that is none has an image")
	}
}

func TestIdentityFinalizer(t *testing.T) {
	c := &infrav1.AzureCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "win"}}
	// printf default-win | sha224sum
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

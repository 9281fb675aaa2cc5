package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

const (
	group = "/subscriptions/s/resourceGroups/g"
	nets  = group + "/providers/Microsoft.Network/"
	vms   = group + "/providers/Microsoft.Compute/virtualMachines/"
)

var owner = Owner{Key: "cluster", Value: "owned"}

func managed(id string, properties map[string]any, needs ...string) desired.Resource {
	return desired.Resource{
		ID: id, APIVersion: "1", Policy: desired.Manage, Condition: "NetworkReady", Field: "spec.x", Needs: needs,
		Body: map[string]any{"location": "westeurope", "tags": map[string]any{"cluster": "owned"}, "properties": properties},
	}
}

func createOnly(r desired.Resource) desired.Resource {
	r.Policy = desired.CreateOnly
	return r
}

// states returns an outcome in one line.
func states(o Outcome) string {
	var out []string
	for _, r := range o.Resources {
		out = append(out, strings.TrimSuffix(arm.NameOf(r.ID)+" "+string(r.State)+" "+r.Reason, " "))
	}
	return strings.Join(out, ", ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got  %s\n want %s", what, got, want)
	}
}

func TestApplyInOnePass(t *testing.T) {
	a := newAzure()
	p := newPlanner(t, a)
	in := Input{Owner: owner, Resources: []desired.Resource{
		managed(group, nil),
		managed(nets+"virtualNetworks/v", map[string]any{"addressSpace": map[string]any{"addressPrefixes": []any{"10.0.0.0/8"}}}, group),
		createOnly(managed(nets+"networkInterfaces/n", nil, nets+"virtualNetworks/v", "/elsewhere")),
		createOnly(managed(vms+"m",
			map[string]any{"osProfile": map[string]any{"adminPassword": "x", "computerName": "m"}},
			nets+"networkInterfaces/n")),
	}}
	out := p.Apply(t.Context(), in)
	expect(t, "states", states(out), "g Done, v Done, n Done, m Done")
	expect(t, "calls", a.took(), "GET g, PUT g, PUT m, PUT n, PUT v")
	if out.State != Done || out.RequeueAfter != 0 || len(out.Tokens) != 0 || len(out.Live) != 4 || out.Writes != 4 {
		t.Errorf("outcome %+v", out)
	}
	out = p.Apply(t.Context(), in)
	expect(t, "second states", states(out), "g Done, v Done, n Done, m Done")
	expect(t, "second calls", a.took(), "")
}

func TestOperationsArePolledOnceAndResumed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		a.lasts = 2
		in := Input{Owner: owner, Resources: []desired.Resource{
			managed(nets+"publicIPAddresses/a", nil),
			managed(nets+"publicIPAddresses/b", nil),
			managed(nets+"loadBalancers/lb", nil, nets+"publicIPAddresses/a"),
		}}
		out := newPlanner(t, a).Apply(t.Context(), in)
		expect(t, "begun", states(out), "a Waiting Creating, b Waiting Creating, lb Waiting WaitingForNeeds")
		expect(t, "calls", a.took(), "GET publicIPAddresses, PUT a, PUT b")
		if out.RequeueAfter != typicalNetwork || len(out.Tokens) != 2 {
			t.Fatalf("requeue %v, %d tokens", out.RequeueAfter, len(out.Tokens))
		}
		// Another process continues with only the tokens.
		stored, err := json.Marshal(out.Tokens)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(stored, &in.Tokens); err != nil {
			t.Fatal(err)
		}
		p := newPlanner(t, a)
		out = p.Apply(t.Context(), in)
		expect(t, "too early", a.took(), "")
		later(out.RequeueAfter)
		in.Tokens = out.Tokens
		out = p.Apply(t.Context(), in)
		expect(t, "first poll", a.took(), "POLL, POLL")
		later(out.RequeueAfter)
		in.Tokens = out.Tokens
		out = p.Apply(t.Context(), in)
		expect(t, "second poll", states(out), "a Done, b Done, lb Waiting Creating")
		expect(t, "calls at the end", a.took(), "GET a, GET b, GET loadBalancers, POLL, POLL, PUT lb")
	})
}

// TestOldTokensAreNotPolled: an object that comes from an outdated cache has old tokens, whose polls would
// be repeated.
func TestOldTokensAreNotPolled(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		a.lasts = 2
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{managed(nets+"publicIPAddresses/a", nil)}}
		begun := p.Apply(t.Context(), in)
		later(begun.RequeueAfter)
		a.took()
		in.Tokens = begun.Tokens
		p.Apply(t.Context(), in)
		expect(t, "first poll", a.took(), "POLL")
		out := p.Apply(t.Context(), in)
		expect(t, "at once with the token of before", a.took(), "")
		later(out.RequeueAfter)
		p.Apply(t.Context(), in)
		expect(t, "second poll", a.took(), "GET a, POLL")
		out = p.Apply(t.Context(), in)
		expect(t, "after the end with the token of before", states(out)+a.took(), "a Done")
	})
}

func TestDifferencesAreRepairedAndOthersPartsKept(t *testing.T) {
	a := newAzure()
	p := newPlanner(t, a)
	id := nets + "networkSecurityGroups/nsg"
	rule := func(name, port string) map[string]any {
		return map[string]any{"name": name, "properties": map[string]any{"destinationPortRange": port}}
	}
	a.docs[arm.Key(id)] = map[string]any{
		"id": id, "name": "nsg", "location": "West Europe", "etag": "1", "tags": map[string]any{"cluster": "owned", "theirs": "1"},
		"properties": map[string]any{
			"provisioningState": "Succeeded", "securityRules": []any{rule("allow_ssh", "2222"), rule("theirs", "1")},
		},
	}
	out := p.Apply(t.Context(), Input{Owner: owner, Resources: []desired.Resource{
		managed(id, map[string]any{"securityRules": []any{rule("allow_ssh", "22")}}),
	}})
	expect(t, "states", states(out), "nsg Done")
	expect(t, "calls", a.took(), "GET networkSecurityGroups, PUT nsg")
	expect(t, "document", marshal(a.docs[arm.Key(id)]["properties"]),
		`{"provisioningState":"Succeeded","securityRules":[{"name":"allow_ssh",`+
			`"properties":{"destinationPortRange":"22"}},{"name":"theirs",`+
			`"properties":{"destinationPortRange":"1"}}]}`)
	expect(t, "tags", marshal(a.docs[arm.Key(id)]["tags"]), `{"cluster":"owned","theirs":"1"}`)
}

func TestWhatIsNotOursIsLeftAlone(t *testing.T) {
	a := newAzure()
	p := newPlanner(t, a)
	id := nets + "virtualNetworks/v"
	a.docs[arm.Key(id)] = map[string]any{"id": id, "location": "westeurope", "properties": map[string]any{"provisioningState": "Succeeded"}}
	in := Input{Owner: owner, Resources: []desired.Resource{managed(id, map[string]any{"flowTimeoutInMinutes": 4})}}
	out := p.Apply(t.Context(), in)
	expect(t, "apply", states(out), "v Done Unmanaged")
	expect(t, "difference", strings.Join(out.Resources[0].Diff, "; "),
		"properties.flowTimeoutInMinutes: none -> 4; tags.cluster: none -> owned")
	out = p.Delete(t.Context(), in)
	expect(t, "delete", states(out), "v Done Unmanaged")
	expect(t, "calls", a.took(), "GET virtualNetworks")
}

func TestCreateOnlyChangesTagsAlone(t *testing.T) {
	a := newAzure()
	p := newPlanner(t, a)
	a.docs[arm.Key(vms+"m")] = map[string]any{
		"id": vms + "m", "location": "westeurope", "tags": map[string]any{"cluster": "owned", "old": "1"},
		"properties": map[string]any{"provisioningState": "Succeeded", "size": "small"},
	}
	vm := createOnly(managed(vms+"m", map[string]any{"size": "big"}))
	expect(t, "unchanged", states(p.Apply(t.Context(), Input{Owner: owner, Resources: []desired.Resource{vm}})), "m Done")
	expect(t, "calls", a.took(), "GET virtualMachines")
	vm.Body.(map[string]any)["tags"] = map[string]any{"cluster": "owned", "new": "1"}
	expect(t, "tagged", states(p.Apply(t.Context(), Input{Owner: owner, Resources: []desired.Resource{vm}})), "m Done")
	expect(t, "calls", a.took(), "PATCH m")
	expect(t, "tags", marshal(a.docs[arm.Key(vms+"m")]["tags"]), `{"cluster":"owned","new":"1","old":"1"}`)
}

func TestObserve(t *testing.T) {
	a := newAzure()
	p := newPlanner(t, a)
	in := Input{Resources: []desired.Resource{
		{ID: nets + "virtualNetworks/v", APIVersion: "1", Policy: desired.Observe, Field: "spec.networkSpec.vnet"},
	}}
	out := p.Apply(t.Context(), in)
	if r := out.Resources[0]; r.State != Failed || r.Reason != "NotFound" ||
		!strings.Contains(r.Message, "spec.networkSpec.vnet") || r.RetryAfter == 0 {
		t.Errorf("missing: %+v", r)
	}
	a.docs[arm.Key(nets+"virtualNetworks/v")] = map[string]any{"id": nets + "virtualNetworks/v"}
	p.Forget(nets + "virtualNetworks/v")
	expect(t, "present", states(p.Apply(t.Context(), in)), "v Done")
}

func TestChildrenAreReadFromTheirParent(t *testing.T) {
	a := newAzure()
	p := newPlanner(t, a)
	vnet := nets + "virtualNetworks/v"
	a.docs[arm.Key(vnet)] = map[string]any{"id": vnet, "tags": map[string]any{"cluster": "owned"}, "properties": map[string]any{
		"subnets": []any{map[string]any{"name": "S1", "id": vnet + "/subnets/S1",
			"properties": map[string]any{"addressPrefix": "10.0.0.0/16", "provisioningState": "Succeeded"}}},
	}}
	subnet := func(name, prefix string) desired.Resource {
		return desired.Resource{ID: vnet + "/subnets/" + name, APIVersion: "1", Policy: desired.Manage,
			Body: map[string]any{"properties": map[string]any{"addressPrefix": prefix}}}
	}
	out := p.Apply(t.Context(),
		Input{Owner: owner, Resources: []desired.Resource{subnet("s1", "10.0.0.0/16"), subnet("s2", "10.1.0.0/16")}})
	expect(t, "states", states(out), "s1 Done, s2 Done")
	expect(t, "calls", a.took(), "GET virtualNetworks, PUT s2")
}

func TestFailures(t *testing.T) {
	vm := createOnly(managed(vms+"m", nil))
	for _, tc := range []struct {
		name     string
		answer   answer
		state    State
		reason   string
		terminal bool
		again    bool // retried after RetryAfter
	}{
		{"invalid", refusal(400, "InvalidParameter", "no such image"), Failed, "InvalidParameter", true, false},
		{"size", refusal(409, "SkuNotAvailable", "not here"), Failed, "SkuNotAvailable", true, false},
		{"quota", refusal(409, "OperationNotAllowed", "exceeding approved Cores quota"), Failed, "OperationNotAllowed", false, true},
		{"denied", refusal(403, "AuthorizationFailed", "no"), Failed, "AuthorizationFailed", false, true},
		{"busy", refusal(429, "RetryableErrorDueToAnotherOperation", "busy"), Waiting, "RetryableErrorDueToAnotherOperation", false, true},
		{"server", refusal(500, "", "oops"), Waiting, "Transient", false, true},
		{"throttled", answer{
			status: 429, body: `{"error":{"code":"TooManyRequests"}}`, header: map[string]string{"Retry-After": "7"},
		}, Waiting, "TooManyRequests", false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				a := newAzure()
				p := newPlanner(t, a)
				a.refuse["PUT m"] = []answer{tc.answer}
				out := p.Apply(t.Context(), Input{Owner: owner, Resources: []desired.Resource{vm}})
				r := out.Resources[0]
				if r.State != tc.state || r.Reason != tc.reason || r.Terminal != tc.terminal || r.Message == "" {
					t.Fatalf("first: %+v", r)
				}
				a.took()
				second := p.Apply(t.Context(), Input{Owner: owner, Resources: []desired.Resource{vm}, Tokens: out.Tokens})
				if s := second.Resources[0]; s.State != tc.state || strings.Contains(a.took(), "PUT") {
					t.Errorf("tried again at once: %+v", s)
				}
				later(out.RequeueAfter + time.Hour)
				third := p.Apply(t.Context(), Input{Owner: owner, Resources: []desired.Resource{vm}, Tokens: second.Tokens})
				if tried := strings.Contains(a.took(), "PUT m"); tried != tc.again {
					t.Errorf("tried again: %v", tried)
				}
				if tc.again {
					expect(t, "in the end", states(third), "m Done")
				}
				changed := createOnly(managed(vms+"m", map[string]any{"size": "other"}))
				expect(t, "with another spec", states(p.Apply(t.Context(),
					Input{Owner: owner, Resources: []desired.Resource{changed}, Tokens: third.Tokens})), "m Done")
			})
		})
	}
}

func TestPassingFailuresAreNotWaitedForWithoutBound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{managed(nets+"natGateways/n", nil)}}
		const tries = 9
		for range tries {
			a.refuse["PUT n"] = append(a.refuse["PUT n"], refusal(503, "ServerTimeout", "later"))
		}
		begun := time.Now()
		var out Outcome
		for range tries {
			out = p.Apply(t.Context(), in)
			in.Tokens = out.Tokens
			if lasts := time.Since(begun); (out.State == Failed) != (lasts >= patience) {
				t.Errorf("after %s: %s", lasts, states(out))
			}
			later(out.RequeueAfter)
		}
		expect(t, "after many tries", states(out), "n Failed ServerTimeout")
		if r := out.Resources[0]; !strings.Contains(r.Message, "tried 9 times since "+begun.UTC().Format(time.RFC3339)) || r.Terminal {
			t.Errorf("the bound is not reported: %+v", r)
		}
		expect(t, "repaired", states(p.Apply(t.Context(), in)), "n Done")
	})
}

func TestAFailedOperationIsReportedWithAzuresWords(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		a.lasts = 1
		a.ends["m"] = answer{status: 200, body: `{"status":"Failed","error":{"code":"OSProvisioningTimedOut",` +
			`"message":"did not finish in the allotted time"}}`}
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{createOnly(managed(vms+"m", nil))}}
		out := p.Apply(t.Context(), in)
		a.docs[arm.Key(vms+"m")] = map[string]any{"id": vms + "m", "tags": map[string]any{"cluster": "owned"},
			"properties": map[string]any{"provisioningState": "Failed"}}
		for range 3 {
			later(time.Minute)
			in.Tokens = out.Tokens
			out = p.Apply(t.Context(), in)
			r := out.Resources[0]
			if r.State != Failed || r.Reason != "OSProvisioningTimedOut" || !r.Terminal || !strings.Contains(r.Message, "allotted time") {
				t.Fatalf("%+v", r)
			}
		}
		if calls := a.took(); strings.Count(calls, "PUT") != 1 {
			t.Errorf("calls: %s", calls)
		}
		// A user repairs the machine.
		a.docs[arm.Key(vms+"m")]["properties"] = map[string]any{"provisioningState": "Succeeded"}
		later(2 * time.Minute)
		in.Tokens = out.Tokens
		expect(t, "repaired", states(p.Apply(t.Context(), in)), "m Done")
	})
}

func TestAPassingFailureOfAnOperationIsReportedAndWaitedOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		a.lasts = 1
		a.ends["n"] = answer{status: 200,
			body: `{"status":"Failed","error":{"code":"InternalServerError","message":"the interface broke"}}`}
		p := newPlanner(t, a)
		id := nets + "networkInterfaces/n"
		in := Input{Owner: owner, Resources: []desired.Resource{managed(id, nil)}}
		out := p.Apply(t.Context(), in)
		a.docs[arm.Key(id)] = map[string]any{"id": id, "tags": map[string]any{"cluster": "owned"},
			"properties": map[string]any{"provisioningState": "Failed"}}
		later(10 * time.Second)
		for range 3 {
			in.Tokens = out.Tokens
			out = p.Apply(t.Context(), in)
			if r := out.Resources[0]; r.State != Waiting || r.Reason != "InternalServerError" ||
				!strings.Contains(r.Message, "the interface broke") || r.RetryAfter < time.Second {
				t.Fatalf("%+v", r)
			}
		}
		if calls := a.took(); strings.Count(calls, "PUT") != 1 {
			t.Errorf("it is put again at once: %s", calls)
		}
		delete(a.ends, "n")
		later(out.RequeueAfter)
		in.Tokens = out.Tokens
		out = p.Apply(t.Context(), in)
		if calls := a.took(); strings.Count(calls, "PUT") != 1 {
			t.Errorf("it is not put again: %s", calls)
		}
		later(time.Minute)
		in.Tokens = out.Tokens
		expect(t, "repaired", states(p.Apply(t.Context(), in)), "n Done")
	})
}

// TestAPassingFailureIsKeptUntilItsTime: a machine that Azure could not place keeps its failure until the
// next attempt is due, although its body changes meanwhile.
func TestAPassingFailureIsKeptUntilItsTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		a.lasts = 1
		a.ends["m"] = answer{status: 200,
			body: `{"status":"Failed","error":{"code":"AllocationFailed","message":"no capacity in the region"}}`}
		p := newPlanner(t, a)
		vm := createOnly(managed(vms+"m", map[string]any{"size": "big"}))
		out := p.Apply(t.Context(), Input{Owner: owner, Resources: []desired.Resource{vm}})
		a.docs[arm.Key(vms+"m")] = map[string]any{"id": vms + "m", "tags": map[string]any{"cluster": "owned"},
			"properties": map[string]any{"provisioningState": "Failed"}}
		again := func(wait time.Duration) ResourceStatus {
			t.Helper()
			later(wait)
			out = p.Apply(t.Context(), Input{Owner: owner, Resources: []desired.Resource{vm}, Tokens: out.Tokens})
			return out.Resources[0]
		}
		if r := again(typicalMachine); r.Reason != "AllocationFailed" || r.Terminal || r.RetryAfter == 0 {
			t.Fatalf("the operation has failed: %+v", r)
		}
		a.took()
		vm.Body.(map[string]any)["properties"] = map[string]any{"size": "big", "disk": "now known"}
		r := again(time.Second)
		if r.Reason != "AllocationFailed" || r.Terminal || !strings.Contains(r.Message, "no capacity") {
			t.Errorf("another body: %+v", r)
		}
		if calls := a.took(); strings.Contains(calls, "PUT") {
			t.Errorf("it is put again too early: %s", calls)
		}
		delete(a.ends, "m")
		r = again(r.RetryAfter + time.Second)
		if calls := a.took(); strings.Contains(calls, "DELETE") || !out.Tokens[0].Again {
			t.Errorf("it is deleted before it is written down that it is created again: %s", calls)
		}
		again(r.RetryAfter + time.Second)
		if calls := a.took(); !strings.Contains(calls, "DELETE m") {
			t.Errorf("it is not made again: %s", calls)
		}
	})
}

// TestMarks: a resource with another owner's mark, and child resources without tags below it, are neither
// changed nor deleted. A resource without a mark is claimed if the owner may claim it.
func TestMarks(t *testing.T) {
	marked := func(mark string) map[string]any {
		tags := map[string]any{"cluster": "owned", "color": "old"}
		if mark != "" {
			tags["mark"] = mark
		}
		return map[string]any{"id": nets + "networkSecurityGroups/a", "tags": tags, "etag": "1"}
	}
	child := managed(nets+"networkSecurityGroups/a/securityRules/r", map[string]any{"x": "y"})
	delete(child.Body.(map[string]any), "tags")
	for _, test := range []struct {
		name, mark     string
		claims         bool
		apply, deleted string // the states
	}{
		{"own", "mine", true, "a Done", "a Done Deleted"},
		{"another's", "theirs", true, "a Failed OwnedByAnother", "a Done Unmanaged"},
		{"unmarked", "", true, "a Done", "a Done Deleted"},
		{"unmarked, an older one's", "", false, "a Failed OwnedByAnother", "a Done Unmanaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				a := newAzure()
				parent := managed(nets+"networkSecurityGroups/a", nil)
				tags := parent.Body.(map[string]any)["tags"].(map[string]any)
				tags["mark"], tags["color"] = "mine", "new"
				in := Input{Resources: []desired.Resource{parent}, Owner: Owner{Key: "cluster", Value: "owned",
					Mark: Mark{"mark", "mine"}, Claims: func(context.Context) bool { return test.claims }}}
				a.docs[arm.Key(parent.ID)] = marked(test.mark)
				p := newPlanner(t, a)
				expect(t, "apply", states(p.Apply(t.Context(), in)), test.apply)
				below := in
				below.Resources = []desired.Resource{child}
				expect(t, "apply below", states(p.Apply(t.Context(), below)), strings.Replace(test.apply, "a ", "r ", 1))
				p.Forget(parent.ID)
				out := p.Delete(t.Context(), below)
				if gone := out.Writes > 0; gone != (test.deleted == "a Done Deleted") {
					t.Errorf("a child is deleted: %v", gone)
				}
				expect(t, "delete", states(p.Delete(t.Context(), in)), test.deleted)
			})
		})
	}
}

// TestAMachineThatAzureCorruptedIsCreatedAgain: a create that failed for a temporary reason leaves a virtual machine in
// state Failed, which is deleted and created again.
func TestAMachineThatAzureCorruptedIsCreatedAgain(t *testing.T) {
	for _, lasts := range []int{0, 1} {
		inBubble(t, func(t *testing.T) {
			a := newAzure()
			a.lasts = 1
			failure := answer{status: 200,
				body: `{"status":"Failed","error":{"code":"InternalExecutionError","message":"Please retry later."}}`}
			p := newPlanner(t, a)
			in := Input{Owner: owner, Resources: []desired.Resource{createOnly(managed(vms+"m", map[string]any{"size": "big"}))}}
			var out Outcome
			pass := func() {
				out = p.Apply(t.Context(), in)
				in.Tokens = out.Tokens
				if out.Resources[0].Terminal || out.State == Failed {
					t.Fatalf("given up: %+v", out.Resources[0])
				}
				later(out.RequeueAfter)
			}
			for range 2 { // the create fails twice
				a.ends["m"] = failure
				a.lasts = 1
				pass()
				a.docs[arm.Key(vms+"m")] = map[string]any{
					"id": vms + "m", "tags": map[string]any{"cluster": "owned"},
					"properties": map[string]any{"provisioningState": "Failed"},
				}
				pass()
				a.lasts = lasts
				for a.docs[arm.Key(vms+"m")] != nil {
					pass()
				}
				for ; in.Tokens[0].Verb != Put || in.Tokens[0].Class == ""; pass() {
				}
			}
			if got := in.Tokens[0].Attempts; got != 2 {
				t.Errorf("%d attempts are remembered", got)
			}
			for i := 0; out.State != Done && i < 9; i++ {
				pass()
			}
			expect(t, "in the end", states(out), "m Done")
			if calls := a.took(); strings.Count(calls, "PUT m") != 3 || strings.Count(calls, "DELETE m") != 2 {
				t.Errorf("calls: %s", calls)
			}
			if len(out.Tokens) != 0 {
				t.Errorf("tokens are left: %+v", out.Tokens)
			}
		})
	}
}

// TestALostAnswerToTheDeleteOfAFailedMachine: the delete succeeded although its response was lost, so the machine is
// still created again.
func TestALostAnswerToTheDeleteOfAFailedMachine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		a.lasts = 1
		a.ends["m"] = answer{status: 200,
			body: `{"status":"Failed","error":{"code":"InternalExecutionError","message":"Please retry later."}}`}
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{createOnly(managed(vms+"m", map[string]any{"size": "big"}))}}
		var out Outcome
		pass := func() {
			out = p.Apply(t.Context(), in)
			in.Tokens = out.Tokens
			if out.State != Done && !in.Tokens[0].Creating() {
				t.Fatalf("it may not be missing, says %+v", in.Tokens[0])
			}
			later(out.RequeueAfter)
		}
		pass()
		a.docs[arm.Key(vms+"m")] = map[string]any{"id": vms + "m", "tags": map[string]any{"cluster": "owned"},
			"properties": map[string]any{"provisioningState": "Failed"}}
		a.refuse["DELETE m"] = []answer{refusal(500, "InternalServerError", "the answer is lost")}
		for len(a.refuse["DELETE m"]) > 0 {
			pass()
		}
		a.drop(vms + "m")
		p.Forget(vms + "m")
		for i := 0; out.State != Done && i < 9; i++ {
			pass()
		}
		expect(t, "in the end", states(out), "m Done")
	})
}

// TestAMachineThatRanIsNotCreatedAgain: a write of its tags that fails is no reason to
// delete it, whatever state Azure shows.
func TestAMachineThatRanIsNotCreatedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		p := newPlanner(t, a)
		id := vms + "m"
		a.docs[arm.Key(id)] = map[string]any{"id": id, "tags": map[string]any{"cluster": "owned"},
			"properties": map[string]any{"provisioningState": "Succeeded"}}
		vm := createOnly(managed(id, nil))
		vm.Body.(map[string]any)["tags"] = map[string]any{"cluster": "owned", "new": "1"}
		a.refuse["PATCH m"] = []answer{refusal(500, "InternalExecutionError", "later")}
		in := Input{Owner: owner, Resources: []desired.Resource{vm}}
		out := p.Apply(t.Context(), in)
		a.docs[arm.Key(id)]["properties"] = map[string]any{"provisioningState": "Failed"}
		p.Forget(id)
		for range 5 {
			in.Tokens = out.Tokens
			later(time.Minute)
			out = p.Apply(t.Context(), in)
		}
		if calls := a.took(); strings.Contains(calls, "DELETE") || strings.Contains(calls, "PUT") || strings.Count(calls, "PATCH") != 2 {
			t.Errorf("calls: %s", calls)
		}
	})
}

// TestADeleteIsTriedUntilItSucceeds: no single response of Azure ends the attempts.
func TestADeleteIsTriedUntilItSucceeds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{managed(nets+"natGateways/n", nil)}}
		p.Apply(t.Context(), in)
		a.refuse["DELETE n"] = []answer{
			refusal(400, "InvalidParameter", "not like this"), refusal(400, "InvalidParameter", "not like this"),
		}
		var out Outcome
		for range 3 {
			out = p.Delete(t.Context(), in)
			in.Tokens = out.Tokens
			if out.State != Done && (out.RequeueAfter == 0 || out.Resources[0].Terminal ||
				!strings.Contains(out.Resources[0].Message, "not like this")) {
				t.Fatalf("it waits for nothing: %+v", out.Resources[0])
			}
			later(out.RequeueAfter)
		}
		expect(t, "in the end", states(out), "n Done Deleted")
	})
}

func TestAnotherTokenOrOperationIsNotTrusted(t *testing.T) {
	a := newAzure()
	p := newPlanner(t, a)
	id := nets + "natGateways/n"
	for _, resume := range []string{
		"{}", "nonsense",
		`{"type":"RawMessage","token":{"asyncURL":"https://evil.test/op","locURL":"",` +
			`"origURL":"https://evil.test/x","method":"PUT","finalState":"","state":"InProgress"}}`,
		`{"type":"RawMessage","token":{"asyncURL":"https://arm.test/subscriptions/s/providers/x/locations/l/` +
			`operations/gone?api-version=1","locURL":"","origURL":"https://arm.test/x","method":"PUT",` +
			`"finalState":"","state":"InProgress"}}`,
	} {
		delete(a.docs, arm.Key(id))
		p.Forget(id)
		out := p.Apply(t.Context(), Input{Owner: owner, Resources: []desired.Resource{managed(id, nil)},
			Tokens: []Token{{ID: id, Verb: Put, Resume: resume}}})
		expect(t, resume, states(out), "n Done")
	}
}

func TestAzureKeepsSomethingElse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		a.overwrite = map[string]any{"idleTimeoutInMinutes": 30}
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{managed(nets+"natGateways/n", map[string]any{"idleTimeoutInMinutes": 4})}}
		puts := 0
		for range 60 {
			out := p.Apply(t.Context(), in)
			in.Tokens = out.Tokens
			if out.State != Done {
				t.Fatalf("%+v", out)
			}
			puts += strings.Count(a.took(), "PUT")
			later(time.Minute)
		}
		if puts > 6 {
			t.Errorf("%d puts in an hour", puts)
		}
	})
}

func TestDeleteInReverse(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{
			managed(nets+"virtualNetworks/v", nil),
			managed(nets+"publicIPAddresses/ip", nil),
			createOnly(managed(nets+"networkInterfaces/n", nil, nets+"virtualNetworks/v")),
			createOnly(managed(vms+"m", map[string]any{"networkProfile": map[string]any{"networkInterfaces": []any{
				map[string]any{"id": nets + "networkInterfaces/n", "properties": map[string]any{"deleteOption": "Delete"}},
			}}}, nets+"networkInterfaces/n")),
		}}
		if out := p.Apply(t.Context(), in); out.State != Done {
			t.Fatalf("%+v", out)
		}
		a.took()
		a.lasts = 1
		a.refuse["DELETE ip"] = []answer{refusal(400, "PublicIPAddressCannotBeDeleted", "still allocated")}
		out := p.Delete(t.Context(), in)
		expect(t, "first", states(out), "v Waiting WaitingForNeeds, ip Waiting PublicIPAddressCannotBeDeleted, "+
			"n Waiting WaitingForNeeds, m Waiting Deleting")
		expect(t, "calls", a.took(), "DELETE ip, DELETE m")
		delete(a.docs, arm.Key(nets+"networkInterfaces/n")) // Azure deletes the interface with the machine
		for i := 0; out.State != Done && i < 10; i++ {
			later(out.RequeueAfter)
			in.Tokens = out.Tokens
			out = p.Delete(t.Context(), in)
		}
		expect(t, "last", states(out), "v Done Deleted, ip Done Deleted, n Done Deleted, m Done Deleted")
		if len(a.docs) != 0 || len(out.Tokens) != 0 {
			t.Errorf("left: %v, %v", a.docs, out.Tokens)
		}
		if calls := a.took(); strings.Contains(calls, "DELETE n") {
			t.Errorf("the interface is deleted with its machine: %s", calls)
		}
	})
}

func TestTokensOfOthersAreKept(t *testing.T) {
	p := newPlanner(t, newAzure())
	theirs := Token{ID: vms + "other", Verb: Put, Resume: "x", Begun: time.Now()}
	old := Token{ID: vms + "old", Verb: Put, Resume: "x", Begun: time.Now().Add(-48 * time.Hour)}
	out := p.Delete(t.Context(), Input{Owner: owner, Tokens: []Token{theirs, old}})
	if len(out.Tokens) != 1 || out.Tokens[0].ID != theirs.ID {
		t.Errorf("tokens %+v", out.Tokens)
	}
}

// TestReadsAreShared: the reads of a thousand machines cost one list.
func TestReadsAreShared(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		p := newPlanner(t, a)
		inputs := make([]Input, 1000)
		for i := range inputs {
			id := vms + "m" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
			inputs[i] = Input{Owner: owner, Resources: []desired.Resource{createOnly(managed(id, nil))}}
			if out := p.Apply(context.Background(), inputs[i]); out.State != Done {
				t.Fatalf("%+v", out)
			}
		}
		a.took()
		later(10 * time.Minute)
		for _, in := range inputs {
			p.Apply(context.Background(), in)
		}
		expect(t, "calls", a.took(), "GET resources, GET virtualMachines")
		later(10 * time.Minute)
		for _, in := range inputs {
			p.Apply(context.Background(), in)
		}
		expect(t, "calls while nothing changes", a.took(), "GET resources")
	})
}

// TestAStaleObjectLosesNoOperation: an object from a cache that does not have the latest token begins no
// second operation, and gets the end of the first.
func TestAStaleObjectLosesNoOperation(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		a.lasts = 1
		a.ends["a"] = answer{status: 200, body: `{"status":"Failed","error":{"code":"OSProvisioningTimedOut",` +
			`"message":"did not finish in the allotted time"}}`}
		p := newPlanner(t, a)
		in := Input{Owner: owner, Resources: []desired.Resource{managed(nets+"publicIPAddresses/a", nil)}}
		out := p.Apply(t.Context(), in)
		expect(t, "begun", a.took(), "GET publicIPAddresses, PUT a")
		later(out.RequeueAfter)
		out = p.Apply(t.Context(), in) // without the token
		expect(t, "the end", a.took(), "GET a, POLL")
		if len(out.Tokens) != 1 || out.Tokens[0].Message == "" {
			t.Errorf("does not hear of the end: %+v", out)
		}
	})
}

// TestUpdateWritesWhatCanBeWritten: an update omits members that are read-only or not described, and keeps the writable
// members of others.
func TestUpdateWritesWhatCanBeWritten(t *testing.T) {
	a := newAzure()
	gateway := managed(nets+"natGateways/n", map[string]any{"idleTimeoutInMinutes": 10})
	gateway.APIVersion = desired.NetworkAPIVersion
	a.docs[arm.Key(gateway.ID)] = map[string]any{
		"id": gateway.ID, "name": "n", "location": "westeurope", "tags": map[string]any{"cluster": "owned", "theirs": "1"},
		"sku": map[string]any{"name": "Standard", "tier": "Regional"},
		"properties": map[string]any{"provisioningState": "Succeeded", "type": "Public", "idleTimeoutInMinutes": 4,
			"publicIpAddresses": []any{map[string]any{"id": "/theirs"}}},
	}
	out := newPlanner(t, a).Apply(t.Context(), Input{Owner: owner, Resources: []desired.Resource{gateway}})
	expect(t, "states", states(out), "n Done")
	body := a.docs[arm.Key(gateway.ID)]
	delete(body, "id")   // the test's Azure
	delete(body, "name") // adds these
	expect(t, "body", marshal(body), `{"location":"westeurope","properties":{"idleTimeoutInMinutes":10,"provisioningState":"Succeeded",`+
		`"publicIpAddresses":[{"id":"/theirs"}]},"sku":{"name":"Standard"},"tags":{"cluster":"owned","theirs":"1"}}`)
}

// TestPartsWrittenShowInTheWhole: a child that one object wrote is visible to another object in the parent without a
// read. A refusal because of a third object's child makes the next read call Azure.
func TestPartsWrittenShowInTheWhole(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		balancer := nets + "loadBalancers/lb"
		a.keep(arm.Key(balancer), map[string]any{"id": balancer, "name": "lb", "properties": map[string]any{
			"inboundnatrules": []any{map[string]any{"name": "first", "properties": map[string]any{"frontendPort": 22}}}}})
		p := newPlanner(t, a)
		ports := func() string {
			live, err := p.Live(t.Context(), balancer, "1")
			if err != nil {
				t.Fatal(err)
			}
			doc, err := document(live)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			rules, _ := lookup(doc, "properties", "inboundnatrules").([]any)
			for _, r := range rules {
				out = append(out, fmt.Sprintf("%s %v", keyOf(r), lookup(r.(map[string]any), "properties", "frontendPort")))
			}
			slices.Sort(out)
			return strings.Join(out, ", ")
		}
		expect(t, "before", ports(), "first 22")
		later(time.Second)
		rule := func(name string, port int) Input {
			r := createOnly(managed(balancer+"/inboundNatRules/"+name, map[string]any{"frontendPort": port}))
			delete(r.Body.(map[string]any), "tags")
			return Input{Owner: owner, Resources: []desired.Resource{r}}
		}
		expect(t, "second", states(p.Apply(t.Context(), rule("second", 2201))), "second Done")
		a.took()
		expect(t, "with the second", ports(), "first 22, second 2201")
		expect(t, "reads", a.took(), "")
		a.keep(arm.Key(balancer+"/inboundNatRules/theirs"), map[string]any{"name": "theirs", "properties": map[string]any{"frontendPort": 2202}})
		a.refuse["PUT third"] = []answer{refusal(400, arm.CodePortTaken, "taken")}
		expect(t, "third", states(p.Apply(t.Context(), rule("third", 2202))), "third Waiting ChangedElsewhere")
		expect(t, "with theirs", ports(), "first 22, second 2201, theirs 2202")
		expect(t, "third again", states(p.Apply(t.Context(), rule("third", 2203))), "third Done")
	})
}

// TestNothingIsMadeForWhatGoes: a manager whose list of machines is older than its list of interfaces finds a machine
// without its interface. Another manager has deleted both; an interface that this manager creates would be left over.
func TestNothingIsMadeForWhatGoes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newAzure()
		p := newPlanner(t, a)
		nic := nets + "networkInterfaces/n"
		in := Input{Owner: owner, Resources: []desired.Resource{
			createOnly(managed(nic, nil)),
			createOnly(managed(vms+"m", map[string]any{"networkProfile": map[string]any{"networkInterfaces": []any{
				map[string]any{"id": nic, "properties": map[string]any{"deleteOption": "Delete"}},
			}}}, nic)),
		}}
		if out := p.Apply(t.Context(), in); out.State != Done {
			t.Fatalf("%+v", out)
		}
		late := newPlanner(t, a)
		if live, err := late.Live(t.Context(), vms+"m", "1"); err != nil || live == nil {
			t.Fatalf("%s, %v", live, err)
		}
		clear(a.docs) // deleted by the other manager
		a.took()
		expect(t, "states", states(late.Apply(t.Context(), in)), "n Waiting Deleting, m Waiting WaitingForNeeds")
		if calls := a.took(); strings.Contains(calls, "PUT") {
			t.Errorf("something is made for a machine that is gone: %s", calls)
		}
		if live, err := late.Live(t.Context(), vms+"m", "1"); err != nil || live != nil {
			t.Errorf("the next pass sees the machine: %s, %v", live, err)
		}
	})
}

package plan_test

import (
	"encoding/json"
	"testing"
	"time"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/azure/plan"
	"casement.dev/casement/internal/testing/emulator"
)

// TestForeignChangeIsKept: a change that another program wrote after the resource was read is not undone,
// whether casement then writes tags or other fields.
func TestForeignChangeIsKept(t *testing.T) {
	client := emulator.Client(t, azuresim.Config{})
	group := desired.Group{Subscription: client.SubscriptionID(), Name: "g"}
	put := func(id, version string, body map[string]any) {
		t.Helper()
		result, err := client.Put(t.Context(), id, version, body)
		for ; err == nil && result.Operation != nil; result, err = client.Poll(t.Context(), result.Operation.Token) {
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// settled returns a resource once its operation has ended.
	settled := func(id, version string) json.RawMessage {
		t.Helper()
		for {
			live, err := client.Get(t.Context(), id, version)
			var got struct {
				Properties struct{ ProvisioningState string }
			}
			if err != nil || json.Unmarshal(live, &got) != nil {
				t.Fatal(err)
			}
			if got.Properties.ProvisioningState == "Succeeded" {
				return live
			}
			time.Sleep(time.Millisecond)
		}
	}
	put(group.ID(), desired.ResourcesAPIVersion, map[string]any{"location": "westeurope"})
	for _, test := range []struct {
		name, id, version, member string
		before, foreign, want     any
	}{
		{"scale set", group.Compute("virtualMachineScaleSets", "s"), desired.ComputeAPIVersion, "scaleInPolicy",
			map[string]any{"rules": []string{"Default"}}, map[string]any{"rules": []string{"OldestVM"}},
			map[string]any{"rules": []string{"NewestVM"}}},
		{"security group", group.Network("networkSecurityGroups", "n"), desired.NetworkAPIVersion, "flushConnection", nil, false, true},
	} {
		for _, tags := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				body := func(member any, theirs string) map[string]any {
					properties := map[string]any{test.member: member}
					if test.name == "scale set" {
						properties["orchestrationMode"], properties["platformFaultDomainCount"] = "Flexible", 1
					}
					out := map[string]any{"location": "westeurope", "properties": properties, "tags": map[string]any{"owner": "me"}}
					if theirs != "" {
						out["tags"].(map[string]any)["theirs"] = theirs
					}
					return out
				}
				put(test.id, test.version, body(test.before, ""))
				planner := plan.New(client, plan.Options{})
				apply := func(member any, mine string) plan.Outcome {
					b := body(member, "")
					if mine != "" {
						b["tags"].(map[string]any)["mine"] = mine
					}
					return planner.Apply(t.Context(), plan.Input{Owner: plan.Owner{Key: "owner", Value: "me"},
						Resources: []desired.Resource{{ID: test.id, APIVersion: test.version, Policy: desired.Manage, Body: b}}})
				}
				if out := apply(test.before, ""); out.State != plan.Done || out.Writes != 0 {
					t.Fatalf("not read: %+v", out)
				}
				want, mine := test.want, ""
				if tags {
					want, mine = nil, "new"
				}
				put(test.id, test.version, body(test.foreign, "kept"))
				if out := apply(want, mine); out.Resources[0].Reason != "ChangedElsewhere" {
					t.Errorf("the first write: %+v", out.Resources[0])
				}
				if out := apply(want, mine); out.Resources[0].State == plan.Failed {
					t.Errorf("the second write: %+v", out.Resources[0])
				}
				live := settled(test.id, test.version)
				var got struct {
					Tags       map[string]string
					Properties map[string]any
				}
				if err := json.Unmarshal(live, &got); err != nil {
					t.Fatal(err)
				}
				member, _ := json.Marshal(got.Properties[test.member])
				expected, _ := json.Marshal(test.want)
				if tags {
					expected, _ = json.Marshal(test.foreign)
				}
				if got.Tags["theirs"] != "kept" || got.Tags["mine"] != mine || string(member) != string(expected) {
					t.Errorf("%s, want %s with their tag", live, expected)
				}
				if _, err := client.Put(t.Context(), test.id, test.version, body(test.want, ""), arm.IfMatch("other")); !arm.Raced(err) {
					t.Errorf("a write with another ETag: %v", err)
				}
			})
		}
	}
}

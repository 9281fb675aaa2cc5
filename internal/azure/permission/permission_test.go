package permission

import (
	"slices"
	"strings"
	"testing"
)

// TestTable checks that every row has a known feature and evidence, and a reason.
func TestTable(t *testing.T) {
	all, err := parse(table)
	if err != nil || len(all) == 0 {
		t.Fatalf("%d actions, error %v", len(all), err)
	}
	used := map[string]bool{}
	for _, a := range all {
		used[a.Feature] = true
		if !slices.Contains(names(), a.Feature) {
			t.Errorf("%s: there is no feature %q", a.Name, a.Feature)
		}
		if !slices.Contains([]Evidence{Call, Linked, Poll, Unproven, Data}, a.Evidence) || a.Why == "" {
			t.Errorf("%s: evidence %q, why %q", a.Name, a.Evidence, a.Why)
		}
		if !strings.HasPrefix(a.Name, "Microsoft.") || strings.Contains(a.Name, "*") {
			t.Errorf("%s grants more than it says, or nothing", a.Name)
		}
	}
	for _, f := range names() {
		if !used[f] {
			t.Errorf("feature %s needs nothing", f)
		}
	}
}

func TestRoleOf(t *testing.T) {
	if _, err := RoleOf("/subscriptions/s", "nothing"); err == nil || !strings.Contains(err.Error(), "base") {
		t.Errorf("an unknown feature: %v", err)
	}
	base, err := RoleOf("/subscriptions/s", Base)
	if err != nil {
		t.Fatal(err)
	}
	with, err := RoleOf("/subscriptions/s", Base, "pools", "bastion")
	if err != nil {
		t.Fatal(err)
	}
	const pools = "Microsoft.Compute/virtualMachineScaleSets/write"
	if slices.Contains(base.Actions, pools) || !slices.Contains(with.Actions, pools) {
		t.Errorf("%s is in base or not in pools", pools)
	}
	for i := 1; i < len(with.Actions); i++ {
		if strings.EqualFold(with.Actions[i-1], with.Actions[i]) {
			t.Errorf("%s is there twice", with.Actions[i])
		}
	}
}

func TestOf(t *testing.T) {
	for _, test := range []struct{ method, kind, want string }{
		{"GET", "Microsoft.Resources/resourceGroups", "Microsoft.Resources/subscriptions/resourceGroups/read"},
		{"PATCH", "Microsoft.Compute/virtualMachines", "Microsoft.Compute/virtualMachines/write"},
		{"DELETE", "Microsoft.Network/loadBalancers/inboundNatRules", "Microsoft.Network/loadBalancers/inboundNatRules/delete"},
		{"POST", "Microsoft.Compute/virtualMachineScaleSets/delete", "Microsoft.Compute/virtualMachineScaleSets/delete/action"},
	} {
		if got := Of(test.method, test.kind); got != test.want {
			t.Errorf("%s %s is %s, want %s", test.method, test.kind, got, test.want)
		}
	}
}

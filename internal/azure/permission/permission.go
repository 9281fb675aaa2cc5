// Package permission is the list of Azure Resource Manager actions that casement-manager needs, by feature, and the
// custom role that contains them.
//
// The list is a table beside this file. test/e2e/privilege compares it with the calls that the local Azure receives:
// each call needs an action of the list, and each action whose evidence is a call is used. The use of other actions is
// not checked. The package makes no calls; the command line prints the list.
package permission

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed actions.tsv
var table string

// Base is the feature that every cluster needs.
const Base = "base"

// Evidence is the reason why an action is known to be needed.
type Evidence string

const (
	// Call means that the manager makes a call for which Azure checks the action.
	Call Evidence = "call"
	// Linked means that Azure also checks the action because the body of a call refers to a resource of another type (a
	// linked access check).
	Linked Evidence = "linked"
	// Unproven means that no test run proves the action, because the local Azure does not emulate the call or the run
	// does not depend on it.
	Unproven Evidence = "unproven"
	// Data means a call to a data plane, which needs a data action of a role.
	Data Evidence = "data"
	// Poll means that the action is for polling an operation.
	Poll Evidence = "poll"
)

// Action is one action of one feature.
type Action struct {
	Feature  string   `json:"feature"`
	Name     string   `json:"action"`
	Evidence Evidence `json:"evidence"`
	Why      string   `json:"why"`
}

// Feature is an optional part of casement, or Base.
type Feature struct {
	Name string `json:"name"`
	Does string `json:"does"`
}

// Features returns the features, Base first.
func Features() []Feature {
	return []Feature{
		{Base, "clusters with a public endpoint, and their machines"},
		{"availability-sets", "machines in a region without zones"},
		{"bastion", "AzureCluster.spec.bastionSpec"},
		{"bootstrap-secrets", "bootstrap data in a key vault, as in the flavors"},
		{"boot-extension", "AzureMachine.spec.vmExtensions, disableVMBootstrapExtension: false"},
		{"galleries", "images in galleries of one's own, managed images"},
		{"patch-day", "feature gate PatchDay: newer versions of images"},
		{"peering", "AzureCluster.spec.networkSpec.vnet.peerings"},
		{"pools", "AzureMachinePools"},
		{"private", "an API server behind an internal load balancer, with its private DNS zone"},
		{"private-endpoints", "privateEndpoints of subnets"},
		{"register", "registering resource providers of the subscription, once"},
		{"system-identity", "identity: SystemAssigned, with its role assignment"},
		{"user-identity", "identity: UserAssigned"},
	}
}

// Actions returns the actions of features, or all if none is given, sorted by name and each
// once. It returns an error for an unknown feature.
func Actions(features ...string) ([]Action, error) {
	all, err := parse(table)
	if err != nil {
		return nil, err
	}
	for _, f := range features {
		if !slices.ContainsFunc(Features(), func(known Feature) bool { return known.Name == f }) {
			return nil, fmt.Errorf("there is no feature %q: it is one of %s", f, strings.Join(names(), ", "))
		}
	}
	var out []Action
	for _, a := range all {
		if len(features) > 0 && !slices.Contains(features, a.Feature) {
			continue
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(a, b Action) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return slices.CompactFunc(out, func(a, b Action) bool { return strings.EqualFold(a.Name, b.Name) }), nil
}

func names() []string {
	var out []string
	for _, f := range Features() {
		out = append(out, f.Name)
	}
	return out
}

func parse(table string) ([]Action, error) {
	var out []Action
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("actions.tsv: %q has %d fields, not 4", line, len(fields))
		}
		out = append(out, Action{Feature: fields[0], Name: fields[1], Evidence: Evidence(fields[2]), Why: fields[3]})
	}
	return out, nil
}

// Of returns the action that Azure checks for a call with a method and a resource type such as
// Microsoft.Compute/virtualMachines. For a POST, the type ends with the action's name.
// Source: learn.microsoft.com/azure/role-based-access-control/role-definitions.
func Of(method, resourceType string) string {
	if kind, ok := strings.CutPrefix(resourceType, "Microsoft.Resources/"); ok && !strings.HasPrefix(kind, "subscriptions") {
		resourceType = "Microsoft.Resources/subscriptions/" + kind
	}
	if method == "PUT" && resourceType == "Microsoft.KeyVault/vaults/secrets" {
		return resourceType + "/setSecret/action" // the data plane's action
	}
	switch method {
	case "GET", "HEAD":
		return resourceType + "/read"
	case "PUT", "PATCH":
		return resourceType + "/write"
	case "DELETE":
		return resourceType + "/delete"
	}
	return resourceType + "/action"
}

// Role is a custom role in the form of `az role definition create --role-definition`.
type Role struct {
	Name             string   `json:"Name"`
	IsCustom         bool     `json:"IsCustom"`
	Description      string   `json:"Description"`
	Actions          []string `json:"Actions"`
	NotActions       []string `json:"NotActions"`
	DataActions      []string `json:"DataActions"`
	NotDataActions   []string `json:"NotDataActions"`
	AssignableScopes []string `json:"AssignableScopes"`
}

// RoleOf returns the role with the actions of features, which can be assigned at a scope such as /subscriptions/ID.
// Without features it contains all actions.
func RoleOf(scope string, features ...string) (Role, error) {
	actions, err := Actions(features...)
	if err != nil {
		return Role{}, err
	}
	role := Role{
		Name: "casement", IsCustom: true, Description: "What casement-manager does in Azure: " + strings.Join(orAll(features), ", "),
		NotActions: []string{}, DataActions: []string{}, NotDataActions: []string{}, AssignableScopes: []string{scope},
	}
	for _, a := range actions {
		if a.Evidence == Data {
			role.DataActions = append(role.DataActions, a.Name)
			continue
		}
		role.Actions = append(role.Actions, a.Name)
	}
	return role, nil
}

func orAll(features []string) []string {
	if len(features) == 0 {
		return []string{"all features"}
	}
	return features
}

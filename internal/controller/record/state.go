package record

import (
	"encoding/json"
	"slices"
	"strings"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/plan"
)

// States converts tokens to the form in which an object's status stores them.
func States(tokens []plan.Token) []infrav1.LongRunningOperationState {
	var states []infrav1.LongRunningOperationState
	for _, t := range tokens {
		data, err := json.Marshal(t)
		if err != nil {
			continue // never fails: a token has only text, numbers and times
		}
		states = append(states, infrav1.LongRunningOperationState{
			Type: string(t.Verb), Name: arm.NameOf(t.ID), ResourceGroup: arm.NameOf(arm.GroupOf(t.ID)),
			ServiceName: infrav1.OperationService, Data: string(data),
		})
	}
	return states
}

// Tokens parses the result of States. A state that cannot be parsed is omitted, and Azure is read instead.
func Tokens(states []infrav1.LongRunningOperationState) []plan.Token {
	var tokens []plan.Token
	for _, s := range states {
		var t plan.Token
		if s.ServiceName == infrav1.OperationService && json.Unmarshal([]byte(s.Data), &t) == nil {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

// Kept returns states, but with the earlier state from before if only a poll has changed it, because such a change
// needs no write.
func Kept(before, states []infrav1.LongRunningOperationState) []infrav1.LongRunningOperationState {
	was, is := Tokens(before), Tokens(states)
	if len(was) != len(before) || len(is) != len(states) {
		return states // some states are another provider's
	}
	kept := slices.Clone(states)
	for i, t := range is {
		if j := slices.IndexFunc(was, t.Polled); j >= 0 {
			kept[i] = before[j]
		}
	}
	return kept
}

// Forgive drops the recorded failures of a resource, because their cause is gone and the same write may be retried.
func Forgive(states []infrav1.LongRunningOperationState, id string) []infrav1.LongRunningOperationState {
	return without(states, id, func(t plan.Token) bool { return t.Class != "" && t.Resume == "" })
}

// Unsettled drops the record that a write of a resource did not result in the desired state, because the resource has
// changed since and the same write may be retried. This includes a write that Azure accepted and that failed later,
// because it had an effect; a write that Azure refused had none, and keeps its pause.
func Unsettled(states []infrav1.LongRunningOperationState, id string) []infrav1.LongRunningOperationState {
	return without(states, id, func(t plan.Token) bool { return (t.Class == "" || t.Class == arm.Failed) && t.Resume == "" })
}

// Open reports whether a write of a resource may be in progress in Azure.
func Open(states []infrav1.LongRunningOperationState, id string) bool {
	return slices.ContainsFunc(Tokens(states), func(t plan.Token) bool { return strings.EqualFold(t.ID, id) && t.Resume != "" })
}

// Creating reports whether a resource may be missing because it is being created, or
// created again.
func Creating(states []infrav1.LongRunningOperationState, id string) bool {
	return slices.ContainsFunc(Tokens(states), func(t plan.Token) bool { return strings.EqualFold(t.ID, id) && t.Creating() })
}

// Forget drops all tokens of a resource or action, because its result was read.
func Forget(states []infrav1.LongRunningOperationState, id string) []infrav1.LongRunningOperationState {
	return without(states, id, func(plan.Token) bool { return true })
}

// without removes the tokens of a resource for which drop is true.
func without(states []infrav1.LongRunningOperationState, id string, drop func(plan.Token) bool) []infrav1.LongRunningOperationState {
	return States(slices.DeleteFunc(Tokens(states), func(t plan.Token) bool { return strings.EqualFold(t.ID, id) && drop(t) }))
}

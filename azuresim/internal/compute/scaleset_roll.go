package compute

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// Values of a rolling upgrade's runningStatus.code.
const (
	rollForward   = "RollingForward"
	rollCancelled = "Cancelled"
	rollCompleted = "Completed"
	rollFaulted   = "Faulted"
)

// rollingPolicy is the policy of a rolling upgrade: limits in percent and the pause between
// batches.
type rollingPolicy struct {
	batch, unhealthy, unhealthyUpgraded int
	pause                               time.Duration
}

// policyOf returns a set's policy with Azure's defaults: 20 percent for each limit, no pause.
func policyOf(policy value.Object) rollingPolicy {
	percent := func(field string) int {
		if n, ok := value.Int(policy, field); ok {
			return n
		}
		return 20
	}
	p := rollingPolicy{batch: percent("maxBatchInstancePercent"), unhealthy: percent("maxUnhealthyInstancePercent"),
		unhealthyUpgraded: percent("maxUnhealthyUpgradedInstancePercent")}
	p.pause, _ = isoDuration(value.OrDefault(value.Str(policy, "pauseTimeBetweenBatches"), "PT0S")) // checked on writing
	return p
}

func (p rollingPolicy) view() value.Object {
	return value.Object{"maxBatchInstancePercent": p.batch, "maxUnhealthyInstancePercent": p.unhealthy,
		"maxUnhealthyUpgradedInstancePercent": p.unhealthyUpgraded,
		"pauseTimeBetweenBatches":             fmt.Sprintf("PT%dS", int(p.pause.Seconds()))}
}

// checkRollingPolicy checks the duration of the policy.
func checkRollingPolicy(policy value.Object) *engine.Error {
	if pause := value.Str(policy, "pauseTimeBetweenBatches"); pause != "" {
		if _, ok := isoDuration(pause); !ok {
			return invalid("rollingUpgradePolicy.pauseTimeBetweenBatches",
				"The value '%s' of parameter 'pauseTimeBetweenBatches' is no duration in ISO 8601 form.", pause)
		}
	}
	return nil
}

var isoForm = regexp.MustCompile(`^PT(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?$`)

// isoDuration parses the hours, minutes and seconds of an ISO 8601 duration.
func isoDuration(s string) (time.Duration, bool) {
	m := isoForm.FindStringSubmatch(strings.ToUpper(s))
	if m == nil {
		return 0, false
	}
	var d time.Duration
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		n, err := strconv.Atoi(value.OrDefault(m[i+1], "0"))
		if err != nil {
			return 0, false
		}
		d += time.Duration(n) * unit
	}
	return d, true
}

// follow applies a new model to the instances in the upgrade modes that do so without a request: to
// all at the same time (Automatic), or by a rolling upgrade that continues after the write.
func follow(t *engine.Tx, set *engine.Doc) *engine.Error {
	outdated := outdated(t, set)
	if isFlexible(set) || len(outdated) == 0 {
		return nil
	}
	switch value.Str(set.Body, "properties", "upgradePolicy", "mode") {
	case "Automatic":
		for _, m := range outdated {
			if _, e := upgrade(t, set, m); e != nil {
				return e
			}
		}
	case "Rolling":
		if rollCode(set) != rollForward {
			roll(t, set, http.MethodPut, "")
		}
	}
	return nil
}

// outdated returns the unprotected instances of a Uniform set that were created from another model.
func outdated(t *engine.Tx, set *engine.Doc) []*engine.Doc {
	var out []*engine.Doc
	for _, m := range instances(t, set) {
		if m.Hidden["model"] != set.Hidden["model"] && !isDeleting(m) && !isProtectedFromActions(m) {
			out = append(out, m)
		}
	}
	return out
}

// roll starts a rolling upgrade and changes the document of the set, which the caller has
// to Put.
func roll(t *engine.Tx, set *engine.Doc, method, apiVersion string) *engine.Operation {
	now := t.Now.Format(time.RFC3339)
	set.Hidden["rolling"] = value.Object{"code": rollForward, "startTime": now, "lastAction": "Start", "lastActionTime": now}
	return t.Begin(&engine.Operation{Method: method, Target: set.ID, Lock: set.ID + "/rollingUpgrades/latest",
		Style: engine.StyleCompute, Subscription: set.Parsed.Subscription,
		Namespace: set.Parsed.Namespace, Location: set.Location(), APIVersion: apiVersion}, scaleRoll(), 60*time.Second)
}

func rollCode(set *engine.Doc) string { return value.Str(set.Hidden, "rolling", "code") }

func startRoll(c *engine.Request, id engine.ID) *engine.Error {
	var op *engine.Operation
	err := c.Server.Update(func(t *engine.Tx) error {
		set := t.Edit(id.Key())
		switch {
		case set == nil:
			return engine.ErrNotFound(id)
		case isFlexible(set):
			return engine.BadRequest("OperationNotAllowed", "Rolling upgrades are not supported by the local "+
				"Azure for Virtual Machine Scale Sets with the orchestration mode Flexible.")
		case rollCode(set) == rollForward:
			return engine.Conflict("OperationNotAllowed", "A rolling upgrade of the virtual machine scale set "+
				"%s is in progress. Cancel it before you start another.", set.Parsed.Name())
		}
		op = roll(t, set, http.MethodPost, c.Version)
		t.Put(set)
		return nil
	})
	return c.Accepted(op, err)
}

// cancelRoll ends a rolling upgrade after the current batch.
func cancelRoll(c *engine.Request, id engine.ID) *engine.Error {
	var op *engine.Operation
	err := c.Server.Update(func(t *engine.Tx) error {
		set := t.Edit(id.Key())
		switch {
		case set == nil:
			return engine.ErrNotFound(id)
		case rollCode(set) != rollForward:
			return engine.Conflict("OperationNotAllowed",
				"There is no rolling upgrade of the virtual machine scale set %s to cancel.", set.Parsed.Name())
		}
		rolling := value.Sub(set.Hidden, "rolling")
		rolling["code"], rolling["lastAction"], rolling["lastActionTime"] = rollCancelled, "Cancel", t.Now.Format(time.RFC3339)
		t.Put(set)
		op = t.Begin(&engine.Operation{Method: http.MethodPost, Target: set.ID,
			Lock: set.ID + "/rollingUpgrades/cancel", Style: engine.StyleCompute, Subscription: c.ID.Subscription,
			Namespace: c.ID.Namespace, Location: set.Location(), APIVersion: c.Version, Args: value.Object{}}, scaleTasks(), time.Second)
		return nil
	})
	return c.Accepted(op, err)
}

// runRoll upgrades one batch after another until none is left, the upgrade is cancelled, or
// too many instances are unhealthy.
func runRoll(ctx context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	for {
		batch, policy, e := nextBatch(s, op.Target)
		if e != nil || len(batch) == 0 {
			return nil, e
		}
		_ = perform(s, ctx, op, batch) // healthy counts the failed instances as unhealthy
		if ctx.Err() != nil || s.Until(ctx, s.Clock.Now().Add(s.Latency(policy.pause))) != nil {
			return nil, errStopping()
		}
	}
}

// nextBatch starts the upgrade of the next instances. Instances whose upgrade a restart of the
// process interrupted come first.
func nextBatch(s *engine.Server, id string) (batch []task, policy rollingPolicy, e *engine.Error) {
	err := s.Update(func(t *engine.Tx) error {
		set := t.Find(id)
		if set == nil || isDeleting(set) || rollCode(set) != rollForward {
			return nil
		}
		policy = policyOf(value.Sub(set.Body, "properties", "upgradePolicy", "rollingUpgradePolicy"))
		all := instances(t, set)
		if e := healthy(t, set, all, policy); e != nil {
			return e
		}
		if batch = openTasks(t, set.ID); len(batch) > 0 {
			return nil
		}
		outdated := outdated(t, set)
		for _, m := range outdated[:min(len(outdated), max(1, len(all)*policy.batch/100))] {
			m, e := upgrade(t, set, m)
			if e != nil {
				return e
			}
			batch = append(batch, taskOf(m))
		}
		return nil
	})
	return batch, policy, engine.AsError(err)
}

// healthy returns an error if too many of all instances, or too many of the upgraded instances, are
// unhealthy. The state of the guest agent is used in place of the probe or extension that the set
// names.
func healthy(t *engine.Tx, set *engine.Doc, all []*engine.Doc, policy rollingPolicy) *engine.Error {
	bad, upgraded, badUpgraded := 0, 0, 0
	for _, m := range all {
		if value.Str(m.Hidden, "todo") != "" {
			continue
		}
		ok := m.State() == engine.StatusSucceeded
		if machines := hostOf(t.Server); ok && machines != nil && value.Str(m.Hidden, "power") == "running" {
			ok = machines.View(m.ID).AgentReady
		}
		if !ok {
			bad++
		}
		if m.Hidden["model"] == set.Hidden["model"] {
			upgraded++
			if !ok {
				badUpgraded++
			}
		}
	}
	switch {
	case upgraded > 0 && badUpgraded*100 > policy.unhealthyUpgraded*upgraded:
		return engine.Conflict("MaxUnhealthyUpgradedInstancePercentExceededInRollingUpgrade", "Rolling upgrade "+
			"failed after exceeding the MaxUnhealthyUpgradedInstancePercent value defined in the "+
			"RollingUpgradePolicy. %d%% of instances are in unhealthy state after being upgraded. For more "+
			"information on rolling upgrades, please visit "+
			"http://aka.ms/AzureVMSSRollingUpgrade", badUpgraded*100/upgraded)
	case len(all) > 0 && bad*100 > policy.unhealthy*len(all):
		return engine.Conflict("MaxUnhealthyInstancePercentExceededInRollingUpgrade", "Rolling upgrade failed "+
			"after exceeding the MaxUnhealthyInstancePercent value defined in the RollingUpgradePolicy. %d%% "+
			"of instances are in unhealthy state. For more information on rolling upgrades, please visit "+
			"http://aka.ms/AzureVMSSRollingUpgrade", bad*100/len(all))
	}
	return nil
}

func finishRoll(t *engine.Tx, op *engine.Operation, _ any, err *engine.Error) {
	set := t.Edit(op.Target)
	if set == nil || rollCode(set) != rollForward {
		return
	}
	rolling := value.Sub(set.Hidden, "rolling")
	rolling["code"] = rollCompleted
	if err != nil {
		rolling["code"], rolling["error"] = rollFaulted, value.Object{"code": err.Code, "message": err.Message}
	}
	t.Put(set)
}

// rollingView returns the resource rollingUpgrades/latest; nil if there was no rolling
// upgrade.
func rollingView(t *engine.Tx, set *engine.Doc) any {
	rolling := value.Sub(set.Hidden, "rolling")
	if rolling == nil {
		return nil
	}
	count := map[string]int{}
	for _, m := range instances(t, set) {
		switch {
		case m.Hidden["model"] != set.Hidden["model"]:
			count["pendingInstanceCount"]++
		case value.Str(m.Hidden, "todo") != "":
			count["inProgressInstanceCount"]++
		case m.State() == engine.StatusFailed:
			count["failedInstanceCount"]++
		default:
			count["successfulInstanceCount"]++
		}
	}
	progress := value.Object{}
	for _, field := range []string{"successfulInstanceCount", "failedInstanceCount", "inProgressInstanceCount", "pendingInstanceCount"} {
		progress[field] = count[field]
	}
	p := value.Object{"policy": policyOf(value.Sub(set.Body, "properties", "upgradePolicy", "rollingUpgradePolicy")).
		view(), "progress": progress, "runningStatus": value.Object{
		"code": rolling["code"], "startTime": rolling["startTime"], "lastAction": rolling["lastAction"],
		"lastActionTime": rolling["lastActionTime"]}}
	if rolling["error"] != nil {
		p["error"] = rolling["error"]
	}
	return value.Object{"id": set.ID + "/rollingUpgrades/latest", "name": "latest",
		"type": typeScale + "/rollingUpgrades", "location": set.Body["location"], "properties": p}
}

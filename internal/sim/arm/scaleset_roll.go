package arm

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The codes of a rolling upgrade's runningStatus.
const (
	rollForward   = "RollingForward"
	rollCancelled = "Cancelled"
	rollCompleted = "Completed"
	rollFaulted   = "Faulted"
)

// rollingPolicy is how a rolling upgrade goes about: percentages and the pause
// between batches.
type rollingPolicy struct {
	batch, unhealthy, unhealthyUpgraded int
	pause                               time.Duration
}

// policyOf is a set's policy with Azure's defaults: 20 percent each, no pause.
func policyOf(policy object) rollingPolicy {
	percent := func(field string) int {
		if n, ok := number(policy, field); ok {
			return n
		}
		return 20
	}
	p := rollingPolicy{batch: percent("maxBatchInstancePercent"), unhealthy: percent("maxUnhealthyInstancePercent"), unhealthyUpgraded: percent("maxUnhealthyUpgradedInstancePercent")}
	p.pause, _ = isoDuration(orDefault(str(policy, "pauseTimeBetweenBatches"), "PT0S")) // checked on writing
	return p
}

func (p rollingPolicy) view() object {
	return object{"maxBatchInstancePercent": p.batch, "maxUnhealthyInstancePercent": p.unhealthy, "maxUnhealthyUpgradedInstancePercent": p.unhealthyUpgraded, "pauseTimeBetweenBatches": fmt.Sprintf("PT%dS", int(p.pause.Seconds()))}
}

// checkRollingPolicy holds the ranges of the policy.
// Source: https://learn.microsoft.com/rest/api/compute/virtual-machine-scale-sets/create-or-update, RollingUpgradePolicy.
func checkRollingPolicy(policy object) *Error {
	for field, least := range map[string]int{"maxBatchInstancePercent": 5, "maxUnhealthyInstancePercent": 5, "maxUnhealthyUpgradedInstancePercent": 0} {
		if n, ok := number(policy, field); ok && (n < least || n > 100) {
			return invalid("rollingUpgradePolicy."+field, "The value '%d' of parameter '%s' is out of range: it has to be between %d and 100.", n, field, least)
		}
	}
	if pause := str(policy, "pauseTimeBetweenBatches"); pause != "" {
		if _, ok := isoDuration(pause); !ok {
			return invalid("rollingUpgradePolicy.pauseTimeBetweenBatches", "The value '%s' of parameter 'pauseTimeBetweenBatches' is no duration in ISO 8601 form.", pause)
		}
	}
	return nil
}

var isoForm = regexp.MustCompile(`^PT(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?$`)

// isoDuration reads the hours, minutes and seconds of an ISO 8601 duration.
func isoDuration(s string) (time.Duration, bool) {
	m := isoForm.FindStringSubmatch(strings.ToUpper(s))
	if m == nil {
		return 0, false
	}
	var d time.Duration
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		n, err := strconv.Atoi(orDefault(m[i+1], "0"))
		if err != nil {
			return 0, false
		}
		d += time.Duration(n) * unit
	}
	return d, true
}

// follow brings instances to a new model in the modes that do so by themselves:
// all at once (Automatic), or by a rolling upgrade that goes on after the write.
func (t *tx) follow(set *doc) *Error {
	outdated := t.outdated(set)
	if isFlexible(set) || len(outdated) == 0 {
		return nil
	}
	switch str(set.Body, "properties", "upgradePolicy", "mode") {
	case "Automatic":
		for _, m := range outdated {
			if _, e := t.upgrade(set, m); e != nil {
				return e
			}
		}
	case "Rolling":
		if rollCode(set) != rollForward {
			t.roll(set, http.MethodPut, "")
		}
	}
	return nil
}

// outdated are the instances of a Uniform set that were made from another model
// and are not protected.
func (t *tx) outdated(set *doc) []*doc {
	var out []*doc
	for _, m := range t.instances(set) {
		if m.Hidden["model"] != set.Hidden["model"] && !isDeleting(m) && !isProtectedFromActions(m) {
			out = append(out, m)
		}
	}
	return out
}

// roll begins a rolling upgrade; set is changed and to be put by the caller.
func (t *tx) roll(set *doc, method, apiVersion string) *operation {
	now := t.now.Format(time.RFC3339)
	set.Hidden["rolling"] = object{"code": rollForward, "startTime": now, "lastAction": "Start", "lastActionTime": now}
	return t.begin(&operation{Method: method, Target: set.ID, Lock: set.ID + "/rollingUpgrades/latest", Style: styleCompute, Subscription: set.id.Subscription,
		Namespace: set.id.Namespace, Location: set.location(), APIVersion: apiVersion}, scaleRoll(), 60*time.Second)
}

func rollCode(set *doc) string { return str(set.Hidden, "rolling", "code") }

func startRoll(c *call, id resourceID) *Error {
	var op *operation
	err := c.s.update(func(t *tx) error {
		set := t.edit(id.key())
		switch {
		case set == nil:
			return errNotFound(id)
		case isFlexible(set):
			return badRequest("OperationNotAllowed", "Rolling upgrades are not supported by the local Azure for Virtual Machine Scale Sets with the orchestration mode Flexible.")
		case rollCode(set) == rollForward:
			return conflict("OperationNotAllowed", "A rolling upgrade of the virtual machine scale set %s is in progress. Cancel it before you start another.", set.id.name())
		}
		op = t.roll(set, http.MethodPost, c.version)
		t.put(set)
		return nil
	})
	return c.accepted(op, err)
}

// cancelRoll ends a rolling upgrade after the batch that it is at.
func cancelRoll(c *call, id resourceID) *Error {
	var op *operation
	err := c.s.update(func(t *tx) error {
		set := t.edit(id.key())
		switch {
		case set == nil:
			return errNotFound(id)
		case rollCode(set) != rollForward:
			return conflict("OperationNotAllowed", "There is no rolling upgrade of the virtual machine scale set %s to cancel.", set.id.name())
		}
		rolling := sub(set.Hidden, "rolling")
		rolling["code"], rolling["lastAction"], rolling["lastActionTime"] = rollCancelled, "Cancel", t.now.Format(time.RFC3339)
		t.put(set)
		op = t.begin(&operation{Method: http.MethodPost, Target: set.ID, Lock: set.ID + "/rollingUpgrades/cancel", Style: styleCompute, Subscription: c.id.Subscription,
			Namespace: c.id.Namespace, Location: set.location(), APIVersion: c.version, Args: object{}}, scaleTasks(), time.Second)
		return nil
	})
	return c.accepted(op, err)
}

// runRoll upgrades batch after batch until none is left, one is cancelled, or
// too many do badly.
func runRoll(ctx context.Context, s *Server, op *operation) (any, *Error) {
	for {
		batch, policy, e := s.nextBatch(op.Target)
		if e != nil || len(batch) == 0 {
			return nil, e
		}
		_ = s.perform(ctx, op, batch) // what failed is counted with the unhealthy
		if ctx.Err() != nil || s.until(ctx, s.clock.Now().Add(s.latency(policy.pause))) != nil {
			return nil, errStopping()
		}
	}
}

// nextBatch begins the upgrade of the next instances. Those that a former run of
// the process was at come first.
func (s *Server) nextBatch(id string) (batch []task, policy rollingPolicy, e *Error) {
	err := s.update(func(t *tx) error {
		set := t.find(id)
		if set == nil || isDeleting(set) || rollCode(set) != rollForward {
			return nil
		}
		policy = policyOf(sub(set.Body, "properties", "upgradePolicy", "rollingUpgradePolicy"))
		all := t.instances(set)
		if e := t.healthy(set, all, policy); e != nil {
			return e
		}
		if batch = t.openTasks(set.ID); len(batch) > 0 {
			return nil
		}
		outdated := t.outdated(set)
		for _, m := range outdated[:min(len(outdated), max(1, len(all)*policy.batch/100))] {
			m, e := t.upgrade(set, m)
			if e != nil {
				return e
			}
			batch = append(batch, taskOf(m))
		}
		return nil
	})
	return batch, policy, asError(err)
}

// healthy refuses to go on when too many instances do badly: of those upgraded,
// or of all. The guest agent stands in for the probe or extension that the set
// names.
func (t *tx) healthy(set *doc, all []*doc, policy rollingPolicy) *Error {
	bad, upgraded, badUpgraded := 0, 0, 0
	for _, m := range all {
		if str(m.Hidden, "todo") != "" {
			continue
		}
		ok := m.state() == statusSucceeded
		if machines := hostOf(t.s); ok && machines != nil && str(m.Hidden, "power") == "running" {
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
		return conflict("MaxUnhealthyUpgradedInstancePercentExceededInRollingUpgrade", "Rolling upgrade failed after exceeding the MaxUnhealthyUpgradedInstancePercent value defined in the RollingUpgradePolicy. %d%% of instances are in unhealthy state after being upgraded. For more information on rolling upgrades, please visit http://aka.ms/AzureVMSSRollingUpgrade", badUpgraded*100/upgraded)
	case len(all) > 0 && bad*100 > policy.unhealthy*len(all):
		return conflict("MaxUnhealthyInstancePercentExceededInRollingUpgrade", "Rolling upgrade failed after exceeding the MaxUnhealthyInstancePercent value defined in the RollingUpgradePolicy. %d%% of instances are in unhealthy state. For more information on rolling upgrades, please visit http://aka.ms/AzureVMSSRollingUpgrade", bad*100/len(all))
	}
	return nil
}

func finishRoll(t *tx, op *operation, _ any, err *Error) {
	set := t.edit(op.Target)
	if set == nil || rollCode(set) != rollForward {
		return
	}
	rolling := sub(set.Hidden, "rolling")
	rolling["code"] = rollCompleted
	if err != nil {
		rolling["code"], rolling["error"] = rollFaulted, object{"code": err.Code, "message": err.Message}
	}
	t.put(set)
}

// rollingView is rollingUpgrades/latest; nil if there has been none.
func (t *tx) rollingView(set *doc) any {
	rolling := sub(set.Hidden, "rolling")
	if rolling == nil {
		return nil
	}
	count := map[string]int{}
	for _, m := range t.instances(set) {
		switch {
		case m.Hidden["model"] != set.Hidden["model"]:
			count["pendingInstanceCount"]++
		case str(m.Hidden, "todo") != "":
			count["inProgressInstanceCount"]++
		case m.state() == statusFailed:
			count["failedInstanceCount"]++
		default:
			count["successfulInstanceCount"]++
		}
	}
	progress := object{}
	for _, field := range []string{"successfulInstanceCount", "failedInstanceCount", "inProgressInstanceCount", "pendingInstanceCount"} {
		progress[field] = count[field]
	}
	p := object{"policy": policyOf(sub(set.Body, "properties", "upgradePolicy", "rollingUpgradePolicy")).view(), "progress": progress, "runningStatus": object{
		"code": rolling["code"], "startTime": rolling["startTime"], "lastAction": rolling["lastAction"], "lastActionTime": rolling["lastActionTime"]}}
	if rolling["error"] != nil {
		p["error"] = rolling["error"]
	}
	return object{"id": set.ID + "/rollingUpgrades/latest", "name": "latest", "type": typeScale + "/rollingUpgrades", "location": set.Body["location"], "properties": p}
}

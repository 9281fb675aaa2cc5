package plan

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// applyOne brings one resource as close to its desired state as one pass can.
func (p *Planner) applyOne(ctx context.Context, it *item) {
	if it.token.Resume != "" && p.poll(ctx, it) {
		return
	}
	live, err := p.reader.read(ctx, it.ID, it.APIVersion)
	if err != nil {
		it.unread(err)
		return
	}
	it.live = live
	if live == nil {
		p.missing(ctx, it)
		return
	}
	p.existing(ctx, it)
}

// missing creates a resource that does not exist.
func (p *Planner) missing(ctx context.Context, it *item) {
	if it.Policy == desired.Observe {
		it.set(Failed, "NotFound",
			fmt.Sprintf("%s names %s, which does not exist in Azure: create it, or change the field", it.Field, it.ID))
		it.status.Class, it.status.RetryAfter = arm.NotFound, missingPause
		return
	}
	if p.goneWithOther(ctx, it) || p.blocked(it, Put, hashOf(it.Body)) || !p.mine(ctx, it, nil) {
		return
	}
	// Another manager may have created the resource since the read.
	p.begin(ctx, it, Put, it.Body, arm.IfNoneMatch())
}

// goneWithOther reports whether a missing resource is one that Azure deletes only together with another resource, while the
// last read of that other resource still returned it. The two reads happened at different times, so a resource that is
// created now would be left over. The other resource is read again for the next pass.
func (p *Planner) goneWithOther(ctx context.Context, it *item) bool {
	for _, other := range it.pass {
		needs := slices.ContainsFunc(other.Needs, func(id string) bool { return strings.EqualFold(id, it.ID) })
		if !needs || !p.reader.takes(other.ID, it.ID) {
			continue
		}
		p.reader.forget(other.ID)
		if _, err := p.reader.read(ctx, other.ID, other.APIVersion); err != nil {
			it.unread(err)
			return true
		}
		it.set(Waiting, "Deleting", fmt.Sprintf("%s is deleted with %s", describe(it.ID), describe(other.ID)))
		it.status.RetryAfter = transitionPause
		return true
	}
	return false
}

// existing updates or repairs a resource that exists, or leaves it unchanged.
func (p *Planner) existing(ctx context.Context, it *item) {
	have, err := document(it.live)
	if err != nil {
		it.unread(fmt.Errorf("read %s: %w", describe(it.ID), err))
		return
	}
	state, _ := lookup(have, "properties", "provisioningState").(string)
	if inTransition(state) && !it.untouched(have, state) {
		p.reader.forget(it.ID)
		it.set(Waiting, state, fmt.Sprintf("%s is %s", describe(it.ID), strings.ToLower(state)))
		it.status.RetryAfter = transitionPause
		return
	}
	if it.Policy == desired.Observe {
		it.done("")
		return
	}
	want, err := document(it.Body)
	if err != nil {
		it.set(Failed, "InvalidBody", fmt.Sprintf("%s: %v", it.Field, err))
		it.status.Terminal = true
		return
	}
	it.status.Diff = it.differences(have, want)
	switch {
	case !it.owned(have, want):
		it.done("Unmanaged")
		it.status.Message = fmt.Sprintf("%s does not carry the tag %s=%s: it is used as it is", describe(it.ID),
			it.owner.Key, it.owner.Value)
	case !p.mine(ctx, it, have):
	case strings.EqualFold(state, "Failed"):
		p.repair(ctx, it, have, want)
	case len(it.status.Diff) == 0:
		it.token = Token{}
		it.done("")
	default:
		p.update(ctx, it, have, want)
	}
}

// differences returns the paths of the fields that differ and that casement would write. With the policy CreateOnly,
// only tags are compared.
func (it *item) differences(have, want map[string]any) []string {
	if it.Policy == desired.CreateOnly {
		have, want = map[string]any{"tags": have["tags"]}, map[string]any{"tags": want["tags"]}
	}
	return diff(have, want)
}

// owned reports whether casement may change the resource: it has the owner's tag or, if its type has no tags, the
// policy allows it.
func (it *item) owned(have, want map[string]any) bool {
	if tagsOf(have)[it.owner.Key] == it.owner.Value {
		return true
	}
	untagged := tagsOf(want) == nil && (arm.ParentOf(it.ID) != "" ||
		strings.HasPrefix(strings.ToLower(arm.TypeOf(it.ID)), "microsoft.authorization/"))
	return untagged && it.Policy != desired.Observe
}

// update writes the differences.
func (p *Planner) update(ctx context.Context, it *item, have, want map[string]any) {
	hash := hashOf(it.Body)
	if it.token.Class == "" && it.token.Hash == hash && p.now().Before(it.token.NotBefore) {
		// The same body was written before, and Azure keeps other values.
		it.done("NotSettled")
		it.status.Message = fmt.Sprintf("Azure keeps %s different from %s: %s", describe(it.ID), it.Field,
			strings.Join(it.status.Diff, ", "))
		return
	}
	verb, body := Put, any(it.rewrite(have, want))
	if it.Policy == desired.CreateOnly || it.onlyTags() {
		verb, body = Patch, map[string]any{"tags": mergedTags(have, want)}
	}
	if p.blocked(it, verb, hash) {
		return
	}
	if !p.claim(ctx, it, have) {
		return
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("Azure resource differs", "resource", it.ID, "differences", it.status.Diff)
	p.begin(ctx, it, verb, body, unchanged(have)...)
}

// onlyTags reports whether only tags differ and the resource type can change tags without a write of other fields.
// Source: the operations UpdateTags and Update of each type in Azure's REST reference; private endpoints have none.
func (it *item) onlyTags() bool {
	return !strings.EqualFold(arm.TypeOf(it.ID), "Microsoft.Network/privateEndpoints") &&
		!slices.ContainsFunc(it.status.Diff, func(d string) bool { return !strings.HasPrefix(d, "tags.") && !strings.HasPrefix(d, "tags:") })
}

func mergedTags(have, want map[string]any) map[string]any {
	tags := map[string]any{}
	maps.Copy(tags, tagsOf(have))
	maps.Copy(tags, tagsOf(want))
	return tags
}

// repair writes a resource again that Azure failed to provision. A virtual machine is instead deleted and created
// again, and only if the reason of the failure is temporary.
func (p *Planner) repair(ctx context.Context, it *item, have, want map[string]any) {
	if it.Policy == desired.CreateOnly && strings.HasPrefix(strings.ToLower(arm.TypeOf(it.ID)), "microsoft.compute/") {
		p.repairMachine(ctx, it, have, want)
		return
	}
	retry := it.token.Class != "" && !terminal(it.token.Class)
	if it.Policy == desired.CreateOnly && retry && p.now().Before(it.token.NotBefore) {
		// The body has changed since the resource was created, but the failure is about a field that cannot be changed.
		it.report(p.now())
		return
	}
	if p.blocked(it, Put, hashOf(it.Body)) {
		return
	}
	body := any(it.rewrite(have, want))
	if it.Policy == desired.CreateOnly {
		body = it.Body
	}
	p.begin(ctx, it, Put, body, unchanged(have)...)
}

// unchanged returns the option that lets a write succeed only if the resource has not changed since it was read.
// Otherwise the write could undo a later change by another program.
func unchanged(have map[string]any) []arm.Option {
	if etag, _ := have["etag"].(string); etag != "" {
		return []arm.Option{arm.IfMatch(etag)}
	}
	return nil
}

// repairMachine deletes a virtual machine that Azure could not create for a temporary reason, so that it is created
// again. The properties of a virtual machine cannot be written twice; the resilient create of scale sets does the same.
// A machine that was created successfully is never deleted; only its tags are written. Source:
// https://learn.microsoft.com/azure/virtual-machine-scale-sets/resilient-vm-create-delete.
func (p *Planner) repairMachine(ctx context.Context, it *item, have, want map[string]any) {
	passes := it.token.Class != "" && !terminal(it.token.Class)
	switch {
	case passes && it.token.Verb == Patch && len(it.status.Diff) > 0:
		p.update(ctx, it, have, want)
	case passes && it.token.Verb != Patch && p.now().Before(it.token.NotBefore):
		it.report(p.now())
	case passes && it.token.Verb != Patch:
		p.remake(ctx, it)
	default:
		if it.token.Class == "" {
			// Only the manager that created the machine knows the reason. This is another manager, or it has restarted.
			it.token = Token{ID: it.ID, Verb: Put, Begun: p.now(), NotBefore: p.now().Add(confirmPause), Class: arm.Failed,
				Code: "ProvisioningFailed", Message: fmt.Sprintf("Azure could not provision %s and gives no reason in its "+
					"state; its activity log has one", describe(it.ID))}
		}
		it.set(Failed, reason(cmp.Or(it.token.Code, "ProvisioningFailed")), it.token.Message)
		it.status.Class, it.status.RetryAfter = arm.Failed, max(it.token.NotBefore.Sub(p.now()), 0)
		it.status.Terminal = it.status.RetryAfter == 0
	}
}

// remake begins to delete a virtual machine that is to be created again. The pass before has stored this intent in the
// token; otherwise another manager would assume that a user deleted the machine.
func (p *Planner) remake(ctx context.Context, it *item) {
	if it.token.Again = true; !it.was.Again {
		it.set(Waiting, reason(cmp.Or(it.token.Code, string(it.token.Class))), it.token.Message)
		it.status.Class, it.status.RetryAfter = it.token.Class, shortestPoll
		return
	}
	p.begin(ctx, it, Delete, nil)
}

// remade records that the deletion has ended and that the virtual machine is to be created again.
func (p *Planner) remade(it *item, failure Token) {
	p.gone(it)
	it.token = Token{
		ID: it.ID, Verb: Put, Begun: p.now(), NotBefore: p.now(), Attempts: failure.Attempts, Since: failure.Since,
		Class: failure.Class, Code: failure.Code, Message: failure.Message,
	}
	it.set(Waiting, reason(cmp.Or(failure.Code, string(failure.Class))),
		fmt.Sprintf("%s is created again, as Azure failed: %s", describe(it.ID), failure.Message))
	it.status.Class, it.status.RetryAfter = failure.Class, shortestPoll
}

// begin sends a write and records its outcome.
func (p *Planner) begin(ctx context.Context, it *item, verb Verb, body any, options ...arm.Option) {
	hash := hashOf(it.Body)
	if it.token.Hash != hash || it.token.Verb != verb {
		it.token = it.token.carried(verb)
	}
	it.writes++
	p.reader.forget(it.ID)
	logr.FromContextOrDiscard(ctx).V(0).Info("Writing Azure resource", "verb", verb, "resource", it.ID)
	var result arm.Result
	var err error
	switch verb {
	case Put:
		result, err = p.client.Put(ctx, it.ID, it.APIVersion, body, options...)
	case Patch:
		result, err = p.client.Patch(ctx, it.ID, it.APIVersion, body, options...)
	case Delete:
		result, err = p.client.Delete(ctx, it.ID, it.APIVersion)
	case Post:
		result, err = p.client.Post(ctx, it.ID, it.APIVersion, body)
	}
	switch {
	case err != nil && len(options) > 0 && arm.Raced(err):
		it.token = Token{}
		it.set(Waiting, "ChangedElsewhere", fmt.Sprintf("%s was written by another program meanwhile: it is read again", describe(it.ID)))
		it.status.RetryAfter = shortestPoll
	case err != nil && arm.CodeOf(err) == arm.CodePortTaken:
		p.reader.forget(arm.ParentOf(it.ID))
		it.token = Token{}
		it.set(Waiting, "ChangedElsewhere", fmt.Sprintf("%s wants a port that another rule has: another is chosen", describe(it.ID)))
		it.status.RetryAfter = firstPause
	case err != nil:
		p.failed(it, verb, hash, err)
	case result.Operation != nil:
		it.token.ID, it.token.Verb, it.token.Hash, it.token.Begun = it.ID, verb, hash, p.now()
		if verb == Put && !it.getsValues() {
			p.reader.began(it.ID, result.Body)
		}
		p.open(it, result.Operation)
	default:
		p.succeeded(it, verb, hash, result.Body)
	}
}

// open records an operation that has not ended.
func (p *Planner) open(it *item, op *arm.Operation) {
	wait := op.RetryAfter
	if it.token.Resume == "" {
		wait = p.durations.expected(it.ID, it.token.Verb, wait)
	}
	if wait == 0 {
		// Azure requests no wait: poll often at first, and less often later.
		wait = min(max(p.now().Sub(it.token.Begun)/4, shortestPoll), longestPoll)
	}
	it.token.Resume, it.token.NotBefore = op.Token, p.now().Add(wait)
	p.inProgress(it)
}

func (p *Planner) inProgress(it *item) {
	what := map[Verb]string{Put: "Creating", Patch: "Updating", Delete: "Deleting", Post: "Updating"}[it.token.Verb]
	if it.live != nil && it.token.Verb == Put {
		what = "Updating"
	}
	doing := strings.ToLower(what) + " " + describe(it.ID)
	if it.token.Verb == Post {
		action, id := actionOf(it.ID)
		doing = "action " + action + " on " + describe(id)
	}
	it.set(Waiting, what, fmt.Sprintf("%s since %s", doing, it.token.Begun.UTC().Format(time.TimeOnly+" MST")))
	it.status.RetryAfter = max(it.token.NotBefore.Sub(p.now()), 0)
	if it.status.RetryAfter == 0 {
		it.status.RetryAfter = shortestPoll
	}
}

// poll requests the state of the item's operation once. It returns true if the item needs nothing more in this pass.
func (p *Planner) poll(ctx context.Context, it *item) bool {
	if p.now().Before(it.token.NotBefore) {
		p.inProgress(it)
		return true
	}
	answered := p.reader.answered(it.ID)
	ask := p.client.Poll
	if answered != nil && it.token.Verb == Put {
		ask = p.client.PollState
	}
	result, err := ask(ctx, it.token.Resume)
	verb, hash := it.token.Verb, it.token.Hash
	switch {
	case err != nil && !arm.OperationEnded(err):
		it.pollLater(p.now(), err)
		return true
	case err != nil && lost(err):
		it.token = Token{}
		p.reader.unanswered(it.ID)
		p.reader.forget(it.ID)
		return false
	case err != nil:
		it.token.Resume = ""
		p.reader.unanswered(it.ID)
		p.reader.forget(it.ID)
		p.failed(it, verb, hash, err)
		return false
	case result.Operation != nil:
		p.open(it, result.Operation)
		return true
	}
	p.durations.ended(it.ID, verb, p.now().Sub(it.token.Begun), result.Took)
	it.token.Resume = ""
	if verb == Put && len(result.Body) == 0 && it.settled(answered) {
		result.Body = provisioned(answered)
	}
	if verb == Put && len(result.Body) == 0 {
		if result.Body, err = p.client.Get(ctx, it.ID, it.APIVersion); err != nil {
			p.reader.unanswered(it.ID)
			p.reader.forget(it.ID)
			return false // the pass reads the resource, and reports the error of the read
		}
	}
	p.succeeded(it, verb, hash, result.Body)
	return true
}

// settled reports whether the first response to a create has all values of the body.
func (it *item) settled(answered json.RawMessage) bool {
	have, errHave := document(answered)
	want, errWant := document(it.Body)
	return errHave == nil && errWant == nil && len(it.differences(have, want)) == 0
}

// getsValues reports whether Azure assigns values to the resource during its creation that casement needs: an address, or the
// principal of its identity. Such a resource is read after its creation.
func (it *item) getsValues() bool {
	switch strings.ToLower(arm.TypeOf(it.ID)) {
	case "microsoft.network/publicipaddresses", "microsoft.network/privateendpoints", "microsoft.network/bastionhosts":
		return true
	}
	want, err := document(it.Body)
	kind, _ := lookup(want, "identity", "type").(string)
	return err != nil || strings.Contains(kind, "SystemAssigned")
}

// provisioned returns the response to a create as the resource is after the operation has succeeded.
func provisioned(answered json.RawMessage) json.RawMessage {
	doc, err := document(answered)
	if err != nil {
		return nil
	}
	if properties, ok := doc["properties"].(map[string]any); ok && properties["provisioningState"] != nil {
		properties["provisioningState"] = "Succeeded"
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return nil
	}
	return body
}

// succeeded records the end of a write.
func (p *Planner) succeeded(it *item, verb Verb, hash string, body json.RawMessage) {
	before := it.token
	it.token = Token{}
	switch {
	case verb == Delete && before.Again:
		p.remade(it, before)
		return
	case verb == Delete:
		p.gone(it)
		return
	case verb == Post:
		p.invoked(it)
		return
	}
	if len(body) == 0 {
		p.reader.forget(it.ID)
		it.done("")
		return
	}
	if it.live == nil {
		p.reader.created(it.ID)
	}
	it.live = p.reader.store(it.ID, body).body
	it.done("")
	have, errHave := document(body)
	want, errWant := document(it.Body)
	if errHave != nil || errWant != nil {
		return
	}
	if it.status.Diff = it.differences(have, want); len(it.status.Diff) > 0 {
		// Without a pause, the same write would repeat without end.
		it.token = Token{ID: it.ID, Verb: verb, Hash: hash, Begun: p.now(), Attempts: before.Attempts + 1}
		it.token.NotBefore = p.now().Add(backoff(it.token.Attempts, settlePause, longestPause))
	}
}

func (it *item) done(reason string) { it.set(Done, reason, "") }

// untouched reports whether Azure updates the resource on behalf of another program, in fields that casement does not
// set: the resource still counts as ready.
func (it *item) untouched(have map[string]any, state string) bool {
	want, err := document(it.Body)
	return err == nil && strings.EqualFold(state, "Updating") && len(it.differences(have, want)) == 0
}

// inTransition reports whether an operation of Azure on the resource is in progress.
func inTransition(state string) bool {
	switch strings.ToLower(state) {
	case "", "succeeded", "failed", "canceled", "cancelled":
		return false
	}
	return true
}

// Package plan brings Azure to the state that desired describes: it reads live state through a cache that all objects
// share, names each difference, begins all changes that can begin in parallel, polls each operation once, and reports
// the state of everything.
//
// It never sleeps and never waits for an operation; the tokens that it returns contain everything that the next pass
// needs. It does not depend on the purpose of a resource. Controllers call it.
package plan

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"time"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// Client has the calls to Azure that plan needs; *arm.Client implements it.
type Client interface {
	Get(ctx context.Context, id, apiVersion string, options ...arm.Option) (json.RawMessage, error)
	List(ctx context.Context, collection, apiVersion string, options ...arm.Option) iter.Seq2[json.RawMessage, error]
	Put(ctx context.Context, id, apiVersion string, body any, options ...arm.Option) (arm.Result, error)
	Patch(ctx context.Context, id, apiVersion string, body any, options ...arm.Option) (arm.Result, error)
	Delete(ctx context.Context, id, apiVersion string, options ...arm.Option) (arm.Result, error)
	Post(ctx context.Context, id, apiVersion string, body any, options ...arm.Option) (arm.Result, error)
	Poll(ctx context.Context, token string) (arm.Result, error)
	PollState(ctx context.Context, token string) (arm.Result, error)
}

// parallel is the number of ARM calls that one pass makes at the same time.
const parallel = 8

// Owner has the tags by which casement identifies the resources of a cluster.
type Owner struct {
	// Key and Value are the tag with the cluster's name. A resource without this tag does not belong to casement.
	Key, Value string
	// Mark is the tag that identifies the cluster among clusters of the same name; Object is the tag that identifies
	// the object within the cluster. A resource with another value of a tag belongs to another owner. An empty key
	// means that there is no such tag.
	Mark, Object Mark
	// Claims reports whether this cluster owns a resource that has the cluster's tag but no mark, because another
	// provider or an older casement created it; nil means yes.
	Claims func(context.Context) bool
}

// Mark is a tag.
type Mark struct{ Key, Value string }

// Input is the part of Azure that belongs to one object.
type Input struct {
	// Resources are the resources that should exist or, for Delete, should not.
	Resources []desired.Resource
	// Owner identifies the resources that may be changed and deleted.
	Owner Owner
	// Tokens are the tokens of the running operations, as the previous Outcome returned them.
	Tokens []Token
}

// State is the state of a resource, or of all of them.
type State string

const (
	// Done means that the resource is in its desired state, or is deleted if it should be.
	Done State = "Done"
	// Waiting means that Azure is working on the resource, or that another resource has to be ready first.
	Waiting State = "Waiting"
	// Failed means that an attempt failed. Unless Terminal is set, casement retries after RetryAfter, because a user
	// may have repaired the resource in Azure.
	Failed State = "Failed"
)

// Outcome is the result of a pass.
type Outcome struct {
	// State is the worst of the resources' states: Failed, else Waiting, else
	// Done.
	State State
	// RequeueAfter is the time until the next pass; 0 if a pass is only useful after a change of the spec.
	RequeueAfter time.Duration
	// Resources has one status per input resource, in input order.
	Resources []ResourceStatus
	// Tokens have to be stored in the object's status and passed to the next pass. Tokens of resources that are not
	// part of the input are kept.
	Tokens []Token
	// Live has Azure's response for each resource that exists, by the ID as the input spells it.
	Live map[string]json.RawMessage
	// Writes is the number of puts, patches and deletes that the pass sent.
	Writes int
}

// ResourceStatus is the status of one resource.
type ResourceStatus struct {
	ID        string
	State     State
	Condition string
	Field     string
	// Reason is a CamelCase word: Creating, Updating, Deleting, WaitingForNeeds,
	// Unmanaged, NotFound, or the code of Azure's error.
	Reason string
	// Message says what happened, why, and what to do; it may be empty.
	Message string
	// Class is the class of the error, if there was one.
	Class arm.Class
	// Terminal is true when only a change of the spec helps.
	Terminal bool
	// RetryAfter is the time until the next read of the resource.
	RetryAfter time.Duration
	// Diff names the differences that were found: "properties.x: have -> want".
	Diff []string
}

// Planner serves all objects of one arm client, which share its reads. It is safe for concurrent use.
type Planner struct {
	client Client
	reader *reader
	now    func() time.Time
	// durations are the durations of ended operations.
	durations durations

	mu sync.Mutex
	// latest has the most recent operation of each resource, by resource key.
	latest map[string]latest
}

// Options are the options of a Planner; the zero value is valid.
type Options struct {
	// TTL is the age up to which a cached list is used; one minute by default.
	TTL time.Duration
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// New returns a planner. There should be one per arm client.
func New(client Client, o Options) *Planner {
	if o.TTL == 0 {
		o.TTL = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Planner{client: client, reader: newReader(client, o.TTL, o.Now), now: o.Now, latest: map[string]latest{}}
}

// Live returns one resource through the shared cache; nil without an error means that it does not exist.
func (p *Planner) Live(ctx context.Context, id, apiVersion string) (json.RawMessage, error) {
	return p.reader.read(ctx, id, apiVersion)
}

// Forget makes the next read of a resource call Azure.
func (p *Planner) Forget(id string) { p.reader.forget(id) }

// List returns a collection through the shared cache, or from Azure if fresh. A collection whose parent
// does not exist is empty.
func (p *Planner) List(ctx context.Context, collection, apiVersion string, fresh bool) ([]json.RawMessage, error) {
	return p.reader.collection(ctx, collection, apiVersion, fresh)
}

// Invoke begins actions, or polls those in progress: each resource's ID is the path to post its body to. Done means
// that the action has succeeded; the caller decides whether to invoke it again.
func (p *Planner) Invoke(ctx context.Context, in Input) Outcome {
	return p.run(ctx, in, nil, p.invokeOne)
}

// Apply brings the resources as close to their desired state as one pass can.
func (p *Planner) Apply(ctx context.Context, in Input) Outcome {
	return p.run(ctx, in, needsOf(in.Resources), p.applyOne)
}

// Delete advances the deletion of the resources as far as one pass can, dependants first. A resource without the
// owner's tag is not deleted. A child resource, which has no tags, is deleted unless its policy is Observe.
func (p *Planner) Delete(ctx context.Context, in Input) Outcome {
	return p.run(ctx, in, dependantsOf(in.Resources), p.deleteOne)
}

// item is one resource in one pass.
type item struct {
	desired.Resource
	owner Owner
	// pass has all resources of the pass.
	pass []desired.Resource
	// token is the token for the next pass; was is the token with which this pass began.
	token, was Token
	live       json.RawMessage
	status     ResourceStatus
	writes     int
}

// run calls one for each resource, as soon as the resources that after lists for it are done.
func (p *Planner) run(ctx context.Context, in Input, after map[string][]string, one func(context.Context, *item)) Outcome {
	tokens, foreign := p.sortTokens(in)
	items := make([]*item, len(in.Resources))
	finished := map[string]bool{}
	for i, r := range in.Resources {
		token := p.recall(r, tokens[arm.Key(r.ID)])
		items[i] = &item{Resource: r, owner: in.Owner, pass: in.Resources, token: token, was: token}
	}
	for todo := slices.Clone(items); len(todo) > 0; {
		ready, rest := split(todo, after, finished)
		if len(ready) == 0 {
			for _, it := range rest {
				p.postpone(ctx, it, after, finished)
			}
			break
		}
		each(ready, func(it *item) { one(ctx, it) })
		for _, it := range ready {
			if it.status.State == Done {
				finished[arm.Key(it.ID)] = true
			}
		}
		todo = rest
	}
	return p.outcome(items, foreign)
}

// split separates the items whose predecessors are finished from the other items.
func split(items []*item, after map[string][]string, finished map[string]bool) (ready, rest []*item) {
	for _, it := range items {
		if slices.ContainsFunc(after[arm.Key(it.ID)], func(id string) bool { return !finished[id] }) {
			rest = append(rest, it)
		} else {
			ready = append(ready, it)
		}
	}
	return ready, rest
}

// each calls f for all items, a limited number of them at the same time.
func each(items []*item, f func(*item)) {
	slots := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for _, it := range items {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(it)
		})
	}
	wg.Wait()
}

// needsOf maps each resource to the resources that it needs and that are in the same plan. The caller is responsible
// for other needs.
func needsOf(resources []desired.Resource) map[string][]string {
	planned := map[string]bool{}
	for _, r := range resources {
		planned[arm.Key(r.ID)] = true
	}
	after := map[string][]string{}
	for _, r := range resources {
		for _, need := range r.Needs {
			if planned[arm.Key(need)] {
				after[arm.Key(r.ID)] = append(after[arm.Key(r.ID)], arm.Key(need))
			}
		}
	}
	return after
}

// dependantsOf is the inverse of needsOf.
func dependantsOf(resources []desired.Resource) map[string][]string {
	after := map[string][]string{}
	for id, needs := range needsOf(resources) {
		for _, need := range needs {
			after[need] = append(after[need], id)
		}
	}
	return after
}

// postpone reports a resource that waits for other resources. It still polls an open operation, so that the token does
// not outlive the operation.
func (p *Planner) postpone(ctx context.Context, it *item, after map[string][]string, finished map[string]bool) {
	if it.token.Resume != "" {
		p.poll(ctx, it)
	}
	waitsFor := slices.DeleteFunc(slices.Clone(after[arm.Key(it.ID)]), func(id string) bool { return finished[id] })
	slices.Sort(waitsFor)
	message := "cannot begin: the order of the resources has a circle"
	if len(waitsFor) > 0 {
		message = "waits for " + describe(waitsFor[0])
	}
	it.set(Waiting, "WaitingForNeeds", message)
}

func (p *Planner) outcome(items []*item, tokens []Token) Outcome {
	p.remember(items)
	out := Outcome{State: Done, Tokens: tokens, Live: map[string]json.RawMessage{}}
	for _, it := range items {
		out.Resources = append(out.Resources, it.status)
		out.Writes += it.writes
		if it.live != nil {
			out.Live[it.ID] = it.live
		}
		if !it.token.empty() {
			out.Tokens = append(out.Tokens, it.token)
		}
		if it.status.State == Failed || it.status.State == Waiting && out.State == Done {
			out.State = it.status.State
		}
		if wait := it.status.RetryAfter; wait > 0 && (out.RequeueAfter == 0 || wait < out.RequeueAfter) {
			out.RequeueAfter = wait
		}
	}
	slices.SortFunc(out.Tokens, compareTokens)
	return out
}

func (it *item) set(state State, reason, message string) {
	diff := it.status.Diff
	it.status = ResourceStatus{ID: it.ID, Condition: it.Condition, Field: it.Field, State: state, Reason: reason,
		Message: message, Diff: diff}
}

// describe names a resource for a message.
func describe(id string) string {
	return arm.TypeOf(id) + "/" + arm.NameOf(id)
}

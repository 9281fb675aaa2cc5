// Package plan brings Azure to what desired says: it reads live state through a
// cache that all objects share, names each difference, begins all changes that can
// begin in parallel, polls each operation once, and reports the state of everything.
//
// It never sleeps and never waits for an operation; what has to be remembered
// until the next pass is in the tokens that it returns. It refuses to know what
// resources are for. Controllers call it.
package plan

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// Client is what plan needs of Azure; *arm.Client is one.
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

// parallel is how many ARM calls one pass makes at the same time.
const parallel = 8

// Owner is by what tags casement knows what it made for a cluster.
type Owner struct {
	// Key and Value are the tag of a cluster's name. What lacks it is a stranger's.
	Key, Value string
	// Mark is the tag that says which cluster of that name it is, Object the key of the one
	// that says which object of the cluster. A resource that has one with another value than
	// it is planned with is another owner's. Empty keys mean no such tags.
	Mark, Object Mark
	// Claims reports whether what has the cluster's tag and no mark, as another provider or
	// an older casement makes it, is this cluster's; nil means yes.
	Claims func(context.Context) bool
}

// Mark is a tag.
type Mark struct{ Key, Value string }

// Input is one object's share of Azure.
type Input struct {
	// Resources are what should be, or for Delete what should go.
	Resources []desired.Resource
	// Owner marks what may be changed and deleted.
	Owner Owner
	// Tokens are the tokens of running operations that the last Outcome returned.
	Tokens []Token
}

// State is the state of a resource, or of all of them.
type State string

const (
	// Done: it is as it should be, or gone when it should go.
	Done State = "Done"
	// Waiting: Azure is at work, or something else has to be done first.
	Waiting State = "Waiting"
	// Failed: it does not go on by itself. Unless Terminal, it is tried again
	// after RetryAfter, because a user may repair it in Azure.
	Failed State = "Failed"
)

// Outcome is where a pass got to.
type Outcome struct {
	// State is the worst of the resources' states: Failed, else Waiting, else
	// Done.
	State State
	// RequeueAfter is when another pass has something to do; 0 when only a
	// change of the spec does.
	RequeueAfter time.Duration
	// Resources has one status per input resource, in input order.
	Resources []ResourceStatus
	// Tokens are to be stored in the object's status and handed to the next pass.
	// Tokens of resources that were not part of the input are kept.
	Tokens []Token
	// Live has what Azure answered for each resource that exists, by the ID as
	// the input spells it.
	Live map[string]json.RawMessage
	// Writes is how many puts, patches and deletes the pass sent.
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
	// Message says what, why, and what to do; empty when there is nothing to say.
	Message string
	// Class is the class of the error, if there was one.
	Class arm.Class
	// Terminal is true when only a change of the spec helps.
	Terminal bool
	// RetryAfter is when to look again.
	RetryAfter time.Duration
	// Diff names the differences that were found: "properties.x: have -> want".
	Diff []string
}

// Planner works for all objects of one arm client, which share its reads. It is
// safe for concurrent use.
type Planner struct {
	client Client
	reader *reader
	now    func() time.Time
	// durations are those of the operations that have ended.
	durations durations

	mu sync.Mutex
	// latest is by the resource's key.
	latest map[string]latest
}

// Options of a Planner; the zero value is good.
type Options struct {
	// TTL is how old a list may be that answers a read; one minute by default.
	TTL time.Duration
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// New makes a planner. There should be one per arm client.
func New(client Client, o Options) *Planner {
	if o.TTL == 0 {
		o.TTL = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Planner{client: client, reader: newReader(client, o.TTL, o.Now), now: o.Now, latest: map[string]latest{}}
}

// Live reads one resource through the shared cache; nil without an error means
// that it does not exist.
func (p *Planner) Live(ctx context.Context, id, apiVersion string) (json.RawMessage, error) {
	return p.reader.read(ctx, id, apiVersion)
}

// Forget makes the next read of a resource ask Azure.
func (p *Planner) Forget(id string) { p.reader.forget(id) }

// List reads a collection through the shared cache; a fresh one is asked of Azure. A
// collection of something that does not exist is empty.
func (p *Planner) List(ctx context.Context, collection, apiVersion string, fresh bool) ([]json.RawMessage, error) {
	return p.reader.collection(ctx, collection, apiVersion, fresh)
}

// Invoke begins actions, or polls those that are under way: each resource's ID is the
// path to post its body to. Done means that the action has ended well; it is for the
// caller to know whether it is due again.
func (p *Planner) Invoke(ctx context.Context, in Input) Outcome {
	return p.run(ctx, in, nil, p.invokeOne)
}

// Apply goes one pass towards what the resources should be.
func (p *Planner) Apply(ctx context.Context, in Input) Outcome {
	return p.run(ctx, in, needsOf(in.Resources), p.applyOne)
}

// Delete goes one pass towards the end of the resources, dependants first. What
// does not carry the owner's tag is left alone; child resources, which have no
// tags, go when their policy is not Observe.
func (p *Planner) Delete(ctx context.Context, in Input) Outcome {
	return p.run(ctx, in, dependantsOf(in.Resources), p.deleteOne)
}

// item is one resource in one pass.
type item struct {
	desired.Resource
	owner Owner
	// usedBy are the resources of the pass that need this one.
	usedBy []desired.Resource
	// token is what the next pass has to know, was what this one began with.
	token, was Token
	live       json.RawMessage
	status     ResourceStatus
	writes     int
}

// run calls one for each resource, as soon as the resources that it comes after are done.
func (p *Planner) run(ctx context.Context, in Input, after map[string][]string, one func(context.Context, *item)) Outcome {
	tokens, foreign := p.sortTokens(in)
	items := make([]*item, len(in.Resources))
	finished := map[string]bool{}
	for i, r := range in.Resources {
		token := p.recall(r, tokens[arm.Key(r.ID)])
		items[i] = &item{Resource: r, owner: in.Owner, token: token, was: token}
		for _, other := range in.Resources {
			if slices.ContainsFunc(other.Needs, func(id string) bool { return strings.EqualFold(id, r.ID) }) {
				items[i].usedBy = append(items[i].usedBy, other)
			}
		}
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

// split parts the items whose predecessors are finished from the others.
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

// each calls f for all items, a few at a time.
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

// needsOf maps each resource to those it needs and that are planned with it.
// Needs outside are the caller's business.
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

// dependantsOf is needsOf turned round.
func dependantsOf(resources []desired.Resource) map[string][]string {
	after := map[string][]string{}
	for id, needs := range needsOf(resources) {
		for _, need := range needs {
			after[need] = append(after[need], id)
		}
	}
	return after
}

// postpone reports a resource that waits for others. Its open operation is polled all
// the same, so that the token does not outlive the operation.
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

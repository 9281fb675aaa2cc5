package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/value"
)

// Provider is one resource provider of Azure: the types that it has and what it
// answers besides them. Providers do not know each other. They meet by declared
// references, by the names of resource types, and by what the engine asks of
// them through the functions below. A function that is nil does nothing.
type Provider struct {
	// Namespace is Azure's name of it, "Microsoft.Compute".
	Namespace string
	// Versions are the API versions that its types are listed with, the newest first.
	Versions []string
	Types    []Type
	Routes   []Route
	// Hosts are public names that it answers for; "*.x" means those below x.
	Hosts []string
	// State is what the provider keeps for one server; stateOf gives it back.
	State any

	// CheckName refuses the name of a new resource or part.
	CheckName func(id ID) *Error
	// NotFound words the refusal of what is not there; where it returns nil, ARM's
	// words are used.
	NotFound func(id ID) *Error
	// Busy words the refusal of a write while an operation is under way.
	Busy func(op *Operation, now time.Time) *Error
	// Roles are the roles that a principal has at a resource, by the names of their
	// definitions.
	Roles func(t *Tx, principal string, id ID) []string
	// Budget is a limit of requests that the provider has of its own.
	Budget func(c *Request) (Budget, bool)
	// Refuse is asked before each request below a subscription.
	Refuse func(c *Request) *Error
	// Answer serves what no row and no route is for, before they are looked at;
	// false leaves the request to them.
	Answer func(c *Request) (bool, *Error)
	// Tenant answers paths above subscriptions; false says that the path is not of this provider.
	Tenant func(c *Request) (bool, *Error)
	// Front serves what is none of ARM's: requests without ARM's tokens, which are
	// not in the call log; false means that the request is something else.
	Front func(c *Request) bool
	// Data serves a data plane, by the host that is asked.
	Data func(c *Request) (bool, *Error)
	// Open reads what the provider keeps beside the state, or makes it.
	Open func(s *Server) error
	// Start resumes what ran, once the state is open or was replaced.
	Start func(s *Server)
	// Clear is called in the transaction that replaces the state; what it returns
	// is called after that.
	Clear func(t *Tx) func() error
}

// Type is one resource type: a row in the table of its provider.
type Type struct {
	Name  string
	Style style
	// Versions are the API versions that the type is listed with, the newest first; nil
	// is the provider's.
	Versions []string
	// Locations are where a resource can be; nil is every region. One that is elsewhere is
	// refused.
	Locations []string
	// Takes is how long Azure needs for a write.
	Takes time.Duration
	// Retry is when Azure wants to be asked again about a write, and about a delete, in
	// seconds; 0 is the style's.
	Retry Retry
	// Polled: a write names both addresses of its operation, as a delete does.
	Polled bool
	// Sync types answer without an operation.
	Sync bool
	// AsyncCreate types make a resource with an operation, though they are Sync.
	AsyncCreate bool
	// Created is the status of a PUT that makes the resource; 201 when 0.
	Created int
	// Global types have no location of their own.
	Global bool
	// Untracked ones are in no list of resources.
	Untracked bool
	// Remains marks records that Azure keeps of deleted resources, which no list of resources
	// shows.
	Remains bool
	// Stateless documents have no provisioning state.
	Stateless bool
	// Located: the answer to the PUT that makes a resource names it in Location.
	Located bool
	// Echoed: a DELETE answers with the document that is deleted.
	Echoed bool
	// ETag is how bodies show the ETag.
	ETag etagForm
	// Parts are the child types that are inside the document, with the array that
	// holds them; writable ones may be PUT and deleted singly.
	Parts map[string]bool
	// Refs are what a document may point at.
	Refs []Reference
	// Opaque marks types whose bodies name other resources without a reference to them, so that
	// those can be deleted.
	Opaque bool
	// Kept documents have no effect: nothing heeds them, and answers to writes say so.
	// They are Opaque too.
	Kept bool
	// Addresses are the arrays of IP configurations.
	Addresses []string
	// Put, Update and Delete are the works of the operations; Update is that of a
	// write that changes the resource. Without a name they are the engine's own.
	Put, Update, Delete Work
	// Works are background operations of the provider that no row of Types begins.
	Works []Work
	// Supersedes: a delete ends what is under way, in place of being refused.
	// Preempts: so does a write.
	Supersedes, Preempts bool
	// AtOnce says that Azure ends a write before it answers; nil never does. Quiet
	// types name no operation then.
	AtOnce func(t *Tx, d, old *Doc) bool
	Quiet  bool
	// SideBySide: parts are written at the same time; else one holds the others up.
	SideBySide bool
	// Prepare validates and completes a write. old is nil on creation.
	Prepare func(t *Tx, d, old *Doc) *Error
	// Guard refuses a delete, GuardPart that of a part.
	Guard     func(t *Tx, d *Doc) *Error
	GuardPart func(t *Tx, part string, id ID) *Error
	// Gone is called in the transaction that deletes a document, before it is gone.
	Gone func(t *Tx, d *Doc)
	// Rests says that View would add nothing; nil never says so.
	Rests func(t *Tx, r *Record, expand string) bool
	// View adds to body what is computed on reading.
	View func(t *Tx, d *Doc, body value.Object, expand string)
	// Uses is what a document takes of the quota of its region.
	Uses func(d *Doc) []Use
	// Power is a word on the state that the inventory shows.
	Power func(d *Doc) string
	// Principal is the identity that a document represents.
	Principal func(t *Tx, d *Doc) Principal
	// Filter keeps of a list what a $filter asks for.
	Filter func(t *Tx, found []*Record, filter string) []*Record
	// Serve answers requests to the type in a way of its own; false leaves them to
	// the engine.
	Serve   func(c *Request) (bool, *Error)
	Actions []Action

	provider *Provider
	// order is the place of the row among all.
	order int
}

// KeptTypes are rows like one, of types whose documents have no effect. Each line is the
// name of one in a namespace; the word sync after it says that Azure ends its writes before
// it answers. A type below another one has no location.
func KeptTypes(namespace, lines string, like Type) []Type {
	var rows []Type
	for line := range strings.Lines(lines) {
		row := like
		name, sync, _ := strings.Cut(strings.TrimSpace(line), " ")
		row.Name, row.Kept, row.Global, row.Sync = namespace+"/"+name, true, strings.Contains(name, "/"), sync == "sync"
		rows = append(rows, row)
	}
	return rows
}

// Retry is a Retry-After of writes and of deletes, in seconds.
type Retry struct{ Write, Delete int }

// etagForm is how a body shows its ETag.
type etagForm int

const (
	etagNone  etagForm = iota
	EtagWeak           // W/"x", in parts too
	EtagPlain          // x
)

// Reference declares that documents of a type point at another type.
type Reference struct {
	// Path leads to the reference in the properties: names of fields, joined by
	// dots, without "properties" and without the indexes of arrays.
	Path string
	// To is the type, or the part of one, that is pointed at. A write that points
	// at one that does not exist is refused.
	To string
	// As is what the pointing resources are for the one pointed at: "interface".
	As string
	// Unlinks: the reference goes when that which it points at is deleted.
	Unlinks bool
}

// Roles of a reference: each says what the resource that refers is to the one that it
// refers to. Providers declare references and look them up by these names.
const (
	AsInterface      = "interface"
	AsVirtualMachine = "virtualMachine"
	AsScaleSet       = "scaleSet"
	AsOwner          = "owner" // of a subnet's address
)

// Use is an amount that counts towards one quota.
type Use struct {
	Name string
	N    int
}

// Work is what an operation does besides taking time. Its name is in the
// database, so that the operation goes on after a restart. Run is called without
// the store; it may block until ctx ends, and may be called again after a
// restart. Finish changes the store in the transaction that ends the operation.
type Work struct {
	Name   string
	Run    func(ctx context.Context, s *Server, op *Operation) (any, *Error)
	Finish func(t *Tx, op *Operation, result any, err *Error)
	// Silent: Azure does not say when to ask for the end of the operation.
	Silent bool
}

// Action is what is asked of a resource besides the verbs, as POST .../start.
type Action struct {
	// Name is the path below the resource, in lower case.
	Name string
	// Method is POST when empty.
	Method string
	// Serve answers at once, or begins what it wants. Without it the action is an
	// operation on the resource: Begin checks it and notes that it goes on.
	Serve func(c *Request, id ID) *Error
	Begin func(t *Tx, d *Doc, args value.Object) *Error
	Work
	Takes time.Duration
}

// Route is a request below a subscription, or above it, that is about no resource.
type Route struct {
	Method string
	// Path is the types after the namespace, in lower case and joined by slashes;
	// with "/*" at its end it is all that begins so.
	Path  string
	Serve func(c *Request) *Error
}

// registry is all that the providers declare.
type registry struct {
	providers []*Provider
	Spaces    map[string]*Provider // by namespace in lower case
	Types     map[string]*Type     // by name in lower case
	exact     map[string]*Type     // by name
	works     map[string]Work      // by name
}

// NewRegistry reads the providers' tables. A table that contradicts another one
// is a mistake in the program, found by the first test.
func NewRegistry(providers []Provider) *registry {
	r := &registry{Spaces: map[string]*Provider{}, Types: map[string]*Type{}, exact: map[string]*Type{}, works: map[string]Work{}}
	r.work(PutWork())
	r.work(deleteWork())
	for i := range providers {
		p := &providers[i]
		r.providers = append(r.providers, p)
		r.Spaces[value.Lower(p.Namespace)] = p
		for j := range p.Types {
			r.add(p, &p.Types[j])
		}
	}
	return r
}

func (r *registry) add(p *Provider, k *Type) {
	if r.Types[value.Lower(k.Name)] != nil {
		panic("two rows for the resource type " + k.Name)
	}
	r.Types[value.Lower(k.Name)], k.provider, k.order = k, p, len(r.Types)
	r.exact[k.Name] = k
	if k.Put.Name == "" {
		k.Put = orOwn(k.Put, PutWork())
	}
	if k.Update.Name == "" {
		k.Update = orOwn(k.Update, PutWork())
	}
	if k.Delete.Name == "" {
		k.Delete = orOwn(k.Delete, deleteWork())
	}
	for _, w := range append([]Work{k.Put, k.Update, k.Delete}, k.Works...) {
		r.work(w)
	}
	for _, a := range k.Actions {
		if a.Work.Name != "" {
			r.work(a.Work)
		}
	}
}

// orOwn is the engine's own work in the place of one without a name.
func orOwn(declared, own Work) Work {
	own.Silent = declared.Silent
	return own
}

// work files what operations of a name do. Rows may name the same work.
func (r *registry) work(w Work) {
	if w.Finish == nil {
		w.Finish = FinishPut
	}
	r.works[w.Name] = w
}

// TypeOf is the row of a type's name, nil if there is none. Documents have the name
// that the row has, so that most names need no change of case.
func (r *registry) TypeOf(name string) *Type {
	if k := r.exact[name]; k != nil {
		return k
	}
	return r.Types[value.Lower(name)]
}

// KindOf finds the row of a resource, and the part's type and parent when the
// ID is that of a part.
func (r *registry) KindOf(id ID) (k *Type, owner ID, part string) {
	if k := r.TypeOf(id.FullType()); k != nil {
		return k, id, ""
	}
	parent, ok := id.Parent()
	if !ok {
		return nil, id, ""
	}
	k = r.TypeOf(parent.FullType())
	if k == nil {
		return nil, id, ""
	}
	if part := k.part(id.Types[len(id.Types)-1]); part != "" {
		return k, parent, part
	}
	return nil, id, ""
}

// part is the array that a child type is in, "" for none.
func (k *Type) part(typ string) string {
	for p := range k.Parts {
		if strings.EqualFold(p, typ) {
			return p
		}
	}
	return ""
}

// reference is what a row declares of a path, nil for nothing.
func (k *Type) reference(path string) *Reference {
	if i := slices.IndexFunc(k.Refs, func(r Reference) bool { return strings.EqualFold(r.Path, path) }); i >= 0 {
		return &k.Refs[i]
	}
	return nil
}

// Is says whether documents of a type declare that they are something for what
// they point at.
func (k *Type) Is(as string) bool {
	return k != nil && slices.ContainsFunc(k.Refs, func(r Reference) bool { return r.As == as })
}

// Action finds the row of an action: the resource that it is asked of and what
// follows in the path.
func (r *registry) Action(id ID, method string) (*Action, ID) {
	owner := id
	for up := 0; up < 2; up++ {
		var ok bool
		if owner, ok = owner.Parent(); !ok {
			return nil, id
		}
		k := r.TypeOf(owner.FullType())
		if k == nil {
			continue
		}
		n := len(owner.Types)
		path := value.Lower(id.Types[n])
		if len(id.Names) > n {
			path += "/" + value.Lower(id.Names[n])
		}
		if len(id.Types) > n+1 {
			return nil, id
		}
		for i := range k.Actions {
			if a := &k.Actions[i]; a.Name == path && (a.Method == method || a.Method == "" && method == http.MethodPost) {
				return a, owner
			}
		}
	}
	return nil, id
}

// notFound is the refusal of what is not there, in the words of its provider.
func (r *registry) notFound(id ID) *Error {
	if p := r.Spaces[value.Lower(id.Namespace)]; p != nil && p.NotFound != nil {
		if e := p.NotFound(id); e != nil {
			return e
		}
	}
	return ErrNotFound(id)
}

// route finds the row of a request that is about no resource.
func (r *registry) route(id ID, method string) *Route {
	p := r.Spaces[value.Lower(id.Namespace)]
	if p == nil {
		return nil
	}
	path := value.Lower(id.ChildType())
	for i := range p.Routes {
		x := &p.Routes[i]
		if base, all := strings.CutSuffix(x.Path, "/*"); x.Method == method &&
			(x.Path == path || all && strings.HasPrefix(path, base+"/")) {
			return x
		}
	}
	return nil
}

// StateOf is what a provider keeps for a server.
func StateOf[T any](s *Server, namespace string) T {
	state, ok := s.Registry.Spaces[value.Lower(namespace)].State.(T)
	if !ok {
		panic(fmt.Sprintf("the provider %s has no such state", namespace))
	}
	return state
}

// checkName refuses the name of a new resource, or part of one, that the provider
// would refuse.
func (k *Type) checkName(id ID) *Error {
	if k.provider == nil || k.provider.CheckName == nil {
		return nil
	}
	return k.provider.CheckName(id)
}

package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/defaults"
	"casement.dev/casement/azuresim/internal/schema"
	"casement.dev/casement/azuresim/internal/value"
)

// Provider is one resource provider of Azure: its resource types and the other requests that it
// answers. Providers do not import each other. They are connected by declared references, by the
// names of resource types, and by the functions below, which the engine calls. A nil function does
// nothing.
type Provider struct {
	// Namespace is Azure's name of the provider, such as "Microsoft.Compute".
	Namespace string
	Types     []Type
	Routes    []Route
	// Hosts are the public host names that the provider answers; "*.x" matches any name below x.
	Hosts []string
	// State is the provider's own state in one server; StateOf returns it.
	State any

	// CheckName returns an error if the name of a new resource or part is not allowed.
	CheckName func(id ID) *Error
	// NotFound returns the error for a resource that does not exist; if it returns nil, the engine
	// answers with ARM's own error.
	NotFound func(id ID) *Error
	// Busy returns the error for a write that arrives while another operation is in progress.
	Busy func(op *Operation, now time.Time) *Error
	// Roles returns the names of the role definitions that are assigned to a principal at a
	// resource.
	Roles func(t *Tx, principal string, id ID) []string
	// Budget returns the provider's own limit for a request; ok is false if it has none.
	Budget func(c *Request) (Budget, bool)
	// Refuse is called before each request below a subscription and can return an error for the
	// request.
	Refuse func(c *Request) *Error
	// Answer is called before resource types and routes are looked up; it returns false if it did
	// not answer the request.
	Answer func(c *Request) (bool, *Error)
	// Tenant answers paths above subscriptions; it returns false if the path does not belong to
	// the provider.
	Tenant func(c *Request) (bool, *Error)
	// Front answers requests that are not ARM's: they have no ARM token and are not in the call
	// log. It returns false if the request does not belong to the provider.
	Front func(c *Request) bool
	// Data answers requests to a data plane, chosen by the host of the request; it returns false if
	// the host is not the provider's.
	Data func(c *Request) (bool, *Error)
	// Open reads the files that the provider keeps in the state directory, or creates them.
	Open func(s *Server) error
	// Start resumes the provider's background work after the state was opened or replaced.
	Start func(s *Server)
	// Clear is called in the transaction that replaces the state; the function it returns
	// is called after the transaction.
	Clear func(t *Tx) func() error
}

// Type is one resource type, a row in its provider's table.
type Type struct {
	Name  string
	Style style
	// VersionsOf is another type whose API versions are valid for this type too.
	VersionsOf string
	// Locations are the regions in which the type is available; nil means all. A resource
	// in another region is refused.
	Locations []string
	// Takes is the duration of a write in Azure.
	Takes time.Duration
	// Retry has the values of Retry-After, in seconds, for a write and for a delete; 0
	// means the style's default.
	Retry Retry
	// Polled means that the answer to a write has both headers of an operation, like the answer to
	// a delete.
	Polled bool
	// Sync means that Azure answers writes without an operation.
	Sync bool
	// AsyncCreate means that the creation is an operation although the type is Sync.
	AsyncCreate bool
	// Created is the status code of a PUT that creates the resource, 0 means 201; Written is the
	// status code of a later PUT, 0 means 200.
	Created, Written int
	// Global means that resources of the type have no location.
	Global bool
	// Untracked means that lists of resources do not contain the type.
	Untracked bool
	// Remains marks the records that Azure keeps of deleted resources; lists of resources do not
	// contain them.
	Remains bool
	// Internal means that only a data plane shows the type's documents; the resource manager does
	// not know the type.
	Internal bool
	// Stateless means that the documents have no provisioningState.
	Stateless bool
	// Located means that the answer to the creating PUT has the resource's URL in the header
	// Location.
	Located bool
	// Echoed means that the answer to a DELETE contains the deleted document.
	Echoed bool
	// ETag is the form in which bodies contain the ETag.
	ETag etagForm
	// Parts are child types whose resources are elements of an array in the document. The key is
	// the type; the value is true if the child can be written and deleted by a PUT and DELETE of
	// its own.
	Parts map[string]bool
	// Refs are the fields by which a document refers to other resources.
	Refs []Reference
	// Opaque marks types whose bodies contain IDs of other resources that do not count as
	// references, so that those resources can be deleted.
	Opaque bool
	// Kept means that the emulator stores documents of the type without any effect, and that
	// answers to writes say so. Kept types are also Opaque.
	Kept bool
	// Addresses are the names of the arrays of IP configurations.
	Addresses []string
	// Put, Update and Delete are the work of the type's operations; Update is for a write
	// to an existing resource. A Work without a name is replaced by the engine's own.
	Put, Update, Delete Work
	// Works are background operations of the provider that do not begin with a write or
	// delete of a resource.
	Works []Work
	// Supersedes means that a delete cancels the operation in progress instead of being refused.
	// Preempts means the same for a write.
	Supersedes, Preempts bool
	// AtOnce reports whether Azure completes a write before it answers; nil means never. The answer
	// of a Quiet type then announces no operation.
	AtOnce func(t *Tx, d, old *Doc) bool
	Quiet  bool
	// SideBySide means that several parts of a document can be written at the same time; otherwise
	// a write in progress refuses others.
	SideBySide bool
	// Prepare validates a write and sets the properties that depend on more than the document;
	// afterwards the engine fills in the table of defaults. old is nil on creation.
	Prepare func(t *Tx, d, old *Doc) *Error
	// Guard can refuse a delete of the resource, GuardPart a delete of a part.
	Guard     func(t *Tx, d *Doc) *Error
	GuardPart func(t *Tx, part string, id ID) *Error
	// Gone is called before the document is removed, in the same transaction.
	Gone func(t *Tx, d *Doc)
	// Rests reports whether View would add nothing to a record's body; nil means that this is not
	// known.
	Rests func(t *Tx, r *Record, expand string) bool
	// View adds the fields that are computed at the time of reading.
	View func(t *Tx, d *Doc, body value.Object, expand string)
	// Uses returns the quota usage of a document in its region.
	Uses func(d *Doc) []Use
	// Power returns a word about the document's state for the list of all resources, such
	// as a VM's power state.
	Power func(d *Doc) string
	// Principal returns the identity that a document represents, without its federated credentials;
	// Federated returns the credentials.
	Principal func(d *Doc) Principal
	Federated func(t *Tx, principal Principal) []Federated
	// Filter returns the elements of a list that match a $filter.
	Filter func(t *Tx, found []*Record, filter string) []*Record
	// Serve answers requests to the type itself; false leaves the request to the engine.
	Serve   func(c *Request) (bool, *Error)
	Actions []Action

	provider *Provider
	// newest is the API version since which answers contain all stored properties.
	newest string
	// order is the row's index among the rows of all providers.
	order int
}

// KeptTypes returns the rows of the types whose documents have no effect, as copies of like. lines
// has the name of one type of the namespace per line; the word "sync" after a name means that Azure
// completes writes before it answers, "create" that only the creation is an operation. Types of
// child resources get no location.
func KeptTypes(namespace, lines string, like Type) []Type {
	var rows []Type
	for line := range strings.Lines(lines) {
		row := like
		name, sync, _ := strings.Cut(strings.TrimSpace(line), " ")
		row.Name, row.Kept, row.Global = namespace+"/"+name, true, strings.Contains(name, "/")
		row.Sync, row.AsyncCreate = sync != "", sync == "create"
		rows = append(rows, row)
	}
	return rows
}

// Retry has the values of Retry-After for writes and deletes, in seconds.
type Retry struct{ Write, Delete int }

// etagForm is the form in which a body contains its ETag.
type etagForm int

const (
	etagNone  etagForm = iota
	EtagWeak           // W/"x", also in parts
	EtagPlain          // x
	EtagCount          // "n", the number of writes; it is stored in the body
)

// Reference declares a field by which documents of a type refer to another resource.
type Reference struct {
	// Path is the path of the field in the properties: field names joined by dots, without
	// "properties" and without array indexes.
	Path string
	// To is the type of the resource or part that the field refers to. A write is refused if the
	// target does not exist.
	To string
	// As is the role that the referring resource has for the other one, such as
	// "interface".
	As string
	// Unlinks means that the reference is removed when its target is deleted.
	Unlinks bool
	// Anywhere means that the target may be in another region; otherwise a write with such a
	// reference is refused.
	Anywhere bool
}

// Roles of references: each says what the referring resource is to the other one. Providers
// declare references and look them up by these names.
const (
	AsInterface      = "interface"
	AsVirtualMachine = "virtualMachine"
	AsScaleSet       = "scaleSet"
	AsOwner          = "owner" // the owner of an address of a subnet
)

// Use is an amount that counts against one quota.
type Use struct {
	Name string
	N    int
}

// Work is the effect of an operation. Its name is stored, so that the operation continues
// after a restart. Run is called without a lock on the store; it may block until ctx ends,
// and may be called again after a restart. Finish changes the store in the transaction that
// ends the operation.
type Work struct {
	Name   string
	Run    func(ctx context.Context, s *Server, op *Operation) (any, *Error)
	Finish func(t *Tx, op *Operation, result any, err *Error)
	// Silent means that the answers have no Retry-After header.
	Silent bool
}

// Action is a request to a resource other than GET, PUT, PATCH and DELETE, such as POST
// .../start.
type Action struct {
	// Name is the path after the resource's ID, in lower case.
	Name string
	// Method is the HTTP method; empty means POST.
	Method string
	// Serve answers the request itself. Without it, the action is an operation on the resource:
	// Begin checks whether the operation may begin and marks the document as busy.
	Serve func(c *Request, id ID) *Error
	Begin func(t *Tx, d *Doc, args value.Object) *Error
	Work
	Takes time.Duration
}

// Route is a request, below a subscription or above it, that does not read or change a
// resource.
type Route struct {
	Method string
	// Path has the types after the namespace, in lower case and joined by slashes; a path with "/*"
	// at its end matches every path with that beginning.
	Path  string
	Serve func(c *Request) *Error
}

// registry has all declarations of the providers.
type registry struct {
	providers []*Provider
	Spaces    map[string]*Provider // by namespace in lower case
	Types     map[string]*Type     // by name in lower case
	exact     map[string]*Type     // by name
	works     map[string]Work      // by name
}

// NewRegistry collects the providers' tables. It panics if two tables contradict each other; any
// test finds that.
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
	r.exact[k.Name], k.newest = k, defaults.Newest(k.Name)
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

// orOwn returns declared, or own if declared has no name.
func orOwn(declared, own Work) Work {
	own.Silent = declared.Silent
	return own
}

// work registers the work of operations by its name. Several rows may use the same work.
func (r *registry) work(w Work) {
	if w.Finish == nil {
		w.Finish = FinishPut
	}
	r.works[w.Name] = w
}

// TypeOf returns the row of a type, or nil. Documents spell the type as its row does, so
// that most lookups need no conversion to lower case.
func (r *registry) TypeOf(name string) *Type {
	if k := r.exact[name]; k != nil {
		return k
	}
	return r.Types[value.Lower(name)]
}

// KindOf returns the row of a resource. If the ID names a part, it also returns the part's type and
// the ID of the parent.
func (r *registry) KindOf(id ID) (k *Type, owner ID, part string) {
	if k := r.TypeOf(id.FullType()); k != nil && !k.Internal {
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

// part returns the name of the array that contains children of a type, or "".
func (t *Type) part(typ string) string {
	for p := range t.Parts {
		if strings.EqualFold(p, typ) {
			return p
		}
	}
	return ""
}

// reference returns what a row declares about the field at a path, or nil.
func (t *Type) reference(path string) *Reference {
	if i := slices.IndexFunc(t.Refs, func(r Reference) bool { return strings.EqualFold(r.Path, path) }); i >= 0 {
		return &t.Refs[i]
	}
	return nil
}

// Is reports whether the type declares references with the role as.
func (t *Type) Is(as string) bool {
	return t != nil && slices.ContainsFunc(t.Refs, func(r Reference) bool { return r.As == as })
}

// Action returns the row of an action and the ID of the resource that the path names before
// it.
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

// notFound returns the error for a resource that does not exist, in the form of its provider.
func (r *registry) notFound(id ID) *Error {
	if p := r.Spaces[value.Lower(id.Namespace)]; p != nil && p.NotFound != nil {
		if e := p.NotFound(id); e != nil {
			return e
		}
	}
	return ErrNotFound(id)
}

// route returns the row of a request that does not read or change a resource.
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

// operations lists the operations that roles can allow on the provider's types.
// Source: https://learn.microsoft.com/rest/api/authorization/provider-operations-metadata.
func (p *Provider) operations() []any {
	out := []any{}
	for i := range p.Types {
		k := &p.Types[i]
		if k.Internal {
			continue
		}
		names := []string{"read", "write", "delete"}
		for _, a := range k.Actions {
			if a.Method == "" {
				names = append(names, a.Name+"/action")
			}
		}
		for _, n := range names {
			out = append(out, value.Object{"name": k.Name + "/" + n, "isDataAction": false,
				"display": value.Object{"provider": p.Namespace, "resource": k.Name[len(p.Namespace)+1:], "operation": n}})
		}
	}
	return out
}

// StateOf returns a provider's own state in a server.
func StateOf[T any](s *Server, namespace string) T {
	state, ok := s.Registry.Spaces[value.Lower(namespace)].State.(T)
	if !ok {
		panic(fmt.Sprintf("the provider %s has no such state", namespace))
	}
	return state
}

// checkName checks the name of a new resource or part by the rules of its provider.
func (t *Type) checkName(id ID) *Error {
	switch {
	case t.provider != nil && t.provider.CheckName != nil:
		return t.provider.CheckName(id)
	case !schema.ValidName(id.FullType(), id.Name()):
		return BadRequest("InvalidResourceName", "Resource name %s is invalid.", id.Name())
	}
	return nil
}

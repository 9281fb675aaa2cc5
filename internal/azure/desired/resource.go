// Package desired turns casement's specs into the Azure resources they ask for.
//
// It is pure: same spec, same resources, no clock, no client, no randomness that
// is not handed in. It refuses to read Azure; what must be known of live state is
// an argument. Controllers call it, and plan applies what it returns.
package desired

// Policy says what casement may do to a resource.
type Policy string

const (
	// Manage creates, updates and, when the ownership tag is there, deletes.
	Manage Policy = "Manage"
	// CreateOnly creates once and never updates, as Azure refuses or CAPZ users
	// do not expect later changes (virtual machines, network interfaces). Tags
	// are the exception: they are patched.
	CreateOnly Policy = "CreateOnly"
	// Observe never writes: the resource is the user's own and has to exist.
	Observe Policy = "Observe"
)

// Resource is one Azure resource as the spec asks for it.
type Resource struct {
	// ID is the full ARM resource ID.
	ID string
	// APIVersion is sent with every call about the resource.
	APIVersion string
	// Body is the SDK model to PUT; nil with Observe.
	Body any
	// Policy says what may be done to it.
	Policy Policy
	// Needs are the IDs that must be provisioned before this one is begun.
	Needs []string
	// Condition is the condition type of the owning object that this resource
	// reports to.
	Condition string
	// Field is the path in the spec that asks for the resource, for messages.
	Field string
}

// Package desired turns casement's specs into the Azure resources that they request.
//
// It is pure: the same spec gives the same resources; it has no clock and no client, and randomness is an argument. It
// does not read Azure; facts about live state are arguments. Controllers call it, and plan applies the resources that
// it returns.
package desired

// Policy limits the operations of casement on a resource.
type Policy string

const (
	// Manage means that casement creates, updates and, if the ownership tag is present, deletes the resource.
	Manage Policy = "Manage"
	// CreateOnly means that casement creates the resource once and never updates it, because Azure refuses later
	// changes or because users of CAPZ do not expect them (virtual machines, network interfaces). Only tags are
	// patched.
	CreateOnly Policy = "CreateOnly"
	// Observe means that casement never writes the resource; it belongs to the user and has to exist.
	Observe Policy = "Observe"
)

// Resource is one Azure resource in the state that the spec requests.
type Resource struct {
	// ID is the full ARM resource ID.
	ID string
	// APIVersion is sent with every call about the resource.
	APIVersion string
	// Body is the SDK model for the PUT; nil with Observe.
	Body any
	// Policy limits the operations on the resource.
	Policy Policy
	// Needs are the IDs of the resources that must be provisioned before this one is created.
	Needs []string
	// Condition is the type of the owning object's condition that reports on this resource.
	Condition string
	// Field is the path in the spec that requests the resource, for messages.
	Field string
}

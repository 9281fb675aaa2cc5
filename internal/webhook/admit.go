package webhook

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Admission is the result of admission for a new object.
type Admission struct {
	// Object is the object with its defaults.
	Object client.Object
	// Warnings are the warnings that the API server returns; Errors are the reasons why it refuses the object.
	Warnings []string
	Errors   field.ErrorList
}

// ErrNoAdmission means that this package has no admission for a kind.
var ErrNoAdmission = errors.New("no admission of the kind")

// Admit returns the result of admission for a new object, without a server: the object with its defaults, and warnings
// or errors. raw is JSON. The error is ErrNoAdmission, or means that the object cannot be parsed.
func Admit(kindName string, raw []byte) (Admission, error) {
	for _, k := range kinds() {
		if k.name() == kindName {
			return k.admit(raw)
		}
	}
	return Admission{}, ErrNoAdmission
}

func (h hook[T]) admit(raw []byte) (Admission, error) {
	obj := h.object()
	if err := json.Unmarshal(raw, obj); err != nil {
		return Admission{}, fmt.Errorf("read the %s: %w", h.kind, err)
	}
	warnings := h.warnings(obj)
	if h.defaults != nil {
		if err := h.defaults(obj); err != nil {
			return Admission{}, fmt.Errorf("fill in the defaults of the %s: %w", h.kind, err)
		}
	}
	var none T
	return Admission{Object: obj, Warnings: warnings, Errors: h.validate(none, obj)}, nil
}

package template

import (
	"errors"
	"fmt"
	"strings"
)

// failure is the panic value for an error in a template. The exported functions of the package
// recover it, as in the standard library's text/template. Other panics are bugs and continue.
type failure struct {
	error
	named bool // the error names the function that failed
}

// fail throws a failure. It has a result only so that functions of the language can return its
// call.
func fail(format string, args ...any) any { panic(failure{error: fmt.Errorf(format, args...)}) }

// failWhole throws a failure whose message is complete, so that no function's name is added.
func failWhole(format string, args ...any) any { panic(failure{fmt.Errorf(format, args...), true}) }

// failFunction throws the failure of a function; the message continues after the function's name.
func failFunction(name, format string, args ...any) any {
	return failWhole("the template language function '%s' %w", name, fmt.Errorf(format, args...))
}

// catch sets the error to a thrown failure. It is for a defer.
func catch(err *error) {
	if f, thrown := recovered(recover()); thrown {
		*err = f.error
	}
}

func recovered(thrown any) (failure, bool) {
	f, is := thrown.(failure)
	if thrown != nil && !is {
		panic(thrown)
	}
	return f, is
}

// within adds the name of a place before the message of a thrown failure. It is for a defer.
func within(format string, args ...any) {
	if f, thrown := recovered(recover()); thrown {
		failWhole("%s: %w", fmt.Sprintf(format, args...), f.error)
	}
}

// withinFunction adds the name of a function before the message of a thrown failure, unless the
// message names a function. It is for a defer.
func withinFunction(name string) {
	f, thrown := recovered(recover())
	switch {
	case !thrown:
	case f.named || errors.Is(f, errWork):
		panic(f)
	case strings.HasPrefix(f.Error(), "the ") || strings.HasPrefix(f.Error(), "unable "):
		failWhole("the template language function '%s': %w", name, f.error)
	default:
		failFunction(name, "%w", f.error)
	}
}

// attempt calls a function and reports whether it threw no failure.
func attempt(do func() any) (v any, ok bool) {
	defer func() {
		_, thrown := recovered(recover())
		ok = !thrown
	}()
	return do(), true
}

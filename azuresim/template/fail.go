package template

import (
	"errors"
	"fmt"
	"strings"
)

// failure is thrown where something in a template is wrong, and caught at the face of the package,
// as the standard library's text/template does. Other panics are faults of the program and pass.
type failure struct {
	error
	named bool // the error names the function that failed
}

// fail throws a failure. It has a result so that functions of the language can end with it.
func fail(format string, args ...any) any { panic(failure{error: fmt.Errorf(format, args...)}) }

// failWhole throws a failure that says all by itself, whatever function it is in.
func failWhole(format string, args ...any) any { panic(failure{fmt.Errorf(format, args...), true}) }

// failFunction throws the failure of a function; the message goes on after its name.
func failFunction(name, format string, args ...any) any {
	return failWhole("the template language function '%s' %w", name, fmt.Errorf(format, args...))
}

// catch sets the error to what was thrown. It is for a defer.
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

// within puts what is thrown behind the name of the place in which it was. It is for a defer.
func within(format string, args ...any) {
	if f, thrown := recovered(recover()); thrown {
		failWhole("%s: %w", fmt.Sprintf(format, args...), f.error)
	}
}

// withinFunction puts the name of a function before what it throws, unless a function is named there. It is for a defer.
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

// attempt calls a function and reports whether it threw nothing.
func attempt(do func() any) (v any, ok bool) {
	defer func() {
		_, thrown := recovered(recover())
		ok = !thrown
	}()
	return do(), true
}

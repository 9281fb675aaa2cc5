package powershell

import "reflect"

// Outline counts the elements of a script.
type Outline struct {
	Commands, Functions, Assignments int
}

// Read parses a script and counts its elements. Tests compare the result with that of another parser. Nothing of the script runs.
func Read(script string) (Outline, error) {
	var out Outline
	b, err := parse(script)
	if err == nil {
		out.count(reflect.ValueOf(b))
	}
	return out, err
}

func (o *Outline) count(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			o.count(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			o.count(v.Index(i))
		}
	case reflect.Struct:
		switch v.Type() {
		case reflect.TypeFor[command]():
			o.Commands++
		case reflect.TypeFor[functionStatement]():
			o.Functions++
		case reflect.TypeFor[assignment]():
			o.Assignments++
		}
		for i := range v.NumField() {
			o.count(v.Field(i))
		}
	}
}

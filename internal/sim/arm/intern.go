package arm

import "unique"

// intern makes equal property names of all documents one string: a decoder
// allocates each anew, which is a good part of what a document costs in memory.
func intern(o object) object {
	out := make(object, len(o))
	for k, v := range o {
		out[unique.Make(k).Value()] = internValue(v)
	}
	return out
}

func internValue(v any) any {
	switch v := v.(type) {
	case object:
		return intern(v)
	case []any:
		for i := range v {
			v[i] = internValue(v[i])
		}
	case string:
		if len(v) <= 40 { // names of states, sizes and places rather than of resources
			return unique.Make(v).Value()
		}
	}
	return v
}

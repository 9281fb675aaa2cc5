// Package expansion replaces the variables in commands, arguments, values and paths of pods as
// Kubernetes does (k8s.io/kubernetes third_party/forked/golang/expansion). It does not know pods.
// It imports nothing of the module; packages of the simulator may import it.
package expansion

import "strings"

// Expand replaces $(NAME) by the value in env; it keeps a name that is not set, and replaces $$ by
// $.
func Expand(s string, env map[string]string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "$")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")")
		value, set := env[name]
		switch {
		case strings.HasPrefix(rest, "$"):
			out.WriteByte('$')
			s = rest[1:]
		case strings.HasPrefix(rest, "(") && closed && set:
			out.WriteString(value)
			s = after
		default:
			out.WriteByte('$')
			s = rest
		}
	}
}

// Missing returns the first name that Expand would keep because env does not contain it, or "".
func Missing(s string, env map[string]string) string {
	for {
		_, rest, ok := strings.Cut(s, "$")
		if !ok {
			return ""
		}
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")")
		_, set := env[name]
		switch {
		case strings.HasPrefix(rest, "$"):
			s = rest[1:]
		case strings.HasPrefix(rest, "(") && closed && !set:
			return name
		case strings.HasPrefix(rest, "(") && closed:
			s = after
		default:
			s = rest
		}
	}
}

//go:build !client

package local

import (
	"slices"
	"testing"
)

// TestOwnState: casement's --state does not reach kubectl, and a container's program keeps its own.
func TestOwnState(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		dir  string
		rest []string
	}{
		"none":       {[]string{"get", "pods"}, "", []string{"get", "pods"}},
		"a word":     {[]string{"--state", "/x", "get", "pods"}, "/x", []string{"get", "pods"}},
		"joined":     {[]string{"--state=/x", "get", "pods"}, "/x", []string{"get", "pods"}},
		"of another": {[]string{"exec", "p", "--", "tool", "--state", "on"}, "", []string{"exec", "p", "--", "tool", "--state", "on"}},
	} {
		t.Run(name, func(t *testing.T) {
			if dir, rest := ownState(c.args); dir != c.dir || !slices.Equal(rest, c.rest) {
				t.Errorf("state %q, arguments %q", dir, rest)
			}
		})
	}
}

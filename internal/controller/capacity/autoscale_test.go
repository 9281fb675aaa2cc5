package capacity

import "testing"

func TestWithLabel(t *testing.T) {
	for _, test := range []struct{ name, list, want string }{
		{"none yet", "", "b=2"},
		{"beside others", "a=1,c=3", "a=1,c=3,b=2"},
		{"another value", "b=1,a=1", "a=1,b=2"},
		{"there already, last", "a=1,b=2", "a=1,b=2"},
		{"a longer key is another", "b2=1", "b2=1,b=2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := withLabel(test.list, "b", "2"); got != test.want {
				t.Errorf("withLabel(%q) = %q, want %q", test.list, got, test.want)
			}
		})
	}
}

package app

import "testing"

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{
		"one": "one",
		"* Deleting:\n  * Worker Machines: a\n* Other: b": "Deleting: Worker Machines: a; Other: b",
		"": "",
	} {
		if got := Sentence(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

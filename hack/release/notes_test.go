package main

import (
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	const changes = "# Changelog\n\n## Unreleased\n\n### New\n- a ([page](docs/a.md#b), [web](https://example.com))\n\n" +
		"## v0.1.0\n\n- first\n\n## v0.0.1\n"
	for _, test := range []struct{ name, changes, version, want, err string }{
		{name: "its section", changes: changes, version: "v0.1.0", want: "# casement v0.1.0\n\n- first\n"},
		{
			name: "not yet named", changes: changes, version: "v0.2.0",
			want: "# casement v0.2.0\n\n### New\n- a ([page](https://github.com/casement-dev/casement/blob/v0.2.0/docs/a.md#b), " +
				"[web](https://example.com))\n",
		},
		{name: "empty", changes: changes, version: "v0.0.1", err: "write what changed"},
		{name: "nothing", changes: "# Changelog\n", version: "v0.1.0", err: "write what changed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := notesOf(test.changes, test.version)
			if string(got) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

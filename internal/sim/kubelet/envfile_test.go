package kubelet

import (
	"strings"
	"testing"
)

func TestEnvValue(t *testing.T) {
	for name, test := range map[string]struct {
		text, want, refused string
	}{
		"plain":              {"A='1'\n", "1", ""},
		"after others":       {"# c\n\n B='2'\n\tA='1' # why\n", "1", ""},
		"several lines":      {"A='1\n2\n\n3'\nB='4'", "1\n2\n\n3", ""},
		"absent":             {"B='2'", "", ""},
		"a space before it":  {"A= '1'\nA='2'", "", ""},
		"nothing":            {"", "", ""},
		"no quotes":          {"A=1", "", "single quotes"},
		"double quotes":      {`A="1"`, "", "single quotes"},
		"open":               {"A='1\nB", "", "not closed"},
		"two words":          {"A='1' B", "", "follows"},
		"space before sign":  {"A ='1'", "", "KEY="},
		"no sign":            {"A", "", "KEY="},
		"wrong lines before": {"B\nA='1'", "", "KEY="},
		"wrong lines after":  {"A='1'\nB", "1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := envValue(test.text, "A")
			if got != test.want || (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%q: %v; want %q, %q", got, err, test.want, test.refused)
			}
		})
	}
}

func FuzzEnvValue(f *testing.F) {
	f.Add("A='1\n2' # x\nB= '2'\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := envValue(text, "A"); err != nil && got != "" {
			t.Errorf("%q: %q and %v", text, got, err)
		}
	})
}

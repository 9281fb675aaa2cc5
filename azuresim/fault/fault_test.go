package fault

import (
	"slices"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	vm := Target{Verb: "PUT", Type: "Microsoft.Compute/virtualMachines", Group: "demo", Name: "win-1"}
	for name, tc := range map[string]struct {
		rule Rule
		at   Target
		want string // one letter per call: x matched, . passed
	}{
		"everything":       {Rule{Kind: Throttle}, vm, "xxx"},
		"count":            {Rule{Kind: Throttle, Count: 2}, vm, "xx.."},
		"after":            {Rule{Kind: Throttle, After: 2, Count: 1}, vm, "..x."},
		"type over slash":  {Rule{Kind: Throttle, Type: "microsoft.compute*"}, vm, "x"},
		"exact type":       {Rule{Kind: Throttle, Type: "Microsoft.Compute/VirtualMachines"}, vm, "x"},
		"other type":       {Rule{Kind: Throttle, Type: "Microsoft.Network/*"}, vm, "."},
		"name":             {Rule{Kind: Throttle, Name: "WIN-*"}, vm, "x"},
		"other verb":       {Rule{Kind: Throttle, Verbs: []string{"get"}}, vm, "."},
		"kind not in play": {Rule{Kind: BootFailure}, vm, "."},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(File{Rules: []Rule{tc.rule}})
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for range tc.want {
				if _, ok := s.Match(tc.at, Throttle); ok {
					got.WriteByte('x')
				} else {
					got.WriteByte('.')
				}
			}
			if got.String() != tc.want {
				t.Errorf("matched %s, want %s", &got, tc.want)
			}
		})
	}
}

func TestChanceIsSeeded(t *testing.T) {
	run := func(seed uint64) (out []bool) {
		s, err := New(File{Seed: seed, Rules: []Rule{{Kind: Drop, Probability: 0.5}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 64 {
			_, ok := s.Match(Target{}, Drop)
			out = append(out, ok)
		}
		return out
	}
	if !slices.Equal(run(1), run(1)) {
		t.Error("the same seed gave another run")
	}
	if slices.Equal(run(1), run(2)) {
		t.Error("another seed gave the same run")
	}
	if !slices.Contains(run(1), true) || !slices.Contains(run(1), false) {
		t.Error("a chance of one half always or never matched")
	}
}

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"good":          {"seed: 3\nfaults:\n- kind: throttle\n  type: Microsoft.Compute/*\n  count: 3\n", ""},
		"unknown kind":  {"faults: [{kind: meteor}]", "faults[0]: kind"},
		"unknown field": {"faults: [{kind: drop, often: true}]", "often"},
		"no delay":      {"faults: [{kind: slow-boot}]", "needs a delay"},
		"bad delay":     {"faults: [{kind: slow-boot, delay: soon}]", "delay"},
		"bad chance":    {"faults: [{kind: drop, probability: 2}]", "between 0 and 1"},
		"bad pattern":   {"faults: [{kind: drop, name: '['}]", "pattern"},
		"no error":      {"faults: [{kind: unavailable, status: 200}]", "no HTTP error"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.text))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestClear(t *testing.T) {
	s := &Set{}
	for range 3 {
		if _, err := s.Add(Rule{Kind: Drop}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Clear("2", "9"); err == nil || len(s.List()) != 3 {
		t.Errorf("clear of an unknown rule: %v, %d left", err, len(s.List()))
	}
	if err := s.Clear("2"); err != nil || len(s.List()) != 2 {
		t.Errorf("clear of one: %v, %d left", err, len(s.List()))
	}
	if err := s.Clear(); err != nil || len(s.List()) != 0 {
		t.Errorf("clear of all: %v, %d left", err, len(s.List()))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("faults: [{kind: drop, name: 'a*'}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		s, err := New(file)
		if err != nil {
			t.Fatalf("Parse took what New refuses: %v", err)
		}
		s.Match(Target{Verb: "GET"}, Drop)
	})
}

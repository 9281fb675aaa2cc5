package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
)

// Set contains the active rules. It is safe for concurrent use; the zero value is an empty Set.
type Set struct {
	mu    sync.Mutex
	rules []*active
	next  int
}

// active is an active rule. It has a random source of its own, so that its choices do not
// depend on other rules.
type active struct {
	Rule
	draw *rand.Rand
}

// New returns a Set with the rules of a file.
func New(f File) (*Set, error) {
	s := &Set{}
	for _, r := range f.Rules {
		r.Seed += f.Seed
		if _, err := s.Add(r); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Add adds a rule with its counters at zero and returns it with its ID.
func (s *Set) Add(r Rule) (Rule, error) {
	if err := r.Validate(); err != nil {
		return r, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	r.ID, r.Seen, r.Matched = strconv.Itoa(s.next), 0, 0
	s.rules = append(s.rules, &active{r, rand.New(rand.NewPCG(r.Seed, uint64(s.next)))})
	return r, nil
}

// List returns the rules in the order in which they were added.
func (s *Set) List() []Rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Rule, 0, len(s.rules))
	for _, r := range s.rules {
		out = append(out, r.Rule)
	}
	return out
}

// Clear removes the rules with these IDs, or all rules if no ID is given.
func (s *Set) Clear(ids ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if !slices.ContainsFunc(s.rules, func(r *active) bool { return r.ID == id }) {
			return fmt.Errorf("there is no fault %s", id)
		}
	}
	s.rules = slices.DeleteFunc(s.rules, func(r *active) bool { return len(ids) == 0 || slices.Contains(ids, r.ID) })
	return nil
}

// Match counts a call and returns the first rule of these kinds that acts on it.
func (s *Set) Match(t Target, kinds ...Kind) (Rule, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if slices.Contains(kinds, r.Kind) && r.due(t) {
			return r.Rule, true
		}
	}
	return Rule{}, false
}

// MatchBy counts a call and reports whether the rule with an ID acts on it.
func (s *Set) MatchBy(id string, t Target) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.rules, func(r *active) bool { return r.ID == id })
	return i >= 0 && s.rules[i].due(t)
}

// due counts a call that the rule selects and reports whether the rule acts on it.
func (r *active) due(t Target) bool {
	if !r.matches(t) || r.Count > 0 && r.Matched >= r.Count {
		return false
	}
	r.Seen++
	if r.Seen <= r.After || r.Probability > 0 && r.Probability < 1 && r.draw.Float64() >= r.Probability {
		return false
	}
	r.Matched++
	return true
}

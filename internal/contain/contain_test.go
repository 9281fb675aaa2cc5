package contain_test

import (
	"strings"
	"sync"
	"testing"

	"casement.dev/casement/internal/contain"
)

func broken(at int) int { return []int{1}[at] }

func TestCall(t *testing.T) {
	var reported []*contain.Panic
	w := &contain.Wall{Report: func(p *contain.Panic) { reported = append(reported, p) }}
	p := w.Call("awk", func() { broken(3) })
	if p == nil || len(reported) != 1 || reported[0] != p {
		t.Fatalf("got %v, reported %v", p, reported)
	}
	for _, want := range []string{"awk: ", "own fault", "index out of range", "contain_test.broken:"} {
		if !strings.Contains(p.Error(), want) {
			t.Errorf("%q lacks %q", p, want)
		}
	}
	if !strings.Contains(string(p.Trace), "contain_test.broken") {
		t.Error("the trace does not name the function")
	}
	if again := w.Call("sed", func() { broken(7) }); again.Where != p.Where {
		t.Errorf("one cause has two places: %s and %s", p.Where, again.Where)
	}
	if p := w.Call("true", func() {}); p != nil {
		t.Errorf("no panic is %v", p)
	}
}

func TestGo(t *testing.T) {
	var group sync.WaitGroup
	var w *contain.Wall
	w.Go(&group, "a goroutine", func() { panic("x") })
	group.Wait()
}

package lint

import (
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/corpus"
	"casement.dev/casement/internal/testing/measure"
	"casement.dev/casement/internal/testing/plane"
)

// TestCorpus checks that the built command ends on malicious input with the expected exit code and
// message, and uses less than a gibibyte of memory.
func TestCorpus(t *testing.T) {
	casement := plane.Binary(t, "casement")
	for _, input := range corpus.Inputs() {
		t.Run(input.Name, func(t *testing.T) {
			name, err := input.Write(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			u, err := measure.Run(nil, casement, "lint", name)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("exit code %d, %.0f MiB, %.0f ms of CPU", u.Code, u.Peak/corpus.MiB, u.CPU.Seconds()*1000)
			if u.Code != input.Code || !strings.Contains(u.Out.String()+u.Err.String(), input.Says) {
				t.Errorf("exit code %d, not %d with %q:\n%.500s\n%.500s", u.Code, input.Code, input.Says, u.Err.String(), u.Out.String())
			}
			if strings.Contains(u.Err.String(), "goroutine ") {
				t.Errorf("it panics:\n%.3000s", u.Err.String())
			}
			if u.Peak >= 1<<30 {
				t.Errorf("it takes %.0f MiB", u.Peak/corpus.MiB)
			}
		})
	}
}

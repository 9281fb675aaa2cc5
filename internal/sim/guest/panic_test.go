package guest_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/sim/guest"
)

// TestBootSurvivesPanics checks that a command that panics fails in the boot as in a session, in the boot's own
// goroutine and in the goroutines of a pipe, and that the guest continues.
func TestBootSurvivesPanics(t *testing.T) {
	boom := func(context.Context, *guest.Process) int { panic("boom") }
	for name, c := range map[string]guest.Config{
		"Linux":   linux(t, []byte("#!/bin/sh\necho a | boom\nboom | cat\nboom &\nwait\nboom\n")),
		"Windows": windows(t, []byte("#ps1_sysnative\nboom\nboom\nboom\nboom\nexit $LASTEXITCODE\n")),
	} {
		t.Run(name, func(t *testing.T) {
			var console bytes.Buffer
			var panics atomic.Int64
			c.Commands, c.Log, c.OnPanic = map[string]guest.Command{"boom": boom}, &console, func(*contain.Panic) { panics.Add(1) }
			g, err := guest.New(c)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if err := g.Boot(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := g.Status(); panics.Load() != 4 || s.ExitCode != contain.ExitCode || !strings.Contains(console.String(), "guest_test.TestBoot") {
				t.Errorf("%d panics, %+v; console:\n%s", panics.Load(), s, console.String())
			}
			var out bytes.Buffer
			if code := g.Exec(t.Context(), "echo on", nil, &out, nil); code != 0 || strings.TrimSpace(out.String()) != "on" {
				t.Errorf("afterwards the guest answers %d, %q", code, out.String())
			}
		})
	}
}

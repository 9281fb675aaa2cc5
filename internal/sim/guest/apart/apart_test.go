package apart_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"casement.dev/casement/internal/sim/guest/apart"
)

func TestMain(m *testing.M) {
	apart.Serve("grow", func(n int) int {
		all := make([][]byte, n)
		for i := range all {
			all[i] = make([]byte, 1<<20) // the test does not write to the memory, because that would reach the bound of processor time first
		}
		return len(all)
	})
	os.Exit(m.Run())
}

// TestRun checks that a computation answers, or that a bound or its context ends it.
func TestRun(t *testing.T) {
	if n, err := apart.Run[int, int](t.Context(), "grow", 3, 1<<10); n != 3 || err != nil {
		t.Errorf("answered %d, %v", n, err)
	}
	_, err := apart.Run[int, int](t.Context(), "grow", 1<<20, 1<<10)
	if limit, ok := errors.AsType[*apart.LimitError](err); !ok || !strings.Contains(limit.Bound, "MiB of memory") {
		t.Errorf("ended with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := apart.Run[int, int](ctx, "grow", 3, 1<<10); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// TestKept checks that no kind of write exceeds the limit, and that only a Kept with Refuses returns an error for it.
func TestKept(t *testing.T) {
	ways := map[string]func(io.Writer, string) error{
		"Write":       func(w io.Writer, s string) error { _, err := w.Write([]byte(s)); return err },
		"WriteString": func(w io.Writer, s string) error { _, err := io.WriteString(w, s); return err },
		"Copy": func(w io.Writer, s string) error {
			_, err := io.Copy(w, io.LimitReader(strings.NewReader(s), 99))
			return err
		},
	}
	for way, write := range ways {
		for text, over := range map[string]bool{"1234": false, "12345678": false, "123456789": true} {
			for _, refuses := range []bool{false, true} {
				l := &apart.Kept{Left: 8, Refuses: refuses}
				err := write(l, text)
				if got, want := l.String(), text[:min(len(text), 8)]; got != want || l.Over != over || (err != nil) != (over && refuses) {
					t.Errorf("%s %q, refuses %v: kept %q, over %v, error %v", way, text, refuses, got, l.Over, err)
				}
			}
		}
	}
}

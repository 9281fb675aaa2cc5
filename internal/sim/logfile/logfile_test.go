package logfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestFile checks that a log is open only while something is being written, and that nothing is
// lost.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	synctest.Test(t, func(t *testing.T) {
		f, err := Open(At(path, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		isOpen := func() bool {
			synctest.Wait()
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.file != nil
		}
		want := ""
		for i, pause := range []time.Duration{0, idle / 2, 3 * idle, idle} {
			time.Sleep(pause)
			line := fmt.Sprintln(i)
			if _, err := f.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
			want += line
			if !isOpen() {
				t.Errorf("line %d: the file is closed at once", i)
			}
		}
		time.Sleep(2*idle + 1)
		if isOpen() {
			t.Error("a file that rests is open")
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := f.Write([]byte("late")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a write after Close: %v", err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	})
}

// TestOpen: Open returns an error if the file cannot be created.
func TestOpen(t *testing.T) {
	if _, err := Open(At(filepath.Join(t.TempDir(), "no", "log"), 0o600)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

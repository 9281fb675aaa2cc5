//go:build linux

package input

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, size := range map[string]int64{"small": 10, "limit": 1 << 20, "large": 1<<20 + 1} {
		if err := os.WriteFile(at(name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", at("link")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ file, want string }{
		"small":             {at("small"), ""},
		"as large as may":   {at("limit"), ""},
		"larger":            {at("large"), "more than the 1 MiB"},
		"absent":            {at("absent"), "no such file"},
		"a directory":       {dir, "is a directory"},
		"endless":           {"/dev/zero", "is a device"},
		"random":            {"/dev/urandom", "is a device"},
		"a link to endless": {at("link"), "is a device"},
		"nothing":           {"/dev/null", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := File(tc.file, 1<<20)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestPipe reads a FIFO and the pipe of a process substitution, with data and without end.
func TestPipe(t *testing.T) {
	for name, tc := range map[string]struct{ command, want string }{
		"a text":      {"echo hello", "hello\n"},
		"without end": {"yes", "more than the 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			for path, cmd := range map[string]*exec.Cmd{
				"/dev/fd/" + itoa(r.Fd()): {Path: "/bin/sh", Args: []string{"sh", "-c", tc.command}, Stdout: w},
				fifo:                      exec.Command("/bin/sh", "-c", tc.command+" > "+fifo),
			} {
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if path != fifo {
					w.Close()
				}
				data, err := File(path, 1<<20)
				if got := string(data) + text(err); !strings.Contains(got, tc.want) {
					t.Errorf("%s: %q", path, got)
				}
				if path != fifo {
					r.Close()
				}
				_ = cmd.Wait() // yes is ended by SIGPIPE
			}
		})
	}
}

func itoa(n uintptr) string {
	out := ""
	for ; n > 0; n /= 10 {
		out = string(rune('0'+n%10)) + out
	}
	return out
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestURL(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/small":
			_, _ = io.WriteString(w, "hello")
		case "/endless":
			for block := make([]byte, 1<<16); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	for path, want := range map[string]string{"/small": "hello", "/endless": "more than the 1 MiB", "/absent": "404"} {
		data, err := URL(t.Context(), s.URL+path, 1<<20)
		if got := string(data) + text(err); !strings.Contains(got, want) {
			t.Errorf("%s: %q", path, got)
		}
	}
}

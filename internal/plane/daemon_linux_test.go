package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shortDir returns a directory whose path is short enough for sockets.
func shortDir(t *testing.T) Dir {
	t.Helper()
	dir, err := os.MkdirTemp("", "cas")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // runs after Down below
	return Dir(dir)
}

// bringUp starts a plane and stops it at the end of the test.
func bringUp(t *testing.T, dir Dir) Status {
	t.Helper()
	t.Cleanup(func() {
		if _, err := Down(bounded(t), dir, true); err != nil {
			t.Error(err)
		}
	})
	s, started, err := Up(bounded(t), dir, []string{"supervise", string(dir)}, UpReport{Note: func(string) {}, Seen: func(Status) {}})
	if err != nil || !started {
		t.Fatalf("up: %v; started %t", err, started)
	}
	return s
}

func bounded(t *testing.T) context.Context {
	// Cleanup functions need a context too, and t.Context has ended by then.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	time.AfterFunc(2*time.Minute, cancel)
	return ctx
}

func write(t *testing.T, dir Dir, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(dir.Path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir.Path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDirectories(t *testing.T) {
	for name, tc := range map[string]struct {
		files      map[string]string
		make, down string // parts of the errors, "" for none
		kept       []string
	}{
		"empty": {},
		"documents": {files: map[string]string{"letter.txt": "dear", "photos/a.jpg": "a"},
			make: "holds letter.txt, photos", down: "holds letter.txt, photos"},
		"a lock of another": {files: map[string]string{"lock": "", "mail": ""}, make: "not a plane's state", down: "not a plane's state"},
		"many": {files: map[string]string{"a": "", "b": "", "c": "", "d": "", "e": "", "f": "", "g": ""},
			make: "and 2 more", down: "and 2 more"},
		"this version": {files: map[string]string{markFile: `{"version": 2}`, "lock": "", "azure/azure.db": ""}},
		"with charts and Remote Desktop files": {files: map[string]string{
			markFile: `{"version": 2}`, "helm/cache/x.tgz": "", "rdp/node.rdp": ""}},
		"with another's": {files: map[string]string{
			markFile: `{"version": 2}`, "lock": "", "azure/azure.db": "", "my.kubeconfig": "x",
		}, kept: []string{"my.kubeconfig"}},
		"version 1":       {files: map[string]string{"lock": "7\n", "azure/azure.db": "", "egress/x": ""}, down: "'casement up' adds it"},
		"bare, version 1": {files: map[string]string{"lock": "7\n", "bare": "", "management/port": ""}, down: "'casement up' adds it"},
		"a later version": {files: map[string]string{markFile: `{"version": 9}`, "lock": ""},
			make: "a later casement made", down: "a later casement made"},
		"a damaged mark": {files: map[string]string{markFile: `{"ver`, "azure/azure.db": ""},
			make: markFile + " is damaged", down: markFile + " is damaged"},
		"half made": {files: map[string]string{"lock": "", "casement.log": ""}, down: "not a plane's state"},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(what, want string, err error) {
				t.Helper()
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: %v, want %q", what, err, want)
				}
			}
			dir := shortDir(t)
			write(t, dir, tc.files)
			r, err := Down(t.Context(), dir, true)
			check("down --purge", tc.down, err)
			if r.Ran || !slices.Equal(r.Kept, tc.kept) {
				t.Errorf("down says %+v", r)
			}
			for file := range tc.files {
				_, err := os.Stat(dir.Path(file))
				gone := tc.down == "" && !slices.Contains(tc.kept, file) && (file != markFile || tc.kept == nil)
				if gone != errors.Is(err, os.ErrNotExist) {
					t.Errorf("after down --purge, %s: %v", file, err)
				}
			}
			dir = shortDir(t)
			write(t, dir, tc.files)
			check("up", tc.make, dir.Make())
			if tc.make == "" {
				if v, err := dir.version(); v != stateVersion || err != nil {
					t.Errorf("after up the version is %d, %v", v, err)
				}
			}
		})
	}
}

// TestOwnNames: down --purge deletes each name that the code puts into the state directory.
func TestOwnNames(t *testing.T) {
	found := 0
	named := regexp.MustCompile(`(?:\b[dD]ir|\bd|AzureOf)\.Path\("([^"]+)"`)
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range named.FindAllStringSubmatch(string(data), -1) {
			if found++; !matches(ownNames, m[1]) {
				t.Errorf("%s: %s is not one of ownNames", path, m[1])
			}
		}
		return nil
	})
	if err != nil || found < 20 {
		t.Errorf("%d names were found: %v", found, err)
	}
}

func TestPurgeLeavesNothing(t *testing.T) {
	dir := shortDir(t)
	bringUp(t, dir)
	if _, err := Down(bounded(t), dir, true); err != nil {
		t.Fatal(err)
	}
	if names, err := dir.entries(); err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}

func TestDownWithoutSocket(t *testing.T) {
	dir := shortDir(t)
	s := bringUp(t, dir)
	if err := os.Remove(dir.Socket()); err != nil {
		t.Fatal(err)
	}
	if _, err := NewClient(dir).Status(t.Context()); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("status without the socket: %v", err)
	}
	if got, err := StatusOf(t.Context(), dir); err != nil || got.NoAnswer == "" || got.PID != s.PID ||
		got.Azure.Endpoint != s.Azure.Endpoint {
		t.Errorf("the last status: %+v, %v", got, err)
	}
	write(t, dir, map[string]string{"status.json": "{"})
	if got, err := StatusOf(t.Context(), dir); err != nil || got.NoAnswer == "" || len(got.Notices) != 1 ||
		!strings.Contains(got.Notices[0], dir.Snapshot()) {
		t.Errorf("status by a damaged file: %+v, %v", got, err)
	}
	r, err := Down(bounded(t), dir, true)
	if err != nil || !r.Ran || r.Killed {
		t.Errorf("down: %+v, %v", r, err)
	}
	if err := syscall.Kill(s.PID, 0); err == nil {
		t.Errorf("process %d runs above a state that is gone", s.PID)
	}
}

// TestDownOfUnknownHolder: a process that cannot be identified is not ended, and its state is not deleted.
func TestDownOfUnknownHolder(t *testing.T) {
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = other.Process.Wait() }()
	defer func() { _ = other.Process.Kill() }()
	for name, text := range map[string]string{
		"empty": "", "no number": "x\n", "of another": fmt.Sprintln(other.Process.Pid), "gone": "4194304\n",
		"of an earlier start": fmt.Sprintf("%d\n{\"pid\":%d,\"start\":1,\"boot\":\"x\"}\n", os.Getpid(), os.Getpid()),
	} {
		t.Run(name, func(t *testing.T) {
			dir := shortDir(t)
			if err := dir.Make(); err != nil {
				t.Fatal(err)
			}
			lock, err := dir.Lock()
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			write(t, dir, map[string]string{"lock": text})
			if _, err := Down(bounded(t), dir, true); err == nil || !strings.Contains(err.Error(), "fuser") {
				t.Errorf("down: %v", err)
			}
			if _, err := os.Stat(dir.Path(markFile)); err != nil || other.Process.Signal(syscall.Signal(0)) != nil {
				t.Errorf("the state: %v", err)
			}
		})
	}
}

func TestStatusOfAStoppedPlane(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	s := bringUp(t, dir)
	if err := syscall.Kill(s.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for stopped := false; !stopped; time.Sleep(time.Millisecond) { // the signal takes its time
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.PID))
		if err != nil || len(tasks) == 0 {
			t.Fatalf("process %d has gone: %v", s.PID, err)
		}
		stopped = !slices.ContainsFunc(tasks, func(task string) bool {
			data, err := os.ReadFile(task)
			return err == nil && !strings.Contains(string(data), ") T ")
		})
	}
	got, err := StatusOf(t.Context(), dir)
	if err != nil || got.NoAnswer == "" || got.PID != s.PID || got.Phase != PhaseReady || got.Written.IsZero() {
		t.Errorf("status: %+v, %v", got, err)
	}
	if r, err := Down(bounded(t), dir, false); err != nil || !r.Ran {
		t.Errorf("down: %+v, %v", r, err)
	}
}

func TestTwoUps(t *testing.T) {
	dir := shortDir(t)
	t.Cleanup(func() {
		if _, err := Down(bounded(t), dir, true); err != nil {
			t.Error(err)
		}
	})
	var starts [4]bool
	var all sync.WaitGroup
	for i := range starts {
		all.Go(func() {
			s, started, err := Up(bounded(t), dir, []string{"supervise", string(dir)}, UpReport{Note: func(string) {}, Seen: func(Status) {}})
			starts[i] = started
			if err != nil || s.Phase != PhaseReady {
				t.Errorf("up %d: %+v, %v", i, s, err)
			}
		})
	}
	all.Wait()
	slices.SortFunc(starts[:], func(a, b bool) int { return strings.Compare(fmt.Sprint(b), fmt.Sprint(a)) })
	if starts != [4]bool{true} {
		t.Errorf("one of them starts it: %v", starts)
	}
}

// played responds with a status like a supervisor, and has its lock, until end is called.
func played(t *testing.T, dir Dir, s Status) (end func()) {
	t.Helper()
	if err := dir.Make(); err != nil {
		t.Fatal(err)
	}
	lock, err := dir.Lock()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", dir.Socket())
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s) })}
	go func() { _ = server.Serve(l) }()
	return sync.OnceFunc(func() {
		server.Close()
		lock.Close()
	})
}

// TestConnectionReset: a plane that is killed during a request resets the connection.
func TestConnectionReset(t *testing.T) {
	dir := shortDir(t)
	if err := dir.Make(); err != nil {
		t.Fatal(err)
	}
	lock, err := dir.Lock()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", dir.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	if _, err := NewClient(dir).Status(t.Context()); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("while it runs: %v", err)
	}
	lock.Close()
	if _, err := NewClient(dir).Status(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after its end: %v", err)
	}
}

func TestUpWhileAnotherStops(t *testing.T) {
	dir := shortDir(t)
	end := played(t, dir, Status{Phase: PhaseStopping, PID: 77})
	defer end()
	var notes []string
	t.Cleanup(func() {
		if _, err := Down(bounded(t), dir, true); err != nil {
			t.Error(err)
		}
	})
	s, started, err := Up(bounded(t), dir, []string{"supervise", string(dir)}, UpReport{Seen: func(Status) {}, Note: func(text string) {
		notes = append(notes, text)
		end()
	}})
	if err != nil || !started || s.Phase != PhaseReady || len(notes) != 1 || !strings.Contains(notes[0], "process 77) is being ended") {
		t.Errorf("up: %+v, %t, %v; said %q", s, started, err, notes)
	}
}

func TestUpJoins(t *testing.T) {
	dir := shortDir(t)
	end := played(t, dir, Status{Phase: PhaseStarting, PID: 77, Steps: []Step{{Name: "local Azure"}}, Waiting: "the tide"})
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var notes []string
	report := UpReport{Seen: func(Status) { cancel() }, Note: func(text string) { notes = append(notes, text) }}
	_, started, err := Up(ctx, dir, nil, report)
	if started || len(notes) != 1 || !strings.Contains(notes[0], "Process 77 starts the local plane already") {
		t.Errorf("up: started %t; said %q", started, notes)
	}
	if !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "it is at: local Azure (the tide). It goes on starting in the background") {
		t.Errorf("cut off, up says %v", err)
	}
	// Another command ends the start that this call has joined.
	report.Seen = func(Status) { end() }
	if _, _, err := Up(bounded(t), dir, nil, report); !errors.Is(err, errEnded) {
		t.Errorf("after the end of what it has joined, up says %v", err)
	}
}

func TestUpSaysWhy(t *testing.T) {
	dir := shortDir(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := dir.Make(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	write(t, dir, map[string]string{"azure.port": port})
	_, _, err = Up(bounded(t), dir, []string{"supervise", string(dir)}, UpReport{Note: func(string) {}, Seen: func(Status) {}})
	if err == nil || !strings.Contains(err.Error(), "azure.port") || !strings.Contains(err.Error(), dir.Log()) {
		t.Errorf("up with its port taken says %v", err)
	}
}

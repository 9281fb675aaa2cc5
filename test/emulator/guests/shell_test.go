// Package guests compares simulated guests with the programs that they simulate: a corpus of
// snippets runs in the real dash and bash, and a corpus of user data in the real agents. The
// answers of the real programs are stored, so that the comparison also runs where those programs
// are missing. The package contains only tests.
package guests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
	"casement.dev/casement/internal/testing/golden"
)

var (
	real    = flag.Bool("real", false, "compare with the real programs of this machine and not with their kept answers")
	seed    = flag.Uint64("seed", 1, "of the generated scripts")
	count   = flag.Int("generated", generatedLinux, "how many scripts TestLinuxGenerated asks")
	verbose = flag.Bool("differences", false, "print each difference in full")
)

// answer is the exit code, the output and the written files of a snippet.
type answer struct {
	Code    int               `json:"code"`
	Stdout  string            `json:"stdout,omitempty"`
	Files   map[string]string `json:"files,omitempty"` // by path: the mode and the content
	stderr  string
	refused []string
}

const (
	corpusDir     = "testdata/shell"
	answersFile   = "testdata/shell.answers.json"
	differences   = "testdata/shell.differences.tsv"
	snippetPeriod = 20 * time.Second
)

// snippet is a piece of a script; bashOnly is set if no other shell than bash runs it.
type snippet struct {
	topic, text string
	bashOnly    bool
}

func snippets(t *testing.T) (all []snippet) {
	t.Helper()
	files, err := filepath.Glob(corpusDir + "/*.sh")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for text := range strings.SplitSeq(string(data), "\n%%\n") {
			rest, bash := strings.CutPrefix(text, "# bash\n")
			all = append(all, snippet{strings.TrimSuffix(filepath.Base(f), ".sh"), strings.TrimSuffix(rest, "\n"), bash})
		}
	}
	return all
}

// TestShell checks that sh and bash of a guest behave as dash and bash do: standard output, exit
// code and files are the same, or the guest reports that it cannot run the snippet.
func TestShell(t *testing.T) {
	all := snippets(t)
	kept := map[string]map[string]answer{"dash": {}, "bash": {}}
	if !golden.Update() {
		read(t, answersFile, &kept)
	}
	if *real || golden.Update() {
		kept = map[string]map[string]answer{"dash": {}, "bash": {}}
		askReal(t, all, kept)
	}
	if golden.Update() {
		data, err := json.MarshalIndent(kept, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(answersFile, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := machine.New(machine.Spec{ID: "vm", Dir: t.TempDir(), OS: machine.Linux, ComputerName: "node-1",
		IPs:   []netip.Addr{netip.MustParseAddr("10.1.0.4")},
		Image: machine.Image{Name: "Ubuntu 24.04", Release: "24.04", Build: "6.8.0-1030-azure"}}, nil, clock.RealClock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	sh := shell.New(m, nil, nil)
	listed := reasons(t)
	tally := map[string]int{}
	for i, s := range all {
		for _, name := range []string{"dash", "bash"} {
			want, ok := kept[name][s.topic+": "+s.text]
			if !ok {
				if name == "bash" || !s.bashOnly {
					t.Errorf("there is no answer of the real %s: run with -update\n%s", name, s.text)
				}
				continue
			}
			got := inGuest(t, m, sh, name, fmt.Sprintf("/s/%d-%s", i, name), s.text)
			key := name + "\t" + strings.ReplaceAll(s.text, "\n", "⏎")
			reason, known := listed[key]
			delete(listed, key)
			difference := compare(want, got)
			switch {
			case difference == "":
				tally["same"]++
				if known {
					t.Errorf("%s: the listed difference is gone: take it out of %s\n%s", name, differences, s.text)
				}
			case len(got.refused) > 0:
				tally["honest refusal"]++
				if *verbose {
					t.Logf("%s refuses\n%s\n%s", name, s.text, got.stderr)
				}
			case known:
				tally["wrong"]++
				if *verbose {
					t.Logf("%s differs, as listed (%s)\n%s\n%s", name, reason, s.text, difference)
				}
			default:
				tally["wrong"]++
				t.Errorf("%s differs (%s)\n%s\n%s\nstderr: %s", name, s.topic, s.text, difference, got.stderr)
			}
		}
	}
	for key := range listed {
		t.Errorf("%s lists a snippet that the corpus has not: %s", differences, key)
	}
	sum := tally["same"] + tally["honest refusal"] + tally["wrong"]
	t.Logf("sh and bash, %d snippets: same %d, honest refusal %d, wrong %d", sum, tally["same"], tally["honest refusal"], tally["wrong"])
	if tally["wrong"]*50 > sum {
		t.Errorf("%d of %d snippets differ in silence: at most 2 in 100 may", tally["wrong"], sum)
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reasons returns the reasons for the known differences.
func reasons(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(differences)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(f) < 3 {
			continue
		}
		out[f[0]+"\t"+strings.Join(f[2:], "\t")] = f[1]
	}
	return out
}

// askReal runs the corpus with the programs of this machine.
func askReal(t *testing.T, all []snippet, into map[string]map[string]answer) {
	t.Helper()
	for _, name := range []string{"dash", "bash", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("this machine has no %s: install Debian's packages dash, bash and jq", name)
		}
	}
	type job struct {
		shell string
		s     snippet
	}
	jobs := make(chan job)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for j := range jobs {
				got, err := underReal(t.Context(), j.shell, t.TempDir(), j.s.text)
				mu.Lock()
				if err != nil {
					t.Errorf("%s: %v\n%s", j.shell, err, j.s.text)
				}
				into[j.shell][j.s.topic+": "+j.s.text] = got
				mu.Unlock()
			}
		})
	}
	for _, s := range all {
		if !s.bashOnly {
			jobs <- job{"dash", s}
		}
		jobs <- job{"bash", s}
	}
	close(jobs)
	wg.Wait()
}

func underReal(ctx context.Context, shell, dir, text string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, snippetPeriod)
	defer cancel()
	file := filepath.Join(dir+".script", "sh")
	if err := errors.Join(os.Mkdir(dir+".script", 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		return answer{}, err
	}
	cmd := exec.CommandContext(ctx, shell, file)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
		"LANG=C.UTF-8", "USER=root", "LOGNAME=root", "SHELL=/bin/bash", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return answer{}, fmt.Errorf("ended by %s", status.Signal())
		}
		err = nil
	}
	if err != nil {
		return answer{}, err
	}
	return answer{Code: cmd.ProcessState.ExitCode(),
		Stdout: strings.ReplaceAll(strings.ReplaceAll(out.String(), file, "sh"), dir, "$DIR"),
		Files:  tree(os.DirFS(dir), dir, nil), stderr: errs.String()}, nil
}

// tree returns a description of all files of a folder, by path. readlink, if not nil, returns the
// targets of links instead of dir.
func tree(dir fs.FS, name string, readlink func(string) (string, error)) map[string]string {
	out := map[string]string{}
	_ = fs.WalkDir(dir, ".", func(p string, e fs.DirEntry, err error) error { // a file that cannot be read counts as missing
		if err != nil || p == "." {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		switch {
		case info.IsDir():
			out[p] = info.Mode().String()
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := fs.ReadLink(dir, p)
			if readlink != nil {
				target, _ = readlink(p)
			}
			out[p] = "-> " + strings.ReplaceAll(target, name, "$DIR")
		default:
			data, _ := fs.ReadFile(dir, p)
			if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) || strings.HasSuffix(p, ".tar") {
				data = []byte("(archive)")
			}
			out[p] = fmt.Sprintf("%s %s", info.Mode().Perm(), strings.ReplaceAll(string(data), name, "$DIR"))
		}
		return nil
	})
	return out
}

func inGuest(t *testing.T, m *machine.Machine, sh *shell.Shell, name, dir, text string) answer {
	t.Helper()
	if err := m.Root.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), snippetPeriod)
	defer cancel()
	run := sh.Sh
	if name == "bash" {
		run = sh.Bash
	}
	var out, errs bytes.Buffer
	code := run(ctx, text, shell.Session{Stdout: &out, Stderr: &errs, Dir: dir, Name: "sh", Env: map[string]string{"TZ": "UTC"}})
	if ctx.Err() != nil {
		t.Errorf("%s does not end\n%s", name, text)
	}
	at, err := m.Root.Host(dir)
	if err != nil {
		t.Fatal(err)
	}
	return answer{Code: code & 0xff, Stdout: strings.ReplaceAll(out.String(), dir, "$DIR"),
		Files:  tree(os.DirFS(at), dir, func(name string) (string, error) { return m.Root.Readlink(path.Join(dir, name)) }),
		stderr: errs.String(), refused: m.TakeMarks().Refused}
}

// compare returns how two answers differ, or "" if they are equal.
func compare(want, got answer) string {
	var b strings.Builder
	if want.Stdout != got.Stdout {
		fmt.Fprintf(&b, "  real:  %q\n  guest: %q\n", want.Stdout, got.Stdout)
	}
	if want.Code != got.Code {
		fmt.Fprintf(&b, "  code %d, guest %d\n", want.Code, got.Code)
	}
	names := slices.Sorted(maps.Keys(want.Files))
	for _, n := range slices.Sorted(maps.Keys(got.Files)) {
		if _, ok := want.Files[n]; !ok {
			names = append(names, n)
		}
	}
	for _, n := range names {
		if want.Files[n] != got.Files[n] && !random(n, want, got) {
			fmt.Fprintf(&b, "  file %s: %q, guest %q\n", n, want.Files[n], got.Files[n])
		}
	}
	return b.String()
}

// random reports whether mktemp chose the name of a file.
func random(name string, want, got answer) bool {
	return (path.Ext(name) != "" || strings.HasPrefix(name, "tmp")) && len(want.Files) == len(got.Files) &&
		(strings.HasPrefix(name, "x.") || strings.HasPrefix(name, "y."))
}

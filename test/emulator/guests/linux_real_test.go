package guests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	grammarFile      = "testdata/linux.grammar"
	linuxDifferences = "testdata/linux.differences.tsv"
	// generatedLinux is the number of scripts of TestLinuxGenerated; at most one in a hundred may
	// differ, each with a reason.
	generatedLinux = 5000
)

// linuxRoom creates the environment of a script that may remove anything: the whole machine is
// read-only, and the folders that any user may write to are new and empty. The script is read from
// standard input.
const linuxRoom = `set -e
mount -o remount,bind,ro /
for d in /root /tmp /var/tmp /dev/shm; do mount -t tmpfs -o size=16m,mode=1777 none $d; done
chmod 700 /root
mkdir -p ` + linuxBase + `/work
cat > ` + linuxScript + `
cd ` + linuxBase + `/work
ulimit -t 10
set +e
unset OLDPWD
bash --norc ` + linuxScript + ` < /dev/null
exit $?`

// realBash returns the result of a script in this machine's bash. The script runs as a user who
// owns nothing, as root in separate namespaces, so that it cannot change files, processes, network
// and names of the machine.
func realBash(ctx context.Context, script string) (linuxCase, error) {
	ctx, cancel := context.WithTimeout(ctx, linuxScriptPeriod)
	defer cancel()
	args := strings.Fields("unshare --user --map-root-user --mount --pid --net --ipc --uts --fork --kill-child --mount-proc " +
		"env --default-signal -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C TZ=UTC LANG=C.UTF-8 USER=root " +
		"LOGNAME=root SHELL=/bin/bash HOSTNAME=judge-1 HOME=" + linuxBase + "/work bash -c")
	if os.Getuid() == 0 {
		args = append(strings.Fields("setpriv --reuid=65534 --regid=65534 --clear-groups"), args...)
	}
	cmd := exec.CommandContext(ctx, args[0], append(args[1:], linuxRoom)...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = "/", strings.NewReader(script), &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); exited && ctx.Err() == nil || errors.Is(err, exec.ErrWaitDelay) {
		err = nil // a background process of the script still has its output open
	}
	if err == nil && strings.HasPrefix(errs.String(), "unshare: ") {
		err = errors.New(strings.TrimSpace(errs.String()))
	}
	return linuxCase{Script: script, Stdout: out.String(), Stderr: errs.String(), Code: cmd.ProcessState.ExitCode()}, err
}

// askBash sets the result of each script in this machine's bash.
func askBash(t *testing.T, all []linuxCase) {
	t.Helper()
	each(all, func(c *linuxCase) {
		got, err := realBash(t.Context(), c.Script)
		if err != nil {
			t.Errorf("%s: this machine's bash gives no answer: %v", c.ID, err)
			return
		}
		c.Stdout, c.Stderr, c.Code = got.Stdout, got.Stderr, got.Code
	})
}

// each calls work for all elements of a list, concurrently for as many as the machine has
// processors.
func each[T any](all []T, work func(*T)) {
	slots := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for i := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			work(&all[i])
		})
	}
	wg.Wait()
}

// grammar is the source of generated scripts: by name, lines in which «name» is replaced by a line
// of that name.
type grammar map[string][]string

var symbol = regexp.MustCompile(`«([a-z0-9]+)»`)

func readGrammar(t *testing.T) grammar {
	t.Helper()
	data, err := os.ReadFile(grammarFile)
	if err != nil {
		t.Fatal(err)
	}
	g, name := grammar{}, ""
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		switch {
		case i == 0:
		case symbol.MatchString("«"+strings.Trim(line, "[]")+"»") && strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			name = strings.Trim(line, "[]")
		default:
			g[name] = append(g[name], line)
		}
	}
	for name, lines := range g {
		for _, m := range symbol.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
			if len(g[m[1]]) == 0 {
				t.Fatalf("%s: [%s] names [%s], which has no lines", grammarFile, name, m[1])
			}
		}
	}
	return g
}

func (g grammar) expand(random *rand.Rand, name string, depth int) string {
	lines := g[name]
	line := lines[random.IntN(len(lines))]
	for depth > 6 && symbol.MatchString(line) && name == "statement" {
		line = lines[random.IntN(len(lines))]
	}
	return symbol.ReplaceAllStringFunc(line, func(s string) string { return g.expand(random, symbol.FindStringSubmatch(s)[1], depth+1) })
}

// mutate changes a script of the corpus: it removes, repeats or moves a line, or appends the end of
// another script.
func mutate(random *rand.Rand, corpus []linuxCase) string {
	pick := func() []string {
		return strings.Split(strings.TrimSuffix(corpus[random.IntN(len(corpus))].Script, "\n"), "\n")
	}
	lines := pick()
	i, j := random.IntN(len(lines)), random.IntN(len(lines))
	switch random.IntN(4) {
	case 0:
		lines = slices.Delete(lines, i, i+1)
	case 1:
		lines = slices.Insert(lines, j, lines[i])
	case 2:
		lines[i], lines[j] = lines[j], lines[i]
	case 3:
		other := pick()
		lines = append(lines[:i:i], other[random.IntN(len(other)):]...)
	}
	return strings.Join(lines, "\n")
}

// TestLinuxGenerated compares a guest with this machine's bash for generated scripts: scripts that
// are made of pieces, and changed scripts of the corpus.
func TestLinuxGenerated(t *testing.T) {
	if !*real {
		t.Skip("compares with bash of this machine: make e2e-guests-linux")
	}
	corpus := readLinux(t)
	// Scripts that depend on the time, on the order of processes or on the machine have no single
	// answer.
	moving := regexp.MustCompile(`\$\$|BASHPID|RANDOM|SECONDS|EPOCH|urandom|/proc/|\bsleep|date \+|now\b|\bwait|\$!|uname|nproc|flock|\bps\b`)
	corpus = slices.DeleteFunc(corpus, func(c linuxCase) bool { return moving.MatchString(c.Script) })
	g := readGrammar(t)
	random := rand.New(rand.NewPCG(*seed, 54))
	all := make([]linuxCase, *count)
	for i := range all {
		all[i].ID = fmt.Sprintf("%d-%04d", *seed, i)
		if i%5 == 0 {
			all[i].Script = mutate(random, corpus)
		} else {
			all[i].Script = strings.ReplaceAll(g.expand(random, "script", 0), "⏎", "\n")
		}
		all[i].Script += "\n"
	}
	askBash(t, all)
	known := linuxReasons(t)
	var mu sync.Mutex
	tally := map[string]int{}
	each(all, func(c *linuxCase) {
		got := runLinuxScript(t, *c)
		mu.Lock()
		defer mu.Unlock()
		verdict := c.verdict(got)
		if reason := known.of(*c); verdict == "different" && reason != "" {
			verdict = "explained"
			tally[reason]++
		}
		tally[verdict]++
		if verdict == "different" || verdict != "same" && *verbose {
			t.Logf("%s %s\n%s--- real %d\n%s--- guest %d\n%s--- real errors\n%s--- guest errors\n%s", c.ID, verdict, c.Script, c.Code, c.Stdout,
				got.Code, got.Stdout, c.Stderr, got.Stderr)
		}
	})
	t.Logf("%d scripts of seed %d: %v", len(all), *seed, tally)
	if (tally["different"]+tally["explained"])*100 > len(all) {
		t.Errorf("%d of %d generated scripts differ: at most one of a hundred may", tally["different"]+tally["explained"], len(all))
	}
	if tally["different"] > 0 && *seed == 1 {
		t.Errorf("%d scripts of the first seed differ without a reason in %s", tally["different"], linuxDifferences)
	}
}

// departures are the reasons why results differ, each with a pattern that matches the scripts
// concerned and their real answers.
type departures []struct {
	reason  string
	pattern *regexp.Regexp
}

func linuxReasons(t *testing.T) (all departures) {
	t.Helper()
	data, err := os.ReadFile(linuxDifferences)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		pattern, reason, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		all = append(all, struct {
			reason  string
			pattern *regexp.Regexp
		}{reason, regexp.MustCompile(pattern)})
	}
	return all
}

func (d departures) of(c linuxCase) string {
	for _, one := range d {
		if one.pattern.MatchString(fmt.Sprintf("%s--- real %d\n%s", c.Script, c.Code, c.Stdout)) {
			return one.reason
		}
	}
	return ""
}

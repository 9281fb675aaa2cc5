package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

// scene is a plane with the injected faults and the counts.
type scene struct {
	t      *testing.T
	random *rand.Rand
	p      *plane.Plane
	disk   string // "" if no file system can be mounted
	c      *cluster
	row    *row
	rows   []row
	rules  [][]string // the current fault rules, as arguments of azure faults add
	struck map[string]int
}

// themes are the kinds of faults of a round, with the functions that cause them.
var themes = map[string]func(*scene){
	"supervisor killed":   func(s *scene) { s.harm(6, s.killSupervisor) },
	"management killed":   func(s *scene) { s.harm(12, func() { s.disturbProcess(management, syscall.SIGKILL) }) },
	"workload killed":     func(s *scene) { s.harm(12, func() { s.disturbProcess(workload, syscall.SIGKILL) }) },
	"processes stopped":   func(s *scene) { s.harm(8, s.freeze) },
	"processes restarted": func(s *scene) { s.harm(10, func() { s.disturbProcess(anyChild, syscall.SIGTERM) }) },
	"Azure fails":         (*scene).azureFails,
	"everything":          func(s *scene) { s.harm(14, s.anything) },
	"two up at once":      (*scene).twoUps,
	"down during up":      (*scene).downDuringUp,
	"256 descriptors":     (*scene).fewDescriptors,
	"disk full":           (*scene).fillDisk,
	"state read-only":     (*scene).readOnly,
}

// draw chooses the faults of a round; half of the rounds have all kinds.
func (s *scene) draw() string {
	if *theme != "" {
		return *theme
	}
	names := slices.Sorted(maps.Keys(themes))
	if s.disk == "" {
		names = slices.DeleteFunc(names, func(n string) bool { return n == "disk full" || n == "state read-only" })
	}
	if s.random.IntN(2) == 0 {
		return "everything"
	}
	return names[s.random.IntN(len(names))]
}

// must runs casement; an error ends the test.
func (s *scene) must(args ...string) string {
	s.t.Helper()
	return s.p.Run(nil, args...)
}

// harm calls what as often as times, at random moments.
func (s *scene) harm(times int, what func()) {
	for range times * *fury {
		time.Sleep(time.Duration(s.random.Int64N(int64(1500*time.Millisecond) / int64(*fury)))) // the test needs random moments
		what()
	}
}

// azureFails keeps the fault rules until one has matched, because the next call about a deleted
// machine may take up to a minute.
func (s *scene) azureFails() {
	s.harm(20, func() {})
	for end := time.Now().Add(2 * time.Minute); s.row.faults == 0 && time.Now().Before(end); s.countFaults() {
		time.Sleep(time.Second)
	}
}

// failAzure sets fault rules that together match the given share of all calls, up to 30 %.
func (s *scene) failAzure(chance float64) {
	s.rules = nil
	if chance == 0 {
		return
	}
	kinds := [][]string{
		{"throttle"}, {"conflict", "--verb", "PUT,PATCH,DELETE"}, {"unavailable"},
		{"unavailable", "--status", "500", "--code", "InternalServerError"}, {"drop"}, {"lose"},
	}
	for _, k := range kinds {
		s.rules = append(s.rules, append(k, "--probability", fmt.Sprintf("%.3f", chance/float64(len(kinds)))))
	}
	// Operations are fewer than calls, so their faults have a separate probability.
	s.rules = append(s.rules, []string{"operation", "--probability", fmt.Sprintf("%.3f", chance/2)})
	s.applyRules()
}

// applyRules adds the rules to the local Azure. They are lost when the supervisor ends.
func (s *scene) applyRules() {
	for _, r := range s.rules {
		add := append([]string{"azure", "faults", "add", "--seed", fmt.Sprint(s.random.Uint32())}, r...)
		if _, err := s.p.Try(nil, add...); err != nil {
			s.t.Logf("add a fault: %v", err) // the supervisor may have been killed meanwhile
		}
	}
	s.struck = map[string]int{}
}

// countFaults adds the faults that have matched since the last count.
func (s *scene) countFaults() {
	out, err := s.p.Try(nil, "azure", "faults", "list", "-o", "json")
	if err != nil {
		return
	}
	var rules []struct {
		ID     string
		Struck int
	}
	if err := json.Unmarshal([]byte(out), &rules); err != nil {
		s.t.Fatal(err)
	}
	for _, r := range rules {
		s.row.faults += r.Struck - s.struck[r.ID]
		s.struck[r.ID] = r.Struck
	}
}

// calm removes all faults and starts the plane.
func (s *scene) calm() {
	s.rules = nil
	if out, err := s.p.Try(nil, "up", "--timeout", "5m"); err != nil {
		s.t.Fatalf("up, when nothing goes wrong any more: %v\n%s", err, out)
	}
	s.countFaults()
	s.must("azure", "faults", "clear")
}

// anything harms a process in a random way.
func (s *scene) anything() {
	switch s.random.IntN(8) {
	case 0:
		s.killSupervisor()
	case 1:
		s.freeze()
	case 2:
		s.disturbProcess(anyChild, syscall.SIGTERM)
	case 3, 4:
		s.disturbProcess(management, syscall.SIGKILL)
	default:
		s.disturbProcess(workload, syscall.SIGKILL)
	}
	s.countFaults()
}

// supervisor returns the supervisor's process ID, or 0 if it does not run.
func (s *scene) supervisor() int {
	data, err := os.ReadFile(filepath.Join(s.p.Home, "lock"))
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(data), "\n")
	pid, _ := strconv.Atoi(line)
	return pid
}

func (s *scene) killSupervisor() {
	s.countFaults()
	if pid := s.supervisor(); pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
		s.row.kills++
	}
	if _, err := s.p.Try(nil, "up", "--timeout", "5m"); err != nil {
		s.t.Fatalf("up after the supervisor was killed: %v", err)
	}
	s.applyRules()
}

// process is a process of the plane.
type process struct {
	pid, parent int
	line        string
}

// processes returns all processes whose command line contains the state directory, except
// this test's commands.
func (s *scene) processes() []process {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		s.t.Fatal(err)
	}
	var out []process
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		text := strings.ReplaceAll(string(line), "\x00", " ")
		if err != nil || !strings.Contains(text, s.p.Home) || strings.Contains(text, "kubectl") {
			continue
		}
		status, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // the process has ended
		}
		fields := strings.Fields(string(status[strings.LastIndexByte(string(status), ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		parent, _ := strconv.Atoi(fields[1])
		if fields[0] != "Z" {
			out = append(out, process{pid, parent, text})
		}
	}
	slices.SortFunc(out, func(a, b process) int { return strings.Compare(a.line, b.line) })
	return out
}

// management, workload and anyChild select kinds of processes other than the supervisor.
func management(s *scene, p process) bool {
	return strings.Contains(p.line, filepath.Join(s.p.Home, "management")) && p.parent == s.supervisor()
}

func workload(s *scene, p process) bool {
	return strings.Contains(p.line, filepath.Join(s.p.Home, "vms")) && p.parent == s.supervisor()
}

func anyChild(s *scene, p process) bool { return management(s, p) || workload(s, p) }

// pick returns a random process of a kind.
func (s *scene) pick(kind func(*scene, process) bool) (process, bool) {
	found := slices.DeleteFunc(s.processes(), func(p process) bool { return !kind(s, p) })
	if len(found) == 0 {
		return process{}, false
	}
	return found[s.random.IntN(len(found))], true
}

func (s *scene) disturbProcess(kind func(*scene, process) bool, signal syscall.Signal) {
	p, ok := s.pick(kind)
	if !ok || syscall.Kill(p.pid, signal) != nil {
		return
	}
	if signal == syscall.SIGKILL {
		s.row.kills++
	} else {
		s.row.restarts++
	}
}

// freeze stops a random process, or the supervisor, and continues it after a random time.
func (s *scene) freeze() {
	pid := s.supervisor()
	if s.random.IntN(4) > 0 {
		if p, ok := s.pick(anyChild); ok {
			pid = p.pid
		}
	}
	if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return
	}
	s.row.stops++
	time.Sleep(time.Duration(s.random.Int64N(int64(8 * time.Second)))) // the test needs a stop of random length
	_ = syscall.Kill(pid, syscall.SIGCONT)                             // the process may have been killed
}

// start starts a casement command and returns a function that waits for its end.
func (s *scene) start(args ...string) (wait func() error) {
	var err error
	var done sync.WaitGroup
	done.Go(func() { _, err = s.p.Try(nil, args...) })
	return func() error { done.Wait(); return err }
}

func (s *scene) twoUps() {
	for range 3 {
		s.harm(1, func() {})
		if pid := s.supervisor(); pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil {
			s.row.kills++
		}
		first, second, third := s.start("up", "--timeout", "5m"), s.start("up", "--timeout", "5m"), s.start("up", "--timeout", "5m")
		for i, wait := range []func() error{first, second, third} {
			if err := wait(); err != nil {
				s.problem("up %d of three at once: %v", i+1, err)
			}
		}
		if n := s.supervisors(); n != 1 {
			s.row.duplicates++
			s.problem("three up at once leave %d supervisors", n)
		}
	}
}

func (s *scene) supervisors() int {
	n := 0
	for _, p := range s.processes() {
		if strings.Contains(p.line, " supervise ") {
			n++
		}
	}
	return n
}

func (s *scene) downDuringUp() {
	for range 3 {
		s.must("down")
		up := s.start("up", "--timeout", "5m")
		time.Sleep(time.Duration(s.random.Int64N(int64(6 * time.Second)))) // the test needs random moments
		if out, err := s.p.Try(nil, "down"); err != nil {
			s.problem("down during up: %v\n%s", err, out)
		}
		_ = up() // the command may have been ended
	}
}

// fewDescriptors runs the plane with 256 file descriptors, which may be too few for it.
func (s *scene) fewDescriptors() {
	s.must("down")
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	up := exec.CommandContext(ctx, "sh", "-c", `ulimit -n 256 && exec "$0" up --timeout 30s`, plane.Binary(s.t, "casement"))
	up.Env = append(os.Environ(), "CASEMENT_HOME="+s.p.Home)
	out, err := up.CombinedOutput()
	s.t.Logf("up with 256 descriptors: %v\n%s", err, out[max(0, len(out)-300):])
	s.harm(8, func() {})
	s.must("down")
}

func (s *scene) fillDisk() {
	for range 2 {
		f, err := os.Create(filler(s.disk))
		if err != nil {
			s.t.Fatal(err)
		}
		block := make([]byte, 1<<20)
		for err == nil {
			_, err = f.Write(block)
		}
		for block = block[:4096]; ; { // fills the disk to its last page
			if _, err := f.Write(block); err != nil {
				break
			}
		}
		f.Close()
		s.row.fills++
		s.harm(8, func() {})
		if err := os.Remove(filler(s.disk)); err != nil {
			s.t.Fatal(err)
		}
		s.harm(3, func() {})
	}
}

func (s *scene) readOnly() {
	s.must("down")
	if out, err := exec.Command("mount", "-o", "remount,ro", s.disk).CombinedOutput(); err != nil {
		s.t.Fatalf("make the state read-only: %v: %s", err, out)
	}
	_, err := s.p.Try(nil, "up", "--timeout", "1m")
	if out, mountErr := exec.Command("mount", "-o", "remount,rw", s.disk).CombinedOutput(); mountErr != nil {
		s.t.Fatalf("make the state writable: %v: %s", mountErr, out)
	}
	if err == nil || !strings.Contains(err.Error(), "read-only file system") {
		s.problem("up over a state that is read-only says %v", err)
	}
}

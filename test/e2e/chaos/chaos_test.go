package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/plane"
)

var (
	seed   = flag.Uint64("seed", 1, "of the moments, the faults and the acts")
	rounds = flag.Int("rounds", 2, "how many rounds; make e2e-chaos has more")
	plot   = flag.String("plot", "", "file for a plot of the times to come to rest (SVG)")
	fury   = flag.Int("fury", 1, "times as many kills and stops in a round, in as much time")
	theme  = flag.String("theme", "", "what goes wrong in every round, instead of what is drawn")
)

// patience limits the time in which a cluster recovers after the last fault. It is many times the
// usual time, because the computer may be busy.
const patience = 8 * time.Minute

func TestChaos(t *testing.T) {
	full := smallDisk(t)
	s := &scene{t: t, random: rand.New(rand.NewPCG(*seed, 0)), p: plane.New(t,
		"WINDOWS_SERVER_VERSION=windows-2022", "WORKER_MACHINE_COUNT=1",
		"WINDOWS_WORKER_MACHINE_COUNT=1"), disk: full}
	s.must("up")
	started := time.Now()
	for len(s.rows) < *rounds {
		s.live(*rounds - len(s.rows))
		if t.Failed() {
			break
		}
	}
	t.Logf("seed %d, %s in all\n%s", *seed, time.Since(started).Round(time.Second), table(s.rows))
	if *plot != "" {
		if err := os.WriteFile(*plot, svg(s.rows, *seed), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// live runs one cluster through all actions, in at most most rounds.
func (s *scene) live(most int) {
	s.c = &cluster{scene: s, pools: len(s.rows)/len(acts)%2 == 1, vmIDs: map[string]string{}, uids: map[string]string{}}
	todo := acts
	if most < len(acts) {
		// The last action, the deletion of the cluster, is never left out.
		todo = append(append([]action{}, acts[:most-1]...), acts[len(acts)-1])
	}
	for _, a := range todo {
		s.round(a)
		if s.t.Failed() {
			return
		}
	}
}

// round runs one action with faults, and waits until the cluster has settled.
func (s *scene) round(a action) {
	r := row{number: len(s.rows) + 1, action: a.name, cluster: s.c.kind(), theme: s.draw()}
	s.row = &r
	s.t.Logf("round %d: %s of %s, %s", r.number, a.name, r.cluster, r.theme)
	chance := 0.0
	if r.theme == "Azure fails" || r.theme == "everything" {
		chance = 0.1 + 0.2*s.random.Float64()
	}
	if a.byHand { // the call to Azure that an action makes itself must not fail
		a.do(s.c)
		s.failAzure(chance)
	} else {
		s.failAzure(chance)
		a.do(s.c)
	}
	themes[r.theme](s)
	s.calm()
	if r.theme == "Azure fails" && r.faults == 0 {
		s.problem("no call failed of those that were to")
	}
	rest := time.Now()
	missing := s.c.settle(a)
	r.took = time.Since(rest)
	if missing != "" {
		r.unsettled++
		if a.name == "delete" {
			r.stuck++
		}
		s.problem("after %s the cluster has not come to rest: %s", r.took.Round(time.Second), missing)
	}
	s.c.account(a)
	s.rows = append(s.rows, r)
	s.t.Logf("round %d: settled after %s; %s", r.number, r.took.Round(100*time.Millisecond), r.counts())
	if s.t.Failed() {
		s.showState()
	}
}

// problem logs a text and counts it as a failure of the round.
func (s *scene) problem(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("seed %d, round %d (%s, %s): %s", *seed, s.row.number, s.row.action, s.row.theme, fmt.Sprintf(format, args...))
}

// showState logs the state of the cluster.
func (s *scene) showState() {
	for _, args := range [][]string{
		{"status"}, {"tree", "demo"}, {"why", "demo"},
		{"kubectl", "get", "machines,azuremachines,azuremachinepoolmachines", "-o", "wide"}, {"azure", "resources"},
	} {
		out, err := s.p.Try(nil, args...)
		s.t.Logf("casement %v: %v\n%s", args, err, out)
	}
}

// diskSize is more than a plane with a cluster writes, and small enough to be filled quickly.
const diskSize = 3 << 30

// smallDisk mounts a small file system for temporary files and returns its folder, or "" if
// mounting is not permitted.
func smallDisk(t *testing.T) string {
	dir, err := os.MkdirTemp("", "chs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) }) // the folder is empty after unmount
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprint("size=", diskSize), "tmpfs", dir).CombinedOutput(); err != nil {
		t.Logf("rounds with a full or read-only disk are left out, as no small disk can be mounted here: %v: %s", err, out)
		return ""
	}
	t.Cleanup(func() { unmount(t, dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}

// unmount unmounts the small disk. A process that was just killed keeps the disk busy until the
// kernel has ended all of the process's threads.
func unmount(t *testing.T, dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		out, err := exec.Command("umount", dir).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Errorf("umount %s: %v: %s", dir, err, out)
			return
		}
	}
}

func filler(disk string) string { return filepath.Join(disk, "filler") }

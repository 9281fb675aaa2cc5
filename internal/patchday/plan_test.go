package patchday

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// noon is a Tuesday.
var noon = time.Date(2026, 7, 14, 12, 0, 0, 0, time.UTC)

// nodes returns the nodes that a line describes. Each word is a node, and its letters mean: o it has the previous
// version, h it is healthy, b it is bad, x it is lost, l it is being deleted, k it has a known regression, p or f its
// Job passed or failed.
func nodes(line string) []Node {
	var out []Node
	for i, word := range strings.Fields(line) {
		has := func(s string) bool { return strings.Contains(word, s) }
		n := Node{Name: fmt.Sprint(i), Fits: !has("o"), Leaving: has("l"), Lost: has("x"), Why: "why"}
		switch {
		case has("h"):
			n.Health = Good
		case has("b"), has("x"):
			n.Health = Bad
		}
		if has("k") {
			n.Build = "10.0.20348.2582"
		}
		switch {
		case has("p"):
			n.Job = Good
		case has("f"):
			n.Job, n.JobWhy = Bad, "it broke"
		}
		out = append(out, n)
	}
	return out
}

// pool returns a pool of three nodes whose channel has a newer version.
func pool(with ...func(*Pool)) Pool {
	p := Pool{Name: "MachineDeployment/a", Line: "gallery/win", Current: "1.0.0", Newest: "1.1.0", Replicas: 3, Nodes: nodes("oh oh oh"),
		Policy: Policy{Channel: infrav1.ImageChannelVerified, Canary: 1, Soak: 10 * time.Minute, Timeout: 30 * time.Minute}}
	for _, f := range with {
		f(&p)
	}
	return p
}

// in puts a pool into a phase that began, and had its last progress, some time ago.
func in(phase Phase, ago time.Duration, line string) func(*Pool) {
	return func(p *Pool) {
		since := metav1.NewTime(noon.Add(-ago))
		p.State = State{Phase: phase, Line: p.Line, From: "1.0.0", To: "1.1.0", Began: since, Since: since}
		p.Nodes, p.Current = nodes(line), "1.1.0"
		if phase == RollingBack {
			p.State.Reason, p.Current = "bad", "1.0.0"
		}
	}
}

func soaking(p *Pool)  { p.State.Soaking = true }
func job(p *Pool)      { p.Policy.Job = "ns/smoke" }
func frozen(p *Pool)   { p.Policy.Freeze = "quarter end" }
func paused(p *Pool)   { p.State.Paused = true }
func back(p *Pool)     { p.Policy.Rollback = "slow disks" }
func noCanary(p *Pool) { p.Policy.Canary = 0 }

// closed sets a window that was open in the last night and opens in the next one.
func closed(p *Pool) { p.Policy.Window, _ = NewWindow("0 22 * * *", 4*time.Hour, "UTC") }

// open sets a window that closes at two.
func open(p *Pool) { p.Policy.Window, _ = NewWindow("0 10 * * *", 4*time.Hour, "UTC") }

func TestDecide(t *testing.T) {
	const day, minute = 24 * time.Hour, time.Minute
	for _, test := range []struct {
		name    string
		pool    Pool
		failed  map[string]Failed
		phase   Phase
		version string
		hold    bool
		reason  string
		wake    time.Duration
		says    string
	}{
		{name: "nothing newer", pool: pool(func(p *Pool) { p.Newest = "1.0.0" }), version: "1.0.0", reason: infrav1.ImageUpToDateReason},
		{name: "what it has is newer", pool: pool(func(p *Pool) { p.Current = "1.10.0" }), version: "1.10.0",
			reason: infrav1.ImageUpToDateReason},
		{name: "the newest is not known", pool: pool(func(p *Pool) { p.Newest, p.Unknown = "", "429" }), version: "1.0.0",
			reason: infrav1.ImageNotReadReason, says: "429"},
		{name: "an image without versions", pool: pool(func(p *Pool) { p.Unversioned = "by Kubernetes" }), version: "1.0.0",
			reason: infrav1.ImageNotVersionedReason},
		{name: "a bad annotation", pool: pool(func(p *Pool) { p.Invalid = "cron" }), version: "1.0.0", reason: infrav1.PatchPolicyInvalidReason},
		{name: "frozen", pool: pool(frozen), version: "1.0.0", reason: infrav1.PatchFrozenReason, says: "quarter end"},
		{name: "window closed", pool: pool(closed), version: "1.0.0", reason: infrav1.PatchOutsideWindowReason, wake: 10 * time.Hour,
			says: "2026-07-14 22:00 UTC"},
		{name: "a rollout of another", pool: pool(func(p *Pool) { p.Unsettled = "it scales" }), version: "1.0.0",
			reason: infrav1.PatchWaitingForPoolReason},
		{name: "failed before", pool: pool(func(p *Pool) {
			p.State = State{Line: p.Line, Refused: map[string]string{"1.1.0": "no node"}}
		}), version: "1.0.0", reason: infrav1.PatchRolledBackReason, says: "no node"},
		{name: "an older one failed before", pool: pool(func(p *Pool) {
			p.State = State{Line: p.Line, Refused: map[string]string{"1.0.5": "no node"}}
		}), phase: Canary, version: "1.1.0", hold: true, reason: infrav1.PatchCanaryReason, wake: 30 * minute},
		{name: "failed elsewhere", pool: pool(), failed: map[string]Failed{"gallery/win@1.1.0": {"MachinePool/z", "no node"}},
			version: "1.0.0", reason: infrav1.PatchRefusedReason, says: "MachinePool/z"},
		{name: "begins", pool: pool(open), phase: Canary, version: "1.1.0", hold: true, reason: infrav1.PatchCanaryReason, wake: 30 * minute},
		{name: "begins without a canary", pool: pool(noCanary), phase: Rolling, version: "1.1.0", reason: infrav1.PatchRollingReason,
			wake: 30 * minute},
		{name: "the canary starts", pool: pool(in(Canary, 5*minute, "oh oh oh n")), phase: Canary, version: "1.1.0", hold: true,
			reason: infrav1.PatchCanaryReason, wake: 25 * minute},
		{name: "the canary does not join", pool: pool(in(Canary, 30*minute, "oh oh oh b")), phase: RollingBack, version: "1.0.0",
			reason: infrav1.PatchRollingBackReason, wake: 30 * minute, says: "0 of 1 canary nodes became healthy in 30m0s; node 3: why"},
		{name: "no canary at all", pool: pool(in(Canary, 30*minute, "oh oh oh")), phase: RollingBack, version: "1.0.0",
			reason: infrav1.PatchRollingBackReason, wake: 30 * minute, says: "do not exist yet"},
		{name: "the canary is given up", pool: pool(in(Canary, minute, "oh oh oh x")), phase: RollingBack, version: "1.0.0",
			reason: infrav1.PatchRollingBackReason, wake: 30 * minute, says: "node 3: why"},
		{name: "a node of the new model from before the move", pool: pool(in(Canary, minute, "oh oh h"), func(p *Pool) {
			p.State.Going = []string{"0", "1", "2"}
		}), phase: Canary, version: "1.1.0", hold: true, reason: infrav1.PatchCanaryReason, wake: 29 * minute},
		{name: "the canary is healthy", pool: pool(in(Canary, 20*minute, "oh oh oh h")), phase: Canary, version: "1.1.0", hold: true,
			reason: infrav1.PatchSoakingReason, wake: 10 * minute},
		{name: "the canary has a new regression", pool: pool(in(Canary, minute, "oh oh oh hk")), phase: RollingBack, version: "1.0.0",
			reason: infrav1.PatchRollingBackReason, wake: 30 * minute, says: "known regression"},
		{name: "the canary has a regression that all have", pool: pool(in(Canary, minute, "ohk ohk ohk hk")), phase: Canary, version: "1.1.0",
			hold: true, reason: infrav1.PatchSoakingReason, wake: 10 * minute},
		{name: "the canary breaks while it soaks", pool: pool(in(Canary, 5*minute, "oh oh oh b"), soaking), phase: RollingBack,
			version: "1.0.0", reason: infrav1.PatchRollingBackReason, wake: 30 * minute, says: "while it soaked"},
		{name: "the canary is not known while it soaks", pool: pool(in(Canary, 5*minute, "oh oh oh n"), soaking), phase: Canary,
			version: "1.1.0", hold: true, reason: infrav1.PatchCanaryReason, wake: 30 * minute},
		{name: "soaked", pool: pool(in(Canary, 10*minute, "oh oh oh h"), soaking), phase: Rolling, version: "1.1.0",
			reason: infrav1.PatchRollingReason, wake: 30 * minute},
		{name: "soaked after the window", pool: pool(in(Canary, 10*minute, "oh oh oh h"), soaking, closed), phase: Canary, version: "1.1.0",
			hold: true, reason: infrav1.PatchOutsideWindowReason, wake: 10 * time.Hour},
		{name: "the Job runs while it soaks", pool: pool(in(Canary, minute, "oh oh oh h"), soaking, job), phase: Canary, version: "1.1.0",
			hold: true, reason: infrav1.PatchSoakingReason, wake: jobPoll},
		{name: "the Job runs after it", pool: pool(in(Canary, 15*minute, "oh oh oh h"), soaking, job), phase: Canary, version: "1.1.0",
			hold: true, reason: infrav1.PatchSoakingReason, wake: jobPoll, says: "ns/smoke on 1 canary nodes"},
		{name: "the Job does not end", pool: pool(in(Canary, 40*minute, "oh oh oh h"), soaking, job), phase: RollingBack, version: "1.0.0",
			reason: infrav1.PatchRollingBackReason, wake: 30 * minute, says: "did not end"},
		{name: "the Job passes", pool: pool(in(Canary, 15*minute, "oh oh oh hp"), soaking, job), phase: Rolling, version: "1.1.0",
			reason: infrav1.PatchRollingReason, wake: 30 * minute},
		{name: "the Job fails", pool: pool(in(Canary, minute, "oh oh oh hf"), soaking, job), phase: RollingBack, version: "1.0.0",
			reason: infrav1.PatchRollingBackReason, wake: 30 * minute, says: "the Job: it broke"},
		{name: "a canary is frozen", pool: pool(in(Canary, day, "oh oh oh n"), frozen, paused), phase: Canary, version: "1.1.0", hold: true,
			reason: infrav1.PatchFrozenReason, wake: -day + 30*minute},
		{name: "a freeze does not count", pool: pool(in(Canary, day, "oh oh oh n"), paused), phase: Canary, version: "1.1.0", hold: true,
			reason: infrav1.PatchCanaryReason, wake: 30 * minute},
		{name: "rolls", pool: pool(in(Rolling, 5*minute, "oh ohl h h")), phase: Rolling, version: "1.1.0", reason: infrav1.PatchRollingReason,
			wake: 30 * minute, says: "2 of 3"},
		{name: "rolls until the window closes", pool: pool(in(Rolling, 5*minute, "oh oh h h"), open, func(p *Pool) {
			p.Policy.Timeout = 3 * time.Hour
		}), phase: Rolling, version: "1.1.0", reason: infrav1.PatchRollingReason, wake: 2 * time.Hour},
		{name: "the window closes while it rolls", pool: pool(in(Rolling, 5*minute, "oh oh h h"), closed), phase: Rolling, version: "1.1.0",
			hold: true, reason: infrav1.PatchOutsideWindowReason, wake: 10 * time.Hour},
		{name: "the next window opens", pool: pool(in(Rolling, day, "oh oh h"), open, paused), phase: Rolling, version: "1.1.0",
			reason: infrav1.PatchRollingReason, wake: 30 * minute},
		{name: "frozen while it rolls", pool: pool(in(Rolling, 5*minute, "oh oh h h"), frozen), phase: Rolling, version: "1.1.0", hold: true,
			reason: infrav1.PatchFrozenReason},
		{name: "a node in the middle does not come", pool: pool(in(Rolling, 30*minute, "oh b"), func(p *Pool) {
			p.State.Healthy = 0
		}), phase: RollingBack, version: "1.0.0", reason: infrav1.PatchRollingBackReason, wake: 30 * minute, says: "no more in 30m0s"},
		{name: "all have moved", pool: pool(in(Rolling, 5*minute, "h h h")), version: "1.1.0", reason: infrav1.ImageUpToDateReason},
		{name: "all have moved but one leaves", pool: pool(in(Rolling, 5*minute, "h h h ohl")), phase: Rolling, version: "1.1.0",
			reason: infrav1.PatchRollingReason, wake: 30 * minute},
		{name: "goes back", pool: pool(in(RollingBack, day, "h h h ohl")), phase: RollingBack, version: "1.0.0",
			reason: infrav1.PatchRollingBackReason},
		{name: "goes back whatever the window and the freeze say", pool: pool(in(RollingBack, day, "h h oh"), closed, frozen),
			phase: RollingBack, version: "1.0.0", reason: infrav1.PatchRollingBackReason},
		{name: "has gone back, and its owner replaces nodes on", pool: pool(in(RollingBack, day, "h h h h"), func(p *Pool) {
			p.Unsettled = "a rollout of its own goes on"
		}), phase: RollingBack, version: "1.0.0", reason: infrav1.PatchRollingBackReason},
		{name: "has gone back", pool: pool(in(RollingBack, day, "h h h")), version: "1.0.0", reason: infrav1.PatchRolledBackReason, says: "bad"},
		{name: "ordered back in the middle", pool: pool(in(Rolling, minute, "oh h h"), back), phase: RollingBack, version: "1.0.0",
			reason: infrav1.PatchRollingBackReason, wake: 30 * minute, says: "ordered: slow disks"},
		{name: "ordered back later", pool: pool(back, func(p *Pool) {
			p.State, p.Current = State{Line: p.Line, From: "1.0.0"}, "1.1.0"
		}), phase: RollingBack, version: "1.0.0", reason: infrav1.PatchRollingBackReason, wake: 30 * minute},
		{name: "ordered back, with nothing before", pool: pool(back), version: "1.0.0", reason: infrav1.ImageUpToDateReason,
			says: "no version before it"},
		{name: "the user has chosen another version", pool: pool(in(Canary, minute, "oh oh oh n"), func(p *Pool) {
			p.Current, p.Newest = "2.0.0", "2.0.0"
		}), version: "2.0.0", reason: infrav1.ImageUpToDateReason},
		{name: "the user has chosen another image", pool: pool(in(Canary, minute, "oh oh oh n"), func(p *Pool) { p.Line = "other" }),
			version: "1.1.0", reason: infrav1.ImageUpToDateReason},
		{name: "a pool of none", pool: pool(func(p *Pool) { p.Replicas, p.Nodes = 0, nil }), phase: Rolling, version: "1.1.0",
			reason: infrav1.PatchRollingReason, wake: 30 * minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := Decide(noon, []Pool{test.pool}, test.failed)[0]
			wake := time.Duration(0)
			if !d.Wake.IsZero() {
				wake = d.Wake.Sub(noon)
			}
			if d.State.Phase != test.phase || d.Version != test.version || d.Hold != test.hold || d.Reason != test.reason ||
				wake != test.wake || !strings.Contains(d.Message, test.says) {
				t.Errorf("phase %q, version %s, hold %t, reason %s, wake %s: %s", d.State.Phase, d.Version, d.Hold, d.Reason, wake, d.Message)
			}
			if (d.Status == metav1.ConditionTrue) != (d.Reason == infrav1.ImageUpToDateReason && test.says == "") {
				t.Errorf("status %s with reason %s", d.Status, d.Reason)
			}
			if again := Decide(noon, []Pool{func() Pool { p := test.pool; p.State = d.State; return p }()}, test.failed)[0]; test.phase != "" &&
				test.phase == test.pool.State.Phase && fmt.Sprint(again.State) != fmt.Sprint(d.State) {
				t.Errorf("decided again it is %+v, not %+v", again.State, d.State)
			}
		})
	}
}

// TestWholeMove: a pool moves to a version, which then fails and is not tried again; the next version is.
func TestWholeMove(t *testing.T) {
	p := pool(open)
	now := noon
	step := func(phase Phase, line string, after time.Duration) Decision {
		t.Helper()
		if now = now.Add(after); line != "" {
			p.Nodes = nodes(line)
		}
		d := Decide(now, []Pool{p}, nil)[0]
		if d.State.Phase != phase {
			t.Fatalf("at %s: phase %q, not %q: %s", now, d.State.Phase, phase, d.Message)
		}
		p.State, p.Current = d.State, d.Version
		return d
	}
	if d := step(Canary, "", 0); d.Canary != 1 || len(d.State.Going) != 3 {
		t.Errorf("%+v", d)
	}
	p.State.Was = &Settings{MaxSurge: "25%"} // the controller's record is kept until the end
	step(Canary, "oh oh oh h", 5*time.Minute)
	step(Rolling, "", 10*time.Minute)
	step(Rolling, "ohl oh oh h h", 5*time.Minute)
	step(Rolling, "oh oh ohl h h h", 5*time.Minute)
	p.Nodes = nodes("oh oh oh h h h")[3:]
	if d := step("", "", time.Minute); d.State.Was == nil || d.State.From != "1.0.0" || d.State.Going != nil {
		t.Errorf("%+v", d.State)
	}
	p.Policy.Rollback = "slow disks"
	if d := step(RollingBack, "", time.Minute); !d.Ordered || len(d.State.Going) != 3 {
		t.Errorf("%+v", d.State)
	}
	p.Policy.Rollback = ""
	step(RollingBack, "", time.Minute) // the facts about the nodes are older than the decision
	p.Nodes = nodes("o o o o o o h h h")[6:]
	step("", "", time.Minute)
	if d := step("", "", time.Minute); d.Reason != infrav1.PatchRolledBackReason || d.Version != "1.0.0" {
		t.Errorf("%+v", d)
	}
	p.Newest = "1.2.0"
	step(Canary, "", time.Minute)
}

// TestOrder: pools of a cluster move one at a time, in their order; a failed pool does not delay another
// image.
func TestOrder(t *testing.T) {
	named := func(name string, order, replicas int) func(*Pool) {
		return func(p *Pool) { p.Name, p.Policy.Order, p.Replicas = name, order, replicas }
	}
	other := func(p *Pool) { p.Line = "gallery/other" }
	failed := func(p *Pool) { p.State = State{Line: p.Line, Refused: map[string]string{"1.1.0": "bad"}} }
	up := func(p *Pool) { p.Current = "1.1.0" }
	for _, test := range []struct {
		name  string
		pools []Pool
		want  string
	}{
		{"the smaller first", []Pool{pool(named("a", 0, 9)), pool(named("b", 0, 3))}, "WaitingForPool Canary"},
		{"by order", []Pool{pool(named("a", 1, 1)), pool(named("b", -1, 3))}, "WaitingForPool Canary"},
		{"the next when the first has moved", []Pool{pool(named("a", 0, 1), up), pool(named("b", 1, 3)), pool(named("c", 2, 3))},
			"UpToDate Canary WaitingForPool"},
		{"a later one moves already", []Pool{pool(named("a", 0, 1)), pool(named("b", 1, 3), in(Canary, 0, "oh oh oh"))},
			"WaitingForPool Canary"},
		{"the first fails", []Pool{pool(named("a", 0, 3), failed), pool(named("b", 1, 3)), pool(named("c", 2, 3), other)},
			"RolledBack RefusedElsewhere Canary"},
		{"the first goes back", []Pool{pool(named("a", 0, 3), in(RollingBack, 0, "oh oh oh")), pool(named("b", 1, 3))},
			"RollingBack RefusedElsewhere"},
		{"the first is frozen", []Pool{pool(named("a", 0, 3), frozen), pool(named("b", 1, 3))}, "Frozen Canary"},
		{"the first is not settled", []Pool{pool(named("a", 0, 3), func(p *Pool) { p.Unsettled = "it scales" }), pool(named("b", 1, 3))},
			"WaitingForPool WaitingForPool"},
	} {
		var got []string
		for _, d := range Decide(noon, test.pools, nil) {
			got = append(got, d.Reason)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v, want %s", test.name, got, test.want)
		}
	}
}

func TestCanarySize(t *testing.T) {
	for _, test := range []struct{ canary, replicas, most, want int }{{1, 3, 0, 1}, {5, 3, 0, 3}, {3, 9, 2, 2}, {0, 9, 0, 0}} {
		d := Decide(noon, []Pool{pool(func(p *Pool) { p.Policy.Canary, p.Replicas, p.Most = test.canary, test.replicas, test.most })}, nil)[0]
		if d.Canary != test.want || (d.State.Phase == Canary) != (test.want > 0) {
			t.Errorf("%+v: %d in phase %s", test, d.Canary, d.State.Phase)
		}
	}
}

func TestOlder(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{{"1.0.0", "1.0.1", true}, {"1.9.0", "1.10.0", true}, {"2.0.0", "1.10.0", false}, {"1.0.0", "1.0.0", false},
		{"20348.2700.240905", "20348.10000.260101", true}, {"1.01.0", "1.1.0", false}} {
		if got := Older(test.a, test.b); got != test.want {
			t.Errorf("Older(%s, %s) = %t", test.a, test.b, got)
		}
	}
}

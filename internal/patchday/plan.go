package patchday

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/windows"
)

// Phase is the phase of a pool's move to a new version.
type Phase string

// Phases of a move; a pool that is not moving has none.
const (
	// Canary means that the first nodes have the new version, and that no others are replaced.
	Canary Phase = "Canary"
	// Rolling means that the pool replaces its nodes according to its strategy.
	Rolling Phase = "Rolling"
	// RollingBack means that the pool replaces the nodes of the new version by nodes of the previous one.
	RollingBack Phase = "RollingBack"
)

// State is the state of a pool between two passes, stored in an annotation.
type State struct {
	Phase Phase `json:"phase,omitempty"`
	// Line is the image without its version. From and To are versions of it; once a move has ended, From is the
	// previous version.
	Line string `json:"line,omitempty"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Began is the start of the phase; Since is the time of the last progress.
	Began metav1.Time `json:"began,omitzero"`
	Since metav1.Time `json:"since,omitzero"`
	// Soaking is true once all canary nodes are healthy, from Since on.
	Soaking bool `json:"soaking,omitempty"`
	// Paused is true while a rollout waits for a window or the end of a freeze.
	Paused bool `json:"paused,omitempty"`
	// Going are the names of the nodes that the move replaces.
	Going []string `json:"going,omitempty"`
	// Healthy is the number of healthy nodes of the new version at Since.
	Healthy int `json:"healthy,omitempty"`
	// Reason is the reason for a rollback.
	Reason string `json:"reason,omitempty"`
	// Refused are the versions that failed, with the reasons.
	Refused map[string]string `json:"refused,omitempty"`
	// Was are the original settings of the pool that a move changes; they are restored at its end.
	Was *Settings `json:"was,omitempty"`
}

// Settings are the settings of a pool's rollout that a canary changes.
type Settings struct {
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// MaxSurge and MaxUnavailable are numbers or percentages, "" if the pool has none.
	MaxSurge       string `json:"maxSurge,omitempty"`
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
}

// Health is the known state of a node or of a Job on it.
type Health string

// Values of Health; "" means not known yet.
const (
	Good Health = "Good"
	Bad  Health = "Bad"
)

// Node is a machine of a pool.
type Node struct {
	Name string
	// Fits is true for a node with the version that the pool moves to.
	Fits bool
	// Health is Bad for a node that is known not to work, with the reason in Why, and Lost for a machine that Azure or
	// its bootstrap has given up.
	Health Health
	Why    string
	Lost   bool
	// Leaving is true for a node that is being deleted.
	Leaving bool
	// Build is the Windows build of four parts, or "".
	Build string
	// Job is the result of the user's Job on the node.
	Job    Health
	JobWhy string
}

// Pool has the facts about a pool.
type Pool struct {
	// Name is KIND/NAME.
	Name   string
	Policy Policy
	// Invalid is the error in the policy, or "".
	Invalid string
	State   State
	// Line is the image without its version, Current is the version in the pool's spec, and Newest is the newest
	// version of its channel; "" if it is not known, with the reason in Unknown.
	Line, Current, Newest string
	// Unversioned is the reason why the image has no versions; Unknown is the reason why the newest version is not known.
	Unversioned, Unknown string
	Replicas             int
	// Most is the maximum number of nodes in the canary phase; 0 means no limit.
	Most  int
	Nodes []Node
	// Unsettled describes the pool's current activity, "" if a move can begin.
	Unsettled string
}

// Decision is the next step of a pool.
type Decision struct {
	// State is the state to store.
	State State
	// Version is the pool's new version. Hold is true if its rollout waits. Canary is the number of nodes that it may
	// have in addition to its strategy, 0 for only its own strategy.
	Version string
	Hold    bool
	Canary  int
	// Test is true if the user's Job runs on the nodes of the new version.
	Test bool
	// Ordered is true if a user's order to roll back has been executed or is void.
	Ordered bool
	Status  metav1.ConditionStatus
	Reason  string
	Message string
	// Wake is the time of the next pass without an event; zero means the next resync.
	Wake time.Time
}

// jobPoll is the pause between two reads of Jobs, which are in another cluster.
const jobPoll = 15 * time.Second

// Failed is a version that failed on another pool.
type Failed struct{ Pool, Reason string }

// Decide returns the decisions about the pools of a cluster. failed has the versions that failed on pools of other
// clusters, by Key.
func Decide(now time.Time, pools []Pool, failed map[string]Failed) []Decision {
	failed = withRefused(pools, failed)
	order := make([]int, len(pools))
	for i := range pools {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &pools[a], &pools[b]
		return cmp.Or(cmp.Compare(x.Policy.Order, y.Policy.Order), cmp.Compare(x.Replicas, y.Replicas), cmp.Compare(x.Name, y.Name))
	})
	before := "" // the first pool that is moving, or about to move
	for i := range pools {
		if pools[i].State.Phase != "" {
			before = pools[i].Name
		}
	}
	out := make([]Decision, len(pools))
	for _, i := range order {
		out[i] = decide(now, &pools[i], before, failed)
		if before == "" && (out[i].State.Phase != "" || out[i].Reason == infrav1.PatchWaitingForPoolReason) {
			before = pools[i].Name
		}
	}
	return out
}

// Key returns the key of a version in the map of failed versions.
func Key(line, version string) string { return strings.ToLower(line) + "@" + version }

func withRefused(pools []Pool, failed map[string]Failed) map[string]Failed {
	out := map[string]Failed{}
	for i := range pools {
		for version, why := range pools[i].State.Refused {
			out[Key(pools[i].State.Line, version)] = Failed{pools[i].Name, why}
		}
		if s := pools[i].State; s.Phase == RollingBack {
			out[Key(s.Line, s.To)] = Failed{pools[i].Name, s.Reason}
		}
	}
	for key, f := range failed {
		if _, own := out[key]; !own {
			out[key] = f
		}
	}
	return out
}

func decide(now time.Time, p *Pool, before string, failed map[string]Failed) Decision {
	d := &decider{Pool: p, now: now, out: Decision{State: p.State, Version: p.Current, Status: metav1.ConditionFalse}}
	s := &d.out.State
	switch { // if the user has chosen another image, the state of the last move is void
	case s.Line != "" && !strings.EqualFold(s.Line, p.Line):
		d.out.State = State{Was: s.Was}
	case s.Phase != "" && p.Current != s.From && p.Current != s.To:
		d.out.State = State{Line: s.Line, Refused: s.Refused, Was: s.Was}
	}
	d.open, d.until = p.Policy.Window.Open(now)
	switch {
	case p.Policy.Rollback != "":
		d.ordered()
	case p.Invalid != "" && s.Phase != RollingBack:
		d.say(infrav1.PatchPolicyInvalidReason, "%s", p.Invalid)
	case s.Phase == Canary:
		d.canary()
	case s.Phase == Rolling:
		d.rolling()
	case s.Phase == RollingBack:
		d.back()
	default:
		d.idle(before, failed)
	}
	d.settings()
	return d.out
}

// decider has the facts for the decision about one pool.
type decider struct {
	*Pool
	now   time.Time
	open  bool
	until time.Time
	out   Decision
}

// stamp returns the current time with the precision of annotations.
func (d *decider) stamp() metav1.Time { return metav1.NewTime(d.now.Truncate(time.Second)) }

func (d *decider) say(reason, format string, args ...any) {
	d.out.Reason, d.out.Message = reason, fmt.Sprintf(format, args...)
}

// settings sets the decision's version and rollout settings for the pool's phase.
func (d *decider) settings() {
	s := &d.out.State
	switch s.Phase {
	case Canary:
		d.out.Version, d.out.Hold, d.out.Canary = s.To, true, d.first()
	case Rolling:
		d.out.Version, d.out.Hold = s.To, s.Paused
	case RollingBack:
		d.out.Version = s.From
	}
}

// first returns the number of canary nodes.
func (d *decider) first() int {
	n := min(d.Policy.Canary, d.Replicas)
	if d.Most > 0 {
		n = min(n, d.Most)
	}
	return n
}

// idle decides about a pool that is not moving.
func (d *decider) idle(before string, failed map[string]Failed) {
	s := &d.out.State
	other, bad := failed[Key(d.Line, d.Newest)]
	own, mine := s.Refused[d.Newest]
	switch {
	case d.Unversioned != "":
		d.out.Status = metav1.ConditionUnknown
		d.say(infrav1.ImageNotVersionedReason, "%s", d.Unversioned)
	case d.Newest == "":
		d.out.Status = metav1.ConditionUnknown
		d.say(infrav1.ImageNotReadReason, "%s", d.Unknown)
	case !Older(d.Current, d.Newest):
		d.out.Status = metav1.ConditionTrue
		d.say(infrav1.ImageUpToDateReason, "%s is the newest version of its channel", d.Current)
	case d.Policy.Freeze != "":
		d.say(infrav1.PatchFrozenReason, "%s waits: frozen: %s", d.Newest, d.Policy.Freeze)
	case mine:
		d.say(infrav1.PatchRolledBackReason, "%s failed here and is not tried again: %s", d.Newest, own)
	case bad:
		d.say(infrav1.PatchRefusedReason, "%s failed on %s and is not tried: %s", d.Newest, other.Pool, other.Reason)
	case !d.open:
		d.out.Wake = d.until
		d.say(infrav1.PatchOutsideWindowReason, "%s waits for the next window, %s", d.Newest, stamp(d.until))
	case before != "":
		d.say(infrav1.PatchWaitingForPoolReason, "%s waits until %s has moved", d.Newest, before)
	case d.Unsettled != "":
		d.say(infrav1.PatchWaitingForPoolReason, "%s waits: %s", d.Newest, d.Unsettled)
	default:
		phase := Canary
		if d.first() == 0 {
			phase = Rolling
		}
		all := d.names(func(Node) bool { return true })
		d.out.State = State{Line: d.Line, From: d.Current, To: d.Newest, Refused: s.Refused, Was: s.Was, Going: all}
		d.enter(phase)
	}
}

// enter begins a phase.
func (d *decider) enter(phase Phase) {
	s := &d.out.State
	s.Phase, s.Began, s.Since = phase, d.stamp(), d.stamp()
	s.Soaking, s.Paused, s.Healthy = false, false, 0
	switch phase {
	case Canary:
		d.say(infrav1.PatchCanaryReason, "%d of %d nodes get %s first", d.first(), d.Replicas, s.To)
	case Rolling:
		d.say(infrav1.PatchRollingReason, "from %s to %s, as the pool's strategy says", s.From, s.To)
	case RollingBack:
		d.say(infrav1.PatchRollingBackReason, "from %s to %s: %s", s.To, s.From, s.Reason)
	}
	d.out.Wake = d.now.Add(d.Policy.Timeout)
}

// fail begins a rollback.
func (d *decider) fail(format string, args ...any) {
	d.out.State.Reason, d.out.State.Going = fmt.Sprintf(format, args...), d.names(d.fresh)
	d.enter(RollingBack)
}

// paused reports whether changes are not allowed now, and records the reason.
func (d *decider) paused() bool {
	switch {
	case d.Policy.Freeze != "":
		d.say(infrav1.PatchFrozenReason, "%s; frozen: %s", d.progress(), d.Policy.Freeze)
	case !d.open:
		d.out.Wake = d.until
		d.say(infrav1.PatchOutsideWindowReason, "%s; goes on in the next window, %s", d.progress(), stamp(d.until))
	default:
		return false
	}
	return true
}

func (d *decider) progress() string {
	return fmt.Sprintf("%d of %d nodes have %s", len(d.healthy()), d.Replicas, d.out.State.To)
}

// healthy returns the healthy nodes of the new version.
func (d *decider) healthy() []Node {
	return slices.DeleteFunc(slices.Clone(d.Nodes), func(n Node) bool { return !d.fresh(n) || n.Health != Good })
}

// fresh reports whether a node has the version that the pool moves to, and is not being deleted. The facts about a node
// may be older than the move, so nodes that existed at its beginning never count.
func (d *decider) fresh(n Node) bool {
	return n.Fits && !n.Leaving && !slices.Contains(d.out.State.Going, n.Name)
}

// moved reports whether all nodes are healthy and have the version that the pool moves to.
func (d *decider) moved(version string) bool {
	return d.Current == version && len(d.healthy()) >= d.Replicas && !slices.ContainsFunc(d.Nodes, func(n Node) bool { return !d.fresh(n) })
}

// names returns the names of the nodes for which of returns true.
func (d *decider) names(of func(Node) bool) []string {
	var out []string
	for _, n := range d.Nodes {
		if of(n) {
			out = append(out, n.Name)
		}
	}
	return out
}

// trouble returns the first node of the new version for which bad returns true, with the reason; "" if there is none.
func (d *decider) trouble(bad func(Node) (string, bool)) string {
	for _, n := range d.Nodes {
		if why, is := bad(n); d.fresh(n) && is {
			return fmt.Sprintf("node %s: %s", n.Name, cmp.Or(why, "no reason is known"))
		}
	}
	return ""
}

// canary decides about a pool whose first nodes have the new version.
func (d *decider) canary() {
	s := &d.out.State
	n := d.first()
	well := d.healthy()
	if frozen := d.Policy.Freeze != ""; frozen != s.Paused {
		s.Paused, s.Since, s.Soaking = frozen, d.stamp(), false // the time of a freeze does not count as soaking
	}
	if why := d.trouble(func(n Node) (string, bool) { return n.Why, n.Lost }); why != "" {
		d.fail("a canary failed: %s", why)
		return
	}
	if why := d.trouble(func(n Node) (string, bool) { return "the Job: " + n.JobWhy, n.Job == Bad }); why != "" {
		d.fail("a canary failed: %s", why)
		return
	}
	if why := d.regressions(); why != "" {
		d.fail("%s", why)
		return
	}
	if s.Soaking && len(well) < n {
		if why := d.trouble(func(n Node) (string, bool) { return n.Why, n.Health == Bad }); why != "" {
			d.fail("a canary failed while it soaked: %s", why)
			return
		}
		// The node is being replaced, or its state is currently unknown.
		s.Soaking, s.Since = false, d.stamp()
	}
	if !s.Soaking && len(well) >= n {
		s.Soaking, s.Since = true, d.stamp()
	}
	soaked := s.Since.Add(d.Policy.Soak)
	late := s.Since.Add(d.Policy.Timeout)
	if s.Soaking {
		late = soaked.Add(d.Policy.Timeout)
	}
	tested := d.Policy.Job == "" || !slices.ContainsFunc(well, func(n Node) bool { return n.Job != Good })
	d.out.Test = len(well) >= n && d.Policy.Job != "" && d.Policy.Freeze == ""
	d.out.Wake = late
	if d.out.Test && !tested {
		d.out.Wake = d.now.Add(jobPoll)
	}
	switch {
	case s.Soaking && d.now.Before(soaked):
		if d.out.Wake.After(soaked) {
			d.out.Wake = soaked
		}
		d.say(infrav1.PatchSoakingReason, "%d canary nodes are healthy with %s, until %s", len(well), s.To, stamp(soaked))
	case s.Soaking && tested && d.paused():
	case s.Soaking && tested:
		d.enter(Rolling)
	case d.Policy.Freeze != "":
		d.paused()
	case !d.now.Before(late) && s.Soaking:
		d.fail("the Job %s did not end on the canary nodes in %s", d.Policy.Job, d.Policy.Timeout)
	case !d.now.Before(late):
		d.fail("%d of %d canary nodes became healthy in %s; %s", len(well), n, d.Policy.Timeout, d.missing())
	case s.Soaking:
		d.say(infrav1.PatchSoakingReason, "the Job %s on %d canary nodes with %s: %s", d.Policy.Job, len(well), s.To, d.jobs(well))
	default:
		d.say(infrav1.PatchCanaryReason, "%d of %d canary nodes are healthy with %s; %s", len(well), n, s.To, d.missing())
	}
}

// jobs describes the progress of the user's Job.
func (d *decider) jobs(on []Node) string {
	for _, n := range on {
		if n.Job == "" && n.JobWhy != "" {
			return n.JobWhy
		}
	}
	return "has not ended"
}

// missing returns the reason why nodes of the new version are not healthy.
func (d *decider) missing() string {
	if why := d.trouble(func(n Node) (string, bool) { return n.Why, n.Health != Good }); why != "" {
		return why
	}
	return "the others do not exist yet"
}

// regressions returns the known regressions of the new nodes' builds that the old nodes' builds do not have.
func (d *decider) regressions() string {
	known := map[string]bool{}
	for _, n := range d.Nodes {
		if !d.fresh(n) {
			for _, r := range windows.Judge(n.Build, windows.HitsHost).Found {
				known[r.Name()] = true
			}
		}
	}
	for _, n := range d.Nodes {
		if !d.fresh(n) || n.Build == "" {
			continue
		}
		for _, r := range windows.Judge(n.Build, windows.HitsHost).Found {
			if !known[r.Name()] {
				return fmt.Sprintf("node %s has Windows %s, which has a known regression: %s; %s", n.Name, n.Build, r.Name(), r.Source)
			}
		}
	}
	return ""
}

// rolling decides about a pool that replaces its nodes.
func (d *decider) rolling() {
	s := &d.out.State
	well := d.healthy()
	if d.moved(s.To) {
		d.out.Version, d.out.Status = s.To, metav1.ConditionTrue
		d.say(infrav1.ImageUpToDateReason, "all %d nodes have %s", d.Replicas, s.To)
		d.out.State = State{Line: s.Line, From: s.From, Refused: s.Refused, Was: s.Was}
		return
	}
	paused := d.paused()
	if len(well) > s.Healthy || paused != s.Paused {
		s.Since, s.Healthy = d.stamp(), max(s.Healthy, len(well))
	}
	if s.Paused = paused; paused {
		return
	}
	late := s.Since.Add(d.Policy.Timeout)
	if !d.now.Before(late) {
		d.fail("%s, and no more in %s; %s", d.progress(), d.Policy.Timeout, d.missing())
		return
	}
	d.out.Wake = late
	if !d.until.IsZero() && d.until.Before(late) {
		d.out.Wake = d.until
	}
	d.say(infrav1.PatchRollingReason, "%s", d.progress())
}

// back decides about a pool that is rolling back. Windows and freezes are ignored, because a failed version is removed
// without delay. In a pool of a topology all nodes are replaced, because Cluster API creates another machine template;
// so the nodes have the right version before the move has ended.
func (d *decider) back() {
	s := &d.out.State
	if !d.moved(s.From) || d.Unsettled != "" {
		d.say(infrav1.PatchRollingBackReason, "%d of %d nodes have %s: %s", len(d.healthy()), d.Replicas, s.From, s.Reason)
		return
	}
	refused := map[string]string{s.To: s.Reason}
	for version, why := range s.Refused {
		if Older(s.From, version) {
			refused[version] = why
		}
	}
	d.out.Version = s.From
	d.say(infrav1.PatchRolledBackReason, "%s failed here and is not tried again: %s", s.To, s.Reason)
	d.out.State = State{Line: s.Line, Refused: refused, Was: s.Was}
}

// ordered executes a user's order to roll back.
func (d *decider) ordered() {
	s := &d.out.State
	d.out.Ordered = true
	switch {
	case s.Phase == RollingBack:
		d.back()
	case s.Phase != "":
		d.fail("ordered: %s", d.Policy.Rollback)
	case s.From != "" && s.From != d.Current:
		d.out.State = State{Line: d.Line, From: s.From, To: d.Current, Refused: s.Refused, Was: s.Was}
		d.fail("ordered: %s", d.Policy.Rollback)
	default:
		d.out.Status = metav1.ConditionUnknown
		d.say(infrav1.ImageUpToDateReason, "%s: no version before it is known to go back to", d.Current)
	}
}

// Older reports whether a version, which consists of numbers and dots, is before another one.
func Older(a, b string) bool {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	}) < 0
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "which never comes"
	}
	return t.UTC().Format("2006-01-02 15:04 MST")
}

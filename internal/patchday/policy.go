// Package patchday decides how the pools of a cluster move to newer versions of their images: when, in which order,
// with how many canary nodes, and when to roll back.
//
// It decides from given facts, and does not read or change anything itself. The controllers and the command line import it.
package patchday

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the manager's image has no time zone data

	"github.com/robfig/cron/v3"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// Hold is the time for which a new node counts as not available while a rollout waits (minReadySeconds), so that
// Cluster API replaces no other node meanwhile. A soak has to be shorter.
const Hold = 7 * 24 * time.Hour

// Policy is the policy in a pool's annotations.
type Policy struct {
	Channel string
	// Window is nil if changes may begin at any time.
	Window *Window
	Order  int
	Canary int
	Soak   time.Duration
	// Timeout is the maximum time without progress.
	Timeout time.Duration
	// Job is NAMESPACE/NAME, or "".
	Job, Variable string
	// Freeze and Rollback are reasons, or "".
	Freeze, Rollback string
}

// Window is the times at which changes may be made.
type Window struct {
	text     string
	schedule cron.Schedule
	duration time.Duration
}

// Read reads the policy of a pool from the annotations of its Cluster and its own, which take precedence. The error
// names each invalid annotation.
func Read(cluster, pool map[string]string) (Policy, error) {
	of := func(name, otherwise string) string { return cmp.Or(pool[name], cluster[name], otherwise) }
	var errs []error
	bad := func(name, want string) {
		errs = append(errs, fmt.Errorf("annotation %s: %q is not %s", name, of(name, ""), want))
	}
	number := func(name, otherwise string, least int) int {
		n, err := strconv.Atoi(of(name, otherwise))
		if err != nil || n < least {
			bad(name, fmt.Sprintf("a number of at least %d", least))
		}
		return n
	}
	duration := func(name, otherwise string) time.Duration {
		d, err := time.ParseDuration(of(name, otherwise))
		if err != nil || d < 0 || d >= Hold {
			bad(name, "a duration such as 30m, shorter than a week")
		}
		return d
	}
	p := Policy{
		Channel: of(infrav1.ImageChannelAnnotation, infrav1.ImageChannelNone),
		Order:   number(infrav1.PatchOrderAnnotation, "0", -1<<31), Canary: number(infrav1.PatchCanaryAnnotation, "1", 0),
		Soak: duration(infrav1.PatchSoakAnnotation, "10m"), Timeout: duration(infrav1.PatchTimeoutAnnotation, "30m"),
		Job: of(infrav1.PatchJobAnnotation, ""), Variable: of(infrav1.PatchVariableAnnotation, ""),
		Freeze: of(infrav1.PatchFreezeAnnotation, ""), Rollback: of(infrav1.PatchRollbackAnnotation, ""),
	}
	switch p.Channel {
	case infrav1.ImageChannelVerified, infrav1.ImageChannelLatest, infrav1.ImageChannelNone:
	default:
		bad(infrav1.ImageChannelAnnotation, "latest-verified, latest or none")
	}
	if namespace, name, ok := strings.Cut(p.Job, "/"); p.Job != "" && (!ok || namespace == "" || name == "") {
		bad(infrav1.PatchJobAnnotation, "NAMESPACE/NAME of a Job in the workload cluster")
	}
	if at := of(infrav1.MaintenanceWindowAnnotation, ""); at != "" {
		length := duration(infrav1.MaintenanceWindowDurationAnnotation, "4h")
		zone := of(infrav1.MaintenanceWindowTimeZoneAnnotation, "UTC")
		window, err := NewWindow(at, length, zone)
		if err != nil {
			errs = append(errs, fmt.Errorf("annotation %s: %w", infrav1.MaintenanceWindowAnnotation, err))
		}
		p.Window = window
	}
	return p, errors.Join(errs...)
}

// NewWindow returns the windows that open by a cron expression in a time zone.
func NewWindow(expression string, duration time.Duration, zone string) (*Window, error) {
	expression = strings.TrimSpace(expression)
	if strings.Contains(expression, "TZ=") || strings.HasPrefix(expression, "@") {
		return nil, fmt.Errorf("%q: use five fields, and the annotation for the time zone", expression)
	}
	if _, err := time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("time zone: %w", err)
	}
	schedule, err := cron.ParseStandard("CRON_TZ=" + zone + " " + expression)
	if err != nil {
		return nil, err
	}
	return &Window{text: expression + " " + zone, schedule: schedule, duration: duration}, nil
}

// Open reports whether a window is open, and the time at which this changes: when the window closes, or when the next
// one opens. A zero time means never, as with an expression such as 30 February. A window does not open within the hour
// that a change to summer time skips; the duration of a window does not depend on changes of the clock.
func (w *Window) Open(now time.Time) (open bool, until time.Time) {
	if w == nil {
		return true, time.Time{}
	}
	// A window that opens now counts as open; of overlapping windows the last one counts.
	for at := w.schedule.Next(now.Add(-w.duration)); !at.IsZero() && !at.After(now); at = w.schedule.Next(at) {
		open, until = true, at.Add(w.duration)
	}
	if open {
		return true, until
	}
	return false, w.schedule.Next(now)
}

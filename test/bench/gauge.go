package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/process"
)

// gauge measures the work of managers in a phase, and their calls to the local Azure.
type gauge struct {
	show          func(row)
	server        *azuresim.Azure
	managers      []*measured
	machines      int
	subscriptions int

	before azuresim.CallLog
	since  time.Time
	// reads and writes are the largest counts of one minute of watch.
	reads, writes int
}

// measured is one manager and its counts at the beginning of the phase.
type measured struct {
	process *process.Process
	metrics string
	waits   map[string]histogram // by queue
	cpu     time.Duration
}

func (m *measured) pid() int { return m.process.State().PID }

// stop ends the managers.
func (g *gauge) stop() {
	for _, one := range g.managers {
		one.process.Stop(context.Background())
	}
}

// working waits until the managers' controllers work, because objects that are created earlier wait
// for the controllers' start.
func (g *gauge) working(ctx context.Context) error {
	for _, one := range g.managers {
		err := until(ctx, func(context.Context) (bool, error) {
			waits, _ := scrape(one.metrics) // nil until the manager serves metrics
			return waits["azuremachinepool"] != nil, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// begin begins a phase.
func (g *gauge) begin() {
	g.before, g.since, g.reads, g.writes = g.server.CallLog(), time.Now(), 0, 0
	for _, one := range g.managers {
		one.cpu = process.CPU(one.pid())
		one.waits, _ = scrape(one.metrics) // nil until the manager serves metrics
	}
}

// watch waits for a time and counts the calls of each minute.
func (g *gauge) watch(during time.Duration) {
	end := time.After(during)
	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	last := g.before
	for {
		select {
		case <-end:
			return
		case <-minute.C:
		}
		now := g.server.CallLog()
		g.reads, g.writes = max(g.reads, now.Reads-last.Reads), max(g.writes, now.Writes-last.Writes)
		last = now
	}
}

// Azure's limits per minute for one principal in one subscription. Source:
// https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling.
const (
	readsAMinute  = 25 * 60
	writesAMinute = 10 * 60
)

// end shows the calls since the beginning of the phase by class, the requests that Azure throttled,
// and for each manager its processor time, its memory and the 99th percentile of the waits in each
// queue.
func (g *gauge) end(phase string) error {
	now, minutes := g.server.CallLog(), time.Since(g.since).Minutes()*float64(g.subscriptions)
	for _, c := range []struct {
		what   string
		n      int
		budget float64
	}{
		{"reads", now.Reads - g.before.Reads, readsAMinute * minutes}, {"writes", now.Writes - g.before.Writes, writesAMinute * minutes},
		{"deletes", now.Deletes - g.before.Deletes, writesAMinute * minutes}, {"polls", now.Polls - g.before.Polls, 0},
	} {
		if c.n > 0 {
			g.show(row{what: phase + ": " + c.what + " of Azure", measured: float64(c.n), budget: c.budget,
				note: fmt.Sprintf("%.2f a machine", float64(c.n)/float64(g.machines))})
		}
	}
	if g.reads > 0 {
		g.show(row{what: phase + ": reads in the busiest minute", measured: float64(g.reads), budget: readsAMinute * float64(g.subscriptions)})
		g.show(row{what: phase + ": writes in the busiest minute", measured: float64(g.writes),
			budget: writesAMinute * float64(g.subscriptions)})
	}
	g.show(row{what: phase + ": requests that Azure throttled", measured: float64(now.Throttled - g.before.Throttled)})
	for _, one := range g.managers {
		waits, err := scrape(one.metrics)
		if err != nil {
			return err
		}
		g.show(row{what: phase + ": processor time", unit: "s", measured: (process.CPU(one.pid()) - one.cpu).Seconds()})
		for _, queue := range slices.Sorted(maps.Keys(waits)) {
			taken := waits[queue].minus(one.waits[queue])
			if n := taken[math.Inf(1)]; n > 0 {
				g.show(row{what: phase + ": wait in the queue of " + queue + ", p99", unit: "s", measured: taken.quantile(0.99), budget: 5,
					note: fmt.Sprintf("%.0f passes", n)})
			}
		}
		g.show(row{what: phase + ": memory", unit: "MiB", measured: resident(one.pid()) / (1 << 20), budget: memoryBudget(g.machines),
			note: fmt.Sprintf("%.0f MiB at most so far", most(one.pid())/(1<<20))})
	}
	return nil
}

// memoryBudget returns the memory that a manager may use, in MiB.
func memoryBudget(machines int) float64 { return max(260, 1536*float64(machines)/10000) }

// most returns the largest resident set that a process has had, in bytes.
func most(pid int) float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.ParseFloat(fields[0], 64)
	return kib * 1024
}

// histogram maps an upper bound in seconds to the number of observations that are not greater.
type histogram map[float64]float64

// scrape returns the histogram of the waits in each work queue.
func scrape(url string) (map[string]histogram, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := map[string]histogram{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		labels, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "workqueue_queue_duration_seconds_bucket{"), "} ")
		if _, bound, has := strings.Cut(labels, `le="`); ok && has && strings.HasPrefix(lines.Text(), "workqueue_queue_duration") {
			le, err1 := strconv.ParseFloat(bound[:strings.IndexByte(bound, '"')], 64)
			n, err2 := strconv.ParseFloat(value, 64)
			if err := errors.Join(err1, err2); err != nil {
				return nil, err
			}
			_, name, _ := strings.Cut(labels, `name="`)
			name, _, _ = strings.Cut(name, `"`)
			if out[name] == nil {
				out[name] = histogram{}
			}
			out[name][le] += n
		}
	}
	return out, nil
}

func (h histogram) minus(before histogram) histogram {
	out := maps.Clone(h)
	for le := range out {
		out[le] -= before[le]
	}
	return out
}

// quantile returns a quantile, interpolated within its bucket as histogram_quantile of Prometheus does.
func (h histogram) quantile(q float64) float64 {
	bounds := slices.Sorted(maps.Keys(h))
	if len(bounds) == 0 {
		return 0
	}
	rank, lower, below := q*h[bounds[len(bounds)-1]], 0.0, 0.0
	for _, upper := range bounds {
		if h[upper] >= rank {
			if math.IsInf(upper, 1) || h[upper] == below {
				return lower
			}
			return lower + (upper-lower)*(rank-below)/(h[upper]-below)
		}
		lower, below = upper, h[upper]
	}
	return lower
}

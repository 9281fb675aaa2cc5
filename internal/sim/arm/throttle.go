package arm

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/throttle"
)

// Throttle is how strictly requests are limited: 0 not at all, 1 as Azure does,
// any other number as a factor of Azure's limits.
type Throttle float64

// perMinute is a limit of the compute provider: so many a minute, and a bucket
// that holds three times as many.
// Source: https://learn.microsoft.com/azure/virtual-machines/compute-throttling-limits.
func perMinute(n, size float64) throttle.Limit { return throttle.Limit{Size: size, Refill: n / 60} }

// The limits of the resource manager itself, for each principal in each
// subscription and region; a subscription as a whole has 15 times as much.
// Source: https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling.
var (
	limitReads   = throttle.Limit{Size: 250, Refill: 25}
	limitWrites  = throttle.Limit{Size: 200, Refill: 10}
	limitDeletes = throttle.Limit{Size: 200, Refill: 10}
)

const globalLimit = 15

// budget is a limit of the compute provider, of one resource and of all in a
// subscription and region.
type budget struct {
	name          string
	resource, all throttle.Limit
}

// computePolicy is the budget that a call falls under; false for none.
func (c *call) computePolicy() (budget, bool) {
	id := c.id
	if lower(id.Namespace) != "microsoft.compute" {
		return budget{}, false
	}
	if _, poll := c.operationPath(); poll {
		return budget{"GetOperation", perMinute(15, 45), perMinute(5000, 15000)}, true
	}
	action := lower(id.tail())
	switch typ := lower(id.childType()); {
	case strings.HasPrefix(typ, "virtualmachinescalesets/virtualmachines"):
		return scalePolicy("VMScaleSetVM", c.r.Method, action, budget{"", perMinute(4, 12), perMinute(500, 1500)}, budget{"", perMinute(12, 36), perMinute(2000, 6000)}), true
	case strings.HasPrefix(typ, "virtualmachinescalesets"):
		if c.r.Method == http.MethodPut && len(id.Names) == 1 {
			return budget{"PutVMScaleSet", perMinute(4, 12), perMinute(125, 375)}, true
		}
		if action == "instanceview" || len(id.Types) > len(id.Names) && c.r.Method == http.MethodGet {
			return budget{"HighCostGetVMScaleSet", perMinute(10, 30), perMinute(360, 1080)}, true
		}
		return scalePolicy("VMScaleSet", c.r.Method, action, budget{"", perMinute(4, 12), perMinute(175, 525)}, budget{"", perMinute(12, 36), perMinute(800, 2400)}), true
	case strings.HasPrefix(typ, "virtualmachines"):
		switch {
		case c.r.Method == http.MethodPut && len(id.Names) == 1:
			return budget{"PutVM", perMinute(4, 12), perMinute(500, 1500)}, true
		case c.r.Method == http.MethodDelete && len(id.Names) == 1 || action == "deallocate":
			return budget{"DeleteVM", perMinute(4, 12), perMinute(500, 1500)}, true
		case len(id.Names) == 0:
			return budget{"ListVM", perMinute(300, 900), perMinute(300, 900)}, true
		case c.r.Method == http.MethodGet:
			return budget{"LowCostGetVM", perMinute(12, 36), perMinute(8000, 24000)}, true
		}
		return budget{"UpdateVM", perMinute(4, 12), perMinute(500, 1500)}, true
	}
	return budget{}, false
}

func scalePolicy(of, method, action string, write, read budget) budget {
	switch {
	case method == http.MethodGet:
		read.name = "LowCostGet" + of
		return read
	case method == http.MethodDelete || action == "delete" || action == "deallocate" || action == "poweroff":
		write.name = "Delete" + of
		return write
	}
	write.name = "Update" + of
	return write
}

// throttled takes a request from the budgets that it falls under, tells what is
// left in the headers, and refuses it when nothing is.
func (c *call) throttled() *Error {
	kind, limit := "reads", limitReads
	switch c.r.Method {
	case http.MethodPut, http.MethodPatch, http.MethodPost:
		kind, limit = "writes", limitWrites
	case http.MethodDelete:
		kind, limit = "deletes", limitDeletes
	}
	factor := float64(c.s.cfg.Throttle)
	if factor <= 0 {
		// Who counts what is left is told that nothing was taken.
		if c.id.Subscription != "" {
			c.w.Header().Set("x-ms-ratelimit-remaining-subscription-"+kind, strconv.Itoa(int(limit.Size)))
		}
		return nil
	}
	scope := lower(orDefault(c.id.Subscription, "tenant"))
	level := map[bool]string{true: "subscription", false: "tenant"}[c.id.Subscription != ""]
	global := throttle.Limit{Size: limit.Size * globalLimit, Refill: limit.Refill * globalLimit}
	asks := []throttle.Ask{
		{Key: scope + " " + c.principal + " " + kind, Limit: limit.Scale(factor)},
		{Key: scope + " " + kind, Limit: global.Scale(factor)},
	}
	p, compute := c.computePolicy()
	if compute {
		asks = append(asks, throttle.Ask{Key: c.policyTarget() + " " + p.name, Limit: p.resource.Scale(factor)}, throttle.Ask{Key: scope + " " + p.name, Limit: p.all.Scale(factor)})
	}
	taken, ok := c.s.budgets.Take(c.s.clock.Now(), asks...)
	h := c.w.Header()
	h.Set("x-ms-ratelimit-remaining-"+level+"-"+kind, strconv.Itoa(taken[0].Left))
	h.Set("x-ms-ratelimit-remaining-"+level+"-global-"+kind, strconv.Itoa(taken[1].Left))
	if compute {
		// The names of the two budgets are not documented; recordings have others.
		h.Set("x-ms-ratelimit-remaining-resource", fmt.Sprintf("Microsoft.Compute/%sResource;%d,Microsoft.Compute/%sSubscriptionMaximum;%d", p.name, taken[2].Left, p.name, taken[3].Left))
	}
	if ok {
		return nil
	}
	var wait time.Duration
	for _, t := range taken {
		wait = max(wait, t.Wait)
	}
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	e := refuse(http.StatusTooManyRequests, "SubscriptionRequestsThrottled", "Number of '%s' requests for %s '%s' actor '%s' exceeded. Please try again after '%d' seconds after additional tokens are available. Refer to https://aka.ms/arm-throttling for additional information.",
		strings.TrimSuffix(kind, "s"), level, scope, c.principal, seconds)
	if taken[0].Wait == 0 && taken[1].Wait == 0 {
		e = refuse(http.StatusTooManyRequests, "OperationNotAllowed", "The server rejected the request because too many requests have been received for this subscription.")
		e.Details = []*Error{{Code: "TooManyRequests", Target: p.name, Message: fmt.Sprintf(`{"operationGroup":"%s","startTime":"%s","endTime":"%s"}`, p.name, c.begun.UTC().Format(time.RFC3339), c.begun.Add(wait).UTC().Format(time.RFC3339))}}
	}
	e.RetryAfter = seconds
	return e
}

// policyTarget is the resource that a call is about, in lower case.
func (c *call) policyTarget() string {
	id := c.id
	if len(id.Names) > 0 {
		n := min(len(id.Names), len(id.Types))
		id.Types, id.Names = id.Types[:n], id.Names[:n]
	}
	return id.key()
}

package engine

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"casement.dev/casement/azuresim/internal/throttle"
	"casement.dev/casement/azuresim/internal/value"
)

// Throttle says how strictly requests are limited: 0 means no limit, 1 Azure's limits, any other
// number a factor of Azure's limits.
type Throttle float64

// The limits of the resource manager itself, for each principal in each subscription and region;
// the limits of a subscription as a whole are 15 times as high. Source:
// https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling.
var (
	limitReads   = throttle.Limit{Size: 250, Refill: 25}
	limitWrites  = throttle.Limit{Size: 200, Refill: 10}
	limitDeletes = throttle.Limit{Size: 200, Refill: 10}
)

const globalLimit = 15

// Budget is a provider's limit of requests, for one resource and for all resources of a
// subscription.
type Budget struct {
	Name          string
	Resource, All throttle.Limit
}

// throttled counts a request against the limits that apply to it, reports the remaining
// calls in headers, and refuses the request when none is left.
func (c *Request) throttled() *Error {
	kind, limit := "reads", limitReads
	switch c.HTTP.Method {
	case http.MethodPut, http.MethodPatch, http.MethodPost:
		kind, limit = "writes", limitWrites
	case http.MethodDelete:
		kind, limit = "deletes", limitDeletes
	}
	factor := float64(c.Server.Options.Throttle)
	if factor <= 0 {
		// Without limits, the header reports the full number of remaining calls after each call,
		// for clients that read it.
		if c.ID.Subscription != "" {
			c.Writer.Header().Set("x-ms-ratelimit-remaining-subscription-"+kind, strconv.Itoa(int(limit.Size)))
		}
		return nil
	}
	scope := value.Lower(value.OrDefault(c.ID.Subscription, "tenant"))
	level := map[bool]string{true: "subscription", false: "tenant"}[c.ID.Subscription != ""]
	global := throttle.Limit{Size: limit.Size * globalLimit, Refill: limit.Refill * globalLimit}
	asks := []throttle.Ask{
		{Key: scope + " " + c.Principal + " " + kind, Limit: limit.Scale(factor)},
		{Key: scope + " " + kind, Limit: global.Scale(factor)},
	}
	p, limited := c.policy()
	if limited {
		asks = append(asks, throttle.Ask{Key: c.policyTarget() + " " + p.Name, Limit: p.Resource.Scale(factor)},
			throttle.Ask{Key: scope + " " + p.Name, Limit: p.All.Scale(factor)})
	}
	taken, ok := c.Server.budgets.Take(c.Server.Clock.Now(), asks...)
	h := c.Writer.Header()
	h.Set("x-ms-ratelimit-remaining-"+level+"-"+kind, strconv.Itoa(taken[0].Left))
	h.Set("x-ms-ratelimit-remaining-"+level+"-global-"+kind, strconv.Itoa(taken[1].Left))
	if limited {
		space := c.Server.Registry.Spaces[value.Lower(c.ID.Namespace)].Namespace
		// The names of these two budgets are not documented, and recordings contain only other
		// budgets.
		h.Set("x-ms-ratelimit-remaining-resource", fmt.Sprintf("%s/%sResource;%d,%s/%sSubscriptionMaximum;%d",
			space, p.Name, taken[2].Left, space, p.Name, taken[3].Left))
	}
	if ok {
		return nil
	}
	var wait time.Duration
	for _, t := range taken {
		wait = max(wait, t.Wait)
	}
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	e := Refuse(http.StatusTooManyRequests, "SubscriptionRequestsThrottled", "Number of '%s' requests for %s "+
		"'%s' actor '%s' exceeded. Please try again after '%d' seconds after additional tokens are available. "+
		"Refer to https://aka.ms/arm-throttling for additional information.",
		strings.TrimSuffix(kind, "s"), level, scope, c.Principal, seconds)
	if taken[0].Wait == 0 && taken[1].Wait == 0 {
		e = Refuse(http.StatusTooManyRequests, "OperationNotAllowed",
			"The server rejected the request because too many requests have been received for this subscription.")
		e.Details = []*Error{{Code: "TooManyRequests", Target: p.Name, Message: fmt.Sprintf(`{"operationGroup":"%s",`+
			`"startTime":"%s",`+
			`"endTime":"%s"}`, p.Name, c.begun.UTC().Format(time.RFC3339), c.begun.Add(wait).UTC().Format(time.RFC3339))}}
	}
	e.RetryAfter = seconds
	return e
}

// policy returns the provider's budget that applies to a request; false if there is none.
func (c *Request) policy() (Budget, bool) {
	if p := c.Server.Registry.Spaces[value.Lower(c.ID.Namespace)]; p != nil && p.Budget != nil {
		return p.Budget(c)
	}
	return Budget{}, false
}

// policyTarget returns the ID of the resource that a request reads or changes, in lower
// case.
func (c *Request) policyTarget() string {
	id := c.ID
	if len(id.Names) > 0 {
		n := min(len(id.Names), len(id.Types))
		id.Types, id.Names = id.Types[:n], id.Names[:n]
	}
	return id.Key()
}

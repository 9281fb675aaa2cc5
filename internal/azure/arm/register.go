package arm

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// registrationAPIVersion is the API version of Microsoft.Resources.
	registrationAPIVersion = "2021-04-01"
	// registrationWait is the approximate duration of a provider's registration.
	registrationWait = 15 * time.Second
	// registrationPause is the minimum time between two requests to register the same provider.
	registrationPause = 5 * time.Minute
)

// registrations remembers when the registration of each provider was requested.
type registrations struct {
	mu    sync.Mutex
	asked map[string]time.Time
}

// registerProvider requests the registration of the provider that a failed call needs, at most once per
// registrationPause, and mentions it in the error. It does not wait: the caller retries.
func (c *Client) registerProvider(ctx context.Context, target string, failure *Error) {
	switch failure.Code {
	case "MissingSubscriptionRegistration", "MissingRegistrationForResourceProvider", "SubscriptionNotRegistered":
	default:
		return
	}
	namespace, _, _ := strings.Cut(TypeOf(pathOf(target)), "/")
	failure.RetryAfter = registrationWait
	if !c.registrations.due(namespace, time.Now()) {
		return
	}
	path := "/subscriptions/" + c.subscriptionID + "/providers/" + namespace + "/register"
	if resp, err := c.do(ctx, http.MethodPost, path, registrationAPIVersion, nil, nil); err != nil {
		failure.err = errors.Join(failure.err, err)
		failure.Message += "; registering it failed: " + oneLine(err.Error())
	} else {
		// The SDK has already read the body.
		_ = resp.Body.Close()
		failure.Message += "; casement asked Azure to register it"
	}
}

func (r *registrations) due(namespace string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := strings.ToLower(namespace)
	if last, ok := r.asked[key]; ok && now.Sub(last) < registrationPause {
		return false
	}
	if r.asked == nil {
		r.asked = map[string]time.Time{}
	}
	r.asked[key] = now
	return true
}

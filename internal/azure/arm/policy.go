package arm

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// sameHost refuses requests to any host except the resource manager's: polling URLs and links come from responses and
// from an object's status, and the access token must not be sent to another host.
type sameHost struct{ endpoint *url.URL }

func (s sameHost) Do(req *policy.Request) (*http.Response, error) {
	host, own := strings.ToLower(req.Raw().URL.Host), strings.ToLower(s.endpoint.Host)
	if host != own && !strings.HasSuffix(host, "."+own) {
		return nil, fmt.Errorf("refused to send a request to %s instead of %s: %w", host, own, errForeignHost)
	}
	return req.Next()
}

type correlationKey struct{}

// WithCorrelationID returns a context with an ID that every call sends and that Azure stores in its activity log. The
// ID has to be a UUID; "" sets none.
func WithCorrelationID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, correlationKey{}, id)
}

// correlate sends the correlation ID of the request's context.
type correlate struct{}

func (correlate) Do(req *policy.Request) (*http.Response, error) {
	if id, ok := req.Raw().Context().Value(correlationKey{}).(string); ok && id != "" {
		req.Raw().Header.Set("x-ms-correlation-request-id", id)
	}
	return req.Next()
}

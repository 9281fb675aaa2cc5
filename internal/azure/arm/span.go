package arm

import (
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// spans records a tracing span for each call, including the wait at the gate. It records
// neither query nor headers nor bodies, because they can contain secrets.
type spans struct{}

func (spans) Do(req *policy.Request) (*http.Response, error) {
	raw := req.Raw()
	verb, kind := verbOf(raw.Method, raw.URL.Path), strings.ToLower(TypeOf(raw.URL.Path))
	ctx, span := otel.Tracer("casement.dev/casement").Start(raw.Context(), strings.ToUpper(verb)+" "+kind,
		trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	if !span.IsRecording() {
		return req.Next()
	}
	span.SetAttributes(attribute.String("http.request.method", raw.Method),
		attribute.String("azure.resource.type", kind), attribute.String("azure.resource.id", raw.URL.Path))
	resp, err := req.WithContext(ctx).Next()
	if resp != nil {
		span.SetAttributes(attribute.Int("http.response.status_code", resp.StatusCode),
			attribute.String("azure.request.id", resp.Header.Get("x-ms-request-id")))
		if resp.StatusCode >= http.StatusBadRequest {
			span.SetStatus(codes.Error, http.StatusText(resp.StatusCode))
		}
	} else if err != nil {
		span.SetStatus(codes.Error, "no answer")
	}
	return resp, err
}

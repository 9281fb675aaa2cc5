// Package trace sends spans of reconciles, and of their calls to Azure in package arm, to an OpenTelemetry collector
// (OTLP over gRPC). It is off unless an endpoint is set.
//
// A span has names, verbs, codes and times, but no body, header or error message, because these may contain a secret.
// internal/manager starts it, and the controllers wrap their reconcilers with it; this also connects calls with
// reconciles if no spans are sent.
package trace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"casement.dev/casement/internal/azure/arm"
)

// Name is the instrumentation scope of all spans.
const Name = "casement.dev/casement"

// stopTimeout is the timeout for sending the last spans.
const stopTimeout = 5 * time.Second

// Start sends spans to a collector at endpoint, an http or https URL, until the returned function has sent the last
// ones. OpenTelemetry's other environment variables (OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER) apply. A
// collector that does not respond delays nothing.
func Start(ctx context.Context, endpoint string) (stop func() error, err error) {
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("send traces to %s: %w", endpoint, err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "casement-manager"))))
	otel.SetTracerProvider(provider)
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return errors.Join(provider.Shutdown(ctx))
	}, nil
}

// Reconciler returns a reconciler that records a span for each reconcile of a kind. The reconcileID in its log lines is
// the correlation ID of its calls in Azure's activity log.
func Reconciler(kind string, r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		ctx, span := otel.Tracer(Name).Start(ctx, "reconcile "+kind)
		defer span.End()
		id := string(controller.ReconcileIDFromContext(ctx))
		ctx = arm.WithCorrelationID(ctx, id)
		if span.IsRecording() {
			span.SetAttributes(attribute.String("k8s.kind", kind), attribute.String("k8s.namespace.name", request.Namespace),
				attribute.String("k8s.object.name", request.Name), attribute.String("reconcile.id", id))
		}
		result, err := r.Reconcile(ctx, request)
		span.SetAttributes(attribute.Float64("reconcile.requeue_after_seconds", result.RequeueAfter.Seconds()))
		if err != nil {
			span.SetStatus(codes.Error, "the reconcile is tried again")
		}
		return result, err
	})
}

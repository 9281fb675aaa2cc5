package trace

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/go-logr/logr"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"casement.dev/casement/internal/azure/arm"
)

// receiver is an OTLP collector that stores the received spans.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []*v1.Span
	text  strings.Builder
}

// Export implements collector.TraceServiceServer.
func (r *receiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := protojson.Marshal(request)
	if err != nil {
		return nil, err
	}
	r.text.Write(text)
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

const secret = "hunter2"

type credential struct{}

func (credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token-" + secret, ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// transport responds like Azure, with a secret in every possible place.
type transport struct{}

func (transport) Do(r *http.Request) (*http.Response, error) {
	body := `{"error": {"code": "Conflict", "message": "the password ` + secret + ` is in use"}}`
	return &http.Response{StatusCode: http.StatusConflict, Header: http.Header{
		"X-Ms-Request-Id": {"request-1"}, "Content-Type": {"application/json"}, "X-Secret": {secret},
	},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestSpans: a reconcile that calls Azure creates a span for each of the two, the call's below the reconcile's, without secrets.
func TestSpans(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	got, server := &receiver{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, got)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	defer server.Stop()
	stop, err := Start(t.Context(), "http://"+listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	azure, err := arm.New(arm.Config{SubscriptionID: "s", Credential: credential{}, Transport: transport{}, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	r := Reconciler("AzureMachine", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		_, err := azure.Put(ctx, "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/v",
			"2024-07-01", json.RawMessage(`{"properties": {"osProfile": {"customData": "`+secret+`"}}}`))
		return reconcile.Result{RequeueAfter: time.Minute}, err
	}))
	if _, err := r.Reconcile(t.Context(),
		reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "m"}}); err == nil {
		t.Fatal("the call did not fail")
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	byName := map[string]*v1.Span{}
	for _, s := range got.spans {
		byName[s.Name] = s
	}
	outer, inner := byName["reconcile AzureMachine"], byName["PUT microsoft.compute/virtualmachines"]
	if len(got.spans) != 2 || outer == nil || inner == nil {
		t.Fatalf("spans: %v", got.spans)
	}
	if string(inner.ParentSpanId) != string(outer.SpanId) {
		t.Error("the call is not below its reconcile")
	}
	for _, s := range got.spans {
		if s.Status.GetCode() != v1.Status_STATUS_CODE_ERROR {
			t.Errorf("%s has the status %v, want an error", s.Name, s.Status)
		}
	}
	for _, want := range []string{"request-1", "409", "casement-manager", "team"} {
		if !strings.Contains(got.text.String(), want) {
			t.Errorf("nothing of %q in %s", want, got.text.String())
		}
	}
	if strings.Contains(got.text.String(), secret) {
		t.Errorf("a secret in %s", got.text.String())
	}
}

// seen is a transport that records a header of the requests to Azure.
type seen struct{ id chan string }

func (s seen) Do(r *http.Request) (*http.Response, error) {
	s.id <- r.Header.Get("x-ms-correlation-request-id")
	return transport{}.Do(r)
}

// TestCorrelation: a call has the ID of the reconcile that makes it.
func TestCorrelation(t *testing.T) {
	calls, ids := seen{make(chan string, 1)}, make(chan string, 1)
	azure, err := arm.New(arm.Config{SubscriptionID: "s", Credential: credential{}, Transport: calls, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := controller.NewUnmanaged("trace", controller.Options{SkipNameValidation: new(true),
		LogConstructor: func(*reconcile.Request) logr.Logger { return logr.Discard() },
		Reconciler: Reconciler("AzureMachine", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			ids <- string(controller.ReconcileIDFromContext(ctx))
			_, err := azure.Get(ctx, "/subscriptions/s/resourceGroups/g", "2024-07-01")
			return reconcile.Result{}, reconcile.TerminalError(err)
		}))})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(reconcile.Request{})
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	if got, want := <-calls.id, <-ids; got != want || want == "" {
		t.Errorf("the call has %q, the reconcile is %q", got, want)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

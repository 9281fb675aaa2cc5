package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/policy"
	azarm "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"k8s.io/utils/clock"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/sim/proxy"
)

// request is an example's first request to ARM.
type request struct {
	method, path, version string
	body                  map[string]any
}

// stage is a local Azure with a proxy in front of it. In a rehearsal it only records the first
// request and refuses it.
type stage struct {
	server   *azuresim.Azure
	pipeline runtime.Pipeline
	proxy    string

	mu        sync.Mutex
	rehearsal bool
	first     *request
	calls     int
}

// earlier is the real clock minus some years, because the examples use resources that have been
// retired.
type earlier struct{ clock.RealClock }

func (earlier) Now() time.Time                    { return time.Now().AddDate(-3, 0, 0) }
func (e earlier) Since(t time.Time) time.Duration { return e.Now().Sub(t) }

func open(ctx context.Context, dir string) (*stage, error) {
	server, err := azuresim.New(azuresim.Config{Dir: dir, Clock: earlier{}})
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	client := policy.ClientOptions{Transport: server, Retry: policy.RetryOptions{MaxRetries: -1}}
	credential, err := azidentity.NewClientSecretCredential(azuresim.DefaultTenant, azuresim.DefaultClient,
		server.Client().Secret, &azidentity.ClientSecretCredentialOptions{ClientOptions: client})
	if err != nil {
		return nil, err
	}
	pipeline, err := azarm.NewPipeline("harness", "v1", credential, runtime.PipelineOptions{},
		&azpolicy.ClientOptions{ClientOptions: client})
	if err != nil {
		return nil, err
	}
	s := &stage{server: server, pipeline: pipeline, proxy: proxy.URL(l.Addr().String(), server.Client().Secret)}
	go func() {
		// returns when ctx ends
		_ = proxy.Serve(ctx, l, proxy.Config{TLS: server.TLS(), Handler: s, Serves: azuresim.Intercepts, Password: server.Client().Secret})
	}()
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Host, "management.") {
		s.server.ServeHTTP(w, r)
		return
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	s.mu.Lock()
	s.calls++
	if s.first == nil {
		s.first = &request{method: r.Method, path: r.URL.Path, version: r.URL.Query().Get("api-version")}
		_ = json.Unmarshal(data, &s.first.body) // some requests have no body
	}
	rehearsal := s.rehearsal
	s.mu.Unlock()
	if rehearsal {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"code":"Rehearsal","message":"rehearsal"}}`)
		return
	}
	s.server.ServeHTTP(w, r)
}

// begin starts a rehearsal or a run.
func (s *stage) begin(rehearsal bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rehearsal, s.first, s.calls = rehearsal, nil, 0
}

// seen returns the first request since begin, or nil.
func (s *stage) seen() *request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

// put writes a resource and waits for the end of its operation.
func (s *stage) put(ctx context.Context, id, version string, body map[string]any) error {
	req, err := runtime.NewRequest(ctx, http.MethodPut, "https://management.azure.com"+(&url.URL{Path: id}).EscapedPath())
	if err != nil {
		return err
	}
	req.Raw().URL.RawQuery = "api-version=" + version
	if err := runtime.MarshalAsJSON(req, body); err != nil {
		return err
	}
	resp, err := s.pipeline.Do(req)
	if err != nil {
		return err
	}
	if !runtime.HasStatusCode(resp, http.StatusOK, http.StatusCreated, http.StatusAccepted) {
		return fmt.Errorf("prerequisite %s: %w", id, runtime.NewResponseError(resp))
	}
	poller, err := runtime.NewPoller[map[string]any](resp, s.pipeline, nil)
	if err != nil {
		return fmt.Errorf("prerequisite %s: %w", id, err)
	}
	if _, err := poller.PollUntilDone(ctx, nil); err != nil {
		return fmt.Errorf("prerequisite %s: %w", id, err)
	}
	return nil
}

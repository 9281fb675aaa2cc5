// Package recorder records the requests of a client to Azure Resource Manager and Azure's responses, as a reverse proxy
// between the two. The file has the format of go-vcr, which the project's own tests replay against the local Azure.
// Tokens, secrets, and the identifiers of the subscription, the tenant and the caller are removed before anything is
// written; a secret value with an ordinary name and the form of ordinary text is not recognised.
//
// In responses, it only changes the URLs of Azure, so that polls pass through it too. It does not depend on resource
// types, and neither stores nor requests tokens. The command line imports it, and tests do.
package recorder

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// maxBody is the maximum size of a forwarded body in bytes: ARM accepts 4 MiB, and lists of sizes and roles are larger than that.
const maxBody = 64 << 20

// Recorder is the proxy. It is safe for concurrent use.
type Recorder struct {
	upstream  *url.URL
	transport http.RoundTripper
	// next matches the URL of a list's next page on the resource manager's host.
	next *regexp.Regexp

	mu    sync.Mutex
	out   io.Writer
	scrub *scrubber
	calls int
	err   error
}

// interaction is one call in the format of the file.
type interaction struct {
	Request  request  `yaml:"request"`
	Response response `yaml:"response"`
}

type request struct {
	Method  string              `yaml:"method"`
	URL     string              `yaml:"url"`
	Body    string              `yaml:"body"`
	Headers map[string][]string `yaml:"headers"`
}

type response struct {
	Status  string              `yaml:"status"`
	Code    int                 `yaml:"code"`
	Headers map[string][]string `yaml:"headers"`
	Body    string              `yaml:"body"`
}

// New returns a recorder that forwards requests to upstream, such as https://management.azure.com, through transport.
// It writes the head of the file to out before it returns, and each call after its response.
func New(upstream string, transport http.RoundTripper, out io.Writer) (*Recorder, error) {
	u, err := url.Parse(upstream)
	if err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("the endpoint %q is not https://HOST", upstream)
	}
	if _, err := io.WriteString(out, "---\nversion: 1\ninteractions:\n"); err != nil {
		return nil, fmt.Errorf("write the recording: %w", err)
	}
	return &Recorder{upstream: u, transport: transport, out: out, scrub: newScrubber(),
		next: regexp.MustCompile(`("nextLink"\s*:\s*"https://)` + regexp.QuoteMeta(u.Host) + `/`)}, nil
}

// Calls returns the number of recorded calls, and the first error of writing them.
func (r *Recorder) Calls() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls, r.err
}

// hop are headers that belong to one connection, and Accept-Encoding, so that the transport decompresses the response itself.
var hop = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Accept-Encoding", "Content-Length"}

// ServeHTTP implements http.Handler: it forwards a call, records it and returns the response.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	asked, err := io.ReadAll(http.MaxBytesReader(w, in.Body, maxBody))
	if err != nil {
		http.Error(w, "The request cannot be read.", http.StatusBadRequest)
		return
	}
	out := in.Clone(in.Context())
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = r.upstream.Scheme, r.upstream.Host, r.upstream.Host, ""
	out.Body, out.ContentLength = http.NoBody, int64(len(asked))
	if len(asked) > 0 { // over HTTP/2, an empty body has an unknown length, which the resource manager interprets as content
		out.Body = io.NopCloser(bytes.NewReader(asked))
	}
	for _, h := range hop {
		out.Header.Del(h)
	}
	resp, err := r.transport.RoundTrip(out)
	if err != nil {
		http.Error(w, fmt.Sprintf("%s does not answer: %v", r.upstream.Host, err), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	answered, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		http.Error(w, fmt.Sprintf("The answer of %s broke off: %v", r.upstream.Host, err), http.StatusBadGateway)
		return
	}
	r.record(out, asked, resp, answered)
	r.reply(w, in.Host, resp, answered)
}

// reply sends a response to the client, with Azure's URLs replaced by this proxy's.
func (r *Recorder) reply(w http.ResponseWriter, host string, resp *http.Response, body []byte) {
	h := w.Header()
	for name, values := range resp.Header {
		h[name] = values
	}
	for _, name := range hop {
		h.Del(name)
	}
	for _, name := range []string{"Location", "Azure-Asyncoperation"} {
		for i, at := range h[name] {
			if rest, ok := strings.CutPrefix(at, "https://"+r.upstream.Host+"/"); ok {
				h[name][i] = "https://" + host + "/" + rest
			}
		}
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(r.next.ReplaceAll(body, []byte("${1}"+host+"/"))) // a client that has disconnected needs no response
}

// record writes a call without its secrets.
func (r *Recorder) record(req *http.Request, asked []byte, resp *http.Response, answered []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.scrub
	s.learn(req, asked, resp, answered)
	address := req.URL.String()
	one := interaction{
		Request: request{Method: req.Method, URL: s.address(address), Body: s.body(address, asked),
			Headers: s.headers(req.Header, "Content-Type", "If-Match", "If-None-Match")},
		Response: response{Status: resp.Status, Code: resp.StatusCode, Body: s.body(address, answered),
			Headers: s.headers(resp.Header, "Content-Type", "Date", "Azure-Asyncoperation", "Location", "Retry-After")},
	}
	data, err := yaml.Marshal([]interaction{one})
	if err == nil {
		_, err = r.out.Write(data)
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("write the recording: %w", err)
	}
	r.calls++
}

package shell

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var curlSetting = regexp.MustCompile(`(?m)^\s*([a-z-]+)\s*[= :]\s*"?(.*?)"?\s*$`)

// curlFlags are the flags of curl that are accepted. Flags about the protocol, the number of tries or the progress
// display have no effect that a guest can observe.
var curlFlags = declare(
	`X|request: H|header: o|output: O|remote-name f|fail fail-with-body K|config: d|data: data-ascii: data-raw:
	data-binary: data-urlencode: G|get
	I|head i|include L|location w|write-out: u|user: A|user-agent: e|referer: k|insecure cacert: cert|E: key: url:
	m|max-time: create-dirs output-dir: D|dump-header: oauth2-bearer:
	s|silent S|show-error compressed retry: retry-delay: retry-max-time: retry-connrefused retry-all-errors
	connect-timeout: noproxy: proto: proto-redir: tlsv1.2 tlsv1.3 tls-max: http1.1 http2
	4|ipv4 6|ipv6 N|no-buffer progress-bar no-progress-meter max-redirs: speed-limit: speed-time: keepalive-time:
	no-keepalive stderr: g|globoff q|disable R|remote-time
	ssl-no-revoke ssl-revoke-best-effort`)

// curlRequest is the request that a command line of curl describes.
type curlRequest struct {
	method, url string
	headers     http.Header
	body        []byte
	tls         *tls.Config
}

// curl sends HTTP requests in the guest's network.
func curl(ctx context.Context, p *Process) int {
	o, unknown := curlFlags.parse(p.Args[1:])
	if strings.HasSuffix(unknown, ":") {
		return p.Fail(2, "curl: option %s requires parameter", strings.TrimSuffix(unknown, ":"))
	}
	if unknown != "" {
		return p.refuseAs(2, "curl %s", unknown)
	}
	for _, f := range o.values("K") {
		data, err := p.read(f)
		if err != nil {
			return p.Fail(26, "curl: cannot read the configuration")
		}
		for _, m := range curlSetting.FindAllStringSubmatch(string(data), -1) {
			known, ok := curlFlags.flags[m[1]]
			if !ok {
				return p.Refuse("the line %s in a configuration of curl", m[1])
			}
			o.given = append(o.given, given{known.name, m[2]})
		}
	}
	urls := append(o.values("url"), o.operands...)
	if len(urls) == 0 {
		return p.Fail(2, "curl: (2) no URL specified")
	}
	code := 0
	for i, u := range urls {
		out := ""
		if outs := o.values("o"); i < len(outs) {
			out = outs[i]
		}
		code = p.fetch(ctx, o, u, out)
	}
	return code
}

// fetch requests one address, and writes the answer to a file or to standard output.
func (p *Process) fetch(ctx context.Context, o options, address, out string) int {
	say := func(code int, format string, a ...any) int {
		if !o.has("s") || o.has("S") {
			p.Fail(code, "curl: (%d) "+format, append([]any{code}, a...)...)
		}
		return code
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	r, code := p.curlRequest(o, address)
	if code != 0 {
		return code
	}
	if p.shell.web == nil {
		p.Guest.Refused("downloads by curl")
		return p.Fail(6, "curl: this guest is simulated and downloads nothing")
	}
	if seconds, err := strconv.ParseFloat(o.value("m"), 64); err == nil && seconds > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
		defer cancel()
		ctx = limited
	}
	got, err := p.shell.send(ctx, r, o.has("L"))
	if err != nil {
		return say(curlCode(err), "%v", err)
	}
	if name := o.value("D"); name != "" {
		if err := p.Guest.Root.WriteFile(p.Abs(name), []byte(got.head), 0o644); err != nil {
			return say(23, "%s: %s", name, reason(err))
		}
	}
	failed := got.status >= http.StatusBadRequest && o.has("f", "fail-with-body")
	if !failed || o.has("fail-with-body") {
		if o.has("I", "i") {
			got.body = append([]byte(got.head), got.body...)
		}
		if o.has("O") {
			u, _ := url.Parse(address)
			if out = path.Base(u.Path); out == "/" || out == "." {
				return say(23, "Remote file name has no length!")
			}
		}
		if code := p.curlWrite(o, out, got.body, say); code != 0 {
			return code
		}
	}
	if o.has("w") {
		text := o.value("w")
		for name, value := range map[string]string{
			"http_code": strconv.Itoa(got.status), "response_code": strconv.Itoa(got.status),
			"content_type": got.kind, "size_download": strconv.Itoa(len(got.body)), "url_effective": address,
		} {
			text = strings.ReplaceAll(text, "%{"+name+"}", value)
		}
		if strings.Contains(text, "%{") {
			return p.Refuse("curl -w with %s", text[strings.Index(text, "%{"):])
		}
		p.Printf("%s", unescape(text))
	}
	if failed {
		return say(22, "The requested URL returned error: %d", got.status)
	}
	return 0
}

func (p *Process) curlWrite(o options, out string, body []byte, say func(int, string, ...any) int) int {
	if p.Guest.IsWindows() && strings.EqualFold(out, "NUL") {
		return 0
	}
	if out == "" || out == "-" || p.device(out, body) {
		if out == "" || out == "-" {
			_, _ = p.Stdout.Write(body) // an error means that nothing reads the output
		}
		return 0
	}
	name := p.Abs(out)
	if dir := o.value("output-dir"); dir != "" {
		name = p.Guest.Root.Abs(p.Abs(dir), out)
	}
	if o.has("create-dirs") {
		make := func() error { return p.makeDir(path.Dir(name), 0o755) }
		if p.Guest.IsWindows() {
			make = func() error { return p.Guest.Root.MkdirAll(p.Guest.Root.Abs(name, "..")) }
		}
		if err := make(); err != nil {
			return say(23, "%s: %s", out, reason(err))
		}
	}
	if err := p.Guest.Root.WriteFile(name, body, p.newFileMode(0o666)); err != nil {
		return say(23, "%s: %s", out, reason(err))
	}
	return 0
}

// curlCode returns curl's exit code for a network error.
func curlCode(err error) int {
	text := err.Error()
	switch {
	case strings.Contains(text, "no such host"):
		return 6
	case strings.Contains(text, "certificate"), strings.Contains(text, "x509"):
		return 60
	case strings.Contains(text, "deadline exceeded"):
		return 28
	}
	return 7
}

// curlRequest returns the request that the flags describe, or an exit code.
func (p *Process) curlRequest(o options, address string) (*curlRequest, int) {
	r := &curlRequest{url: address, method: o.value("X"), headers: http.Header{}}
	var data []string
	for _, g := range o.given {
		text := g.value
		switch g.name {
		case "d", "data-ascii", "data-binary":
			if file, ok := strings.CutPrefix(text, "@"); ok {
				content, err := p.read(file)
				if err != nil {
					return nil, p.Fail(26, "curl: option %s: error encountered when reading a file", g.name)
				}
				if text = string(content); g.name == "d" || g.name == "data-ascii" {
					text = strings.NewReplacer("\r", "", "\n", "").Replace(text)
				}
			}
			data = append(data, text)
		case "data-raw":
			data = append(data, text)
		case "data-urlencode":
			name, value, ok := strings.Cut(text, "=")
			if !ok {
				name, value = "", text
			}
			if name != "" {
				name += "="
			}
			data = append(data, name+strings.ReplaceAll(url.QueryEscape(value), "+", "%20"))
		case "H":
			if k, v, ok := strings.Cut(text, ":"); ok {
				r.headers.Set(strings.TrimSpace(k), strings.TrimSpace(v))
			}
		case "u":
			r.headers.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(text)))
		case "oauth2-bearer":
			r.headers.Set("Authorization", "Bearer "+text)
		case "A":
			r.headers.Set("User-Agent", text)
		case "e":
			r.headers.Set("Referer", text)
		}
	}
	if r.headers.Get("User-Agent") == "" {
		r.headers.Set("User-Agent", "curl (simulated by casement)")
	}
	if len(data) > 0 {
		r.addData(o, strings.Join(data, "&"))
	}
	if o.has("I") && r.method == "" {
		r.method = http.MethodHead
	}
	return r, p.curlTLS(o, r)
}

// addData adds data to a request: as its body, or with -G as the query of the address.
func (r *curlRequest) addData(o options, data string) {
	if o.has("G") {
		joint := "?"
		if strings.Contains(r.url, "?") {
			joint = "&"
		}
		r.url += joint + data
		return
	}
	r.body = []byte(data)
	if r.method == "" {
		r.method = http.MethodPost
	}
	if r.headers.Get("Content-Type") == "" {
		r.headers.Set("Content-Type", "application/x-www-form-urlencoded")
	}
}

// curlTLS sets the TLS configuration from -k, --cacert, --cert and --key.
func (p *Process) curlTLS(o options, r *curlRequest) int {
	if !o.has("k", "cacert", "cert") {
		return 0
	}
	r.tls = &tls.Config{InsecureSkipVerify: o.has("k")} // only if the script has -k
	if file := o.value("cacert"); file != "" {
		data, err := p.read(file)
		r.tls.RootCAs = x509.NewCertPool()
		if err != nil || !r.tls.RootCAs.AppendCertsFromPEM(data) {
			return p.Fail(77, "curl: (77) error setting certificate file: %s", file)
		}
	}
	if file := o.value("cert"); file != "" {
		cert, err := p.read(file)
		key := cert
		if err == nil && o.has("key") {
			key, err = p.read(o.value("key"))
		}
		pair, err2 := tls.X509KeyPair(cert, key)
		if err != nil || err2 != nil {
			return p.Fail(58, "curl: (58) could not load the client certificate %s", file)
		}
		r.tls.Certificates = []tls.Certificate{pair}
	}
	return 0
}

// curlAnswer is the response to a request of curl.
type curlAnswer struct {
	status     int
	kind, head string
	body       []byte
}

// maxRedirects is the number of redirections that curl -L follows.
const maxRedirects = 50

// send sends a request and returns the answer; with follow, it follows redirections.
func (s *Shell) send(ctx context.Context, r *curlRequest, follow bool) (*curlAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	web := s.web
	if r.tls != nil {
		if t, ok := web.(interface {
			WithTLS(*tls.Config) http.RoundTripper
		}); ok {
			web = t.WithTLS(r.tls)
		}
	}
	for range maxRedirects {
		req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
		if err != nil {
			return nil, err
		}
		req.Header = r.headers.Clone()
		if host := req.Header.Get("Host"); host != "" {
			req.Host = host
		}
		resp, err := web.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		if next := resp.Header.Get("Location"); follow && next != "" && resp.StatusCode/100 == 3 {
			to, err := req.URL.Parse(next)
			if err != nil {
				return nil, err
			}
			if r.url = to.String(); resp.StatusCode == http.StatusSeeOther {
				r.method, r.body = "", nil
			}
			continue
		}
		var head strings.Builder
		fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", resp.StatusCode, http.StatusText(resp.StatusCode))
		_ = resp.Header.Write(&head) // a builder accepts every write
		return &curlAnswer{resp.StatusCode, resp.Header.Get("Content-Type"), head.String() + "\r\n", body}, nil
	}
	return nil, fmt.Errorf("maximum (%d) redirects followed", maxRedirects)
}

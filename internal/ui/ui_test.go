package ui

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/ui/model"
)

// scripted is a source of given models, one per read; the last one repeats.
type scripted struct {
	models []model.Model
	reads  atomic.Int64
}

func (s *scripted) Read(context.Context) model.Model {
	return s.models[min(int(s.reads.Add(1)), len(s.models))-1]
}

func (s *scripted) Why(_ context.Context, at Selection) (walk.Answer, error) {
	if at.Key == "object/Machine/ns/none" {
		return walk.Answer{}, errors.New("there is no machine none; --password hunter2hunter2")
	}
	return walk.Answer{Object: at.Key, Means: walk.Meaning{Cause: "Broken"}, Seen: []walk.Seen{{Line: "--password hunter2hunter2"}}}, nil
}

func (s *scripted) Console(_ context.Context, at Selection, _ bool, w io.Writer) error {
	_, err := io.WriteString(w, "boot of "+at.Key+"\n")
	return err
}

func (s *scripted) Show(_ context.Context, at Selection, what string, w io.Writer) error {
	if what != "yaml" {
		return errors.New("not shown; --password hunter2hunter2")
	}
	_, err := io.WriteString(w, what+" of "+at.Key+"\n")
	return err
}

func (s *scripted) Account(context.Context) (model.Account, error) {
	return model.Account{Quotas: []model.Quota{{Location: "westeurope", Name: "standardDSv3Family", Used: 6, Limit: 6}}}, nil
}

// TestContexts: each context has its own model, and a context that is not in the kubeconfig is not found.
func TestContexts(t *testing.T) {
	sources := map[string]*scripted{"": {models: []model.Model{{"meta": row(`{"context":"one"}`)}}},
		"two": {models: []model.Model{{"meta": row(`{"context":"two"}`)}}}}
	_, address := serveAll(t, func(name string) (Source, bool) { s, ok := sources[name]; return s, ok })
	for name, want := range map[string]string{"": `{"context":"one"}`, "two": `{"context":"two"}`} {
		resp, err := http.Get(address + "events?context=" + name)
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		resp.Body.Close()
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("context %q: %q, %v; want %s", name, line, err, want)
		}
	}
	for path, want := range map[string]int{"events?context=three": 404, "why?object=x&context=three": 404, "account?context=two": 200} {
		resp, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || want == 200 && !strings.Contains(string(text), "standardDSv3Family") {
			t.Errorf("%s: %d %s, want %d", path, resp.StatusCode, text, want)
		}
	}
}

// TestShow: the text of an object is sent as text, and an error without secrets.
func TestShow(t *testing.T) {
	_, address := serve(t, &scripted{models: []model.Model{{}}})
	for what, want := range map[string]struct {
		status int
		text   string
	}{"yaml": {http.StatusOK, "yaml of pod/ns/c/n/p\n"}, "secrets": {http.StatusNotFound, "not shown"}} {
		resp, err := http.Get(address + "show?object=pod/ns/c/n/p&what=" + what)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want.status || !strings.HasPrefix(string(text), want.text) ||
			strings.Contains(string(text), "hunter2") {
			t.Errorf("%s: %d %q, %v", what, resp.StatusCode, text, err)
		}
	}
}

func row(text string) json.RawMessage { return json.RawMessage(text) }

// serve starts a server and returns its address with the token.
func serve(t *testing.T, s Source) (*Server, string) {
	t.Helper()
	return serveAll(t, func(string) (Source, bool) { return s, true })
}

func serveAll(t *testing.T, open func(string) (Source, bool)) (*Server, string) {
	t.Helper()
	var ui *Server
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ui.ServeHTTP(w, r) }))
	ui = New(open, server.Listener.Addr())
	server.Start()
	t.Cleanup(server.Close)
	return ui, ui.Address()
}

// TestGuard: a request with another host, origin, site or token gets 403, on every path.
func TestGuard(t *testing.T) {
	ui, address := serve(t, &scripted{models: []model.Model{{"meta": row(`{}`)}}})
	port := ui.host[strings.LastIndex(ui.host, ":"):]
	tests := []struct {
		name string
		path string
		edit func(*http.Request)
		want int
	}{
		{"the page", "", nil, 200},
		{"the script", "app.js", nil, 200},
		{"an answer", "why?object=x", nil, 200},
		{"own origin", "why?object=x", func(r *http.Request) { r.Header.Set("Origin", "http://"+ui.host) }, 200},
		{"localhost", "", func(r *http.Request) { r.Host = "localhost" + port }, 200},
		{"foreign origin", "", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		{"origin null", "events", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		{"origin of another port", "events", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		{"foreign host", "", func(r *http.Request) { r.Host = "evil.example" + port }, 403},
		{"no port", "", func(r *http.Request) { r.Host = "127.0.0.1" }, 403},
		{"for another site", "console?object=x", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"foreign token", "", func(r *http.Request) { r.URL.Path = "/ABCDEFGHIJKLMNOPQRSTUVWXYZ/" }, 403},
		{"part of the token", "", func(r *http.Request) { r.URL.Path = "/" + ui.token[:25] + "/" }, 403},
		{"no token", "", func(r *http.Request) { r.URL.Path = "/app.js" }, 403},
		{"no page", "none", nil, 404},
		{"another method", "", func(r *http.Request) { r.Method = "POST" }, 405},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequest(http.MethodGet, address+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.edit != nil {
				test.edit(r)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != test.want {
				t.Errorf("it answers %d, not %d", resp.StatusCode, test.want)
			}
			if !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Error("there is no Content-Security-Policy")
			}
		})
	}
}

// TestEvents: a page gets the whole model and then its changes, and nothing is read while no page is open.
func TestEvents(t *testing.T) {
	source := &scripted{models: []model.Model{{"a/1": row(`1`), "a/2": row(`1`)}, {"a/1": row(`2`)}}}
	_, address := serve(t, source)
	if source.reads.Load() != 0 {
		t.Fatal("it reads before a page is open")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, address+"events", nil)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func() (c model.Change) {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &c); err != nil {
					t.Fatal(err)
				}
				return c
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return c
	}
	if c := next(); !c.Full || len(c.Set) != 2 {
		t.Errorf("the first event is %+v", c)
	}
	if c := next(); c.Full || string(c.Set["a/1"]) != "2" || len(c.Gone) != 1 || c.Gone[0] != "a/2" {
		t.Errorf("the second event is %+v", c)
	}
}

// TestNothingIsReadWithoutPages: reading ends when the last page disconnects.
func TestNothingIsReadWithoutPages(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	h := newHub(func(ctx context.Context) model.Model {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil
	})
	leave, _ := h.join(t.Context())
	<-began
	other, _ := h.join(t.Context())
	leave()
	select {
	case <-ended:
		t.Fatal("the reading ended while a page was open")
	default:
	}
	other()
	<-ended
}

// TestStreamsAreBounded: one page too many is refused, and a page that disconnects frees a slot.
func TestStreamsAreBounded(t *testing.T) {
	h := newHub(func(context.Context) model.Model { return model.Model{} })
	var leave func()
	for range maxStreams {
		var ok bool
		if leave, ok = h.join(t.Context()); !ok {
			t.Fatal("a page is refused")
		}
	}
	if _, ok := h.join(t.Context()); ok {
		t.Error("one page too many is let in")
	}
	leave()
	if _, ok := h.join(t.Context()); !ok {
		t.Error("the place of one that left is not free")
	}
}

func TestAnswersAreRedacted(t *testing.T) {
	_, address := serve(t, &scripted{models: []model.Model{{}}})
	for _, key := range []string{"object/Machine/ns/none", "object/Machine/ns/some"} {
		resp, err := http.Get(address + "why?object=" + key)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || strings.Contains(string(data), "hunter2") || !strings.Contains(string(data), "redacted") {
			t.Errorf("the answer about %s is %s, %v", key, data, err)
		}
	}
}

// TestSave: a report is one file that loads nothing, and in which no name can end a script.
func TestSave(t *testing.T) {
	source := &scripted{models: []model.Model{{
		"object/Machine/ns/x": row(`{"kind":"Machine","name":"</script><img src=x>","state":"bad"}`),
		"object/Machine/ns/y": row(`{"kind":"Machine","state":"ok"}`),
	}}}
	var out bytes.Buffer
	if err := Save(t.Context(), source, time.Unix(0, 0), &out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if n := strings.Count(text, "</script>"); n != 2 {
		t.Errorf("%d scripts end", n)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if m[1] != "data:," && !strings.HasPrefix(m[1], "#") {
			t.Errorf("the report loads %s", m[1])
		}
	}
	for _, want := range []string{`script-src &#39;nonce-`, `boot of object/Machine/ns/x`, `"cause":"Broken"`} {
		if !strings.Contains(text, want) && !strings.Contains(text, strings.ReplaceAll(want, "&#39;", "'")) {
			t.Errorf("the report has no %s", want)
		}
	}
	if strings.Contains(text, "boot of object/Machine/ns/y") || strings.Contains(text, "hunter2") {
		t.Error("the report holds what it should not")
	}
}

// TestModules: every script is in the bundle, after those that it imports, and creates
// markup from text only with the function that escapes it.
func TestModules(t *testing.T) {
	files, err := fs.Glob(assets, "assets/*.js")
	if err != nil || len(files) != len(modules) {
		t.Fatalf("%d of %d scripts are bundled: %v", len(modules), len(files), err)
	}
	before := map[string]bool{}
	for _, name := range modules {
		text := read(name)
		for _, m := range regexp.MustCompile(`(?m)^import (.*)$`).FindAllStringSubmatch(text, -1) {
			if from := importLine.FindStringSubmatch(m[0]); from == nil || !before[from[2]+".js"] {
				t.Errorf("%s: %q does not come from a module before it", name, m[0])
			}
		}
		if unsafe := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b`).FindString(text); unsafe != "" {
			t.Errorf("%s uses %s", name, unsafe)
		}
		before[path.Base(name)] = true
	}
	if regexp.MustCompile(`(?m)^(?:import|export) `).MatchString(script) {
		t.Error("an import or export is left in the bundle")
	}
}

func TestRedactorWritesWholeLines(t *testing.T) {
	var out bytes.Buffer
	r := &redactor{w: &out}
	for _, part := range []string{"one\ntw", "o --password hun", "ter2hunter2\r\nend"} {
		if _, err := r.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "one\ntwo --password [redacted]\nend\n"; got != want {
		t.Errorf("it writes %q, not %q", got, want)
	}
}

package registry

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"casement.dev/casement/internal/lint"
)

// serve starts a registry wrapped in a handler, and returns its host.
func serve(t *testing.T, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func image(t *testing.T, os, version string) v1.Image {
	t.Helper()
	base, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	config, err := base.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.OSVersion, config.Architecture = os, version, "amd64"
	out, err := mutate.ConfigFile(base, config)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// index returns an image index with an entry for each pair of system and version.
func index(t *testing.T, pairs ...[2]string) v1.ImageIndex {
	t.Helper()
	out := v1.ImageIndex(empty.Index)
	for _, p := range pairs {
		out = mutate.AppendManifests(out, mutate.IndexAddendum{Add: image(t, p[0], p[1]),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p[0], OSVersion: p[1], Architecture: "amd64"}}})
	}
	return out
}

func ref(t *testing.T, text string) name.Reference {
	t.Helper()
	out, err := name.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func push(t *testing.T, text string, index v1.ImageIndex) {
	t.Helper()
	if err := remote.WriteIndex(ref(t, text), index); err != nil {
		t.Fatal(err)
	}
}

// anonymous replaces the machine's docker configuration in tests.
var anonymous = authn.NewMultiKeychain()

func TestAsk(t *testing.T) {
	var manifests atomic.Int32
	host := serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/app/manifests/") {
				manifests.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	})
	push(t, host+"/app:1", index(t, [2]string{"windows", "10.0.17763.5329"},
		[2]string{"windows", "10.0.20348.2227"}, [2]string{"linux", ""}, [2]string{"unknown", ""}))
	push(t, host+"/untold:1", index(t, [2]string{"windows", ""}))
	push(t, host+"/attested:1", index(t, [2]string{"unknown", ""}))
	for name, one := range map[string]v1.Image{"/single:1": image(t, "windows", "10.0.26100.1"), "/linux:1": image(t, "linux", "")} {
		if err := remote.Write(ref(t, host+name), one); err != nil {
			t.Fatal(err)
		}
	}
	manifests.Store(0)
	images, notes := Ask(t.Context(), []string{
		host + "/app:1", host + "/untold:1", host + "/single:1", host + "/linux:1", host + "/app:1",
		host + "/none:1", host + "/attested:1", "A b",
	}, Options{Keychain: anonymous})
	want := map[string]lint.Platforms{
		host + "/app:1":    {Windows: []string{"10.0.17763.5329", "10.0.20348.2227"}, Others: true},
		host + "/untold:1": {Windows: []string{""}},
		host + "/single:1": {Windows: []string{"10.0.26100.1"}},
		host + "/linux:1":  {Others: true},
	}
	if diff := cmp.Diff(want, images); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"no reference of an image; nothing is known of A b",
		host + ": not found; nothing is known of " + host + "/none:1",
		host + ": the manifest names no platform; nothing is known of " + host + "/attested:1",
	}, notes); diff != "" {
		t.Error(diff)
	}
	if n := manifests.Load(); n != 1 {
		t.Errorf("the manifest that two pods name was asked for %d times", n)
	}
}

// keys is a keychain that returns the same user for every registry.
type keys struct {
	auth authn.Authenticator
	err  error
}

func (k keys) Resolve(authn.Resource) (authn.Authenticator, error) { return k.auth, k.err }

// TestCredentials: credentials are sent where they are required, and nowhere else.
func TestCredentials(t *testing.T) {
	const secret = "hunter2-hunter2"
	host := serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, password, ok := r.BasicAuth(); !ok || password != secret {
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
				http.Error(w, "who are you? "+r.Header.Get("Authorization"), http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	login := func(password string) authn.Authenticator { return &authn.Basic{Username: "u", Password: password} }
	if err := remote.WriteIndex(ref(t, host+"/app:1"), index(t, [2]string{"windows", "10.0.20348.1"}),
		remote.WithAuth(login(secret))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		keys  keys
		known int
		note  string
	}{
		"the right ones":  {keys{login(secret), nil}, 1, ""},
		"wrong ones":      {keys{login(secret + "x"), nil}, 0, "access denied"},
		"none":            {keys{authn.Anonymous, nil}, 0, "access denied"},
		"a broken helper": {keys{nil, errors.New("helper says " + secret)}, 0, "docker configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			images, notes := Ask(t.Context(), []string{host + "/app:1"}, Options{Keychain: c.keys})
			text := strings.Join(notes, "\n")
			if len(images) != c.known || !strings.Contains(text, c.note) || c.note == "" && text != "" {
				t.Errorf("%v, notes %q", images, text)
			}
			if strings.Contains(text, secret) {
				t.Errorf("the notes have the password: %s", text)
			}
		})
	}
}

// TestUnreachable: a registry that does not respond results in one note for all its images, and other registries are queried.
func TestUnreachable(t *testing.T) {
	good := serve(t, nil)
	push(t, good+"/app:1", index(t, [2]string{"linux", ""}))
	closed := httptest.NewServer(http.NotFoundHandler())
	gone := strings.TrimPrefix(closed.URL, "http://")
	closed.Close()
	var calls atomic.Int32
	hold := make(chan struct{})
	silent := serve(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		})
	})
	t.Cleanup(func() { close(hold) })
	broken := serve(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	})
	all := []string{good + "/app:1"}
	for _, host := range []string{gone, silent, broken} {
		for _, image := range []string{"/a", "/b", "/c", "/d", "/e"} {
			all = append(all, host+image)
		}
	}
	images, notes := Ask(t.Context(), all, Options{Keychain: anonymous, Timeout: 2 * time.Second, Parallel: 1})
	if len(images) != 1 || len(notes) != 3 {
		t.Fatalf("%v\n%s", images, strings.Join(notes, "\n"))
	}
	text := strings.Join(notes, "\n")
	for host, why := range map[string]string{gone: "connection refused", silent: "no answer in time", broken: "HTTP status 500"} {
		if !strings.Contains(text, host+": ") || !strings.Contains(text, why) || strings.Count(text, "and 2 more") != 3 {
			t.Errorf("nothing of %s and %q in %s", host, why, text)
		}
	}
	if n := calls.Load(); n > 2 {
		t.Errorf("the registry that does not answer was called %d times", n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if images, notes := Ask(ended, []string{good + "/app:1"}, Options{Keychain: anonymous}); len(images) != 0 || len(notes) != 1 {
		t.Errorf("%v, %v", images, notes)
	}
}

// TestDigests: a manifest list has one digest for all systems; the error names each image without one.
func TestDigests(t *testing.T) {
	host := serve(t, nil)
	list := index(t, [2]string{"windows", "10.0.20348.2227"}, [2]string{"linux", ""})
	push(t, host+"/app:1", list)
	want, err := list.Digest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Digests(t.Context(), []string{host + "/app:1"}, Options{Keychain: anonymous})
	if err != nil || got[host+"/app:1"] != want.String() {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
	got, err = Digests(t.Context(), []string{host + "/none:1", host + "/app:1"}, Options{Keychain: anonymous})
	if err == nil || !strings.Contains(err.Error(), host+"/none:1: not found") || len(got) != 1 {
		t.Errorf("an image that is not there: %v, %v", got, err)
	}
}

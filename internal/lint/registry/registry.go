// Package registry reads from container registries the systems and Windows builds for which images exist: from their
// manifest lists, or from the configuration of an image without a list. It pulls no layers, requests each image once
// and with a timeout, and sends credentials only to their own registry. internal/cli imports it, for `casement lint
// --check-images` and `casement generate addons --resolve-digests`.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"casement.dev/casement/internal/lint"
)

// Options configure the requests. The zero value means the defaults.
type Options struct {
	// Keychain has the credentials; nil means the docker configuration.
	Keychain authn.Keychain
	// Transport sends the requests; nil means the default transport.
	Transport http.RoundTripper
	// Timeout is the timeout for one image (10 s); Total is the timeout for all requests (2 min).
	Timeout, Total time.Duration
	// Parallel is the maximum number of concurrent requests (8).
	Parallel int
}

// Ask returns the platforms of images, by reference. notes have a line for each registry and reason, with the images
// whose platforms are unknown.
func Ask(ctx context.Context, references []string, o Options) (images map[string]lint.Platforms, notes []string) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Total, 2*time.Minute))
	defer cancel()
	a := &asker{timeout: cmp.Or(o.Timeout, 10*time.Second), dead: map[string]string{},
		known: map[string]lint.Platforms{}, trouble: map[trouble][]string{}}
	puller, err := o.puller()
	if err != nil {
		return nil, []string{err.Error()}
	}
	a.get = puller.Get
	work := make(chan question)
	var workers sync.WaitGroup
	for range cmp.Or(o.Parallel, 8) {
		workers.Go(func() {
			for q := range work {
				a.ask(ctx, q)
			}
		})
	}
	for _, q := range a.questions(references) {
		work <- q
	}
	close(work)
	workers.Wait()
	return a.known, a.notes()
}

// puller returns a client that does not repeat the same authentication.
func (o Options) puller() (*remote.Puller, error) {
	if o.Keychain == nil {
		o.Keychain = authn.DefaultKeychain
	}
	if o.Transport == nil {
		o.Transport = remote.DefaultTransport
	}
	return remote.NewPuller(
		remote.WithAuthFromKeychain(quiet{o.Keychain}), remote.WithTransport(o.Transport), remote.WithUserAgent("casement"),
		remote.WithRetryBackoff(remote.Backoff{Steps: 1}),
	)
}

// Digests returns the digests (sha256:...) of images by reference; for a manifest list, the digest of the list, which
// is valid for all systems. If some digests cannot be read, the error names each image.
func Digests(ctx context.Context, references []string, o Options) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Total, 2*time.Minute))
	defer cancel()
	puller, err := o.puller()
	if err != nil {
		return nil, err
	}
	out, dead := map[string]string{}, map[string]string{}
	var problems []error
	for _, written := range references {
		ref, err := name.ParseReference(written)
		if err != nil {
			return nil, fmt.Errorf("%q is no reference of an image", written)
		}
		host := ref.Context().RegistryStr()
		why, gone := dead[host]
		if !gone {
			one, cancel := context.WithTimeout(ctx, cmp.Or(o.Timeout, 10*time.Second))
			got, err := puller.Head(one, ref)
			cancel()
			if err == nil {
				out[written] = got.Digest.String()
				continue
			}
			if why, gone = reason(err); gone {
				dead[host] = why
			}
		}
		problems = append(problems, fmt.Errorf("%s: %s", written, why))
	}
	return out, errors.Join(problems...)
}

// question is one image with all references to it.
type question struct {
	ref     name.Reference
	written []string
}

// trouble is the reason why a registry did not respond.
type trouble struct{ registry, reason string }

// asker is the state of one call of Ask.
type asker struct {
	get     func(context.Context, name.Reference) (*remote.Descriptor, error)
	timeout time.Duration

	mu sync.Mutex
	// dead are the registries to which no more requests are sent, with the reasons.
	dead    map[string]string
	known   map[string]lint.Platforms
	trouble map[trouble][]string
}

// questions returns the images, each once, in the order of their first mention.
func (a *asker) questions(references []string) []question {
	place := map[string]int{}
	var out []question
	for _, written := range references {
		ref, err := name.ParseReference(written)
		if err != nil {
			a.note("", "no reference of an image", written)
			continue
		}
		i, again := place[ref.Name()]
		if !again {
			i = len(out)
			place[ref.Name()] = i
			out = append(out, question{ref: ref})
		}
		out[i].written = append(out[i].written, written)
	}
	return out
}

// ask requests one image, unless its registry is dead.
func (a *asker) ask(ctx context.Context, q question) {
	registry := q.ref.Context().RegistryStr()
	a.mu.Lock()
	why, dead := a.dead[registry]
	a.mu.Unlock()
	var found lint.Platforms
	if !dead {
		var err error
		if found, err = a.within(ctx, q.ref); err != nil {
			why, dead = reason(err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if why == "" {
		for _, written := range q.written {
			a.known[written] = found
		}
		return
	}
	if dead {
		a.dead[registry] = why
	}
	a.note(registry, why, q.written[0])
}

func (a *asker) note(registry, why, image string) {
	key := trouble{registry, why}
	a.trouble[key] = append(a.trouble[key], image)
}

// within limits the time of a request, even if a credential helper hangs.
func (a *asker) within(ctx context.Context, ref name.Reference) (lint.Platforms, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	type answer struct {
		platforms lint.Platforms
		err       error
	}
	done := make(chan answer, 1)
	go func() {
		platforms, err := a.platforms(ctx, ref)
		done <- answer{platforms, err}
	}()
	select {
	case got := <-done:
		return got.platforms, got.err
	case <-ctx.Done():
		return lint.Platforms{}, ctx.Err()
	}
}

// platforms reads a manifest list, or the configuration of a single image.
func (a *asker) platforms(ctx context.Context, ref name.Reference) (lint.Platforms, error) {
	var out lint.Platforms
	got, err := a.get(ctx, ref)
	if err != nil {
		return out, err
	}
	if !got.MediaType.IsIndex() {
		image, err := got.Image()
		if err != nil {
			return out, err
		}
		config, err := image.ConfigFile()
		if err != nil {
			return out, err
		}
		add(&out, config.OS, config.OSVersion)
		return out, known(out)
	}
	index, err := got.ImageIndex()
	if err != nil {
		return out, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return out, err
	}
	for _, m := range manifest.Manifests {
		if m.Platform != nil {
			add(&out, m.Platform.OS, m.Platform.OSVersion)
		}
	}
	return out, known(out)
}

// add adds an entry of a manifest list. Entries without a system, such as attestations, are ignored.
func add(out *lint.Platforms, os, version string) {
	switch {
	case os == "windows" && !slices.Contains(out.Windows, version):
		out.Windows = append(out.Windows, version)
	case os != "windows" && os != "" && os != "unknown":
		out.Others = true
	}
}

var errNoPlatform = errors.New("the manifest names no platform")

func known(p lint.Platforms) error {
	if len(p.Windows) == 0 && !p.Others {
		return errNoPlatform
	}
	return nil
}

// quiet is a keychain that suppresses the output of credential helpers.
type quiet struct{ authn.Keychain }

var errCredentials = errors.New("the docker configuration's credentials for it cannot be read")

// Resolve implements authn.Keychain.
func (q quiet) Resolve(target authn.Resource) (authn.Authenticator, error) {
	auth, err := q.Keychain.Resolve(target)
	if err != nil {
		return nil, errCredentials
	}
	return auth, nil
}

// reason returns a short reason why the platforms of an image are unknown, without URLs that may contain tokens. dead
// is true if no more requests should be sent to the registry.
func reason(err error) (text string, dead bool) {
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		switch answer.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return "access denied; log in with docker login, or its like", false
		case http.StatusNotFound:
			return "not found", false
		case http.StatusTooManyRequests:
			return "too many requests", true
		}
		return fmt.Sprintf("HTTP status %d", answer.StatusCode), answer.StatusCode >= http.StatusInternalServerError
	}
	switch {
	case errors.Is(err, errCredentials):
		return errCredentials.Error(), true
	case errors.Is(err, errNoPlatform):
		return errNoPlatform.Error(), false
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "no answer in time", true
	}
	if call, ok := errors.AsType[*url.Error](err); ok {
		return call.Err.Error(), true
	}
	return "what it answers is no image", false
}

// notes returns a line for each registry and reason.
func (a *asker) notes() []string {
	keys := slices.SortedFunc(maps.Keys(a.trouble), func(x, y trouble) int {
		return cmp.Or(cmp.Compare(x.registry, y.registry), cmp.Compare(x.reason, y.reason))
	})
	var out []string
	for _, t := range keys {
		const shown = 3
		images := a.trouble[t]
		slices.Sort(images)
		list := strings.Join(images[:min(shown, len(images))], ", ")
		if more := len(images) - shown; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		out = append(out, strings.TrimPrefix(fmt.Sprintf("%s: %s; nothing is known of %s", t.registry, t.reason, list), ": "))
	}
	return out
}

package logs

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Kubelet reads the files below /var/log that the kubelet serves through the workload cluster's API server
// (enableSystemLogHandler, on by default). It cannot read the journal or other directories.
type Kubelet struct {
	// Client is a client of the workload cluster's core API.
	Client  rest.Interface
	Node    string
	Windows bool
}

// Via implements Reader.
func (k Kubelet) Via() string { return "the kubelet" }

// Read implements Reader.
func (k Kubelet) Read(ctx context.Context, s Source, o Options, p *Printer) error {
	title := k.Node + " " + s.Name
	at := s.at(k.Windows)
	var files []string
	for _, g := range at.Files {
		inside, ok := strings.CutPrefix(strings.TrimPrefix(g, "C:"), "/var/log/")
		if !ok {
			continue
		}
		found, err := k.glob(ctx, inside)
		if err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		p.Note("%s: not among what the kubelet serves; read it over SSH", title)
	}
	return each(o.Follow, files, func(file string) error {
		return poll(ctx, p.Log(title+": /var/log/"+file, o), o.Follow, func(offset int64) (io.ReadCloser, error) {
			return k.open(ctx, file, offset)
		})
	})
}

// Check returns an error if the kubelet serves no logs.
func (k Kubelet) Check(ctx context.Context) error {
	_, err := k.list(ctx, "")
	if err != nil {
		return fmt.Errorf("the kubelet of %s serves no logs: %w", k.Node, err)
	}
	return nil
}

func (k Kubelet) request(file string) *rest.Request {
	return k.Client.Get().Resource("nodes").Name(k.Node).SubResource("proxy").Suffix("logs/" + file)
}

// open reads a file from an offset; the content is empty if the file has not grown.
func (k Kubelet) open(ctx context.Context, file string, offset int64) (io.ReadCloser, error) {
	request := k.request(file)
	if offset > 0 {
		request = request.SetHeader("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	body, err := request.Stream(ctx)
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && status.ErrStatus.Code == http.StatusRequestedRangeNotSatisfiable {
		return io.NopCloser(strings.NewReader("")), nil
	}
	return body, err
}

// link matches an entry of the directory listing that net/http's file server writes.
var link = regexp.MustCompile(`<a href="([^"]+)">`)

// glob resolves a pattern below /var/log, directory by directory.
func (k Kubelet) glob(ctx context.Context, pattern string) ([]string, error) {
	found := []string{""}
	for part := range strings.SplitSeq(pattern, "/") {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(part, "*?[") {
				next = append(next, path.Join(dir, part))
				continue
			}
			names, err := k.list(ctx, dir)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, n := range names {
				if ok, err := path.Match(part, n); err == nil && ok {
					next = append(next, path.Join(dir, n))
				}
			}
		}
		found = next
	}
	// A file whose pattern has no star may be missing.
	var missing []string
	for _, f := range found {
		dir, name := path.Split(f)
		names, err := k.list(ctx, strings.TrimSuffix(dir, "/"))
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		if !slices.Contains(names, name) {
			missing = append(missing, f)
		}
	}
	return slices.DeleteFunc(found, func(f string) bool { return slices.Contains(missing, f) }), nil
}

func (k Kubelet) list(ctx context.Context, dir string) ([]string, error) {
	if dir != "" {
		dir += "/"
	}
	page, err := k.request(dir).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range link.FindAllStringSubmatch(string(page), -1) {
		if name, err := url.PathUnescape(html.UnescapeString(strings.TrimPrefix(m[1], "./"))); err == nil {
			out = append(out, strings.TrimSuffix(name, "/"))
		}
	}
	return out, nil
}

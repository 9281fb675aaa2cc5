// Package support writes one archive of what is known of a cluster, for somebody
// who cannot look at it: objects, events, boot logs, the local Azure's calls,
// doctor's result. Everything passes through redaction, and Secrets are never
// read into it. The command line imports it.
package support

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"casement.dev/casement/internal/redact"
)

// Archive is a gzipped tar in the making. Its methods are not safe for use from
// several goroutines.
type Archive struct {
	root  string
	at    time.Time
	gz    *gzip.Writer
	tar   *tar.Writer
	files []string
}

// New begins an archive on w whose files lie below root and bear the time at.
func New(w io.Writer, root string, at time.Time) *Archive {
	gz := gzip.NewWriter(w)
	return &Archive{root: root, at: at, gz: gz, tar: tar.NewWriter(gz)}
}

// Text adds a log, without its secrets.
func (a *Archive) Text(name, text string) error { return a.add(name, []byte(redact.Text(text))) }

// Object adds an object or a list as YAML, without its secrets.
func (a *Archive) Object(name string, v any) error {
	data, err := encode(v)
	if err != nil {
		return fmt.Errorf("support: encode %s: %w", name, err)
	}
	return a.add(name, data)
}

func (a *Archive) add(name string, data []byte) error {
	name = path.Join(a.root, path.Clean("/"+strings.ReplaceAll(name, " ", "_")))
	h := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), ModTime: a.at, Typeflag: tar.TypeReg}
	if err := a.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("support: write %s: %w", name, err)
	}
	if _, err := a.tar.Write(data); err != nil {
		return fmt.Errorf("support: write %s: %w", name, err)
	}
	a.files = append(a.files, name)
	return nil
}

// Close ends the archive and returns the names of its files.
func (a *Archive) Close() ([]string, error) {
	if err := a.tar.Close(); err != nil {
		return nil, err
	}
	return a.files, a.gz.Close()
}

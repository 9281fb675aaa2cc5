// Package support writes an archive of the known facts about a cluster, for someone without access to it: objects,
// events, boot logs, the local Azure's calls, doctor's result. Redaction removes secrets with common formats and names,
// and may miss others; Secret objects are never read. The command line imports it.
package support

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"casement.dev/casement/internal/redact"
)

// Archive is a gzipped tar file that is being written. Its methods are not safe for concurrent use.
type Archive struct {
	root string
	at   time.Time
	gz   *gzip.Writer
	tar  *tar.Writer
	sum  Summary
}

// Summary lists the contents of an archive.
type Summary struct {
	Files []string
	// Redacted is the number of values that were removed as secrets.
	Redacted int
}

// New starts an archive on w whose files are below root and have the modification time at.
func New(w io.Writer, root string, at time.Time) *Archive {
	gz := gzip.NewWriter(w)
	return &Archive{root: root, at: at, gz: gz, tar: tar.NewWriter(gz)}
}

// Text adds a text file with secrets removed.
func (a *Archive) Text(name, text string) error { return a.add(name, []byte(redact.Text(text))) }

// Object adds an object or a list as YAML with secrets removed.
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
	a.sum.Files = append(a.sum.Files, name)
	a.sum.Redacted += bytes.Count(data, []byte(redact.Mark))
	return nil
}

// Close finishes the archive and returns its contents.
func (a *Archive) Close() (Summary, error) {
	if err := a.tar.Close(); err != nil {
		return Summary{}, err
	}
	return a.sum, a.gz.Close()
}

package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"casement.dev/casement/internal/input"
)

// Limits of the input: an API server accepts no object of more than 1.5 MiB, and a list is rarely larger than a few
// objects of that size.
const (
	maxDocument = 8 << 20
	// MaxFile is the maximum size of a file in bytes.
	MaxFile = 64 << 20
	maxList = 8 // nesting depth of Lists
	// maxNodes is the maximum number of YAML nodes; a node needs about half a KiB of memory during parsing.
	maxNodes = 1_500_000
	// maxInput is the maximum size, in bytes, of an input with few nodes.
	maxInput = 128 << 20
)

// document is one YAML document of a file.
type document struct {
	file string
	text string
	// line and offset are the start of the document in its file, from zero.
	line, offset int
	// among is true if the file was found in a directory or by a pattern.
	among bool
}

// ReadError is the error for an input, or a part of one, that could not be read.
type ReadError struct {
	File string
	Line int
	Err  error
}

// Error implements error.
func (e *ReadError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.File, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// Options are the options for reading.
type Options struct {
	// Stdin is the reader for the name "-".
	Stdin io.Reader
	// AssumeWindows treats pods without an OS as Windows pods.
	AssumeWindows bool
	// Templates are the paths of pod templates in custom kinds, by kind, such as Rollout: spec.template.
	Templates map[string][]string
}

// Read reads files, directories (their .yaml, .yml and .json), globs and "-". It returns errors for unreadable inputs,
// and reads the others. In directories and globs, it skips files that contain no objects.
func Read(names []string, o Options) (*Set, []error) {
	var r reader
	for _, name := range names {
		if name == "-" {
			data, err := input.All(o.Stdin, "-", MaxFile)
			if err != nil {
				r.fail("-", 0, err)
				continue
			}
			r.among = false
			r.add("-", string(data))
			continue
		}
		files, err := expand(name)
		if err != nil {
			r.fail(name, 0, err)
			continue
		}
		for _, file := range files {
			if err := found(name, file); err != nil {
				r.fail(file, 0, err)
				continue
			}
			data, err := input.File(file, MaxFile)
			if err != nil {
				r.fail(file, 0, err)
				continue
			}
			r.among = file != name
			r.add(file, string(data))
		}
	}
	return r.read(o)
}

// Parse reads one stream that is already in memory.
func Parse(file string, data []byte, o Options) (*Set, []error) {
	var r reader
	r.add(file, string(data))
	return r.read(o)
}

// found returns an error if a file must not be read that was found in the directory name or by the pattern name.
func found(name, file string) error {
	if file == name {
		return nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return input.Regular(info)
}

// expand returns the files that a name matches.
func expand(name string) ([]string, error) {
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return []string{name}, nil
	} else if err == nil {
		var files []string
		err := filepath.WalkDir(name, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(path))) {
				files = append(files, path)
			}
			return err
		})
		return files, err
	}
	files, err := filepath.Glob(name)
	if err == nil && len(files) == 0 {
		err = fs.ErrNotExist
	}
	return files, err
}

// reader collects, in order, documents and the errors found before parsing.
type reader struct {
	parts []part
	// nodes and bytes count the YAML nodes and bytes of the collected documents.
	nodes, bytes int
	// among is true while the files of a directory or a pattern are read.
	among bool
}

// part is a document, or the error about a document or about the rest of a stream.
type part struct {
	*document
	tree *tree
	err  *ReadError
}

func (r *reader) fail(file string, line int, err error) {
	r.parts = append(r.parts, part{err: &ReadError{file, line, err}})
}

// add adds the documents of a stream.
func (r *reader) add(file, data string) {
	switch {
	case len(data) > MaxFile:
		r.fail(file, 0, fmt.Errorf("more than the %d MiB that are read", MaxFile>>20))
		return
	case r.bytes+len(data) > maxInput:
		r.fail(file, 0, fmt.Errorf("the input has more than the %d MiB that are read at once; this file is not: "+
			"name fewer files", maxInput>>20))
		return
	case strings.IndexByte(data, 0) >= 0 || !utf8.ValidString(data):
		r.fail(file, 0, errors.New("no text in UTF-8"))
		return
	}
	r.bytes += len(data)
	for _, d := range split(file, data) {
		d.among = r.among
		if len(d.text) > maxDocument {
			r.fail(file, d.line+1, fmt.Errorf("a document of %d MiB; Kubernetes takes no object over 1.5", len(d.text)>>20))
			continue
		}
		if r.nodes += nodes(d.text); r.nodes > maxNodes {
			r.fail(file, d.line+1, fmt.Errorf("the input has more than the %d keys and values that are read at "+
				"once; this and what follows is not: name fewer files, or split them", maxNodes))
			return
		}
		r.parts = append(r.parts, part{document: d})
	}
}

// read parses the documents on all cores and adds their objects in order.
func (r *reader) read(o Options) (*Set, []error) {
	each(len(r.parts), func(i int) {
		p := &r.parts[i]
		if p.err != nil {
			return
		}
		var err error
		if p.tree, err = parse(p.text); err != nil {
			p.err = &ReadError{p.file, p.line + lineOf(err), errors.New(strings.TrimPrefix(err.Error(), "yaml: "))}
		}
	})
	set := &Set{nodes: r.nodes}
	var errs []error
	for _, p := range r.parts {
		if p.err != nil {
			errs = append(errs, p.err)
		}
		if p.tree == nil {
			continue
		}
		meant, endless := p.tree.meant(maxNodes + 1)
		if endless != 0 {
			errs = append(errs, &ReadError{p.file, p.line + int(p.tree.place(endless).line), fmt.Errorf("the alias *%s is within what it names, "+
				"which contains itself without end", p.tree.value(endless))})
			continue
		}
		more := meant - len(p.tree.nodes)
		if more > 0 && set.nodes+more > maxNodes {
			errs = append(errs, &ReadError{p.file, p.line + 1, fmt.Errorf("its aliases mean more than the %d keys and values "+
				"that are read at once", maxNodes)})
			continue
		}
		set.nodes += more
		set.take(p.document, p.tree.root(), o, 0,
			func(file string, line int, err error) { errs = append(errs, &ReadError{file, line, err}) })
	}
	return set, errs
}

// nodes estimates the number of keys and values in a text; the estimate is rarely too low.
func nodes(text string) int {
	n := 1
	for _, c := range []string{"\n", ":", ",", "[", "{", "- "} {
		n += strings.Count(text, c)
	}
	return n
}

// plains are unused parsers of plain YAML with their allocated nodes.
var plains = sync.Pool{New: func() any { return new(plain) }}

// parse parses YAML, or JSON that YAML refuses because it is indented with tabs. If invalid text follows a complete
// object, it returns both the object and the error.
func parse(text string) (*tree, error) {
	p := plains.Get().(*plain)
	defer plains.Put(p)
	if p.read(text) {
		return p.copy(), nil
	}
	first, err := parseYAML(text)
	if err != nil && json.Valid([]byte(text)) {
		return parseYAML(strings.ReplaceAll(text, "\t", " "))
	}
	return first, err
}

func parseYAML(text string) (*tree, error) {
	first, rest := &yaml.Node{}, &yaml.Node{}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(first); err != nil {
		if errors.Is(err, io.EOF) { // only comments
			err = nil
		}
		return nil, err
	}
	err := decoder.Decode(rest)
	switch {
	case errors.Is(err, io.EOF):
		err = nil
	case err == nil:
		err = fmt.Errorf("line %d: a second object without a line of --- before it", rest.Line)
	}
	return fromYAML(first), err
}

// lineOf returns the line in a message of the YAML parser; 1 if there is none.
func lineOf(err error) int {
	line := 1
	if _, rest, ok := strings.Cut(err.Error(), "line "); ok {
		fmt.Sscanf(rest, "%d", &line)
	}
	return line
}

// split splits a stream at YAML separators, which are at the beginning of a line, or after each of several JSON
// objects.
func split(file, data string) []*document {
	if out := splitJSON(file, data); len(out) > 1 {
		return out
	}
	var out []*document
	current := &document{file: file}
	line, start := 0, 0
	flush := func(end int) {
		current.text = data[start:end]
		if strings.TrimSpace(current.text) != "" {
			out = append(out, current)
		}
	}
	for offset := 0; offset < len(data); line++ {
		end := len(data)
		if i := strings.IndexByte(data[offset:], '\n'); i >= 0 {
			end = offset + i + 1
		}
		if text := data[offset:end]; strings.HasPrefix(text, "---") &&
			(len(text) == 3 || strings.IndexByte(" \t\r\n", text[3]) >= 0) {
			flush(offset)
			start, current = end, &document{file: file, line: line + 1, offset: end}
			if strings.TrimSpace(text[3:]) != "" && text[3] == ' ' && !strings.HasPrefix(strings.TrimSpace(text[3:]), "#") {
				start, current.line, current.offset = offset, line, offset // the separator's line has content
			}
		}
		offset = end
	}
	flush(len(data))
	return out
}

// splitJSON splits a stream of JSON objects, as jq and kubectl write it; it returns nil for any other stream.
func splitJSON(file, data string) []*document {
	if first := strings.TrimLeft(data, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return nil
	}
	var out []*document
	decoder := json.NewDecoder(strings.NewReader(data))
	for start := 0; ; {
		var object json.RawMessage
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			return nil
		}
		end := int(decoder.InputOffset())
		from := strings.LastIndexByte(data[:end-len(object)], '\n') + 1 // columns count from the beginning of the line
		if from < start {
			return nil // two objects on a line
		}
		out = append(out, &document{file: file, text: data[from:end], line: strings.Count(data[:from], "\n"), offset: from})
		start = end
	}
}

// take adds an object, or each item of a List, to the set.
func (s *Set) take(d *document, v Value, o Options, depth int, fail func(string, int, error)) {
	line, _ := v.position()
	kind := v.At("kind").Str()
	if d.among && kind == "" && v.At("apiVersion").Str() == "" {
		if !slices.Contains(s.Skipped, d.file) {
			s.Skipped = append(s.Skipped, d.file) // such as a chart's values, a workflow or a package's description
		}
		return
	}
	if !v.IsMap() || kind == "" || v.At("apiVersion").Str() == "" {
		fail(d.file, d.line+line, errors.New("no Kubernetes object: apiVersion and kind are needed"))
		return
	}
	if items := v.At("items"); strings.HasSuffix(kind, "List") && items.IsList() {
		if depth == maxList {
			fail(d.file, d.line+line, fmt.Errorf("more than %d Lists in each other", maxList))
			return
		}
		for _, item := range items.Items() {
			s.take(d, item, o, depth+1, fail)
		}
		return
	}
	s.keep(&Object{Root: v, File: d.file, source: d}, o)
}

// keep adds an object, and the pod that it contains.
func (s *Set) keep(object *Object, o Options) {
	at := func(path ...string) string { return object.Root.At(path...).Str() }
	object.APIVersion, object.Kind = at("apiVersion"), at("kind")
	object.Namespace, object.Name = at("metadata", "namespace"), at("metadata", "name")
	s.Objects = append(s.Objects, object)
	if p := object.pod(o.Templates); p != nil {
		if p.Level == Unknown && o.AssumeWindows {
			p.Level = Placed
		}
		s.Pods = append(s.Pods, p)
	}
}

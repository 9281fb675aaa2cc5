// Command book renders the pages of docs/ to a folder of HTML that needs no server: a table of
// contents from SUMMARY.md with the pages of rules and commands, anchors as on GitHub, and a
// search. It fails if a link leads to a file that does not exist, or to a heading that a page of
// docs/ does not have. The books of other
// versions, which are tags, are in folders with the tags' names, and each page links to the same
// page in them. `make book` runs it.
package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// source is the URL of files that are not in the book.
const source = "https://github.com/casement-dev/casement/blob/"

func main() {
	out := flag.String("out", "dist/book", "folder to write; what is in it is replaced")
	version := flag.String("version", "main", "version that the book is of, a tag or a branch")
	also := flag.String("also", "", "tags whose books come beside it, with commas between them, the newest first")
	flag.Parse()
	if err := publish(*out, *version, strings.FieldsFunc(*also, func(r rune) bool { return r == ',' || r == ' ' })); err != nil {
		fmt.Fprintln(os.Stderr, "book:", err)
		os.Exit(1)
	}
	fmt.Println("the book is", filepath.Join(*out, "index.html"))
}

// edition is the book of one version: the first edition is in the folder itself, the others are
// below it.
type edition struct {
	version, dir string
	files        fs.FS
}

// publish writes the book of the checkout and the books of tags.
func publish(out, version string, tags []string) error {
	editions := []edition{{version: version, files: os.DirFS(".")}}
	for _, tag := range tags {
		files, err := tagged(tag)
		if err != nil {
			return err
		}
		editions = append(editions, edition{version: tag, dir: tag + "/", files: files})
	}
	return bind(editions, out)
}

// tagged returns the files at a tag.
func tagged(tag string) (fs.FS, error) {
	data, err := exec.Command("git", "archive", "--format=zip", tag, "--").Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("read the files of %s: %w: %s", tag, err, failed.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("read the files of %s: %w", tag, err)
	}
	return zip.NewReader(bytes.NewReader(data), int64(len(data)))
}

// bind writes all editions, and the list through which their pages link to each other.
func bind(editions []edition, out string) error {
	type listed struct {
		Name  string   `json:"name"`
		Dir   string   `json:"dir"`
		Pages []string `json:"pages"`
	}
	var all []listed
	for _, e := range editions {
		b := &book{edition: e, pages: map[string]*page{}, assets: map[string]bool{}}
		if err := b.build(filepath.Join(out, e.dir)); err != nil {
			return fmt.Errorf("the book of %s: %w", e.version, err)
		}
		one := listed{Name: e.version, Dir: e.dir}
		for file := range b.pages {
			one.Pages = append(one.Pages, htmlName(file))
		}
		slices.Sort(one.Pages)
		all = append(all, one)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "versions.js"), []byte("const versions = "+string(data)+";\n"), 0o644)
}

// book is the book of one edition.
type book struct {
	edition
	pages map[string]*page
	// assets are files to which pages link and that are copied with them.
	assets map[string]bool
	parts  []part
	wrong  []error
}

// part is a heading of the table of contents with its pages.
type part struct {
	Title string
	Pages []entry
}

// entry is a line of the table of contents; Below contains pages without a line.
type entry struct {
	Title, File string
	Below       []entry
}

// page is a file below docs.
type page struct {
	file, title string
	source      []byte
	tree        ast.Node
	anchors     map[string]bool
}

// build checks the book and writes it.
func (b *book) build(out string) error {
	if err := b.read(); err != nil {
		return err
	}
	for _, p := range b.pages {
		b.link(p)
	}
	if len(b.wrong) > 0 {
		slices.SortFunc(b.wrong, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
		return errors.Join(b.wrong...)
	}
	return b.write(out)
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithUnsafe()))

// read parses all pages and the table of contents.
func (b *book) read() error {
	err := fs.WalkDir(b.files, "docs", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".md" || file == "docs/SUMMARY.md" {
			return err
		}
		data, err := fs.ReadFile(b.files, file)
		if err != nil {
			return err
		}
		ids := anchors{}
		p := &page{file: strings.TrimPrefix(file, "docs/"), source: data, anchors: ids}
		p.tree = markdown.Parser().Parse(text.NewReader(data), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
		for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
			if h, ok := n.(*ast.Heading); ok {
				p.title = plain(h, data)
				break
			}
		}
		if p.title == "" {
			b.wrong = append(b.wrong, fmt.Errorf("docs/%s has no heading", p.file))
		}
		b.pages[p.file] = p
		return nil
	})
	if err != nil {
		return err
	}
	return b.contents()
}

var line = regexp.MustCompile(`^(?:- )?\[(.+)\]\((.+)\)$`)

// contents parses the table of contents. Pages of a folder that have no line are placed below the
// folder's line.
func (b *book) contents() error {
	summary, err := fs.ReadFile(b.files, "docs/SUMMARY.md")
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	b.parts = []part{{}}
	for text := range strings.Lines(string(summary)) {
		text = strings.TrimSpace(text)
		if title, is := strings.CutPrefix(text, "# "); is && title != "Summary" {
			b.parts = append(b.parts, part{Title: title})
		}
		if m := line.FindStringSubmatch(text); m != nil {
			if listed[m[2]] = true; b.pages[m[2]] == nil {
				b.wrong = append(b.wrong, fmt.Errorf("docs/SUMMARY.md leads to %s, which is not there", m[2]))
				continue
			}
			last := &b.parts[len(b.parts)-1]
			last.Pages = append(last.Pages, entry{Title: m[1], File: m[2]})
		}
	}
	for i := range b.parts {
		for j := range b.parts[i].Pages {
			e := &b.parts[i].Pages[j]
			if dir := path.Dir(e.File); path.Base(e.File) == "README.md" || path.Base(e.File) == "casement.md" {
				for file, p := range b.pages {
					if path.Dir(file) == dir && dir != "." && !listed[file] {
						e.Below = append(e.Below, entry{Title: p.title, File: file})
						listed[file] = true
					}
				}
				slices.SortFunc(e.Below, func(a, b entry) int { return cmp.Compare(a.File, b.File) })
			}
		}
	}
	for file := range b.pages {
		if !listed[file] {
			b.wrong = append(b.wrong, fmt.Errorf("docs/SUMMARY.md does not lead to %s", file))
		}
	}
	return nil
}

// link checks a page's links and changes them to links in the book.
func (b *book) link(p *page) {
	_ = ast.Walk(p.tree, func(n ast.Node, enter bool) (ast.WalkStatus, error) { // the callback returns no error
		if enter {
			switch n := n.(type) {
			case *ast.Link:
				n.Destination = b.target(p, n.Destination)
			case *ast.Image:
				n.Destination = b.target(p, n.Destination)
			}
		}
		return ast.WalkContinue, nil
	})
}

func (b *book) target(p *page, destination []byte) []byte {
	u, err := url.Parse(string(destination))
	if err != nil {
		b.wrong = append(b.wrong, fmt.Errorf("docs/%s: %w", p.file, err))
		return destination
	}
	if u.Scheme != "" {
		return destination
	}
	file := p.file
	if u.Path != "" {
		file = path.Join(path.Dir(p.file), u.Path)
	}
	to := b.pages[file]
	switch {
	case to != nil && u.Fragment != "" && !to.anchors[u.Fragment]:
		b.wrong = append(b.wrong, fmt.Errorf("docs/%s links to %s, and docs/%s has no such heading", p.file, destination, file))
	case to != nil:
		if u.Path != "" {
			u.Path = relative(p.file, htmlName(file))
		}
	default:
		info, err := fs.Stat(b.files, path.Join("docs", file))
		switch {
		case err != nil:
			b.wrong = append(b.wrong, fmt.Errorf("docs/%s links to %s, which is not there", p.file, destination))
		case info.IsDir() || strings.HasPrefix(file, ".."):
			return []byte(source + b.version + "/" + path.Join("docs", file))
		default:
			b.assets[file] = true
		}
	}
	return []byte(u.String())
}

// htmlName returns the path of a page in the book.
func htmlName(file string) string {
	if file == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(file, ".md") + ".html"
}

// relative returns the relative link from a page to a file of the book.
func relative(from, to string) string { return strings.Repeat("../", strings.Count(from, "/")) + to }

// anchors is the set of anchors of a page's headings, named as on GitHub.
type anchors map[string]bool

// Generate implements parser.IDs.
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-':
			return '-'
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(value)))
	id := slug
	for i := 1; a[id]; i++ {
		id = fmt.Sprintf("%s-%d", slug, i)
	}
	a[id] = true
	return []byte(id)
}

// Put implements parser.IDs.
func (a anchors) Put(value []byte) { a[string(value)] = true }

// plain returns the text of a node.
func plain(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, enter bool) (ast.WalkStatus, error) { // the callback returns no error
		if !enter {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Segment.Value(source))
			out.WriteByte(' ')
		case *ast.String:
			out.Write(n.Value)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for i := range n.Lines().Len() {
				at := n.Lines().At(i)
				out.Write(at.Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(out.String()), " ")
}

var (
	//go:embed page.html
	pageTemplate string
	//go:embed search.js
	search string
)

// found is an entry of the search index: a section with its text.
type found struct {
	Page  string `json:"p"`
	Title string `json:"t"`
	// Of is the title of the page; empty for a page's first section.
	Of   string `json:"o,omitempty"`
	Text string `json:"x"`
}

// sections splits a page at its headings.
func (p *page) sections() []found {
	out := []found{{Page: htmlName(p.file), Title: p.title}}
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && plain(h, p.source) != p.title {
			id, _ := h.AttributeString("id")
			anchor, _ := id.([]byte)
			out = append(out, found{Page: htmlName(p.file) + "#" + string(anchor), Title: plain(h, p.source), Of: p.title})
		}
		if n.Kind() == ast.KindHeading {
			continue
		}
		last := &out[len(out)-1]
		last.Text = strings.TrimSpace(last.Text + " " + plain(n, p.source))
	}
	return out
}

func (b *book) write(out string) error {
	t, err := template.New("page").Funcs(template.FuncMap{"html": htmlName}).Parse(pageTemplate)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	write := func(name string, data []byte) error {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(out, name)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(out, name), data, 0o644)
	}
	var index []found
	for _, p := range b.pages {
		var body, whole bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
			return fmt.Errorf("docs/%s: %w", p.file, err)
		}
		err := t.Execute(&whole, map[string]any{"Title": p.title, "Version": b.version, "Root": relative(p.file, ""),
			"Home": relative(b.dir+p.file, ""), "Page": htmlName(p.file), "Parts": b.parts,
			"File": p.file, "Dir": path.Dir(p.file), "Source": source + b.version + "/docs/" + p.file,
			"Body": template.HTML(body.String())}) // content of this repository is trusted
		if err != nil {
			return err
		}
		if err := write(htmlName(p.file), whole.Bytes()); err != nil {
			return err
		}
		index = append(index, p.sections()...)
	}
	slices.SortFunc(index, func(a, b found) int { return cmp.Compare(a.Page, b.Page) })
	data, err := json.Marshal(index)
	if err != nil {
		return err
	}
	if err := write("search.js", []byte("const index = "+string(data)+";\n"+search)); err != nil {
		return err
	}
	for name := range b.assets {
		data, err := fs.ReadFile(b.files, path.Join("docs", name))
		if err == nil {
			err = write(name, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package ui

import (
	"embed"
	"html/template"
	"net/http"
	"regexp"
	"strings"
)

//go:embed assets
var assets embed.FS

// modules are the page's scripts, each after those that it imports.
var modules = []string{"dom.js", "store.js", "list.js", "tree.js", "picture.js", "nodes.js", "boot.js", "calls.js", "account.js",
	"detail.js", "main.js"}

// script is the page's program, with all modules in one, so that the page is the same when it is served and when it is
// saved in one file.
var script = bundle()

var style = read("app.css")

var page = template.Must(template.New("page").Parse(read("page.html")))

func read(name string) string {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(data)
}

var (
	importLine = regexp.MustCompile(`(?m)^import (\{.*\}) from "\./(\w+)\.js";$`)
	exportWord = regexp.MustCompile(`(?m)^export ((?:const|function|class) (\w+))`)
)

// bundle joins the modules into one script; each becomes a function that returns its
// exports.
func bundle() string {
	var out strings.Builder
	out.WriteString("\"use strict\";\n(() => {\n")
	for _, name := range modules {
		text := read(name)
		var exports []string
		for _, m := range exportWord.FindAllStringSubmatch(text, -1) {
			exports = append(exports, m[2])
		}
		text = importLine.ReplaceAllString(exportWord.ReplaceAllString(text, "$1"), "const $1 = ${2}_module;")
		out.WriteString("const " + strings.TrimSuffix(name, ".js") + "_module = (() => {\n" + text + "return { " +
			strings.Join(exports, ", ") + " };\n})();\n")
	}
	out.WriteString("})();\n")
	return out.String()
}

// view is the data of the page's template. A served page loads its style and script; a saved page contains them and the
// shown model.
type view struct {
	Saved  bool
	Nonce  string
	Style  template.CSS
	Script template.JS
	// Data is the saved model and answers as JSON, in which no character can end a script.
	Data template.JS
}

func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, view{}) // the browser has disconnected
}

func asset(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(text)) // the browser has disconnected
	}
}

// Command packages prints a Markdown list of the module's packages, each with the first sentence of
// its documentation. `make generate` runs it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/doc"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

type pkg struct {
	ImportPath, Doc string
	Module          struct{ Path string }
}

func run(out io.Writer) error {
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Module", "./...")
	cmd.Stderr = os.Stderr
	data, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	fmt.Fprint(out, "# Packages\n\nMade by `make generate` from the packages' own documentation. Which may "+
		"import which is held by floors_test.go.\n\n| package | what it is |\n|---|---|\n")
	for dec := json.NewDecoder(strings.NewReader(string(data))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
		if name == "" {
			continue // the root contains only tests
		}
		if p.Doc == "" {
			return fmt.Errorf("%s has no package documentation", name)
		}
		fmt.Fprintf(out, "| [`%s`](../../%s) | %s |\n", name, name, sentence(p.Doc))
	}
}

// sentence returns the first sentence of a package's documentation without the words "Package
// name".
func sentence(text string) string {
	text = new(doc.Package).Synopsis(text)
	kind, rest, _ := strings.Cut(text, " ")
	if kind != "Package" && kind != "Command" {
		return text
	}
	_, rest, _ = strings.Cut(rest, " ")
	return strings.ReplaceAll(strings.TrimPrefix(rest, "is "), "|", `\|`)
}

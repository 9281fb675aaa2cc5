// Command writable prints internal/azure/writable/writable.tsv: the writable members
// of the resource types that casement uses, in the API versions that it uses. It reads the local
// Azure's copy of Azure's description of resource types:
//
//	go run ./hack/writable > internal/azure/writable/writable.tsv
package main

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"casement.dev/casement/internal/azure/desired"
)

const description = "azuresim/internal/schema/azure-types.json.gz"

// notWritten is the set of flags of members that are read-only or part of the request's path.
const notWritten = 2 | 8

// answered are members that a write should not contain because they would be outdated, although Key
// Vault's and DNS's descriptions do not mark them as read-only.
var answered = []string{"etag", "provisioningState"}

type document struct {
	Source    string         `json:"source"`
	Types     []node         `json:"types"`
	Resources map[string]int `json:"resources"`
}

type node struct {
	Kind       string            `json:"$type"`
	Name       string            `json:"name"`
	Properties map[string][2]int `json:"properties"`
	Additional *int              `json:"additionalProperties"`
	Item       int               `json:"itemType"`
}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "writable:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	file, err := os.Open(description)
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", description, err)
	}
	p := printer{names: map[int]string{}, rows: map[string]string{}}
	if err := json.NewDecoder(z).Decode(&p.document); err != nil {
		return fmt.Errorf("read %s: %w", description, err)
	}
	for _, key := range slices.Sorted(maps.Keys(p.Resources)) {
		if kind, version, _ := strings.Cut(key, "@"); desired.APIVersion(kind) == version {
			p.print(p.Resources[key], strings.ToLower(key))
		}
	}
	fmt.Fprintf(out, "# What can be written of each object: its members, each with the object in it (%s, MIT).\n", p.Source)
	fmt.Fprintln(out, "# Made by hack/writable.")
	for _, name := range slices.Sorted(maps.Keys(p.rows)) {
		fmt.Fprintf(out, "%s\t%s\n", name, p.rows[name])
	}
	return nil
}

type printer struct {
	document
	names map[int]string
	rows  map[string]string
}

// print prints an object and the objects in it, and returns its name: its own name, followed by a
// number if two objects have the same.
func (p *printer) print(index int, name string) string {
	if known, ok := p.names[index]; ok {
		return known
	}
	n := p.Types[index]
	name = cmp.Or(name, n.Name)
	for i := 2; p.rows[name] != ""; i++ {
		name = fmt.Sprintf("%s/%d", n.Name, i)
	}
	p.names[index], p.rows[name] = name, "reserved"
	var members []string
	for _, member := range slices.Sorted(maps.Keys(n.Properties)) {
		if at := n.Properties[member]; at[1]&notWritten == 0 && !slices.Contains(answered, member) {
			members = append(members, p.member(member, at[0]))
		}
	}
	if n.Additional != nil {
		members = append(members, p.member("*", *n.Additional))
	}
	p.rows[name] = strings.Join(members, " ")
	return name
}

func (p *printer) member(name string, index int) string {
	for p.Types[index].Kind == "ArrayType" {
		index = p.Types[index].Item
	}
	if n := p.Types[index]; n.Kind == "ObjectType" && (len(n.Properties) > 0 || p.Types[*n.Additional].Kind == "ObjectType") {
		return name + ":" + p.print(index, "")
	}
	return name
}

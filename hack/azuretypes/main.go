// Command azuretypes updates the local Azure's copy of Azure's description of resource types
// (azuresim/internal/schema/azure-types.json.gz) from a clone of Azure/bicep-types-az (MIT). It writes the
// types and API versions that the copy contains, and those in the arguments:
//
//	go run ./hack/azuretypes -from CLONE Microsoft.Compute/galleries@2025-12-03
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
)

const description = "azuresim/internal/schema/azure-types.json.gz"

type document struct {
	Source    string           `json:"source"`
	Types     []map[string]any `json:"types"`
	Resources map[string]int   `json:"resources"`
}

func main() {
	from := flag.String("from", "", "a clone of github.com/Azure/bicep-types-az, bare or not")
	flag.Parse()
	if err := run(*from, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "azuretypes:", err)
		os.Exit(1)
	}
}

func run(from string, more []string) error {
	old, err := read()
	if err != nil {
		return err
	}
	c := &clone{dir: from, files: map[string][]map[string]any{}, out: document{Resources: map[string]int{}}}
	commit, err := c.git("rev-parse", "HEAD")
	if err != nil {
		return err
	}
	c.out.Source = "Azure/bicep-types-az " + strings.TrimSpace(string(commit))
	all, err := c.git("ls-tree", "-r", "--name-only", "HEAD", "generated")
	if err != nil {
		return err
	}
	c.paths = strings.Fields(string(all))
	wanted := append(slices.Collect(maps.Keys(old.Resources)), more...)
	slices.Sort(wanted)
	for _, resource := range slices.Compact(wanted) {
		if err := c.add(resource); err != nil {
			return fmt.Errorf("%s: %w", resource, err)
		}
	}
	merged, err := merge(c.out)
	if err != nil {
		return err
	}
	return write(merged)
}

// merge keeps one of equal types, compared without regard to their indexes. Types are in one group
// while their texts are equal, in which a reference is the number of its type's group; groups are
// split until none changes.
func merge(d document) (document, error) {
	group := make([]int, len(d.Types))
	for groups := 0; ; {
		numbers := map[string]int{}
		next := make([]int, len(d.Types))
		var first []map[string]any
		for i, t := range d.Types {
			renumbered := node(t, func(at int) int { return group[at] })
			text, err := json.Marshal(renumbered) // Marshal sorts the members
			if err != nil {
				return d, err
			}
			n, ok := numbers[string(text)]
			if !ok {
				n = len(numbers)
				numbers[string(text)] = n
				first = append(first, renumbered)
			}
			next[i] = n
		}
		if len(numbers) == groups && slices.Equal(next, group) {
			d.Types = first
			for name, at := range d.Resources {
				d.Resources[name] = group[at]
			}
			return d, nil
		}
		group, groups = next, len(numbers)
	}
}

// node returns a type in which to replaces the indexes.
func node(t map[string]any, to func(int) int) map[string]any {
	out := maps.Clone(t)
	for name, v := range t {
		switch v := v.(type) {
		case int:
			out[name] = to(v)
		case []int:
			elements := slices.Clone(v)
			for i, at := range v {
				elements[i] = to(at)
			}
			out[name] = elements
		case map[string][2]int:
			properties := maps.Clone(v)
			for name, p := range v {
				properties[name] = [2]int{to(p[0]), p[1]}
			}
			out[name] = properties
		}
	}
	return out
}

// read returns the current description.
func read() (d document, err error) {
	file, err := os.Open(description)
	if err != nil {
		return d, err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err == nil {
		err = json.NewDecoder(z).Decode(&d)
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", description, err)
	}
	return d, err
}

// write writes the description; equal types yield equal bytes.
func write(d document) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(data); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(description, b.Bytes(), 0o644)
}

// clone contains Azure's description of all its types.
type clone struct {
	dir   string
	paths []string
	files map[string][]map[string]any
	out   document
}

func (c *clone) git(args ...string) ([]byte, error) {
	out, err := exec.Command("git", append([]string{"-C", c.dir}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("git %s in -from %q: %w", args[0], c.dir, err)
	}
	return out, nil
}

// add adds the description of a resource type in an API version, such as
// Microsoft.Compute/disks@2026-03-02.
func (c *clone) add(resource string) error {
	kind, version, _ := strings.Cut(resource, "@")
	namespace, _, _ := strings.Cut(strings.ToLower(kind), "/")
	for _, file := range c.paths {
		if ok, _ := path.Match("generated/*/"+namespace+"/"+version+"/types.json", file); !ok {
			continue
		}
		types, err := c.load(file)
		if err != nil {
			return err
		}
		for _, t := range types {
			if name, _ := t["name"].(string); t["$type"] == "ResourceType" && strings.EqualFold(name, resource) {
				copied := &copying{clone: c, types: types, done: map[int]int{}}
				c.out.Resources[name], err = copied.reference(t["body"])
				return err
			}
		}
	}
	return fmt.Errorf("no file below generated/ of -from %q has it", c.dir)
}

func (c *clone) load(file string) ([]map[string]any, error) {
	if types, ok := c.files[file]; ok {
		return types, nil
	}
	data, err := c.git("show", "HEAD:"+file)
	if err != nil {
		return nil, err
	}
	var types []map[string]any
	if err := json.Unmarshal(data, &types); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c.files[file] = types
	return types, nil
}

// copying copies types of one file, each only once.
type copying struct {
	*clone
	types []map[string]any
	done  map[int]int
}

// reference copies the type that a reference of the file names, and returns its index.
func (c *copying) reference(v any) (int, error) {
	of, _ := v.(map[string]any)
	text, _ := of["$ref"].(string)
	from, err := strconv.Atoi(strings.TrimPrefix(text, "#/"))
	if err != nil || from < 0 || from >= len(c.types) {
		return 0, fmt.Errorf("%v is no reference to one of the file's %d types", v, len(c.types))
	}
	if to, ok := c.done[from]; ok {
		return to, nil
	}
	t := c.types[from]
	at := len(c.out.Types)
	c.done[from] = at // before the copy, because an object may contain itself
	c.out.Types = append(c.out.Types, nil)
	c.out.Types[at], err = c.node(t)
	return at, err
}

// node returns a copy of a type, in which references are indexes and descriptions are missing.
func (c *copying) node(t map[string]any) (map[string]any, error) {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		var err error
		switch v := t[name]; name {
		case "properties":
			out[name], err = c.properties(v)
		case "additionalProperties", "itemType":
			out[name], err = c.reference(v)
		case "elements":
			list, _ := v.([]any)
			elements := make([]int, len(list))
			for i, e := range list {
				at, failed := c.reference(e)
				elements[i], err = at, cmp.Or(err, failed)
			}
			out[name] = elements
		default:
			out[name] = v
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// properties returns the members of an object: the index of the type of each, and its flags.
func (c *copying) properties(v any) (map[string][2]int, error) {
	all, _ := v.(map[string]any)
	out := map[string][2]int{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p, _ := all[name].(map[string]any)
		at, err := c.reference(p["type"])
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", name, err)
		}
		flags, _ := p["flags"].(float64)
		out[name] = [2]int{at, int(flags)}
	}
	return out, nil
}

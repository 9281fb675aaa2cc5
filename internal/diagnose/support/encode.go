package support

import (
	"bytes"
	"encoding/json"
	"reflect"
	"runtime"

	"golang.org/x/sync/errgroup"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/redact"
	"casement.dev/casement/internal/terminal"
)

// longYAML is the size in bytes above which an object is written as JSON, which is also valid YAML and much faster to encode.
const longYAML = 1 << 20

// encode returns the YAML of an object or a list without its secrets. The items of a list are encoded on all cores.
func encode(v any) ([]byte, error) {
	list := reflect.ValueOf(v)
	if list.Kind() != reflect.Slice {
		data, err := clean(v)
		if err != nil {
			return nil, err
		}
		if len(data) < longYAML {
			return yaml.JSONToYAML(data)
		}
		return indent(0, data)
	}
	items := make([][]byte, list.Len())
	if err := each(items, func(i int, _ []byte) ([]byte, error) { return clean(list.Index(i).Interface()) }); err != nil {
		return nil, err
	}
	if length(items) < longYAML {
		return yaml.JSONToYAML(join(items, ","))
	}
	err := each(items, indent)
	return join(items, ",\n "), err
}

func indent(_ int, data []byte) ([]byte, error) {
	var out bytes.Buffer
	err := json.Indent(&out, data, " ", " ")
	return out.Bytes(), err
}

// clean returns the JSON of an object without its secrets.
func clean(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var plain any
	if err := utiljson.Unmarshal(data, &plain); err != nil { // this decoder keeps integers
		return nil, err
	}
	if data, err = json.Marshal(redact.Object(plain)); err != nil {
		return nil, err
	}
	return []byte(terminal.Escape(string(data))), nil // YAML allows no control characters
}

// each replaces every item by the result of do, on all cores.
func each(items [][]byte, do func(int, []byte) ([]byte, error)) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range items {
		group.Go(func() (err error) {
			items[i], err = do(i, items[i])
			return err
		})
	}
	return group.Wait()
}

func length(items [][]byte) (n int) {
	for _, item := range items {
		n += len(item)
	}
	return n
}

// join returns items as a JSON array.
func join(items [][]byte, comma string) []byte {
	return append(append([]byte("["), bytes.Join(items, []byte(comma))...), "]\n"...)
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/discovery"

	"casement.dev/casement/internal/kubeproc"
)

const definition = "#/definitions/"

// schemas writes JSON schemas of the kinds of an API server, from its OpenAPI document, one file
// for each kind, with the names that kubeconform expects. They have the properties of the usual
// collections of such schemas: strict about unknown fields, null allowed, quantities and ports as
// text or number.
func schemas(dir, bin string) error {
	ctx := context.Background()
	plane, err := kubeproc.Start(ctx, kubeproc.Config{Dir: filepath.Join(dir, "plane"), Binary: filepath.Join(bin, "casement-kube")})
	if err != nil {
		return err
	}
	defer plane.Stop(ctx)
	client, err := discovery.NewDiscoveryClientForConfig(plane.Config())
	if err != nil {
		return err
	}
	text, err := client.RESTClient().Get().AbsPath("/openapi/v2").Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("read the API server's OpenAPI: %w", err)
	}
	var api struct {
		Definitions map[string]map[string]any
	}
	if err := json.Unmarshal(text, &api); err != nil {
		return fmt.Errorf("read the API server's OpenAPI: %w", err)
	}
	for name, schema := range api.Definitions {
		api.Definitions[name] = strict(name, schema)
	}
	for name, schema := range api.Definitions {
		kinds, _ := schema["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			kind, _ := k.(map[string]any)
			out := maps.Clone(schema)
			out["definitions"] = reachable(api.Definitions, name)
			data, err := json.Marshal(out)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, schemaFile(fmt.Sprint(kind["group"]),
				fmt.Sprint(kind["version"]), fmt.Sprint(kind["kind"]))), data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// schemaFile returns the file name that kubeconform forms from
// {{.ResourceKind}}{{.KindSuffix}}.json; it contains the group only up to its first dot.
func schemaFile(group, version, kind string) string {
	name := strings.ToLower(kind)
	if group, _, _ = strings.Cut(group, "."); group != "" {
		name += "-" + group
	}
	return name + "-" + version + ".json"
}

// strict returns the JSON schema of an OpenAPI definition.
func strict(name string, schema map[string]any) map[string]any {
	out := maps.Clone(schema)
	delete(out, "description")
	if strings.HasSuffix(name, ".api.resource.Quantity") || out["format"] == "int-or-string" {
		return map[string]any{"type": []any{"string", "number", "null"}}
	}
	delete(out, "format")
	switch out["type"] {
	case "string", "integer", "number", "boolean", "array", "object":
		out["type"] = []any{out["type"], "null"}
	}
	if properties, ok := out["properties"].(map[string]any); ok {
		changed := map[string]any{}
		for key, p := range properties {
			changed[key] = strict("", p.(map[string]any))
		}
		out["properties"], out["additionalProperties"] = changed, false
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if child, ok := out[key].(map[string]any); ok {
			out[key] = strict("", child)
		}
	}
	return out
}

// reachable returns the definitions to which a definition refers, directly or indirectly.
func reachable(all map[string]map[string]any, name string) map[string]any {
	out := map[string]any{}
	var follow func(any)
	follow = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, child := range v {
				if ref, ok := child.(string); ok && key == "$ref" {
					to := strings.TrimPrefix(ref, definition)
					if _, seen := out[to]; !seen {
						out[to] = all[to]
						follow(all[to])
					}
				}
				follow(child)
			}
		case []any:
			for _, child := range v {
				follow(child)
			}
		}
	}
	follow(all[name])
	return out
}

package lint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/windows"
)

// ConfigFile is the name of the configuration file.
const ConfigFile = ".casement-lint.yaml"

// Config is a configuration file: the cluster for which the manifests are meant, and the findings to hide.
type Config struct {
	// KubernetesVersion is the release, such as 1.34 or 1.34.2; "" means the newest.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	Target            `json:",inline"`
	// Ignore are suppressions of findings.
	Ignore []Suppression `json:"ignore,omitempty"`

	dir string
}

// oldest is the minor version of the first Kubernetes release in which Windows nodes are generally available.
const oldest = 14

// Suppression suppresses the findings of a rule, in all files or in some.
type Suppression struct {
	// Rule is the rule's ID, or * for all rules and for inputs that cannot be read.
	Rule string `json:"rule"`
	// Path is a file, a directory or a glob, relative to the configuration file; "" means all.
	Path string `json:"path,omitempty"`
	// Reason is the explanation of the suppression.
	Reason string `json:"reason"`
}

// findConfig returns the path of a configuration file in a directory or its parents; "" if there is none.
func findConfig(dir string) string {
	for {
		name := filepath.Join(dir, ConfigFile)
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// readConfig reads a configuration file. An unknown key is an error, because a mistyped suppression would otherwise be ignored.
func readConfig(name string) (Config, error) {
	data, err := input.File(name, input.Small)
	if err != nil {
		return Config{}, err
	}
	var c Config
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return Config{}, fmt.Errorf("read the configuration %s: %w", name, explain(err))
	}
	for i, s := range c.Ignore {
		if s.Rule == "" || s.Reason == "" {
			return Config{}, fmt.Errorf("read the configuration %s: ignore[%d] needs a rule and a reason", name, i)
		}
		if _, err := filepath.Match(s.Path, ""); err != nil {
			return Config{}, fmt.Errorf("read the configuration %s: ignore[%d].path: %w", name, i, err)
		}
	}
	if c.dir, err = filepath.Abs(filepath.Dir(name)); err != nil {
		return Config{}, err
	}
	return c, nil
}

// examples are example values for keys whose plain YAML value is often not text, or that require a list.
var examples = map[string]string{
	"kubernetesVersion": strconv.Quote(kuberelease.Minor()), "windowsReleases": `["2022"]`, "mixedCluster": "true",
	"windowsTaints": "[{key: os, value: windows, effect: NoSchedule}]",
	"sidecars":      "[example.com/inject]", "featureGates": "{WindowsHostNetwork: true}", "docker": "true", "containerd": `"1.6"`,
	"nanoServerMemoryFloor": "64Mi", "serverCoreMemoryFloor": "128Mi", "windowsStartupMinutes": "20",
	"ignore": "[{rule: WIN201, reason: why}]",
}

// explain adds an example to the error about a value of the wrong type.
func explain(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	key := strings.TrimPrefix(wrong.Field, "Target.")
	first, _, _ := strings.Cut(key, ".")
	example, ok := examples[first]
	if !ok {
		return fmt.Errorf("it has to be keys and values, such as windowsReleases: %s, and is of the kind %s",
			examples["windowsReleases"], wrong.Value)
	}
	kind, _, _ := strings.Cut(wrong.Value, " ")
	return fmt.Errorf("%s has a value of the kind %s, which does not belong there; write it like %s: %s", key, kind, first, example)
}

// Resolve returns the target of the configuration with its version parsed.
func (c Config) Resolve() (Target, error) {
	t := c.Target
	for _, release := range t.Windows {
		if _, ok := windows.ReleaseByName(release); !ok {
			return t, fmt.Errorf("a Windows release is %s, not %q", windows.ServerChoice(""), release)
		}
	}
	if c.KubernetesVersion == "" {
		return t, nil
	}
	bad := fmt.Errorf("a Kubernetes version is %s, not %q", kuberelease.Choice(), c.KubernetesVersion)
	parts := strings.Split(strings.TrimPrefix(c.KubernetesVersion, "v"), ".")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "1" {
		return t, bad
	}
	numbers := make([]int, len(parts))
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return t, bad
		}
		numbers[i] = int(n)
	}
	if numbers[1] < oldest { // YAML reads 1.30 as the number 1.3
		return t, fmt.Errorf("the rules know Kubernetes from 1.%d on, and nothing of %q; a version that ends in "+
			"zero has to be in quotes", oldest, c.KubernetesVersion)
	}
	t.Minor = numbers[1]
	if len(numbers) == 3 {
		t.Patch = new(numbers[2])
	}
	return t, nil
}

// Describe returns a target in the form of the configuration file's keys; "" if nothing is known about it.
func Describe(t Target) string {
	c := Config{Target: t}
	if t.Minor > 0 {
		c.KubernetesVersion = fmt.Sprintf("1.%d", t.Minor)
		if t.Patch != nil {
			c.KubernetesVersion += fmt.Sprintf(".%d", *t.Patch)
		}
	}
	data, err := yaml.Marshal(c)
	if err != nil || strings.TrimSpace(string(data)) == "{}" {
		return ""
	}
	return string(data)
}

// Suppress separates findings into findings to show and findings that the configuration suppresses; the
// latter get its reason.
func (c Config) Suppress(findings []Finding) (shown, silent []Finding) {
	shown = []Finding{}
	for _, f := range findings {
		i := slices.IndexFunc(c.Ignore, func(s Suppression) bool {
			return (s.Rule == every || strings.EqualFold(s.Rule, f.Rule)) && c.covers(s.Path, f.File)
		})
		if i < 0 {
			shown = append(shown, f)
			continue
		}
		f.Reason = c.Ignore[i].Reason
		silent = append(silent, f)
	}
	return shown, silent
}

// every is the rule of a suppression that excludes the files of its path.
const every = "*"

// Excludes reports whether the configuration excludes a file completely, so that it need not even be readable.
func (c Config) Excludes(file string) bool {
	return slices.ContainsFunc(c.Ignore, func(s Suppression) bool { return s.Rule == every && c.covers(s.Path, file) })
}

// covers reports whether a path of the configuration matches a file.
func (c Config) covers(pattern, file string) bool {
	if pattern == "" || file == "" {
		return pattern == "" // an object of a cluster is in no file
	}
	whole, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	name, err := filepath.Rel(cmp.Or(c.dir, "."), whole)
	if err != nil {
		return false
	}
	pattern = filepath.Clean(pattern)
	matched, err := filepath.Match(pattern, name)
	return err == nil && matched || strings.HasPrefix(name, pattern+string(filepath.Separator)) || pattern == "."
}

// LoadConfig reads the named configuration, or the nearest one in the working directory and its parents, or none.
func LoadConfig(name string) (Config, error) {
	if name == "" {
		dir, err := os.Getwd()
		if err != nil {
			return Config{}, err
		}
		if name = findConfig(dir); name == "" {
			return Config{}, nil
		}
	}
	c, err := readConfig(name)
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("read the configuration: %w", err)
	}
	return c, err
}

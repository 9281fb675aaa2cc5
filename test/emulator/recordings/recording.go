// Package recordings replays real, recorded ARM traffic against the local Azure and counts the differences
// in its answers. The recordings come from the Azure Service Operator's own tests against the public cloud;
// they are read from the module cache and are no part of this repository.
//
// It judges and changes nothing: an intended difference is a line of baseline.tsv with its reason. It is a
// test, run as a whole by `make e2e-recordings`; nothing imports it.
package recordings

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sourceModule holds the recordings, in the go-vcr format.
const sourceModule = "github.com/Azure/azure-service-operator/v2@v2.18.0"

// sourceFolder is where in the module they are.
const sourceFolder = "internal/controllers/recordings"

// judged selects the recordings of services that a cluster meets.
var judged = regexp.MustCompile(
	`^Test_(Compute|Networking|Network_|KeyVault|ManagedIdentity|Authorization|Resources|Subnet|CreateResourceGroup)`)

// foreign are recordings of services that no cluster of ours meets.
var foreign = regexp.MustCompile(`Firewall|ApplicationGateway|DNSForwarding|VirtualNetworkGateway|TrafficManager|DnsResolver|FrontDoor`)

// recording is one recorded test.
type recording struct {
	name  string
	calls []call
}

// call is one request and Azure's answer to it.
type call struct {
	Request struct {
		Method string `yaml:"method"`
		URL    string `yaml:"url"`
		Body   string `yaml:"body"`
	} `yaml:"request"`
	Response struct {
		Code    int         `yaml:"code"`
		Headers http.Header `yaml:"headers"`
		Body    string      `yaml:"body"`
	} `yaml:"response"`
}

// download returns the directory of the recordings in the module cache.
func download() (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", sourceModule).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s%s", err, out, exit.Stderr)
		}
		return "", fmt.Errorf("fetch the recordings: %w", err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("fetch the recordings: %w", err)
	}
	return filepath.Join(module.Dir, sourceFolder), nil
}

// names lists the recordings of a directory that are judged, sorted.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".yaml")
		if ok && judged.MatchString(name) && !foreign.MatchString(name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// load reads one recording.
func load(dir, name string) (recording, error) {
	data, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
	if err != nil {
		return recording{}, err
	}
	var file struct {
		Interactions []call `yaml:"interactions"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return recording{}, fmt.Errorf("%s: %w", name, err)
	}
	return recording{name: name, calls: file.Interactions}, nil
}

// polling matches the addresses of operations, which Azure makes up.
var polling = regexp.MustCompile(`(?i)/(\w*operations|\w*operationresults|\w*operationstatuses)/`)

// polls reports whether a call asks for the state of an operation.
func (c call) polls() bool { return polling.MatchString(path(c.Request.URL)) }

// writes reports whether a call changes something.
func (c call) writes() bool {
	return c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead
}

// path returns the path of an URL: without host and query.
func path(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	_, rest, _ = strings.Cut(rest, "/")
	rest, _, _ = strings.Cut(rest, "?")
	return "/" + rest
}

// typeOf returns the type of the resource or collection that a path names, with the last
// provider's namespace, such as microsoft.network/virtualnetworks/subnets.
func typeOf(path string) string {
	path = strings.ToLower(strings.Trim(path, "/"))
	_, rest, ok := cutLast(path, "providers/")
	if !ok {
		return "microsoft.resources/resourcegroups"
	}
	parts := strings.Split(rest, "/")
	out := parts[0]
	for i := 1; i < len(parts); i += 2 {
		out += "/" + parts[i]
	}
	return out
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Package recordings replays real, recorded ARM traffic against the local Azure and counts the
// differences in its answers. The recordings come from the tests that the Azure Service Operator
// and the Azure SDK for Go made against the public cloud; they are in the module cache and not part
// of this repository.
//
// It changes nothing: an intended difference is a line in baseline.tsv with the reason. It is a
// test, which `make e2e-recordings` runs completely; no package imports it.
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
	"time"

	"go.yaml.in/yaml/v3"
)

// source is a module with recordings in one of its folders.
type source struct{ module, folder string }

const (
	operator = "github.com/Azure/azure-service-operator/v2@v2.18.0"
	sdk      = "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/"
)

// sources are the modules with the compared recordings. For the SDK they are the releases whose
// tests were recorded again.
var sources = []source{
	{operator, "internal/controllers/recordings"},
	{sdk + "compute/armcompute@v0.7.0", sdkFolder}, {sdk + "compute/armcompute@v1.0.0", sdkFolder},
	{sdk + "compute/armcompute/v3@v3.0.1", sdkFolder},
	{sdk + "network/armnetwork@v0.5.0", sdkFolder}, {sdk + "network/armnetwork@v1.1.0", sdkFolder},
	{sdk + "network/armnetwork/v2@v2.0.0", sdkFolder},
	{sdk + "keyvault/armkeyvault@v1.0.0", sdkFolder},
	{sdk + "resources/armresources@v0.4.0", sdkFolder}, {sdk + "resources/armresources@v1.0.0", sdkFolder},
	{sdk + "resources/armsubscriptions@v1.0.0", sdkFolder},
}

const sdkFolder = "testdata/recordings"

// base returns the last part of the module's name with its version, such as armcompute@v1.0.0.
func (s source) base() string {
	if s.module == operator {
		return ""
	}
	name := strings.TrimPrefix(s.module, sdk)
	_, name, _ = strings.Cut(name, "/")
	major, version, _ := strings.Cut(name, "@")
	major, _, _ = strings.Cut(major, "/")
	return major + "@" + version + "/"
}

// judged matches the recordings of services that clusters use.
var judged = regexp.MustCompile(
	`^Test_(Compute|Networking|Network_|KeyVault|ManagedIdentity|Authorization|Resources|Subnet|CreateResourceGroup)`)

// foreign matches recordings of services that our clusters do not use.
var foreign = regexp.MustCompile(`Firewall|ApplicationGateway|DNSForwarding|VirtualNetworkGateway|TrafficManager|DnsResolver|FrontDoor`)

// recording is one recorded test.
type recording struct {
	name  string
	calls []call
}

// began returns the time of the first answer with a time; zero if none has one.
func (r recording) began() time.Time {
	for _, c := range r.calls {
		if at, err := http.ParseTime(c.Response.Headers.Get("Date")); err == nil {
			return at
		}
	}
	return time.Time{}
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

// download downloads the module and returns the directory of its recordings in the module cache.
func (s source) download() (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", s.module).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s%s", err, out, exit.Stderr)
		}
		return "", fmt.Errorf("fetch the recordings of %s: %w", s.module, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("fetch the recordings of %s: %w", s.module, err)
	}
	return filepath.Join(module.Dir, s.folder), nil
}

// files returns the files of the compared recordings in a directory, by their names.
func (s source) files(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		if s.module != operator || judged.MatchString(name) && !foreign.MatchString(name) {
			out[s.base()+name] = filepath.Join(dir, e.Name())
		}
	}
	return out, nil
}

// load parses one recording: YAML of go-vcr, or JSON of the SDK's test proxy.
func load(name, file string) (recording, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return recording{}, err
	}
	rec := recording{name: name}
	if filepath.Ext(file) == ".json" {
		rec.calls, err = proxied(data)
	} else {
		var recorded struct {
			Interactions []call `yaml:"interactions"`
		}
		err = yaml.Unmarshal(data, &recorded)
		rec.calls = recorded.Interactions
	}
	if err != nil {
		return recording{}, fmt.Errorf("%s: %w", name, err)
	}
	return rec, nil
}

// proxied returns the calls in a recording of the SDK's test proxy.
func proxied(data []byte) ([]call, error) {
	var file struct {
		Entries []struct {
			RequestURI, RequestMethod string
			RequestBody, ResponseBody json.RawMessage
			StatusCode                int
			ResponseHeaders           map[string]text
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	calls := make([]call, len(file.Entries))
	for i, e := range file.Entries {
		c := &calls[i]
		c.Request.Method, c.Request.URL, c.Request.Body = e.RequestMethod, e.RequestURI, unquoted(e.RequestBody)
		c.Response.Code, c.Response.Body, c.Response.Headers = e.StatusCode, unquoted(e.ResponseBody), http.Header{}
		for name, value := range e.ResponseHeaders {
			c.Response.Headers.Set(name, string(value))
		}
	}
	return calls, nil
}

// linked returns the template at a URL in a recorded deployment: the template that Azure later
// exported for the deployment.
func (r recording) linked(uri string) ([]byte, error) {
	for _, c := range r.calls {
		var asked struct {
			Properties struct{ TemplateLink struct{ URI string } }
		}
		if json.Unmarshal([]byte(c.Request.Body), &asked) != nil || asked.Properties.TemplateLink.URI != uri {
			continue
		}
		for _, exported := range r.calls {
			var answer struct{ Template json.RawMessage }
			if strings.EqualFold(path(exported.Request.URL), path(c.Request.URL)+"/exportTemplate") &&
				json.Unmarshal([]byte(exported.Response.Body), &answer) == nil && answer.Template != nil {
				return answer.Template, nil
			}
		}
	}
	return nil, fmt.Errorf("the recording %s does not have the template", r.name)
}

// text is the value of a header, which the test proxy stores as an array if there are several.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		return json.Unmarshal(data, (*string)(t))
	}
	var list []string
	err := json.Unmarshal(data, &list)
	*t = text(strings.Join(list, ","))
	return err
}

// unquoted returns a recorded body as it was sent: the test proxy stores JSON unchanged, and other
// bodies as a string.
func unquoted(body json.RawMessage) string {
	var s string
	switch {
	case string(body) == "null":
		return ""
	case json.Unmarshal(body, &s) == nil:
		return s
	}
	return string(body)
}

// polling matches the URLs of operations, which Azure generates.
var polling = regexp.MustCompile(`(?i)/(\w*operations|\w*operationresults|\w*operationstatuses)/`)

// polls reports whether a call polls an operation.
func (c call) polls() bool { return polling.MatchString(path(c.Request.URL)) }

// writes reports whether a call changes something.
func (c call) writes() bool {
	return c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead
}

// lacked returns the path, in lower case, of the object that an answer reports as missing, or "".
func (c call) lacked() string {
	at := strings.ToLower(path(c.Request.URL))
	switch {
	case c.Response.Code != http.StatusNotFound:
		return ""
	case errorOf([]byte(c.Response.Body)).Code == "ResourceGroupNotFound":
		return inGroup.FindString(at)
	}
	return at
}

// inGroup matches the path of a resource group, in lower case, at the beginning of the path of a
// resource.
var inGroup = regexp.MustCompile(`^/subscriptions/[^/]+/resourcegroups/[^/]+`)

// path returns the path of a URL.
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

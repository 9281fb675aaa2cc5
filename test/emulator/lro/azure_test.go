package lro

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	azpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/policy"
	azarm "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"casement.dev/casement/azuresim"
)

const (
	dirEnv, addressEnv = "CASEMENT_LRO_DIR", "CASEMENT_LRO_ADDRESS"

	subscription = "/subscriptions/" + azuresim.DefaultSubscription
	group        = subscription + "/resourceGroups/g"
	vnet         = group + "/providers/Microsoft.Network/virtualNetworks/v"

	diskBody = `{"location":"westeurope","sku":{"name":"Premium_LRS"},` +
		`"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":10}}`
	ipBody = `{"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`
)

// pace is the share of Azure's own durations that operations take here. It is large enough that
// most operations are still running when the server is killed.
const pace azuresim.Latency = 0.05

var frequency = &runtime.PollUntilDoneOptions{Frequency: time.Second}

// serve runs a local Azure in the process that the test kills.
func serve(dir, address string) error {
	s, err := azuresim.New(azuresim.Config{Dir: dir, Latency: pace})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return s.Serve(context.Background(), l)
}

// azure is a local Azure in a separate process, with a client.
type azure struct {
	t        *testing.T
	dir      string
	address  string
	pipeline runtime.Pipeline
	http     *http.Transport

	mu  sync.Mutex
	cmd *exec.Cmd
}

func newAzure(t *testing.T) *azure {
	a := &azure{t: t, dir: filepath.Join(t.TempDir(), "azure"), address: "127.0.0.1:0"}
	t.Cleanup(a.kill)
	return a
}

// start starts the process, at the same address as before.
func (a *azure) start() {
	a.t.Helper()
	a.kill()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), dirEnv+"="+a.dir, addressEnv+"="+a.address), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.mu.Lock()
	a.cmd = cmd
	a.mu.Unlock()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		a.t.Fatalf("the local Azure does not start: %v", err)
	}
	a.address = strings.TrimSpace(line)
	if a.http == nil {
		a.connect()
	}
	a.http.CloseIdleConnections()
}

// kill ends the process as kill -9 does.
func (a *azure) kill() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cmd != nil {
		_ = a.cmd.Process.Kill() // SIGKILL
		_ = a.cmd.Wait()
		a.cmd = nil
	}
}

func (a *azure) connect() {
	ca, err := os.ReadFile(filepath.Join(a.dir, "ca.crt"))
	if err != nil {
		a.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	a.http = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	secret, err := os.ReadFile(filepath.Join(a.dir, "client-secret"))
	if err != nil {
		a.t.Fatal(err)
	}
	host := "https://" + a.address
	options := policy.ClientOptions{Transport: &http.Client{Transport: a.http}, Retry: policy.RetryOptions{
		MaxRetries: -1,
	}, Cloud: cloud.Configuration{
		ActiveDirectoryAuthorityHost: host + "/", Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: host, Audience: host},
		}}}
	credential, err := azidentity.NewClientSecretCredential(azuresim.DefaultTenant, azuresim.DefaultClient,
		strings.TrimSpace(string(secret)),
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
	if err != nil {
		a.t.Fatal(err)
	}
	if a.pipeline, err = azarm.NewPipeline("lro", "v1", credential, runtime.PipelineOptions{},
		&azpolicy.ClientOptions{ClientOptions: options, DisableRPRegistration: true}); err != nil {
		a.t.Fatal(err)
	}
}

// send starts an operation.
func (a *azure) send(op *operation) (*runtime.Poller[document], error) {
	resp, err := a.do(op.method, op.id+op.action, op.body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, runtime.NewResponseError(resp)
	}
	return runtime.NewPoller[document](resp, a.pipeline, nil)
}

func (a *azure) do(method, id, body string) (*http.Response, error) {
	req, err := runtime.NewRequest(a.t.Context(), method, "https://"+a.address+id)
	if err != nil {
		return nil, err
	}
	version := "2024-07-01"
	for kind, own := range map[string]string{"/disks/": "2024-03-02", "/privateDnsZones/": "2024-06-01"} {
		if strings.Contains(id, kind) {
			version = own
		}
	}
	req.Raw().URL.RawQuery = "api-version=" + version
	if body != "" {
		if err := runtime.MarshalAsJSON(req, json.RawMessage(body)); err != nil {
			return nil, err
		}
	}
	return a.pipeline.Do(req)
}

// must runs an operation and fails the test if it fails.
func (a *azure) must(method, id, body string) {
	a.t.Helper()
	poller, err := a.send(&operation{method: method, id: id, body: body})
	if err == nil {
		_, err = poller.PollUntilDone(a.t.Context(), frequency)
	}
	if err != nil {
		a.t.Errorf("%s %s: %v", method, id, err)
	}
}

func (a *azure) get(id string) (int, map[string]any) {
	resp, err := a.do(http.MethodGet, id, "")
	if err != nil {
		a.t.Errorf("GET %s: %v", id, err)
		return 0, nil
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	var body map[string]any
	if err != nil || json.Unmarshal(data, &body) != nil {
		a.t.Errorf("GET %s: %d with no JSON object", id, resp.StatusCode)
	}
	return resp.StatusCode, body
}

// patience limits the time until the operations on a resource have ended.
const patience = 30 * time.Second

// rest waits until the operations on a resource have ended. It returns the status code and the body
// of the resource.
func (a *azure) rest(id string) (int, map[string]any) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(patience); ; <-tick.C {
		status, body := a.get(id)
		switch state(body) {
		case "Creating", "Updating", "Deleting":
			if time.Now().Before(late) {
				continue
			}
		}
		return status, body
	}
}

// resources returns the IDs of all resources, which it reads page by page.
func (a *azure) resources() (ids []string) {
	_, page := a.get(subscription + "/resources")
	for {
		list, _ := page["value"].([]any)
		for _, e := range list {
			if o, ok := e.(map[string]any); ok {
				id, _ := o["id"].(string)
				ids = append(ids, id)
			}
		}
		next, _ := page["nextLink"].(string)
		if next == "" {
			return ids
		}
		page = nil
		req, err := runtime.NewRequest(a.t.Context(), http.MethodGet, next)
		if err != nil {
			a.t.Fatal(err)
		}
		resp, err := a.pipeline.Do(req)
		if err != nil {
			a.t.Fatalf("the next page of resources: %v", err)
		}
		if err := runtime.UnmarshalAsJSON(resp, &page); err != nil || resp.StatusCode != http.StatusOK {
			a.t.Fatalf("the next page of resources: %d, %v", resp.StatusCode, err)
		}
	}
}

// state returns the provisioning state, or "Succeeded" for a type that has none.
func state(body map[string]any) string {
	p, _ := body["properties"].(map[string]any)
	s, ok := p["provisioningState"].(string)
	if !ok {
		return "Succeeded"
	}
	return s
}

// references returns the resource IDs, of resources in groups, that a JSON value contains.
func references(v any) (out []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			out = append(out, references(e)...)
		}
	case []any:
		for _, e := range v {
			out = append(out, references(e)...)
		}
	case string:
		if strings.HasPrefix(v, subscription+"/resourceGroups/") && strings.Contains(v, "/providers/") {
			out = append(out, v)
		}
	}
	return out
}

// ownerOf returns the ID of the top-level resource that an ID names or is part of.
func ownerOf(id string) string {
	segments := strings.Split(id, "/") // "", subscriptions, S, resourceGroups, G, providers, NS, type, name
	return strings.Join(segments[:min(len(segments), 9)], "/")
}

func nicID(name string) string {
	return group + "/providers/Microsoft.Network/networkInterfaces/" + name
}

func vmID(name string) string {
	return group + "/providers/Microsoft.Compute/virtualMachines/" + name
}

func nicBody() string {
	return fmt.Sprintf(`{"location":"westeurope","properties":{"ipConfigurations":[{"name":"c",`+
		`"properties":{"subnet":{"id":"%s/subnets/s"}}}]}}`, vnet)
}

func vmBody(name string) string {
	return fmt.Sprintf(`{"location":"westeurope","properties":{"hardwareProfile":{"vmSize":"Standard_B1s"},
		"storageProfile":{"imageReference":{"publisher":"MicrosoftWindowsServer","offer":"WindowsServer",
			"sku":"2019-Datacenter","version":"latest"},"osDisk":{"name":%[1]q,"createOption":"FromImage",
			"deleteOption":"Delete"}},
		"osProfile":{"computerName":%[1]q,"adminUsername":"capi","adminPassword":"Correct-Horse-1"},
		"networkProfile":{"networkInterfaces":[{"id":%[2]q,"properties":{"primary":true,"deleteOption":"Delete"}}]}}}`, name, nicID(name))
}

// document is the result of an operation; the poller of a resume token needs a named type.
type document map[string]any

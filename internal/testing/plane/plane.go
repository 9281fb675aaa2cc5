// Package plane runs the built binaries like a user, each test with its own state directory. Only tests import it.
package plane

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"casement.dev/casement/internal/kuberelease"
)

// commandTimeout is the timeout of one command, including a wait for a cluster on a busy machine.
const commandTimeout = 20 * time.Minute

// lateEnd limits the wait for the end of a process whose lock is free: the kernel frees its memory after that.
const lateEnd = 10 * time.Second

// Plane runs casement with one state directory.
type Plane struct {
	t    *testing.T
	Home string
	bin  string
	env  []string
	// files is a directory for files that are not in the plane's state directory.
	files string
}

// Root returns the root directory of the module.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// Binary returns the path of a program that make build has built.
func Binary(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(Root(t), "bin", name)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("%v; build the binaries with: make build", err)
	}
	return file
}

// Output runs a program in a directory and returns its standard output; a failure ends the test with its
// standard error.
func Output(t *testing.T, dir, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, problems.Bytes())
	}
	return out
}

// Kubernetes returns the version of the tests' clusters: make's K8S=, otherwise the default.
func Kubernetes() string { return cmp.Or(os.Getenv("KUBERNETES_VERSION"), kuberelease.Default) }

// Before returns the version of the previous minor from which tests upgrade to Kubernetes: make's FROM=, or the minor
// version before K8S=.
func Before() string {
	return cmp.Or(os.Getenv("KUBERNETES_VERSION_UPGRADE_FROM"), kuberelease.Previous)
}

// New returns a plane that ends with the test. env is added to each command's environment.
func New(t *testing.T, env ...string) *Plane {
	t.Helper()
	bin := filepath.Dir(Binary(t, "casement"))
	// t.TempDir is too long for unix sockets.
	home, err := os.MkdirTemp("", "cas")
	if err != nil {
		t.Fatal(err)
	}
	p := &Plane{t: t, Home: home, bin: bin, env: env, files: t.TempDir()}
	t.Cleanup(func() {
		if t.Failed() {
			p.logState()
		}
		p.Run(nil, "down", "--purge")
		if err := os.Remove(p.Home); err != nil && !os.IsNotExist(err) {
			t.Errorf("down --purge left something: %v", err)
		}
		left := p.Processes(p.Home)
		for end := time.Now().Add(lateEnd); len(left) > 0 && time.Now().Before(end); left = p.Processes(p.Home) {
			time.Sleep(50 * time.Millisecond)
		}
		if len(left) > 0 {
			t.Errorf("processes of the plane are left: %v", left)
		}
	})
	return p
}

// Run runs casement and returns its standard output; a failure ends the test.
func (p *Plane) Run(stdin []byte, args ...string) string {
	p.t.Helper()
	out, err := p.Try(stdin, args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// Fatal ends the test with the error.
func (p *Plane) Fatal(err error) {
	p.t.Helper()
	p.t.Fatal(err)
}

// Try runs casement and returns its standard output; the error contains all of its output.
func (p *Plane) Try(stdin []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "casement"), args...)
	cmd.Env = append(append(os.Environ(), "CASEMENT_HOME="+p.Home, "KUBECONFIG="), p.env...)
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("casement %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), errOut.String())
	}
	return out.String(), nil
}

// Everything runs casement and returns all of its output, whether or not it failed.
func (p *Plane) Everything(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "casement"), args...)
	cmd.Env = append(append(os.Environ(), "CASEMENT_HOME="+p.Home, "KUBECONFIG="), p.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

// Create applies a cluster of a flavor and returns its manifest.
func (p *Plane) Create(name, flavor string) []byte {
	p.t.Helper()
	manifest := []byte(p.Run(nil, "generate", "cluster", name, "--flavor", flavor))
	p.Run(manifest, "kubectl", "apply", "-f", "-")
	return manifest
}

// Workload returns a function that runs kubectl against a cluster.
func (p *Plane) Workload(cluster string) func(args ...string) string {
	p.t.Helper()
	kubeconfig := p.Kubeconfig(cluster)
	return func(args ...string) string {
		p.t.Helper()
		return p.Run(nil, append([]string{"kubectl", "--kubeconfig", kubeconfig}, args...)...)
	}
}

// Kubeconfig writes the kubeconfig of a cluster and returns its path.
func (p *Plane) Kubeconfig(cluster string) string {
	p.t.Helper()
	path := filepath.Join(p.files, cluster+".kubeconfig")
	if err := os.WriteFile(path, []byte(p.Run(nil, "get", "kubeconfig", cluster)), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// ClientSecret returns the client secret of the local Azure's own application.
func (p *Plane) ClientSecret() string {
	p.t.Helper()
	data, err := os.ReadFile(p.status().Azure.SecretFile)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// Subscription returns the ID of the local Azure's subscription.
func (p *Plane) Subscription() string { return p.status().Azure.SubscriptionID }

// status has the fields of `casement status` that the tests use.
type status struct {
	PID   int
	Azure struct {
		Endpoint       string
		CAFile         string
		TenantID       string
		SubscriptionID string
		ClientID       string
		SecretFile     string
	}
}

func (p *Plane) status() status {
	p.t.Helper()
	out, err := p.Try(nil, "status", "-o", "json")
	for range 5 { // a plane on a busy machine may not respond at first
		if err == nil {
			break
		}
		out, err = p.Try(nil, "status", "-o", "json")
	}
	var s status
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// Kill ends the supervisor like a crash.
func (p *Plane) Kill() {
	p.t.Helper()
	if err := syscall.Kill(p.status().PID, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
}

// Processes returns the command lines of running Linux processes that contain a path.
func (p *Plane) Processes(path string) []string {
	p.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		p.t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		if line := strings.ReplaceAll(string(data), "\x00", " "); strings.Contains(line, path) {
			found = append(found, line)
		}
	}
	return found
}

// ARM reads a path of the subscription from the local Azure.
func (p *Plane) ARM(path, apiVersion string, into any) {
	p.t.Helper()
	p.Azure(http.MethodGet, path, apiVersion, into)
}

// Azure sends a request for a path of the subscription to the local Azure, like a client other than casement. into may be nil.
func (p *Plane) Azure(method, path, apiVersion string, into any) {
	p.t.Helper()
	p.send(method, path, apiVersion, nil, into)
}

// Put creates a resource of the subscription in the local Azure, like a client other than casement.
func (p *Plane) Put(path, apiVersion string, body any) {
	p.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(http.MethodPut, path, apiVersion, data, nil)
}

func (p *Plane) send(method, path, apiVersion string, body []byte, into any) {
	p.t.Helper()
	s := p.status()
	ca, err := os.ReadFile(s.Azure.CAFile)
	if err != nil {
		p.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	resp, err := client.PostForm(s.Azure.Endpoint+"/"+s.Azure.TenantID+"/oauth2/v2.0/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {s.Azure.ClientID}, "client_secret": {p.ClientSecret()},
		"scope": {"https://management.azure.com/.default"}})
	if err != nil {
		p.t.Fatal(err)
	}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	p.decode(resp, &token)
	req, err := http.NewRequest(method,
		s.Azure.Endpoint+"/subscriptions/"+s.Azure.SubscriptionID+path+"?api-version="+apiVersion,
		bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if resp, err = client.Do(req); err != nil {
		p.t.Fatal(err)
	}
	p.decode(resp, into)
}

func (p *Plane) decode(resp *http.Response, into any) {
	p.t.Helper()
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		p.t.Fatalf("%s answered %s", resp.Request.URL.Path, resp.Status)
	}
	if into == nil {
		return
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		p.t.Fatal(err)
	}
}

// logState prints the state of the plane for the diagnosis of a failed test.
func (p *Plane) logState() {
	consoles, _ := filepath.Glob(filepath.Join(p.Home, "vms", "*", "*", "console.log"))
	for _, file := range append(consoles, filepath.Join(p.Home, "casement.log")) {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		p.t.Logf("%s:\n%s", filepath.Base(filepath.Dir(file)), data[max(0, len(data)-4000):])
	}
}

package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// ErrNotRunning is the error if no plane responds on the control socket.
var ErrNotRunning = errors.New("the local plane is not running; start it with: casement up")

// ErrNoAnswer is the error if a plane has locked the state directory but does not respond on the control socket in time.
var ErrNoAnswer = errors.New("the local plane runs and does not answer; 'casement status' shows what it said last, 'casement down' ends it")

// Phases of a plane.
const (
	PhaseStarting = "starting"
	PhaseReady    = "ready"
	PhaseFailed   = "failed"
	PhaseStopping = "stopping"
)

// Status is the state of a running plane.
type Status struct {
	// Phase is starting, ready, failed or stopping.
	Phase string `json:"phase"`
	// Error is the reason for the phase failed.
	Error string `json:"error,omitempty"`
	// NoAnswer is the reason why the plane does not respond, or ""; the status is then the last one that the plane
	// wrote, at the time Written.
	NoAnswer string    `json:"noAnswer,omitempty"`
	Written  time.Time `json:"written,omitzero"`
	// Waiting is the condition that the current step waits for.
	Waiting string `json:"waiting,omitempty"`
	// Notices are messages for the plane's owner, such as about damaged files.
	Notices []string `json:"notices,omitempty"`
	// Restarts are the parts that ended by themselves and were restarted.
	Restarts []Restart `json:"restarts,omitempty"`
	// PID is the supervisor's process.
	PID int `json:"pid"`
	// Bare is true for a plane without Cluster API and casement.
	Bare    bool      `json:"bare,omitempty"`
	Started time.Time `json:"started"`
	// Steps are the steps of the start, in order.
	Steps      []Step     `json:"steps"`
	Kubernetes Kubernetes `json:"kubernetes"`
	Azure      Azure      `json:"azure"`
	// Gateway is the URL of the proxy through which programs on this machine reach private API servers, without its
	// password, which is the secret in Azure.SecretFile.
	Gateway   string     `json:"gateway,omitempty"`
	Guests    []Guest    `json:"guests"`
	Listeners []Listener `json:"listeners"`
	// Stubs are the small built-in programs that replace others.
	Stubs []Stub `json:"standIns"`
	// Simulated lists the parts that are simulated.
	Simulated []string `json:"simulated"`
}

// Restart is a part of the plane that ended by itself and was restarted.
type Restart struct {
	Name  string `json:"name"`
	Times int    `json:"times"`
	// Last is the time of its last end, and Reason the cause, if known.
	Last   time.Time `json:"last,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Down is true while the part is not running.
	Down bool `json:"down,omitempty"`
}

// Stub is a small program that runs in place of a container.
type Stub struct {
	Name string `json:"name"`
	// Does describes the functions of the replaced program that the stub implements.
	Does string `json:"does"`
}

// Step is one step of the start.
type Step struct {
	Name    string  `json:"name"`
	Done    bool    `json:"done"`
	Seconds float64 `json:"seconds"`
}

// Kubernetes contains the address of the management API server.
type Kubernetes struct {
	// Version is the version of the embedded binaries.
	Version string `json:"version"`
	// ClusterAPI describes the mode in which Cluster API runs, or is "" if clusterctl installs it.
	ClusterAPI string `json:"clusterAPI,omitempty"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
}

// Azure contains the addresses and the credentials of the local Azure.
type Azure struct {
	// Outside is true if Azure is not the plane's own but the one that the environment variables describe.
	Outside  bool   `json:"outside,omitempty"`
	Endpoint string `json:"endpoint"`
	// Authority is the issuer of the tokens, and Audience their audience. Empty values mean Endpoint, and the audience
	// of Azure's public resource manager.
	Authority      string `json:"authority,omitempty"`
	Audience       string `json:"audience,omitempty"`
	CAFile         string `json:"caFile"`
	TenantID       string `json:"tenantID"`
	SubscriptionID string `json:"subscriptionID"`
	// ClientID is an application with all permissions; SecretFile contains its secret.
	ClientID   string `json:"clientID"`
	SecretFile string `json:"secretFile"`
	// Proxy is the URL of the proxy for Azure's public names, if there is one, without its password, which is the
	// application's secret.
	Proxy string `json:"proxy,omitempty"`
	// SSHPublicKey is the authorized_keys line for templates.
	SSHPublicKey string `json:"sshPublicKey"`
}

// GuestRunning is the phase of a VM that has booted.
const GuestRunning = "Running"

// Guest is one simulated VM.
type Guest struct {
	// ID is the VM's ARM resource ID.
	ID       string `json:"id"`
	Name     string `json:"name"`
	OS       string `json:"os"`
	Phase    string `json:"phase"`
	Message  string `json:"message,omitempty"`
	Address  string `json:"address"`
	Loopback string `json:"loopback"`
	// Asked is the Kubernetes version of the VM's image; Runs is the version of the control plane processes on the VM,
	// with a note if the requested version is emulated.
	Asked string `json:"asked,omitempty"`
	Runs  string `json:"runs,omitempty"`
}

// Listener is a load balancer frontend or node port that the plane serves.
type Listener struct {
	Owner   string `json:"owner"`
	Address string `json:"address"`
	// Instead is the requested address, if the plane could not bind it.
	Instead string `json:"instead,omitempty"`
	// Note is the reason why programs of this machine cannot connect to the listener, or "".
	Note string `json:"note,omitempty"`
	// Backends is the number of machines behind a load balancer's port, 0 for other listeners; Healthy is the number of
	// machines that respond.
	Backends int `json:"backends,omitempty"`
	Healthy  int `json:"healthy"`
}

// Client sends requests to a running plane through its control socket.
type Client struct {
	dir  Dir
	http *http.Client
}

// NewClient returns a client of the plane with the state directory dir.
func NewClient(dir Dir) *Client {
	return &Client{dir: dir, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", dir.Socket())
		},
	}}}
}

// askTimeout is the timeout of a request that the supervisor answers from memory.
const askTimeout = 5 * time.Second

// Status returns the plane's status. It returns ErrNotRunning if no plane is running, and ErrNoAnswer if the plane does
// not respond within seconds.
func (c *Client) Status(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var s Status
	err := c.get(ctx, "/status", &s)
	return s, err
}

// Console writes the serial console of the VM with an ARM resource ID to w. With follow it continues until ctx ends.
func (c *Client) Console(ctx context.Context, id string, follow bool, w io.Writer) error {
	q := url.Values{"id": {id}}
	if follow {
		q.Set("follow", "true")
	}
	body, err := c.do(ctx, http.MethodGet, "/console?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(w, body)
	return err
}

// Calls returns the local Azure's call log as JSON.
func (c *Client) Calls(ctx context.Context) (json.RawMessage, error) {
	var raw json.RawMessage
	err := c.get(ctx, "/calls", &raw)
	return raw, err
}

// Stop requests the end of the plane. It returns when the plane has accepted the request.
func (c *Client) Stop(ctx context.Context) error {
	return c.send(ctx, http.MethodPost, "/stop", nil)
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	body, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	err = json.NewDecoder(body).Decode(into)
	if err != nil && ctx.Err() != nil {
		return c.noAnswer(path, err) // the response had begun, and then was delayed
	}
	if err != nil {
		return fmt.Errorf("read the plane's answer to %s: %w", path, err)
	}
	return nil
}

func (c *Client) do(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://casement"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.noAnswer(path, err)
	}
	if resp.StatusCode == http.StatusNoContent {
		return resp.Body, nil
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return nil, fmt.Errorf("the local plane refused %s: %s", path, bytes.TrimSpace(text))
	}
	return resp.Body, nil
}

// noAnswer returns the reason why a request was not answered. The lock decides whether a plane is running, not the
// socket, because a killed plane's socket may have accepted the connection.
func (c *Client) noAnswer(path string, err error) error {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("ask the local plane for %s: %w", path, err)
	}
	running, lockErr := c.dir.locked()
	switch {
	case lockErr != nil:
		return lockErr
	case running:
		return fmt.Errorf("%w (%v)", ErrNoAnswer, err)
	}
	return ErrNotRunning
}

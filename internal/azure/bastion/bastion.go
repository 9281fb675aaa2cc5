// Package bastion carries connections to virtual machines through an Azure Bastion host, as `az network bastion tunnel`
// does: a token for one machine and port, then a websocket whose binary messages carry the bytes of the connection. It
// is for interactive use on a command line; controllers must not import it.
package bastion

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/gorilla/websocket"
)

// Host is a Bastion host of SKU Standard or Premium with tunnelling enabled.
type Host struct {
	// DNSName is properties.dnsName of the Bastion host.
	DNSName string
	// Credential returns tokens for ARM, with the scope Scope.
	Credential azcore.TokenCredential
	Scope      string
	// TLS configures TLS connections; nil means the default. DialContext, if set, replaces the network dialer.
	TLS         *tls.Config
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// patience is the timeout of each call to the Bastion host.
const patience = 30 * time.Second

// session is the host's response to a request for a tunnel.
type session struct {
	AuthToken      string `json:"authToken"`
	NodeID         string `json:"nodeId"`
	WebsocketToken string `json:"websocketToken"`
}

// Dial connects to a TCP port of a virtual machine, named by its ARM resource ID.
func (h Host) Dial(ctx context.Context, vmID, port string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s, err := h.open(ctx, vmID, port)
	if err != nil {
		return nil, fmt.Errorf("ask Bastion host %s for a tunnel to port %s of %s: %w", h.DNSName, port, vmID, err)
	}
	dialer := websocket.Dialer{TLSClientConfig: h.TLS, NetDialContext: h.DialContext, Proxy: http.ProxyFromEnvironment}
	ws, resp, err := dialer.DialContext(ctx,
		"wss://"+h.DNSName+"/webtunnelv2/"+url.PathEscape(s.WebsocketToken)+"?X-Node-Id="+url.QueryEscape(s.NodeID),
		nil)
	if err != nil {
		// The error can contain the URL, which contains the token.
		err = fmt.Errorf("open the tunnel of Bastion host %s to port %s of %s: the websocket was not opened", h.DNSName, port, vmID)
		if resp != nil {
			err = fmt.Errorf("%w: %s", err, resp.Status)
		}
		return nil, errors.Join(err, h.close(s))
	}
	return &tunnel{Conn: ws.NetConn(), ws: ws, leave: sync.OnceValue(func() error { return errors.Join(ws.Close(), h.close(s)) })}, nil
}

func (h Host) client() *http.Client {
	return &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: h.TLS,
		DialContext: h.DialContext, Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
}

// open requests the tokens of a tunnel.
func (h Host) open(ctx context.Context, vmID, port string) (s session, err error) {
	token, err := h.Credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{h.Scope}})
	if err != nil {
		return s, err
	}
	form := url.Values{"resourceId": {vmID}, "protocol": {"tcptunnel"}, "workloadHostPort": {port}, "aztoken": {token.Token}, "token": {""}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+h.DNSName+"/api/tokens", strings.NewReader(form.Encode()))
	if err != nil {
		return s, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := h.client().Do(req)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return s, refusal(resp)
	}
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil || s.WebsocketToken == "" {
		return s, errors.New("the answer holds no token")
	}
	return s, nil
}

// longestRefusal is the number of bytes that are read of an error response's body.
const longestRefusal = 1 << 10

func refusal(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, longestRefusal))
	if err != nil {
		return errors.New(resp.Status)
	}
	return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(text)))
}

// close ends the session, which frees one of the host's limited number of sessions.
func (h Host) close(s session) error {
	req, err := http.NewRequest(http.MethodDelete, "https://"+h.DNSName+"/api/tokens/"+url.PathEscape(s.AuthToken), nil)
	if err != nil {
		return errors.New("end the session of the Bastion host: its token is malformed")
	}
	req.Header.Set("X-Node-Id", s.NodeID)
	resp, err := h.client().Do(req)
	if err != nil {
		return fmt.Errorf("end the session of Bastion host %s: it does not answer", h.DNSName) // the cause contains the token
	}
	return resp.Body.Close()
}

// tunnel is a connection over a websocket. A Read continues in the message that the previous Read did not finish. One
// goroutine may read while another one writes.
type tunnel struct {
	net.Conn // for deadlines and addresses
	ws       *websocket.Conn
	rest     io.Reader
	leave    func() error
}

// Read reads from the received messages.
func (t *tunnel) Read(p []byte) (int, error) {
	for {
		if t.rest == nil {
			kind, r, err := t.ws.NextReader()
			if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived) {
				return 0, io.EOF
			}
			if err != nil {
				return 0, err
			}
			if kind != websocket.BinaryMessage {
				continue
			}
			t.rest = r
		}
		n, err := t.rest.Read(p)
		if errors.Is(err, io.EOF) {
			t.rest, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Write sends a message.
func (t *tunnel) Write(p []byte) (int, error) {
	if err := t.ws.WriteMessage(websocket.BinaryMessage, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close closes the connection and ends the host's session.
func (t *tunnel) Close() error { return t.leave() }

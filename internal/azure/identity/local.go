package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Local restricts the requests of a cloud to this computer.
type Local struct {
	// IdentityEndpoint issues the tokens of managed identities in the form of App Service, for requests with
	// IdentitySecret in the header X-IDENTITY-HEADER. It replaces the metadata service at 169.254.169.254, which would
	// issue tokens of this computer's own identities.
	IdentityEndpoint, IdentitySecret string
}

// ErrNotLocal is the error for a connection to another computer by a Cloud with Local set.
var ErrNotLocal = errors.New("the local plane connects to this machine alone")

// dialer returns a dialer that connects to loopback addresses only, whatever a name resolves to.
func (l *Local) dialer() *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			return fmt.Errorf("%s: %w", address, ErrNotLocal)
		}
		return nil
	}}
}

// dial connects to loopback addresses and to names below localhost. Other names are refused
// before they are resolved.
func (l *Local) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err == nil && net.ParseIP(host) == nil && host != "localhost" {
		return nil, fmt.Errorf("%s: %w", address, ErrNotLocal)
	}
	return l.dialer().DialContext(ctx, network, address)
}

// managed is the credential of a managed identity, by its client ID or resource ID.
type managed struct {
	local                *Local
	transport            policy.Transporter
	clientID, resourceID string
}

// maxToken is the maximum size, in bytes, of a response with a token.
const maxToken = 1 << 20

// GetToken implements azcore.TokenCredential. Clients cache tokens themselves.
func (m *managed) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if len(options.Scopes) != 1 {
		return azcore.AccessToken{}, fmt.Errorf("a managed identity's token is for one scope, not %d", len(options.Scopes))
	}
	query := url.Values{"api-version": {"2019-08-01"}, "resource": {strings.TrimSuffix(options.Scopes[0], "/.default")}}
	if m.clientID != "" {
		query.Set("client_id", m.clientID)
	} else {
		query.Set("mi_res_id", m.resourceID)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.local.IdentityEndpoint+"?"+query.Encode(), nil)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	r.Header.Set("X-IDENTITY-HEADER", m.local.IdentitySecret)
	resp, err := m.transport.Do(r)
	if err != nil {
		return azcore.AccessToken{}, fmt.Errorf("get a managed identity's token: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxToken))
	var answer struct {
		Token   string `json:"access_token"`
		Expires string `json:"expires_on"`
		Reason  string `json:"error_description"`
	}
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	seconds, notNumber := strconv.ParseInt(answer.Expires, 10, 64)
	switch {
	case err != nil:
		return azcore.AccessToken{}, fmt.Errorf("get a managed identity's token: %s, and no JSON", resp.Status)
	case resp.StatusCode != http.StatusOK || answer.Token == "" || notNumber != nil:
		return azcore.AccessToken{}, fmt.Errorf("get a managed identity's token: %s: %s", resp.Status, answer.Reason)
	}
	return azcore.AccessToken{Token: answer.Token, ExpiresOn: time.Unix(seconds, 0)}, nil
}

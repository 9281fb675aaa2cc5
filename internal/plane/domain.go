package plane

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Domain is a simulated Active Directory domain of the plane.
type Domain struct {
	Name string `json:"name"`
	// NetBIOS is the domain's NetBIOS name; the default is the first label of Name, in capitals.
	NetBIOS string `json:"netbios,omitempty"`
	// SID and GUID are only set in responses.
	SID  string `json:"sid,omitempty"`
	GUID string `json:"guid,omitempty"`
	// DNS are the addresses of its DNS servers.
	DNS       []string         `json:"dns"`
	Users     []DomainUser     `json:"users,omitempty"`
	Accounts  []ManagedAccount `json:"accounts,omitempty"`
	Computers []DomainComputer `json:"computers,omitempty"`
}

// DomainUser is a user of a domain. The password is only set in requests.
type DomainUser struct {
	Name     string `json:"name"`
	Password string `json:"password,omitempty"`
	MayJoin  bool   `json:"mayJoin,omitempty"`
}

// ManagedAccount is a group managed service account.
type ManagedAccount struct {
	Name string `json:"name"`
	// Allowed are the accounts that may read the account's password: computers, users, or DomainComputers.
	Allowed []string `json:"allowed"`
	Expired bool     `json:"expired,omitempty"`
}

// DomainComputer is a machine that joined the domain; Owner is the ID of its VM.
type DomainComputer struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
}

// DomainComputers is the group of all computers of a domain.
const DomainComputers = "Domain Computers"

// Domains lists the simulated domains.
func (c *Client) Domains(ctx context.Context) ([]Domain, error) {
	var out []Domain
	return out, c.get(ctx, "/azure/domains", &out)
}

// AddDomain creates a domain.
func (c *Client) AddDomain(ctx context.Context, d Domain) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return c.send(ctx, http.MethodPost, "/azure/domains", data)
}

// RemoveDomain removes a domain; machines that joined it are no longer trusted.
func (c *Client) RemoveDomain(ctx context.Context, name string) error {
	return c.send(ctx, http.MethodDelete, "/azure/domains/"+url.PathEscape(name), nil)
}

// SetManagedAccount creates or changes a gMSA of a domain.
func (c *Client) SetManagedAccount(ctx context.Context, domain string, a ManagedAccount) error {
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return c.send(ctx, http.MethodPut, "/azure/domains/"+url.PathEscape(domain)+"/accounts", data)
}

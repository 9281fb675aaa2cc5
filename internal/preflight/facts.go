package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/controller/capacity"
)

// API versions of the resources that this package reads.
const (
	subscriptionsAPIVersion = "2022-12-01"
	providersAPIVersion     = "2021-04-01"
	networkAPIVersion       = "2024-05-01"
	identityAPIVersion      = "2023-01-31"
)

// Facts are the data from Azure that the checks use.
type Facts struct {
	// Name is the name of the Azure for messages.
	Name          string
	subscriptions map[string]*Subscription
}

// Subscription is the state of a subscription and of the resources in it.
type Subscription struct {
	ID string
	// Err is the reason why the subscription cannot be used at all.
	Err error
	// State is Enabled, Warned, PastDue, Disabled or Deleted.
	State string
	// Unregistered are the resource providers that are not registered, by state.
	Unregistered map[string]string
	// Locations are the locations that the subscription may use; empty if they are unknown.
	Locations []string
	// Unasked are the errors of requests that Azure did not answer.
	Unasked []error

	regions map[string]*region
	vnets   []vnet
	// groups and tables are the security groups and route tables, as Azure returns them.
	groups, tables []json.RawMessage
	// identities is, for each identity that machines refer to, by ID in lower case, whether it exists.
	identities map[string]bool
}

// region has the facts about one location.
type region struct {
	sizes  map[string]catalog.SKU // by name in lower case
	usages map[string]catalog.Usage
	images map[catalog.Image]bool
	// traits are the traits of existing images in Azure.
	traits map[catalog.Image]catalog.ImageTraits
}

// vnet is an existing virtual network.
type vnet struct {
	ID, Name   string
	Properties struct {
		AddressSpace struct{ AddressPrefixes []string }
		DHCPOptions  struct{ DNSServers []string }
		Subnets      []subnet
	}
	// raw is Azure's response.
	raw json.RawMessage
}

// subnet is a subnet of a virtual network.
type subnet struct {
	Name       string
	Properties struct {
		AddressPrefix    string
		AddressPrefixes  []string
		IPConfigurations []struct{ ID string }
	}
}

// of returns the facts about a cluster's subscription; nil if Azure was not queried.
func (f *Facts) of(c *Cluster) *Subscription {
	if f == nil || c.Azure == nil {
		return nil
	}
	return f.subscriptions[strings.ToLower(c.Azure.Spec.SubscriptionID)]
}

// region returns the facts about a cluster's location; nil if they could not be read.
func (s *Subscription) region(c *Cluster) *region { return s.regions[normal(c.Azure.Spec.Location)] }

func normal(location string) string {
	return strings.ToLower(strings.ReplaceAll(location, " ", ""))
}

// providers returns the resource providers that every cluster needs.
func providers() []string { return []string{"Microsoft.Compute", "Microsoft.Network"} }

// Subscriptions returns the subscription IDs of a plan's clusters, sorted.
func (p *Plan) Subscriptions() []string {
	ids := map[string]bool{}
	for _, c := range p.Clusters {
		if c.Azure != nil && c.Azure.Spec.SubscriptionID != "" {
			ids[strings.ToLower(c.Azure.Spec.SubscriptionID)] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// Ask reads the facts for the checks from Azure. Failed requests are part of the facts; the only error is the end of ctx.
func Ask(ctx context.Context, client catalog.Client, name string, plan *Plan) (*Facts, error) {
	f := &Facts{Name: name, subscriptions: map[string]*Subscription{}}
	for _, id := range plan.Subscriptions() {
		r := reader{client: client, s: &Subscription{
			ID: id, Unregistered: map[string]string{}, regions: map[string]*region{}, identities: map[string]bool{},
		}}
		f.subscriptions[id] = r.s
		r.read(ctx, plan)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("ask %s about subscription %s: %w", name, id, err)
		}
	}
	return f, nil
}

// reader reads one subscription, which need not be the client's own.
type reader struct {
	client catalog.Client
	s      *Subscription
}

type elsewhere struct {
	catalog.Client
	id string
}

func (e elsewhere) SubscriptionID() string { return e.id }

func (r reader) read(ctx context.Context, plan *Plan) {
	at := "/subscriptions/" + r.s.ID
	var own struct{ State string }
	if r.s.Err = r.get(ctx, at, subscriptionsAPIVersion, &own); r.s.Err != nil {
		return
	}
	r.s.State = own.State
	for _, namespace := range providers() {
		var provider struct{ RegistrationState string }
		if err := r.get(ctx, at+"/providers/"+namespace, providersAPIVersion, &provider); err != nil {
			r.recordError(err)
		} else if provider.RegistrationState != "Registered" {
			r.s.Unregistered[namespace] = provider.RegistrationState
		}
	}
	var locations struct{ Value []struct{ Name string } }
	r.recordError(r.get(ctx, at+"/locations", subscriptionsAPIVersion, &locations))
	for _, l := range locations.Value {
		r.s.Locations = append(r.s.Locations, normal(l.Name))
	}
	for _, item := range r.network(ctx, at, "virtualNetworks") {
		v := vnet{raw: item}
		if err := json.Unmarshal(item, &v); err != nil {
			r.recordError(err)
			continue
		}
		r.s.vnets = append(r.s.vnets, v)
	}
	if slices.ContainsFunc(plan.Clusters, (*Cluster).ownsNoNetwork) {
		r.s.groups = r.network(ctx, at, "networkSecurityGroups")
		r.s.tables = r.network(ctx, at, "routeTables")
	}
	known := catalog.New(elsewhere{r.client, r.s.ID}, nil)
	for _, c := range plan.Clusters {
		if c.Azure != nil && strings.EqualFold(c.Azure.Spec.SubscriptionID, r.s.ID) && r.offered(c.Azure.Spec.Location) {
			r.region(ctx, known, c)
		}
		r.identities(ctx, c)
	}
}

// network lists the network resources of a kind in a subscription.
func (r reader) network(ctx context.Context, subscription, kind string) (all []json.RawMessage) {
	for item, err := range r.client.List(ctx, subscription+"/providers/Microsoft.Network/"+kind, networkAPIVersion) {
		if err != nil {
			r.recordError(err)
			break
		}
		all = append(all, item)
	}
	return all
}

// identities reads the identities in this subscription that a cluster's machines refer to.
func (r reader) identities(ctx context.Context, c *Cluster) {
	for _, m := range c.Machines {
		for _, i := range m.Spec.UserAssignedIdentities {
			id := identityID(i)
			key := strings.ToLower(id)
			if _, asked := r.s.identities[key]; asked || !strings.HasPrefix(key, "/subscriptions/"+strings.ToLower(r.s.ID)+"/") {
				continue
			}
			_, err := r.client.Get(ctx, id, identityAPIVersion)
			if missing := arm.ClassOf(err) == arm.NotFound; missing || err == nil {
				r.s.identities[key] = !missing
			} else {
				r.recordError(err)
			}
		}
	}
}

// identityID returns the resource ID in the provider ID of a machine's identity.
func identityID(i infrav1.UserAssignedIdentity) string {
	return strings.TrimPrefix(i.ProviderID, "azure://")
}

// offered reports whether a location can be queried.
func (r reader) offered(location string) bool {
	return location != "" && (len(r.s.Locations) == 0 || slices.Contains(r.s.Locations, normal(location)))
}

func (r reader) region(ctx context.Context, known *catalog.Catalog, c *Cluster) {
	location := c.Azure.Spec.Location
	at := r.s.regions[normal(location)]
	if at == nil {
		at = &region{images: map[catalog.Image]bool{}, traits: map[catalog.Image]catalog.ImageTraits{}}
		r.s.regions[normal(location)] = at
		sizes, err := known.SKUs(ctx, location)
		r.recordError(err)
		if err == nil {
			at.sizes = map[string]catalog.SKU{}
		}
		for _, s := range sizes {
			at.sizes[strings.ToLower(s.Name)] = s
		}
		usages, err := known.Usages(ctx, location)
		r.recordError(err)
		at.usages = map[string]catalog.Usage{}
		for _, u := range usages {
			at.usages[strings.ToLower(u.Name)] = u
		}
	}
	for _, m := range c.Machines {
		image, ok := imageOf(m, c)
		if _, asked := at.images[image]; !ok || asked {
			continue
		}
		if exists, err := known.Exists(ctx, location, image); err != nil {
			r.recordError(err)
		} else {
			at.images[image] = exists
			if exists {
				r.imageTraits(ctx, known, location, at, image)
			}
		}
	}
}

// imageOf returns the image of a group's machines; ok is false if it is unknown, which checks PRE501 and WIN810 report.
func imageOf(m *Machines, c *Cluster) (catalog.Image, bool) {
	if m.Infra == nil {
		return catalog.Image{}, false
	}
	image, err := capacity.Image(&m.Spec, m.Annotations(), versionOf(m, c).Str())
	return capacity.CatalogImage(image), err == nil
}

func (r reader) get(ctx context.Context, id, apiVersion string, into any) error {
	body, err := r.client.Get(ctx, id, apiVersion)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// recordError records the error of a request that Azure did not answer. An error with the same message
// is recorded once.
func (r reader) recordError(err error) {
	if err == nil {
		return
	}
	code := arm.CodeOf(err)
	if code == "" || !slices.ContainsFunc(r.s.Unasked, func(known error) bool { return arm.CodeOf(known) == code }) {
		r.s.Unasked = append(r.s.Unasked, err)
	}
}

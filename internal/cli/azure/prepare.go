package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	infrav1 "casement.dev/casement/api/v1beta1"
	casementarm "casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/preflight"
)

func newAzurePrepare(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "prepare FILE|-",
		Short: "Make in the local Azure what a manifest takes for granted",
		Long: `Make what a manifest expects to be there, in the local Azure: the user-assigned
identities of its machines, the virtual network, where that is in a resource group which
is not the cluster's, with its security groups, networks that it is peered with, and
images in galleries of a subscription, which are copies of the reference images; for an
ImageBuild its gallery. An identity that is made gets the role Contributor in its
subscription, which the cloud provider on the machines uses.
CAPZ's users create these by hand in their subscription before the first cluster. What is
there stays as it is.`,
		Example: `  casement generate cluster demo --from cluster-template-windows.yaml > demo.yaml
  casement azure prepare demo.yaml && casement kubectl apply -f demo.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, unread := lint.Read(args, lint.Options{Stdin: a.In})
			if len(unread) > 0 {
				return errors.Join(unread...)
			}
			s, err := plane.NewClient(a.Dir).Status(cmd.Context())
			if err != nil {
				return err
			}
			wanted, err := prerequisites(set, s.Azure.SubscriptionID)
			if err != nil {
				return fmt.Errorf("read %s: %w", args[0], err)
			}
			client, err := s.Azure.ARM()
			if err != nil {
				return err
			}
			return prepare(cmd.Context(), a, client, wanted)
		},
	}
}

// API versions of the resources that prepare creates.
const (
	groupVersion    = "2021-04-01"
	identityVersion = "2023-01-31"
	networkVersion  = "2024-05-01"
	roleVersion     = "2022-04-01"
)

// prerequisite is an Azure resource that a manifest refers to and that has to exist already.
type prerequisite struct {
	// kind is the name of the resource's type in messages.
	kind, group, name string
	// path is the path of the resource below its subscription; version is the API version for writing it.
	path, version string
	subscription  string
	properties    any
	// in is the path of a resource that makes this one unnecessary if it exists.
	in string
	// location is the cluster's location, because a network or image in another location cannot be used; empty means
	// the plane's location.
	location string
}

// prepare creates the prerequisites that do not exist yet, and their resource groups.
func prepare(ctx context.Context, a *app.App, client *casementarm.Client, wanted []prerequisite) error {
	if len(wanted) == 0 {
		fmt.Fprintln(a.Out, "The manifest takes nothing for granted.")
	}
	there := map[string]bool{}
	for _, w := range wanted {
		root := "/subscriptions/" + w.subscription
		if there[root+w.in] {
			continue
		}
		_, err := client.Get(ctx, root+w.path, w.version)
		if err == nil {
			there[root+w.path] = true
			fmt.Fprintf(a.Out, "%s %s in %s is there\n", w.kind, w.name, w.group)
			continue
		}
		if casementarm.ClassOf(err) != casementarm.NotFound {
			return fmt.Errorf("read %s %s: %w", w.kind, w.name, err)
		}
		group := map[string]any{"location": plane.Location}
		if _, err := client.Put(ctx, root+"/resourceGroups/"+w.group, groupVersion, group); err != nil {
			return fmt.Errorf("make resource group %s: %w", w.group, err)
		}
		body := map[string]any{"location": cmp.Or(w.location, plane.Location)}
		if w.properties != nil {
			body["properties"] = w.properties
		}
		if _, err := client.Put(ctx, root+w.path, w.version, body); err != nil {
			return fmt.Errorf("make %s %s: %w", w.kind, w.name, err)
		}
		if w.kind == identityKind {
			if err := contribute(ctx, client, root, root+w.path); err != nil {
				return fmt.Errorf("give %s %s its role: %w", w.kind, w.name, err)
			}
		}
		fmt.Fprintf(a.Out, "%s %s in %s made\n", w.kind, w.name, w.group)
	}
	return nil
}

const identityKind = "identity"

// contribute assigns the role Contributor in a scope to an identity, as users of CAPZ do for the machines of a cluster.
func contribute(ctx context.Context, client *casementarm.Client, scope, identity string) error {
	const roles = "/providers/Microsoft.Authorization/role"
	data, err := client.Get(ctx, identity, identityVersion)
	if err != nil {
		return err
	}
	var made struct {
		Properties struct {
			PrincipalID string `json:"principalId"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(data, &made); err != nil {
		return err
	}
	_, err = client.Put(ctx, scope+roles+"Assignments/"+uuid.NewSHA1(uuid.NameSpaceURL, []byte(identity)).String(), roleVersion,
		map[string]any{"properties": map[string]any{"principalId": made.Properties.PrincipalID, "principalType": "ServicePrincipal",
			"roleDefinitionId": scope + roles + "Definitions/b24988ac-6180-42a0-ab88-20f7382dd24c"}})
	return err
}

// prerequisites returns the Azure resources that manifests expect to exist, each once:
// networks first, in the given subscription if the manifest names none.
func prerequisites(set *lint.Set, subscription string) ([]prerequisite, error) {
	plan, err := preflight.Read(set)
	if err != nil {
		return nil, err
	}
	var wanted []prerequisite
	for _, c := range plan.Clusters {
		location := ""
		if c.Azure != nil {
			location = c.Azure.Spec.Location
		}
		for _, image := range imagesOf(c.Machines) {
			image.location = location
			if !slices.ContainsFunc(wanted, func(w prerequisite) bool { return w.subscription+w.path == image.subscription+image.path }) {
				wanted = append(wanted, image)
			}
		}
		if c.Azure == nil {
			continue
		}
		networks, err := networksOf(c.Azure, cmp.Or(c.Azure.Spec.SubscriptionID, subscription))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Infra, err)
		}
		for _, network := range networks {
			network.location = location
			wanted = append(wanted, network)
		}
	}
	identities := map[string]*arm.ResourceID{}
	for _, o := range set.Objects {
		raw, err := o.Root.JSON()
		var document any
		if err == nil {
			err = json.Unmarshal(raw, &document)
		}
		if err == nil {
			err = collectIdentities(document, identities)
		}
		if gallery, is := galleryOf(document); is {
			gallery.subscription = subscription
			wanted = append(wanted, gallery)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(identities)) {
		id := identities[key]
		wanted = append(wanted, prerequisite{kind: identityKind, group: id.ResourceGroupName, name: id.Name, subscription: id.SubscriptionID,
			path: strings.TrimPrefix(id.String(), "/subscriptions/"+id.SubscriptionID), version: identityVersion})
	}
	return wanted, nil
}

// networksOf returns the virtual networks that an AzureCluster expects in Azure: its own, if it is in another resource
// group, and its peered networks, each with a range that does not overlap the cluster's.
func networksOf(cluster *infrav1.AzureCluster, subscription string) ([]prerequisite, error) {
	vnet := cluster.Spec.NetworkSpec.Vnet
	network := func(kind, resourceType, group, name string, properties any) prerequisite {
		return prerequisite{kind: kind, group: group, name: name, subscription: subscription, version: networkVersion,
			path: "/resourceGroups/" + group + "/providers/Microsoft.Network/" + resourceType + "/" + name, properties: properties}
	}
	virtualNetwork := func(group, name string, ranges []string, subnets []any) prerequisite {
		return network("virtual network", "virtualNetworks", group, name,
			map[string]any{"addressSpace": map[string]any{"addressPrefixes": ranges}, "subnets": subnets})
	}
	var out []prerequisite
	if vnet.ResourceGroup != "" && !strings.EqualFold(vnet.ResourceGroup, cluster.Spec.ResourceGroup) {
		var subnets []any
		for _, s := range cluster.Spec.NetworkSpec.Subnets {
			properties := map[string]any{"addressPrefixes": s.CIDRBlocks}
			subnets = append(subnets, map[string]any{"name": s.Name, "properties": properties})
			if s.SecurityGroup.Name == "" {
				continue
			}
			group := network("security group", "networkSecurityGroups", vnet.ResourceGroup, s.SecurityGroup.Name,
				map[string]any{"securityRules": openFor(s.Role)})
			out = append(out, group)
			properties["networkSecurityGroup"] = map[string]any{"id": "/subscriptions/" + subscription + group.path}
		}
		out = append(out, virtualNetwork(vnet.ResourceGroup, vnet.Name, vnet.CIDRBlocks, subnets))
	}
	for _, p := range vnet.Peerings {
		apart, err := rangeApart(vnet.CIDRBlocks)
		if err != nil {
			return nil, err
		}
		out = append(out, virtualNetwork(cmp.Or(p.ResourceGroup, cluster.Spec.ResourceGroup), p.RemoteVnetName, []string{apart}, nil))
	}
	return out, nil
}

// openFor returns the security rules that a subnet of a role needs: for the control plane, access by SSH and to the API server.
func openFor(role infrav1.SubnetRole) []any {
	if role != infrav1.SubnetControlPlane && role != infrav1.SubnetCluster {
		return nil
	}
	rule := func(name, port string, priority int) any {
		return map[string]any{"name": name, "properties": map[string]any{
			"protocol": "Tcp", "access": "Allow", "direction": "Inbound", "priority": priority,
			"sourceAddressPrefix": "*", "sourcePortRange": "*", "destinationAddressPrefix": "*", "destinationPortRange": port,
		}}
	}
	return []any{rule("allow_ssh", "22", 2200), rule("allow_apiserver", "6443", 2201)}
}

// rangeApart returns a private /16 that overlaps none of the ranges.
func rangeApart(ranges []string) (string, error) {
	for _, text := range []string{"172.31.0.0/16", "192.168.0.0/16", "10.254.0.0/16"} {
		candidate, overlaps := netip.MustParsePrefix(text), false
		for _, r := range ranges {
			taken, err := netip.ParsePrefix(r)
			if err != nil {
				return "", fmt.Errorf("vnet.cidrBlocks: %w", err)
			}
			overlaps = overlaps || taken.Overlaps(candidate)
		}
		if !overlaps {
			return text, nil
		}
	}
	return "", fmt.Errorf("vnet.cidrBlocks %v leaves no private range for a network to peer with", ranges)
}

// collectIdentities finds the providerID of each entry of userAssignedIdentities in a value, at any depth.
func collectIdentities(v any, found map[string]*arm.ResourceID) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := collectIdentities(e, found); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, e := range v {
			entries, isList := e.([]any)
			if key != "userAssignedIdentities" || !isList {
				if err := collectIdentities(e, found); err != nil {
					return err
				}
				continue
			}
			for _, entry := range entries {
				fields, _ := entry.(map[string]any)
				text, _ := fields["providerID"].(string)
				id, err := arm.ParseResourceID("/" + strings.TrimLeft(strings.TrimPrefix(text, "azure://"), "/"))
				if err != nil {
					return fmt.Errorf("userAssignedIdentities: providerID %q is no resource ID: %w", text, err)
				}
				found[strings.ToLower(id.String())] = id
			}
		}
	}
	return nil
}

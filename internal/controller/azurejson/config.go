package azurejson

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
)

// input has the values that the cloud provider's configuration depends on.
type input struct {
	cluster  *infrav1.AzureCluster
	tenantID string
	// identity is the kind of identity with which the virtual machines authenticate.
	identity infrav1.VMIdentity
	// clientID and clientSecret are the service principal's, for machines without an identity of their own.
	// clientSecret must not be logged.
	clientID, clientSecret string
	// userAssignedClientID is the client ID of the machine's first identity.
	userAssignedClientID string
}

// config is cloud-provider-azure's configuration file; its keys have CAPZ's order. Source:
// https://cloud-provider-azure.sigs.k8s.io/install/configs/.
type config struct {
	Cloud                        string `json:"cloud"`
	TenantID                     string `json:"tenantId"`
	SubscriptionID               string `json:"subscriptionId"`
	ClientID                     string `json:"aadClientId,omitempty"`
	ClientSecret                 string `json:"aadClientSecret,omitempty"`
	ResourceGroup                string `json:"resourceGroup"`
	SecurityGroupName            string `json:"securityGroupName"`
	SecurityGroupResourceGroup   string `json:"securityGroupResourceGroup"`
	Location                     string `json:"location"`
	ExtendedLocationType         string `json:"extendedLocationType,omitempty"`
	ExtendedLocationName         string `json:"extendedLocationName,omitempty"`
	VMType                       string `json:"vmType"`
	VNetName                     string `json:"vnetName"`
	VNetResourceGroup            string `json:"vnetResourceGroup"`
	SubnetName                   string `json:"subnetName"`
	RouteTableName               string `json:"routeTableName"`
	LoadBalancerSKU              string `json:"loadBalancerSku"`
	LoadBalancerName             string `json:"loadBalancerName"`
	MaximumLoadBalancerRuleCount int    `json:"maximumLoadBalancerRuleCount"`
	UseManagedIdentity           bool   `json:"useManagedIdentityExtension"`
	UseInstanceMetadata          bool   `json:"useInstanceMetadata"`
	UserAssignedIdentityID       string `json:"userAssignedIdentityID"`
	*rateLimit
	*backOff
	RouteRateLimit           *rateLimit `json:"routeRateLimit,omitempty"`
	SubnetsRateLimit         *rateLimit `json:"subnetsRateLimit,omitempty"`
	InterfaceRateLimit       *rateLimit `json:"interfaceRateLimit,omitempty"`
	RouteTableRateLimit      *rateLimit `json:"routeTableRateLimit,omitempty"`
	LoadBalancerRateLimit    *rateLimit `json:"loadBalancerRateLimit,omitempty"`
	PublicIPAddressRateLimit *rateLimit `json:"publicIPAddressRateLimit,omitempty"`
	SecurityGroupRateLimit   *rateLimit `json:"securityGroupRateLimit,omitempty"`
	VirtualMachineRateLimit  *rateLimit `json:"virtualMachineRateLimit,omitempty"`
	StorageAccountRateLimit  *rateLimit `json:"storageAccountRateLimit,omitempty"`
	DiskRateLimit            *rateLimit `json:"diskRateLimit,omitempty"`
	SnapshotRateLimit        *rateLimit `json:"snapshotRateLimit,omitempty"`
	VMSSRateLimit            *rateLimit `json:"virtualMachineScaleSetRateLimit,omitempty"`
	VirtualMachineSizeLimit  *rateLimit `json:"virtualMachineSizeRateLimit,omitempty"`
	AvailabilitySetRateLimit *rateLimit `json:"availabilitySetRateLimit,omitempty"`
}

type rateLimit struct {
	Enabled     bool    `json:"cloudProviderRateLimit,omitempty"`
	QPS         float32 `json:"cloudProviderRateLimitQPS,omitempty"`
	Bucket      int     `json:"cloudProviderRateLimitBucket,omitempty"`
	QPSWrite    float32 `json:"cloudProviderRateLimitQPSWrite,omitempty"`
	BucketWrite int     `json:"cloudProviderRateLimitBucketWrite,omitempty"`
}

type backOff struct {
	Enabled  bool    `json:"cloudProviderBackoff,omitempty"`
	Retries  int     `json:"cloudProviderBackoffRetries,omitempty"`
	Exponent float64 `json:"cloudProviderBackoffExponent,omitempty"`
	Duration int     `json:"cloudProviderBackoffDuration,omitempty"`
	Jitter   float64 `json:"cloudProviderBackoffJitter,omitempty"`
}

// maximumRules is the maximum number of rules of a Standard load balancer.
const maximumRules = 250

// render returns the configuration file that templates write to a node's disk.
func render(in input) ([]byte, error) {
	spec := &in.cluster.Spec
	c := config{
		Cloud:                        spec.AzureEnvironment,
		TenantID:                     in.tenantID,
		SubscriptionID:               spec.SubscriptionID,
		ResourceGroup:                spec.ResourceGroup,
		SecurityGroupResourceGroup:   desired.VNetGroup(in.cluster).Name,
		Location:                     spec.Location,
		VMType:                       "vmss",
		VNetName:                     spec.NetworkSpec.Vnet.Name,
		VNetResourceGroup:            desired.VNetGroup(in.cluster).Name,
		LoadBalancerSKU:              "Standard",
		MaximumLoadBalancerRuleCount: maximumRules,
		UseInstanceMetadata:          true,
	}
	if e := spec.ExtendedLocation; e != nil {
		c.ExtendedLocationType, c.ExtendedLocationName = string(e.Type), e.Name
	}
	if lb := spec.NetworkSpec.NodeOutboundLB; lb != nil {
		c.LoadBalancerName = lb.Name
	}
	for _, subnet := range spec.NetworkSpec.Subnets {
		if subnet.Role == infrav1.SubnetNode || subnet.Role == infrav1.SubnetCluster {
			c.SubnetName, c.SecurityGroupName, c.RouteTableName = subnet.Name, subnet.SecurityGroup.Name, subnet.RouteTable.Name
			break
		}
	}
	switch in.identity {
	case infrav1.VMIdentitySystemAssigned:
		c.UseManagedIdentity = true
	case infrav1.VMIdentityUserAssigned:
		c.UseManagedIdentity, c.UserAssignedIdentityID = true, in.userAssignedClientID
	default:
		c.ClientID, c.ClientSecret = in.clientID, in.clientSecret
	}
	if err := c.override(spec.CloudProviderConfigOverrides); err != nil {
		return nil, err
	}
	return json.MarshalIndent(c, "", "    ")
}

// override applies the spec's rate limits and back-off settings.
func (c *config) override(o *infrav1.CloudProviderConfigOverrides) error {
	if o == nil {
		return nil
	}
	places := map[string]**rateLimit{
		"defaultRateLimit": &c.rateLimit, "routeRateLimit": &c.RouteRateLimit, "subnetsRateLimit": &c.SubnetsRateLimit,
		"interfaceRateLimit": &c.InterfaceRateLimit, "routeTableRateLimit": &c.RouteTableRateLimit,
		"loadBalancerRateLimit": &c.LoadBalancerRateLimit, "publicIPAddressRateLimit": &c.PublicIPAddressRateLimit,
		"securityGroupRateLimit": &c.SecurityGroupRateLimit, "virtualMachineRateLimit": &c.VirtualMachineRateLimit,
		"storageAccountRateLimit": &c.StorageAccountRateLimit, "diskRateLimit": &c.DiskRateLimit,
		"snapshotRateLimit": &c.SnapshotRateLimit, "virtualMachineScaleSetRateLimit": &c.VMSSRateLimit,
		"virtualMachineSizesRateLimit": &c.VirtualMachineSizeLimit, "availabilitySetRateLimit": &c.AvailabilitySetRateLimit,
	}
	for i, given := range o.RateLimits {
		place, ok := places[given.Name]
		if !ok {
			return fmt.Errorf("spec.cloudProviderConfigOverrides.rateLimits[%d].name: cloud-provider-azure has "+
				"no rate limit %q", i, given.Name)
		}
		*place = &rateLimit{
			Enabled: given.Config.CloudProviderRateLimit,
			QPS:     float32(quantity(given.Config.CloudProviderRateLimitQPS)), Bucket: given.Config.CloudProviderRateLimitBucket,
			QPSWrite:    float32(quantity(given.Config.CloudProviderRateLimitQPSWrite)),
			BucketWrite: given.Config.CloudProviderRateLimitBucketWrite,
		}
	}
	b := o.BackOffs
	c.backOff = &backOff{
		Enabled: b.CloudProviderBackoff, Retries: b.CloudProviderBackoffRetries, Exponent: quantity(b.CloudProviderBackoffExponent),
		Duration: b.CloudProviderBackoffDuration, Jitter: quantity(b.CloudProviderBackoffJitter),
	}
	return nil
}

func quantity(q *resource.Quantity) float64 {
	if q == nil {
		return 0
	}
	return q.AsApproximateFloat64()
}

package azuremachine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/bootdata"
	"casement.dev/casement/internal/controller/capacity"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
)

// imageNotFound is the reason in VMRunning if the image does not exist.
const imageNotFound = "ImageNotFound"

// inputs are the values, in addition to the specs, from which a new virtual machine is created. They contain secrets
// and are discarded after the pass.
type inputs struct {
	image         infrav1.Image
	size          capacity.Size
	bootstrapData []byte
	password      string
	// secret is the Key Vault secret with the bootstrap data; nil if the data is in the
	// custom data.
	secret *desired.BootstrapSecret
}

// prepare collects the inputs of a new virtual machine, and checks them as far as no call is needed. It does nothing if
// the VM exists.
func (r *Reconciler) prepare(ctx context.Context, s *scope) pass.Result {
	if s.vm != nil {
		return pass.Next()
	}
	return pass.Each(ctx, s, r.size, r.image, r.bootstrapData, r.password)
}

// password generates the password of a Windows machine's administrator.
func (r *Reconciler) password(_ context.Context, s *scope) (result pass.Result) {
	if s.windows() {
		s.input.password, result.Err = bootdata.Password()
	}
	return result
}

// size checks the VM size against Azure's offer in the location.
func (r *Reconciler) size(ctx context.Context, s *scope) pass.Result {
	size, err := capacity.Of(ctx, s.Azure.Catalog(), s.AzureCluster.Spec.Location, &s.azureMachine.Spec, s.zone())
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		return pass.Blocked(cloud.InvalidConfiguration, invalid.Error(), r.Resync)
	}
	if err != nil {
		return pass.Unread(err, "read what VM sizes location "+s.AzureCluster.Spec.Location+" offers")
	}
	s.input.size = size
	return pass.Next()
}

// image resolves the image and checks that it exists.
func (r *Reconciler) image(ctx context.Context, s *scope) pass.Result {
	image, err := capacity.Image(&s.azureMachine.Spec, s.azureMachine.Annotations, s.machine.Spec.Version)
	if err != nil {
		return pass.Blocked(cloud.InvalidConfiguration, err.Error(), r.Resync)
	}
	found, err := capacity.ImageExists(ctx, s.Azure.Catalog(), s.AzureCluster, image)
	if err != nil {
		return pass.Unread(err, "look for the image "+capacity.ImageName(image))
	}
	if !found {
		field := "spec.image"
		if s.azureMachine.Spec.Image == nil {
			field = "spec.version of Machine " + s.machine.Name
		}
		return pass.Blocked(imageNotFound,
			fmt.Sprintf("there is no image %s in location %s; change %s to a version that has one, or publish it",
				capacity.ImageName(image), s.AzureCluster.Spec.Location, field), r.Resync)
	}
	s.input.image = image
	return pass.Next()
}

// bootstrapData reads the bootstrap data and refuses data that a guest could not use.
func (r *Reconciler) bootstrapData(ctx context.Context, s *scope) pass.Result {
	data, err := bootdata.Read(ctx, s.Azure, r.Client, bootdata.Input{
		Cluster: s.AzureCluster, ClusterName: s.Cluster.Name, Owner: s.azureMachine,
		Tags: s.azureMachine.Spec.AdditionalTags, Windows: s.windows(),
		Secret: client.ObjectKey{Namespace: s.machine.Namespace, Name: *s.machine.Spec.Bootstrap.DataSecretName},
	})
	if refused, ok := errors.AsType[*bootdata.Error](err); ok {
		return pass.Blocked(refused.Reason, refused.Message, cmp.Or(refused.After, r.Resync))
	}
	if err != nil {
		return pass.Error(fmt.Errorf("AzureMachine %s: %w", s.azureMachine.Name, err))
	}
	s.input.bootstrapData, s.input.secret = data.Custom, data.Secret
	return pass.Next()
}

// zone returns the machine's availability zone; the Machine's failure domain takes
// precedence.
func (s *scope) zone() string {
	zone := s.machine.Spec.FailureDomain
	if zone == "" && s.azureMachine.Spec.FailureDomain != nil {
		zone = *s.azureMachine.Spec.FailureDomain
	}
	return zone
}

// availabilitySet returns the machine's availability set in a region without zones.
func (s *scope) availabilitySet() *desired.AvailabilitySet {
	spec := &s.azureMachine.Spec
	if len(s.AzureCluster.Status.FailureDomains) > 0 || s.zone() != "" || spec.SpotVMOptions != nil ||
		s.AzureCluster.Spec.ExtendedLocation != nil {
		return nil
	}
	name := desired.AvailabilitySetName(s.Cluster.Name, util.IsControlPlaneMachine(s.machine),
		s.machine.Labels[clusterv1.MachineDeploymentNameLabel], s.machine.Labels[clusterv1.MachineSetNameLabel])
	if name == "" {
		return nil
	}
	return &desired.AvailabilitySet{Name: name, FaultDomains: cmp.Or(s.input.size.FaultDomains, 2)}
}

// sshPort returns the frontend port of the machine's NAT rule: the current port, or the first free one.
func (s *scope) sshPort(ctx context.Context) (int32, error) {
	lb := desired.SSHRuleLB(s.AzureCluster)
	if lb == "" || !util.IsControlPlaneMachine(s.machine) {
		return 0, nil
	}
	live, err := s.Azure.Live(ctx, lb)
	if err != nil || live == nil {
		return 0, err
	}
	type rule struct {
		Name       string `json:"name"`
		Properties struct {
			FrontendPort int32 `json:"frontendPort"`
		} `json:"properties"`
	}
	var body struct {
		Properties struct {
			InboundNATRules    []rule `json:"inboundNatRules"`
			LoadBalancingRules []rule `json:"loadBalancingRules"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(live, &body); err != nil {
		return 0, fmt.Errorf("load balancer %s: %w", desired.LastSegment(lb), err)
	}
	taken := map[int32]bool{}
	for _, rule := range body.Properties.InboundNATRules {
		if strings.EqualFold(rule.Name, s.vmName) {
			return rule.Properties.FrontendPort, nil
		}
		taken[rule.Properties.FrontendPort] = true
	}
	for _, rule := range body.Properties.LoadBalancingRules {
		taken[rule.Properties.FrontendPort] = true
	}
	return desired.FreeSSHPort(taken), nil
}

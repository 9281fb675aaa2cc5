package azuremachine

import (
	"context"
	"errors"
	"strings"
	"time"

	"sigs.k8s.io/cluster-api/util"

	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
	"casement.dev/casement/internal/controller/record"
)

const hourly = time.Hour

// apply compares the machine's resources with Azure and begins the writes that are due.
func (r *Reconciler) apply(ctx context.Context, s *scope) pass.Result {
	resources, result := s.resources(ctx)
	if result.Ends() {
		return result
	}
	s.outcome = s.Azure.Apply(ctx, s.Cluster.Name, resources, *s.Operations())
	*s.Operations() = record.States(s.outcome.Tokens)
	return pass.Next()
}

// resources returns the desired resources of the machine.
func (s *scope) resources(ctx context.Context) ([]desired.Resource, pass.Result) {
	port, err := s.sshPort(ctx)
	if err != nil {
		return nil, pass.Unread(err, "read the API server's load balancer")
	}
	in := desired.MachineInput{
		Cluster: s.AzureCluster, Machine: s.azureMachine, ClusterName: s.Cluster.Name,
		VMName: s.vmName, ControlPlane: util.IsControlPlaneMachine(s.machine), Zone: s.zone(),
		Image: s.input.image, BootstrapData: s.input.bootstrapData, AdminPassword: s.input.password,
		AcceleratedNetworking: s.input.size.AcceleratedNetworking, ARM64: s.input.size.ARM64,
		AvailabilitySet: s.availabilitySet(), SSHPort: port,
	}
	if s.vm != nil {
		in.Exists = true
		in.PrincipalID = s.vm.Identity.PrincipalID
	}
	if s.input.secret != nil {
		in.SecretReader = s.input.secret.ReaderID(s.AzureCluster)
	}
	resources, err := desired.Machine(in)
	if s.input.secret != nil && err == nil {
		right := s.input.secret.Right(s.AzureCluster)
		resources = append([]desired.Resource{right}, s.needing(resources, right.ID)...)
	}
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		return nil, pass.Blocked(cloud.InvalidConfiguration, invalid.Error(), hourly)
	}
	return resources, pass.Error(err)
}

// needing adds a resource to the needs of the virtual machine, so that the resource is created first.
func (s *scope) needing(resources []desired.Resource, id string) []desired.Resource {
	for i := range resources {
		if strings.EqualFold(resources[i].ID, desired.VMID(s.AzureCluster, s.vmName)) {
			resources[i].Needs = append(resources[i].Needs, id)
		}
	}
	return resources
}

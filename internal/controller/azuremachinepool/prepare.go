package azuremachinepool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/controller/bootdata"
	"casement.dev/casement/internal/controller/capacity"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/pass"
)

// inputs are the values, in addition to the specs, from which a scale set is created. They contain secrets and are
// discarded after the pass.
type inputs struct {
	image infrav1.Image
	size  capacity.Size
	// rendered is the bootstrap data, and bootstrapData the custom data made of it.
	rendered, bootstrapData []byte
	password                string
	// secret is the Key Vault secret with the bootstrap data; nil if the data is in the
	// custom data.
	secret *desired.BootstrapSecret
}

// firstFlexible is the first Kubernetes minor version whose cloud provider supports
// instances of Flexible scale sets. Source: https://capz.sigs.k8s.io/topics/machinepools
// (orchestrationMode).
const firstFlexible = 26

// prepare collects the inputs of the scale set, and checks them as far as no call is needed.
func (r *Reconciler) prepare(ctx context.Context, s *scope) pass.Result {
	return pass.Each(ctx, s, r.version, r.size, r.image, r.bootstrapData, r.password)
}

// password generates the password of a new Windows scale set's administrator.
func (r *Reconciler) password(_ context.Context, s *scope) (result pass.Result) {
	if s.windows() && s.live == nil {
		s.input.password, result.Err = bootdata.Password()
	}
	return result
}

func (r *Reconciler) version(_ context.Context, s *scope) pass.Result {
	v, err := semver.ParseTolerant(s.machinePool.Spec.Template.Spec.Version)
	if err == nil && s.flexible() && v.Major == 1 && v.Minor < firstFlexible {
		return pass.Blocked(cloud.InvalidConfiguration, fmt.Sprintf("spec.orchestrationMode is Flexible, which "+
			"needs Kubernetes v1.%d or later, but MachinePool %s has %s; use Uniform in a new pool, or a later "+
			"version",
			firstFlexible, s.machinePool.Name, s.machinePool.Spec.Template.Spec.Version), r.Resync)
	}
	return pass.Next()
}

// size checks the VM size against the offers of the location and of each zone.
func (r *Reconciler) size(ctx context.Context, s *scope) pass.Result {
	zones := s.machinePool.Spec.FailureDomains
	if len(zones) == 0 {
		zones = []string{""}
	}
	for _, zone := range zones {
		size, err := capacity.Of(ctx, s.Azure.Catalog(), s.pool.Spec.Location, &s.spec, zone)
		if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
			return pass.Blocked(cloud.InvalidConfiguration, invalid.Error(), r.Resync)
		}
		if err != nil {
			return pass.Unread(err, "read what VM sizes location "+s.pool.Spec.Location+" offers")
		}
		s.input.size = size
	}
	s.pool.Status.Capacity, s.pool.Status.NodeInfo = s.input.size.Node(s.spec.OSDisk.OSType)
	return pass.Next()
}

// image resolves the image and, if it has changed, checks that it exists.
func (r *Reconciler) image(ctx context.Context, s *scope) pass.Result {
	image, err := capacity.Image(&s.spec, s.pool.Annotations, s.machinePool.Spec.Template.Spec.Version)
	if err != nil {
		return pass.Blocked(cloud.InvalidConfiguration, err.Error(), r.Resync)
	}
	s.input.image = image
	if s.windows() {
		if err := capacity.PromiseBuild(ctx, r.Client, s.machinePool, image); err != nil {
			return pass.Error(err)
		}
	}
	if s.live != nil && s.pool.Status.Image != nil && reflect.DeepEqual(*s.pool.Status.Image, image) {
		return pass.Next()
	}
	found, err := capacity.ImageExists(ctx, s.Azure.Catalog(), s.AzureCluster, image)
	if err != nil {
		return pass.Unread(err, "look for the image "+capacity.ImageName(image))
	}
	if !found {
		field := "spec.template.image"
		if s.spec.Image == nil {
			field = "spec.template.spec.version of MachinePool " + s.machinePool.Name
		}
		return pass.Blocked("ImageNotFound",
			fmt.Sprintf("there is no image %s in location %s; change %s to a version that has one, or publish it",
				capacity.ImageName(image), s.pool.Spec.Location, field), r.Resync)
	}
	s.pool.Status.Image = &image
	return pass.Next()
}

// bootstrapData reads the bootstrap data and refuses data that instances could not use. New data, which has a new
// token, replaces the old data.
func (r *Reconciler) bootstrapData(ctx context.Context, s *scope) pass.Result {
	data, err := bootdata.Read(ctx, s.Azure, r.Client, bootdata.Input{
		Cluster: s.AzureCluster, ClusterName: s.Cluster.Name, Owner: s.pool, Tags: s.spec.AdditionalTags,
		Windows: s.windows(), Renewed: true,
		Secret: client.ObjectKey{Namespace: s.machinePool.Namespace, Name: *s.machinePool.Spec.Template.Spec.Bootstrap.DataSecretName},
	})
	if refused, ok := errors.AsType[*bootdata.Error](err); ok {
		return pass.Blocked(refused.Reason, refused.Message, cmp.Or(refused.After, r.Resync))
	}
	if err != nil {
		return pass.Error(fmt.Errorf("AzureMachinePool %s: %w", s.pool.Name, err))
	}
	s.input.rendered, s.input.bootstrapData, s.input.secret = data.Rendered, data.Custom, data.Secret
	return pass.Next()
}

// replicas returns the number of instances in the MachinePool's spec.
func (s *scope) replicas() int32 { return *cmp.Or(s.machinePool.Spec.Replicas, new(int32(1))) }

package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/controller/capacity"
	"casement.dev/casement/internal/lint"
)

// capacity returns the checks of sizes, zones, quota and images.
func (c checker) capacity() []lint.Rule {
	return []lint.Rule{
		{
			ID: "PRE111", Severity: lint.Error, Title: "A VM size that cannot be had", Oracle: lint.Unit,
			Doc: "The size is offered to the subscription in the location and in each zone that is named, and " +
				"can what the machine asks of it: ephemeral or ultra disks, encryption at host, its security " +
				"type, and the least that kubeadm wants of a node. Source: " +
				"learn.microsoft.com/rest/api/compute/resource-skus/list.",
			Check: c.eachSubscription(sizes),
		},
		{
			ID: "PRE112", Severity: lint.Error, Title: "More cores than the quota has", Oracle: lint.Unit,
			Doc: "The cores of the replicas, added up by VM family, fit in what is left of the family's quota " +
				"and of the location's, and spot machines in that of spot. Machines that run already are part " +
				"of what is used: of a cluster that exists, the sum is too high. Rolling upgrades need more. " +
				"Source: learn.microsoft.com/azure/virtual-machines/quotas.",
			Check: c.quota,
		},
		{
			ID: "PRE113", Severity: lint.Error, Title: "An image that is not there", Oracle: lint.Unit,
			Doc: "The image of the machines, or the one that the Kubernetes version, `osType` and annotations " +
				"choose when they name none, exists in the location. `casement images` lists them.",
			Check: c.eachSubscription(images),
		},
		{
			ID: "PRE114", Severity: lint.Error, Title: "A machine's identity that is not there", Oracle: lint.Unit,
			Doc: "Each user-assigned identity that machines name exists: Azure creates no VM with another. " +
				"CAPZ's templates name one, `cloud-provider-user-identity` in the resource group of `CI_RG`, " +
				"that has to be made before. On the local plane `casement azure prepare` makes it.",
			Check: c.eachSubscription(machineIdentities),
		},
		{
			ID: "PRE117", Severity: lint.Warning, Title: "A VM size that Azure retires", Oracle: lint.Unit,
			Doc: "Azure starts no machines of a size from the day on that it has announced for its series, and stops those that " +
				"run. Its list of sizes may still have it. Source: " +
				"learn.microsoft.com/azure/virtual-machines/sizes/retirement/retired-sizes-list.",
			Check: c.eachCluster(retiredSizes),
		},
	}
}

func retiredSizes(p *lint.Pass, c *Cluster) {
	for _, m := range c.Machines {
		if day := catalog.RetiredOn(m.Spec.VMSize); day != "" && m.Infra != nil {
			p.Report(m.Infra, m.At.At("vmSize"), fmt.Sprintf("Azure starts no machines of the size %s from %s on", m.Spec.VMSize, day),
				say("a size of a newer series"))
		}
	}
}

func machineIdentities(p *lint.Pass, c *Cluster, s *Subscription) {
	for _, m := range c.Machines {
		places := m.At.At("userAssignedIdentities").Items()
		for i, identity := range m.Spec.UserAssignedIdentities {
			if there, asked := s.identities[strings.ToLower(identityID(identity))]; asked && !there && i < len(places) {
				p.Report(m.Infra, places[i].At("providerID"), fmt.Sprintf("there is no identity %s", identityID(identity)),
					say("az identity create, or on the local plane: casement azure prepare FILE"))
			}
		}
	}
}

// sizes compares the machines of a cluster with the location's offer.
func sizes(p *lint.Pass, c *Cluster, s *Subscription) {
	r := s.region(c)
	if r == nil || r.sizes == nil {
		return
	}
	for _, m := range c.Machines {
		if m.Infra == nil || m.Spec.VMSize == "" {
			continue
		}
		sku, ok := r.sizes[strings.ToLower(m.Spec.VMSize)]
		seen := map[catalog.Problem]bool{}
		for _, zone := range append(slices.Clone(m.Zones), "") {
			vm := capacity.VM(c.Azure.Spec.Location, &m.Spec, zone)
			if zone == "" && len(m.Zones) > 0 {
				continue
			}
			var problems []catalog.Problem
			if ok {
				problems = catalog.CheckVM(sku, vm)
			} else {
				problems = []catalog.Problem{catalog.NoSuchSize(vm, slices.Collect(maps.Values(r.sizes)))}
			}
			for _, problem := range problems {
				if !seen[problem] {
					seen[problem] = true
					at := m.At.Find(strings.TrimPrefix(problem.Field, "spec."))
					if !at.Exists() {
						at = m.At.At("vmSize")
					}
					p.Report(m.Infra, at, problem.Reason, say(problem.Fix))
				}
			}
		}
	}
}

// need is the number of cores of a quota that the machines need, and the group with the largest need.
type need struct {
	cores int64
	by    *Machines
	parts []string
}

// quota checks the quotas against the total need of all clusters in the input for a location.
func (c checker) quota(p *lint.Pass) {
	wanted := map[*region]map[string]*need{}
	for _, cluster := range c.plan.Clusters {
		s := c.facts.of(cluster)
		if s == nil || s.region(cluster) == nil {
			continue
		}
		r := s.region(cluster)
		if wanted[r] == nil {
			wanted[r] = map[string]*need{}
		}
		for _, m := range cluster.Machines {
			if sku, ok := r.sizes[strings.ToLower(m.Spec.VMSize)]; ok {
				for _, quota := range quotas(m, sku) {
					add(wanted[r], quota, m, sku)
				}
			}
		}
	}
	for r, needs := range wanted {
		for _, quota := range slices.Sorted(maps.Keys(needs)) {
			n, u := needs[quota], r.usages[quota]
			if left := u.Limit - u.Current; u.Name != "" && n.cores > left {
				p.Report(n.by.Infra, n.by.At.At("vmSize"), fmt.Sprintf("quota %s has %d of %d cores left and %d "+
					"are wanted: "+
					"%s", cmp.Or(u.Display, u.Name), left, u.Limit, n.cores, strings.Join(n.parts, ", ")),
					say(fmt.Sprintf("a limit of %d or more, fewer replicas, or another size", u.Current+n.cores)))
			}
		}
	}
}

// quotas returns the names, in lower case, of the quotas that a machine's cores count against.
func quotas(m *Machines, sku catalog.SKU) []string {
	if m.Spec.SpotVMOptions != nil {
		return []string{"lowprioritycores"}
	}
	return []string{"cores", strings.ToLower(sku.Family)}
}

// add adds a group's need, and remembers the group with the largest need, at which a finding is reported.
func add(needs map[string]*need, quota string, m *Machines, sku catalog.SKU) {
	cores := int64(m.Replicas) * int64(sku.VCPUs())
	n := needs[quota]
	if n == nil {
		n = &need{by: m}
		needs[quota] = n
	}
	if n.by.Replicas < m.Replicas {
		n.by = m
	}
	n.cores += cores
	n.parts = append(n.parts, fmt.Sprintf("%s %d × %d", m.Owner.Name, m.Replicas, sku.VCPUs()))
}

// images checks that the image of each group exists.
func images(p *lint.Pass, c *Cluster, s *Subscription) {
	r := s.region(c)
	if r == nil {
		return
	}
	for _, m := range c.Machines {
		image, ok := imageOf(m, c)
		if exists, asked := r.images[image]; !ok || !asked || exists {
			continue
		}
		at, fix := m.At.At("image"), "an image that is there (casement images list), or no image at all"
		if !at.Exists() {
			at, fix = versionOf(m, c), "a version that there is an image of (casement images list), or spec.image"
		}
		on := m.Infra
		if m.Spec.Image == nil {
			on = m.Owner
			if !m.Version.Exists() && c.controlPlane() != nil {
				on = c.controlPlane().Owner
			}
		}
		p.Report(on, at, fmt.Sprintf("there is no image %s in %s", imageName(image), c.Azure.Spec.Location), say(fix))
	}
}

func imageName(i catalog.Image) string {
	switch {
	case i.ID != "":
		return i.ID
	case i.Gallery != "":
		return strings.Join([]string{i.Gallery, i.Name, i.Version}, "/")
	}
	return strings.Join([]string{i.Publisher, i.Offer, i.SKU, i.Version}, ":")
}

package preflight

import (
	"cmp"
	"fmt"
	"strings"

	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/kind"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// names returns the checks of names and references.
func (c checker) names() []lint.Rule {
	return []lint.Rule{
		{
			ID: "PRE401", Severity: lint.Warning, Title: "Windows computers of one name", Oracle: lint.Unit,
			Doc: "A Windows computer's name has at most 15 characters: of a longer one, the first nine and the " +
				"last five remain. Machines that are named by hand can meet so; casement gives one of them " +
				"another name, other providers fail. Names that Machine deployments draw end in five " +
				"characters at random.",
			Check: c.eachCluster(checkPRE401),
		},
		{
			ID: "PRE402", Severity: lint.Error, Title: "Windows scale sets of one name", Oracle: lint.Unit,
			Doc: "A Windows scale set's name has at most nine characters: of a longer one, `win-` and the last " +
				"five remain. Two pools of one resource group cannot have the same.",
			Check: c.eachCluster(checkPRE402),
		},
		{
			ID: "PRE406", Severity: lint.Error, Title: "Clusters of one name and resource group", Oracle: lint.Unit,
			Doc: "Two Clusters of one name in different namespaces whose AzureClusters name one resource group " +
				"would make the same things in Azure. casement lets the first one have them; the second is " +
				"never Ready.",
			Check: func(p *lint.Pass) {
				for i, cluster := range c.plan.Clusters {
					for _, first := range c.plan.Clusters[:i] {
						if cluster.Azure != nil && first.Azure != nil && desired.Namesakes(first.Azure, cluster.Azure) {
							p.Report(cluster.Infra, cluster.Infra.Root.At("spec", "resourceGroup"),
								fmt.Sprintf("Cluster %s of namespace %s has the same name and resource group %s",
									first.Object.Name, cmp.Or(first.Object.Namespace, "default"), first.Azure.Spec.ResourceGroup),
								say("another name or another spec.resourceGroup"))
						}
					}
				}
			},
		},
		{
			ID: "PRE403", Severity: lint.Warning, Title: "Something that is referred to and not here", Oracle: lint.Unit,
			Doc: "What a Cluster or its machines refer to is part of the input, or exists in the management " +
				"cluster already. Nothing can be said of it when it is not here.",
			Check: c.eachCluster(func(p *lint.Pass, cluster *Cluster) {
				missing := func(from *lint.Object, ref lint.Value) {
					if ref.Exists() && c.plan.refer(from, ref) == nil {
						p.Report(from, ref.At("name"),
							fmt.Sprintf("%s %s is not in the input", ref.At("kind").Str(), ref.At("name").Str()),
							say("add it, unless the management cluster has it"))
					}
				}
				root := cluster.Object.Root
				missing(cluster.Object, root.At("spec", "infrastructureRef"))
				missing(cluster.Object, root.At("spec", "controlPlaneRef"))
				for _, m := range cluster.Machines {
					spec := m.Owner.Root.At(kind.Makers()[m.Owner.Kind]...)
					missing(m.Owner, infraRef(m.Owner, spec))
					missing(m.Owner, spec.At("bootstrap", "configRef"))
				}
				if cluster.Infra != nil {
					missing(cluster.Infra, cluster.Infra.Root.At("spec", "identityRef"))
				}
			}),
		},
	}
}

func checkPRE401(p *lint.Pass, c *Cluster) {
	had := map[string]*lint.Object{}
	for _, m := range c.Machines {
		if m.Owner.Kind != "Machine" || m.Infra == nil || !m.Windows() {
			continue
		}
		name := strings.ToLower(windows.ComputerName(m.Infra.Name, nil))
		if first := had[name]; first != nil && first != m.Infra {
			p.Report(m.Infra, m.Infra.Root.At("metadata", "name"),
				fmt.Sprintf("its computer would be %s, as that of %s", name, first.Name),
				say(fmt.Sprintf("names that differ in the first nine or the last five characters, "+
					"or have at most %d", windows.MaxComputerName)))
		}
		had[name] = m.Infra
	}
}

func checkPRE402(p *lint.Pass, c *Cluster) {
	had := map[string]*lint.Object{}
	for _, m := range c.Machines {
		if !m.Pool || m.Infra == nil || !m.Windows() {
			continue
		}
		name := strings.ToLower(windows.ScaleSetName(m.Infra.Name, nil))
		if first := had[name]; first != nil && first != m.Infra {
			p.Report(m.Infra, m.Infra.Root.At("metadata", "name"),
				fmt.Sprintf("its scale set would be %s, as that of %s", name, first.Name),
				say(fmt.Sprintf("names with other last five characters, or of at most %d", windows.MaxScaleSetName)))
		}
		had[name] = m.Infra
	}
}

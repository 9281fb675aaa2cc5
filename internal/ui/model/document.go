package model

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// The resource types in the picture of the local Azure.
const (
	typeVNet    = "Microsoft.Network/virtualNetworks"
	typeNSG     = "Microsoft.Network/networkSecurityGroups"
	typeLB      = "Microsoft.Network/loadBalancers"
	typeNIC     = "Microsoft.Network/networkInterfaces"
	typeIP      = "Microsoft.Network/publicIPAddresses"
	typeVM      = "Microsoft.Compute/virtualMachines"
	typeSet     = "Microsoft.Compute/virtualMachineScaleSets"
	typeSetVM   = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines"
	typeSetNIC  = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces"
	typeSubnets = "Microsoft.Network/virtualNetworks/subnets"
)

// DocumentTypes returns the resource types whose documents Build reads.
func DocumentTypes() []string {
	return []string{typeVNet, typeSubnets, typeNSG, typeLB, typeNIC, typeIP, typeVM, typeSet, typeSetVM, typeSetNIC}
}

// ref is a reference to another resource.
type ref struct {
	ID string `json:"id"`
}

// document has the fields that the picture needs of any resource.
type document struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Location string `json:"location"`
	SKU      struct {
		Name     string `json:"name"`
		Capacity int    `json:"capacity"`
	} `json:"sku"`
	Properties json.RawMessage `json:"properties"`
}

// each decodes the documents of a type; it omits documents that cannot be decoded.
func each[T any](a *Azure, resourceType string, fn func(d document, p T)) {
	for _, raw := range a.Documents[resourceType] {
		var d document
		var p T
		if json.Unmarshal(raw, &d) == nil && (len(d.Properties) == 0 || json.Unmarshal(d.Properties, &p) == nil) {
			fn(d, p)
		}
	}
}

// documents adds the rows about the local Azure from its own lists.
func (b *builder) documents(a *Azure) {
	b.networks(a)
	b.balancers(a)
	b.sets(a)
	type machine struct {
		Provisioning string `json:"provisioningState"`
		Hardware     struct {
			Size string `json:"vmSize"`
		} `json:"hardwareProfile"`
		Storage struct {
			Disk struct {
				OS string `json:"osType"`
			} `json:"osDisk"`
		} `json:"storageProfile"`
	}
	byID := map[string]*vm{}
	for _, t := range []string{typeVM, typeSetVM} {
		each(a, t, func(d document, p machine) {
			group, names := resourceNames(d.ID)
			key := azureKey("vm", group, names...)
			v := b.vms[key]
			if v == nil {
				v = &vm{Name: lastName(d.Name), State: Waiting}
				if len(names) > 1 {
					v.Name = names[0] + " " + names[1]
				}
				b.vms[key] = v
			}
			v.Group, v.Phase = group, p.Provisioning
			if len(names) > 1 {
				v.Set = azureKey("set", group, names[0])
			}
			if p.Hardware.Size != "" {
				v.Size = p.Hardware.Size
			}
			if p.Storage.Disk.OS != "" {
				v.OS = p.Storage.Disk.OS
			}
			if v.Machine == "" && p.Provisioning == "Succeeded" {
				v.State = Good
			}
			if p.Provisioning == "Failed" {
				v.State = Bad
			}
			byID[strings.ToLower(d.ID)] = v
		})
	}
	for _, g := range a.Guests {
		if v := byID[strings.ToLower(g.ID)]; v != nil {
			v.guest(g)
		}
	}
	b.interfaces(a, byID)
	b.addressed(a)
}

// addressed adds load balancers whose pools contain addresses, like the cloud provider's, to the VMs with these addresses.
func (b *builder) addressed(a *Azure) {
	type properties struct {
		Pools []struct {
			Properties struct {
				Addresses []struct {
					Properties struct {
						Address string `json:"ipAddress"`
						VNet    ref    `json:"virtualNetwork"`
					} `json:"properties"`
				} `json:"loadBalancerBackendAddresses"`
			} `json:"properties"`
		} `json:"backendAddressPools"`
	}
	each(a, typeLB, func(d document, p properties) {
		lb := keyOf("lb", d.ID)
		for _, pool := range p.Pools {
			for _, at := range pool.Properties.Addresses {
				group, names := resourceNames(at.Properties.VNet.ID)
				for _, v := range b.vms {
					if v.Address == at.Properties.Address && strings.HasPrefix(v.Subnet, azureKey("subnet", group, append(names, "")...)) &&
						!slices.Contains(v.Balancers, lb) {
						v.Balancers = append(v.Balancers, lb)
					}
				}
			}
		}
	})
}

func (b *builder) networks(a *Azure) {
	type subnetProperties struct {
		Prefix   string   `json:"addressPrefix"`
		Prefixes []string `json:"addressPrefixes"`
		NSG      ref      `json:"networkSecurityGroup"`
		NAT      ref      `json:"natGateway"`
	}
	type child struct {
		ID         string           `json:"id"`
		Name       string           `json:"name"`
		Properties subnetProperties `json:"properties"`
	}
	add := func(id, name string, p subnetProperties) {
		group, names := resourceNames(id)
		if len(names) < 2 {
			return
		}
		row := subnet{Group: group, VNet: azureKey("vnet", group, names[0]), Name: names[1], Prefixes: p.Prefixes,
			NSG: keyOf("nsg", p.NSG.ID)}
		if p.Prefix != "" {
			row.Prefixes = []string{p.Prefix}
		}
		if p.NAT.ID != "" {
			row.NAT = lastName(p.NAT.ID)
		}
		b.put(azureKey("subnet", group, names...), row)
	}
	type network struct {
		Space struct {
			Prefixes []string `json:"addressPrefixes"`
		} `json:"addressSpace"`
		Subnets []child `json:"subnets"`
	}
	each(a, typeVNet, func(d document, p network) {
		group, names := resourceNames(d.ID)
		b.put(azureKey("vnet", group, names...), vnet{Group: group, Name: d.Name, Location: d.Location, Prefixes: p.Space.Prefixes})
		for _, s := range p.Subnets {
			add(s.ID, s.Name, s.Properties)
		}
	})
	each(a, typeSubnets, func(d document, p subnetProperties) { add(d.ID, d.Name, p) })
	b.securityGroups(a)
}

func (b *builder) securityGroups(a *Azure) {
	type ruleDocument struct {
		Name       string `json:"name"`
		Properties struct {
			Priority           int      `json:"priority"`
			Direction          string   `json:"direction"`
			Access             string   `json:"access"`
			Protocol           string   `json:"protocol"`
			Port               string   `json:"destinationPortRange"`
			Ports              []string `json:"destinationPortRanges"`
			Source             string   `json:"sourceAddressPrefix"`
			Sources            []string `json:"sourceAddressPrefixes"`
			Destination        string   `json:"destinationAddressPrefix"`
			DestinationsPrefix []string `json:"destinationAddressPrefixes"`
		} `json:"properties"`
	}
	type properties struct {
		Rules    []ruleDocument `json:"securityRules"`
		Defaults []ruleDocument `json:"defaultSecurityRules"`
	}
	list := func(one string, many []string) string {
		if one == "" {
			one = strings.Join(many, ", ")
		}
		return one
	}
	each(a, typeNSG, func(d document, p properties) {
		group, names := resourceNames(d.ID)
		row := nsg{Group: group, Name: d.Name, Rules: []rule{}}
		for _, r := range append(p.Rules, p.Defaults...) {
			q := r.Properties
			row.Rules = append(row.Rules, rule{Priority: q.Priority, Name: r.Name,
				Inbound: !strings.EqualFold(q.Direction, "Outbound"), Allow: !strings.EqualFold(q.Access, "Deny"),
				Protocol: q.Protocol, Ports: list(q.Port, q.Ports), Source: list(q.Source, q.Sources),
				Destination: list(q.Destination, q.DestinationsPrefix)})
		}
		b.put(azureKey("nsg", group, names...), row)
	})
}

func (b *builder) balancers(a *Azure) {
	addresses := map[string]string{}
	type address struct {
		IP string `json:"ipAddress"`
	}
	each(a, typeIP, func(d document, p address) { addresses[strings.ToLower(d.ID)] = p.IP })
	type properties struct {
		Frontends []struct {
			Properties struct {
				Private string `json:"privateIPAddress"`
				Public  ref    `json:"publicIPAddress"`
			} `json:"properties"`
		} `json:"frontendIPConfigurations"`
		Rules []struct {
			Properties struct {
				Protocol string `json:"protocol"`
				Port     int    `json:"frontendPort"`
			} `json:"properties"`
		} `json:"loadBalancingRules"`
	}
	each(a, typeLB, func(d document, p properties) {
		group, names := resourceNames(d.ID)
		row := balancer{Group: group, Name: d.Name}
		for _, f := range p.Frontends {
			row.Internal = row.Internal || f.Properties.Public.ID == ""
			if ip := addresses[strings.ToLower(f.Properties.Public.ID)] + f.Properties.Private; ip != "" {
				row.IPs = append(row.IPs, ip)
			}
		}
		for _, r := range p.Rules {
			row.Ports = append(row.Ports, r.Properties.Protocol+" "+strconv.Itoa(r.Properties.Port))
		}
		b.put(azureKey("lb", group, names...), row)
	})
}

func (b *builder) sets(a *Azure) {
	type properties struct {
		Profile struct {
			Storage struct {
				Disk struct {
					OS string `json:"osType"`
				} `json:"osDisk"`
			} `json:"storageProfile"`
			Network struct {
				NICs []struct {
					Properties struct {
						Configs []struct {
							Properties struct {
								Subnet ref `json:"subnet"`
							} `json:"properties"`
						} `json:"ipConfigurations"`
					} `json:"properties"`
				} `json:"networkInterfaceConfigurations"`
			} `json:"networkProfile"`
		} `json:"virtualMachineProfile"`
	}
	each(a, typeSet, func(d document, p properties) {
		group, names := resourceNames(d.ID)
		row := scaleSet{Group: group, Name: d.Name, Size: d.SKU.Name, Capacity: d.SKU.Capacity, OS: p.Profile.Storage.Disk.OS}
		for _, nic := range p.Profile.Network.NICs {
			for _, c := range nic.Properties.Configs {
				row.Subnet = keyOf("subnet", c.Properties.Subnet.ID)
			}
		}
		b.put(azureKey("set", group, names...), row)
	})
}

// interfaces sets the subnet, address and load balancers of each VM from its interfaces.
func (b *builder) interfaces(a *Azure, byID map[string]*vm) {
	type properties struct {
		VM      ref `json:"virtualMachine"`
		Configs []struct {
			Properties struct {
				Address string `json:"privateIPAddress"`
				Subnet  ref    `json:"subnet"`
				Pools   []ref  `json:"loadBalancerBackendAddressPools"`
			} `json:"properties"`
		} `json:"ipConfigurations"`
	}
	for _, t := range []string{typeNIC, typeSetNIC} {
		each(a, t, func(_ document, p properties) {
			v := byID[strings.ToLower(p.VM.ID)]
			if v == nil {
				return
			}
			v.Balancers = nil
			for _, c := range p.Configs {
				v.Subnet, v.Address = keyOf("subnet", c.Properties.Subnet.ID), c.Properties.Address
				for _, pool := range c.Properties.Pools {
					if group, names := resourceNames(pool.ID); len(names) > 0 {
						v.Balancers = append(v.Balancers, azureKey("lb", group, names[0]))
					}
				}
			}
		})
	}
}

// keyOf returns the key of the resource with an ID, or "" for no ID.
func keyOf(what, id string) string {
	group, names := resourceNames(id)
	if len(names) == 0 {
		return ""
	}
	return azureKey(what, group, names...)
}

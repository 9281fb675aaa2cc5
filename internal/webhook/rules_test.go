package webhook

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// about fails the test unless an error is about the field want, and if another error is about a field that may be set.
func about(t *testing.T, errs field.ErrorList, want string) {
	t.Helper()
	found := 0
	for _, e := range errs {
		if e.Field == want {
			found++
		} else if e.Type != field.ErrorTypeForbidden {
			t.Errorf("an error about %s beside the one about %s: %v", e.Field, want, e)
		}
	}
	if found == 0 {
		t.Errorf("errors %v, want one about %s", errs, want)
	}
}

func subnet(change func(*infrav1.SubnetSpec)) func(*infrav1.AzureCluster) {
	return func(c *infrav1.AzureCluster) {
		subnets("10.0.0.0/16", "10.1.0.0/16")(c)
		change(&c.Spec.NetworkSpec.Subnets[1])
	}
}

func TestNetworkRefused(t *testing.T) {
	const node = "spec.networkSpec.subnets[1]"
	for name, tc := range map[string]struct {
		change func(*infrav1.AzureCluster)
		field  string
	}{
		"name of a group": {func(c *infrav1.AzureCluster) { c.Spec.NetworkSpec.Vnet.ResourceGroup = "a b" },
			"spec.networkSpec.vnet.resourceGroup"},
		"range of the vnet": {func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.Vnet.CIDRBlocks = []string{"10.0.0.0/8", "10"}
		}, "spec.networkSpec.vnet.cidrBlocks[1]"},
		"name of a subnet":    {subnet(func(s *infrav1.SubnetSpec) { s.Name = "a b" }), node + ".name"},
		"two of one name":     {subnet(func(s *infrav1.SubnetSpec) { s.Name = "a" }), node + ".name"},
		"a service":           {subnet(serviceEndpoint("Storage", "*")), node + ".serviceEndpoints[0].service"},
		"region of a service": {subnet(serviceEndpoint("Microsoft.Storage", "West Europe")), node + ".serviceEndpoints[0].locations[0]"},
		"no region":           {subnet(serviceEndpoint("Microsoft.Storage")), node + ".serviceEndpoints[0].locations"},
		"region twice":        {subnet(serviceEndpoint("Microsoft.Storage", "*", "*")), node + ".serviceEndpoints[0].locations[1]"},
		"private endpoint to nothing": {subnet(func(s *infrav1.SubnetSpec) {
			s.PrivateEndpoints = []infrav1.PrivateEndpointSpec{{Name: "e"}}
		}), node + ".privateEndpoints[0].privateLinkServiceConnections"},
		"private endpoint without a target": {subnet(privateEndpoint("e", "", "10.1.0.9")),
			node + ".privateEndpoints[0].privateLinkServiceConnections[0].privateLinkServiceID"},
		"private endpoint outside": {subnet(privateEndpoint("e", "x", "10.2.0.9")), node + ".privateEndpoints[0].privateIPAddresses[0]"},
		"private endpoint's name":  {subnet(privateEndpoint("e/", "x", "10.1.0.9")), node + ".privateEndpoints[0].name"},
		"name of the bastion's subnet": {func(c *infrav1.AzureCluster) {
			c.Spec.BastionSpec.AzureBastion = &infrav1.AzureBastion{
				Subnet: infrav1.SubnetSpec{SubnetClassSpec: infrav1.SubnetClassSpec{Name: "b"}},
			}
		}, "spec.bastionSpec.azureBastion.subnet.name"},
		"name of a load balancer": {
			apiServerLB(func(lb *infrav1.LoadBalancerSpec) { lb.Name = "a b" }), "spec.networkSpec.apiServerLB.name",
		},
		"SKU of a load balancer": {
			apiServerLB(func(lb *infrav1.LoadBalancerSpec) { lb.SKU = "Basic" }), "spec.networkSpec.apiServerLB.sku",
		},
		"two addresses": {
			apiServerLB(func(lb *infrav1.LoadBalancerSpec) { lb.FrontendIPs = make([]infrav1.FrontendIP, 2) }),
			"spec.networkSpec.apiServerLB.frontendIPs",
		},
		"two private ones": {apiServerLB(func(lb *infrav1.LoadBalancerSpec) {
			lb.FrontendIPs = []infrav1.FrontendIP{{Name: "a"}, privateFrontend("b", "10.0.0.4"), privateFrontend("c", "10.0.0.5")}
		}), "spec.networkSpec.apiServerLB.frontendIPs"},
		"a private one outside": {apiServerLB(func(lb *infrav1.LoadBalancerSpec) {
			lb.FrontendIPs = []infrav1.FrontendIP{{Name: "a"}, privateFrontend("b", "10.9.0.4")}
		}), "spec.networkSpec.apiServerLB.frontendIPs[1].privateIP"},
		"count of addresses": {
			apiServerLB(func(lb *infrav1.LoadBalancerSpec) { lb.FrontendIPsCount = new(int32(2)) }),
			"spec.networkSpec.apiServerLB.frontendIPsCount",
		},
		"private IP on public": {apiServerLB(func(lb *infrav1.LoadBalancerSpec) {
			lb.FrontendIPs = []infrav1.FrontendIP{privateFrontend("f", "10.0.0.4")}
			lb.FrontendIPs[0].PublicIP = &infrav1.PublicIPSpec{Name: "p"}
		}), "spec.networkSpec.apiServerLB.frontendIPs[0].privateIP"},
		"public IP on internal": {apiServerLB(func(lb *infrav1.LoadBalancerSpec) {
			lb.Type = infrav1.Internal
			lb.FrontendIPs = []infrav1.FrontendIP{{Name: "f", PublicIP: &infrav1.PublicIPSpec{Name: "p"}}}
		}), "spec.networkSpec.apiServerLB.frontendIPs[0].publicIP"},
		"outbound of a public control plane": {func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.ControlPlaneOutboundLB = &infrav1.LoadBalancerSpec{}
		}, "spec.networkSpec.controlPlaneOutboundLB"},
		"negative count": {func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.NodeOutboundLB = &infrav1.LoadBalancerSpec{FrontendIPsCount: new(int32(-1))}
		}, "spec.networkSpec.nodeOutboundLB.frontendIPsCount"},
		"group of a zone without its name": {func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.PrivateDNSZoneResourceGroup = "g"
		}, "spec.networkSpec.privateDNSZoneName"},
		"port": {func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.AdditionalAPIServerLBPorts = []infrav1.LoadBalancerPort{{Name: "rke2", Port: 0}}
		}, "spec.networkSpec.additionalAPIServerLBPorts[0].port"},
		"port twice": {func(c *infrav1.AzureCluster) {
			c.Spec.NetworkSpec.AdditionalAPIServerLBPorts = []infrav1.LoadBalancerPort{{Name: "a", Port: 1}, {Name: "a", Port: 2}}
		}, "spec.networkSpec.additionalAPIServerLBPorts[1].name"},
	} {
		t.Run(name, func(t *testing.T) { about(t, validateCluster(nil, cluster(t, tc.change)), tc.field) })
	}
	t.Run("a private address beside the public one", func(t *testing.T) {
		c := cluster(t, apiServerLB(func(lb *infrav1.LoadBalancerSpec) {
			lb.FrontendIPs = []infrav1.FrontendIP{{Name: "a"}, privateFrontend("b", "10.0.0.4")}
		}))
		if errs := validateCluster(nil, c); len(errs) > 0 {
			t.Errorf("errors %v", errs)
		}
	})
	t.Run("type of a load balancer", func(t *testing.T) {
		c := cluster(t, apiServerLB(func(lb *infrav1.LoadBalancerSpec) { lb.Type = "Private" }))
		if errs := validateCluster(nil, c); !slices.ContainsFunc(errs,
			func(e *field.Error) bool { return e.Field == "spec.networkSpec.apiServerLB.type" }) {
			t.Errorf("errors %v, want one about the type", errs)
		}
	})
}

func apiServerLB(change func(*infrav1.LoadBalancerSpec)) func(*infrav1.AzureCluster) {
	return func(c *infrav1.AzureCluster) {
		c.Spec.NetworkSpec.APIServerLB = &infrav1.LoadBalancerSpec{}
		change(c.Spec.NetworkSpec.APIServerLB)
	}
}

func serviceEndpoint(service string, locations ...string) func(*infrav1.SubnetSpec) {
	return func(s *infrav1.SubnetSpec) {
		s.ServiceEndpoints = []infrav1.ServiceEndpointSpec{{Service: service, Locations: locations}}
	}
}

func privateEndpoint(name, id, ip string) func(*infrav1.SubnetSpec) {
	return func(s *infrav1.SubnetSpec) {
		s.PrivateEndpoints = []infrav1.PrivateEndpointSpec{{
			Name: name, PrivateIPAddresses: []string{ip},
			PrivateLinkServiceConnections: []infrav1.PrivateLinkServiceConnection{{PrivateLinkServiceID: id}},
		}}
	}
}

// TestClusterUpdates checks changes of a private cluster with all fields set.
func TestClusterUpdates(t *testing.T) {
	full := func(c *infrav1.AzureCluster) {
		n := &c.Spec.NetworkSpec
		n.APIServerLB = internalLB("10.0.0.100")
		n.ControlPlaneOutboundLB, n.NodeOutboundLB = &infrav1.LoadBalancerSpec{}, &infrav1.LoadBalancerSpec{}
		n.PrivateDNSZoneName, n.PrivateDNSZoneResourceGroup = "demo.example", "zones"
		c.Spec.BastionSpec.AzureBastion = &infrav1.AzureBastion{}
		c.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: "apiserver.demo.example", Port: 6443}
	}
	network := func(change func(*infrav1.NetworkSpec)) func(*infrav1.AzureCluster) {
		return func(c *infrav1.AzureCluster) { change(&c.Spec.NetworkSpec) }
	}
	for name, tc := range map[string]struct {
		change func(*infrav1.AzureCluster)
		field  string // "" means allowed
	}{
		"host": {func(c *infrav1.AzureCluster) { c.Spec.ControlPlaneEndpoint.Host = "other" },
			"spec.controlPlaneEndpoint.host"},
		"port": {func(c *infrav1.AzureCluster) { c.Spec.ControlPlaneEndpoint.Port = 443 },
			"spec.controlPlaneEndpoint.port"},
		"bastion gone": {
			func(c *infrav1.AzureCluster) { c.Spec.BastionSpec.AzureBastion = nil }, "spec.bastionSpec.azureBastion",
		},
		"zone": {network(func(n *infrav1.NetworkSpec) { n.PrivateDNSZoneName = "other" }),
			"spec.networkSpec.privateDNSZoneName"},
		"zone's group": {network(func(n *infrav1.NetworkSpec) { n.PrivateDNSZoneResourceGroup = "other" }),
			"spec.networkSpec.privateDNSZoneResourceGroup"},
		"zone's mode": {
			network(func(n *infrav1.NetworkSpec) { n.PrivateDNSZone = new(infrav1.PrivateDNSZoneModeNone) }),
			"spec.networkSpec.privateDNSZone",
		},
		"zone's mode spelled": {network(func(n *infrav1.NetworkSpec) { n.PrivateDNSZone = new(infrav1.PrivateDNSZoneModeSystem) }), ""},
		"control plane's way": {network(func(n *infrav1.NetworkSpec) { n.ControlPlaneOutboundLB = nil }),
			"spec.networkSpec.controlPlaneOutboundLB"},
		"private IP": {
			network(func(n *infrav1.NetworkSpec) { n.APIServerLB.FrontendIPs[0].PrivateIPAddress = "10.0.0.101" }),
			"spec.networkSpec.apiServerLB.frontendIPs[0].privateIP",
		},
		"idle timeout": {network(func(n *infrav1.NetworkSpec) { n.APIServerLB.IdleTimeoutInMinutes = new(int32(5)) }),
			"spec.networkSpec.apiServerLB.idleTimeoutInMinutes"},
		"zones": {network(func(n *infrav1.NetworkSpec) { n.APIServerLB.AvailabilityZones = []string{"1"} }),
			"spec.networkSpec.apiServerLB.availabilityZones"},
		"outbound name": {network(func(n *infrav1.NetworkSpec) { n.NodeOutboundLB.Name = "other" }),
			"spec.networkSpec.nodeOutboundLB.name"},
		"outbound frontends": {
			network(func(n *infrav1.NetworkSpec) { n.NodeOutboundLB.FrontendIPs[0].Name = "other" }),
			"spec.networkSpec.nodeOutboundLB.frontendIPs",
		},
		"more outbound addresses": {network(func(n *infrav1.NetworkSpec) { n.NodeOutboundLB.FrontendIPsCount = new(int32(3)) }), ""},
		"range": {network(func(n *infrav1.NetworkSpec) { n.Subnets[1].CIDRBlocks = []string{"10.2.0.0/16"} }),
			"spec.networkSpec.subnets[1].cidrBlocks"},
		"security group": {network(func(n *infrav1.NetworkSpec) { n.Subnets[1].SecurityGroup.Name = "other" }),
			"spec.networkSpec.subnets[1].securityGroup.name"},
		"route table": {network(func(n *infrav1.NetworkSpec) { n.Subnets[1].RouteTable.Name = "other" }),
			"spec.networkSpec.subnets[1].routeTable.name"},
		"one subnet more": {network(func(n *infrav1.NetworkSpec) {
			n.Subnets = append(n.Subnets, infrav1.SubnetSpec{SubnetClassSpec: infrav1.SubnetClassSpec{Role: infrav1.SubnetNode}})
		}), ""},
		"security rule": {network(func(n *infrav1.NetworkSpec) {
			n.Subnets[0].SecurityGroup.SecurityRules = []infrav1.SecurityRule{{Name: "r", Priority: 300}}
		}), ""},
		"azure.json": {func(c *infrav1.AzureCluster) {
			c.Spec.CloudProviderConfigOverrides = &infrav1.CloudProviderConfigOverrides{}
		}, ""},
		"tags":             {func(c *infrav1.AzureCluster) { c.Spec.AdditionalTags = infrav1.Tags{"a": "b"} }, ""},
		"another identity": {func(c *infrav1.AzureCluster) { c.Spec.IdentityRef.Name = "other" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			old := cluster(t, full)
			c := old.DeepCopy()
			tc.change(c)
			inheritCluster(old, c)
			if err := defaultCluster(c); err != nil {
				t.Fatal(err)
			}
			errs := validateCluster(old, c)
			if tc.field != "" {
				about(t, errs, tc.field)
			} else if len(errs) > 0 {
				t.Errorf("refused: %v", errs)
			}
		})
	}
}

// TestStoredFaults: an object from before a rule may still get its finalizer.
func TestStoredFaults(t *testing.T) {
	old := cluster(t, func(c *infrav1.AzureCluster) { c.Spec.IdentityRef = nil })
	c := old.DeepCopy()
	c.Finalizers = []string{infrav1.ClusterFinalizer}
	if errs := validateCluster(old, c); len(errs) > 0 {
		t.Errorf("refused: %v", errs)
	}
	c.Spec.NetworkSpec.Vnet.Peerings = []infrav1.VnetPeeringSpec{{RemoteVnetName: "v"}, {RemoteVnetName: "v"}}
	about(t, validateCluster(old, c), "spec.networkSpec.vnet.peerings[1].remoteVnetName")
}

// TestNamesStay: Cluster API labels an AzureCluster with its Cluster's name after
// the first admission.
func TestNamesStay(t *testing.T) {
	for name, change := range map[string]func(*infrav1.AzureCluster){
		"nothing listed": nil,
		"subnets listed": subnets("10.0.0.0/16", "10.1.0.0/16"),
		"IPv6 nodes": func(c *infrav1.AzureCluster) {
			subnets("10.0.0.0/16", "fd00::/64")(c)
			c.Spec.NetworkSpec.Vnet.CIDRBlocks = []string{"10.0.0.0/8", "fd00::/56"}
		},
		"bastion": func(c *infrav1.AzureCluster) { c.Spec.BastionSpec.AzureBastion = &infrav1.AzureBastion{} },
	} {
		t.Run(name, func(t *testing.T) {
			old := cluster(t, change)
			again := cluster(t, func(c *infrav1.AzureCluster) {
				if change != nil {
					change(c)
				}
				c.Labels = map[string]string{clusterv1.ClusterNameLabel: "other"}
				inheritCluster(old, c)
			})
			if errs := validateCluster(old, again); len(errs) > 0 {
				t.Errorf("refused: %v", errs)
			}
			if len(again.Spec.NetworkSpec.Subnets) != 2 || again.Spec.NetworkSpec.Subnets[1].RouteTable.Name != "demo-node-routetable" {
				t.Errorf("subnets %+v, want the stored ones", again.Spec.NetworkSpec.Subnets)
			}
		})
	}
}

func TestMachineRules(t *testing.T) {
	confidential := func(change func(*infrav1.AzureMachineSpec)) func(*infrav1.AzureMachine) {
		return func(m *infrav1.AzureMachine) {
			m.Spec.OSDisk.ManagedDisk = &infrav1.ManagedDiskParameters{
				SecurityProfile: &infrav1.VMDiskSecurityProfile{SecurityEncryptionType: "DiskWithVMGuestState"},
			}
			m.Spec.SecurityProfile = &infrav1.SecurityProfile{SecurityType: infrav1.SecurityTypesConfidentialVM,
				UefiSettings: &infrav1.UefiSettings{SecureBootEnabled: new(true), VTpmEnabled: new(true)}}
			change(&m.Spec)
		}
	}
	spec := func(change func(*infrav1.AzureMachineSpec)) func(*infrav1.AzureMachine) {
		return func(m *infrav1.AzureMachine) { change(&m.Spec) }
	}
	for name, tc := range map[string]struct {
		change func(*infrav1.AzureMachine)
		field  string // "" means allowed
	}{
		"confidential": {confidential(func(*infrav1.AzureMachineSpec) {}), ""},
		"confidential, other type": {confidential(func(s *infrav1.AzureMachineSpec) {
			s.SecurityProfile.SecurityType = infrav1.SecurityTypesTrustedLaunch
		}), "spec.securityProfile.securityType"},
		"confidential without vTPM": {
			confidential(func(s *infrav1.AzureMachineSpec) { s.SecurityProfile.UefiSettings.VTpmEnabled = nil }),
			"spec.securityProfile.uefiSettings.vTpmEnabled",
		},
		"confidential without secure boot": {confidential(func(s *infrav1.AzureMachineSpec) {
			s.SecurityProfile.UefiSettings.SecureBootEnabled = new(false)
		}), "spec.securityProfile.uefiSettings.secureBootEnabled"},
		"confidential and at host": {
			confidential(func(s *infrav1.AzureMachineSpec) { s.SecurityProfile.EncryptionAtHost = new(true) }),
			"spec.securityProfile.encryptionAtHost",
		},
		"guest state and a key": {confidential(func(s *infrav1.AzureMachineSpec) {
			s.OSDisk.ManagedDisk.SecurityProfile = &infrav1.VMDiskSecurityProfile{
				SecurityEncryptionType: "VMGuestStateOnly",
				DiskEncryptionSet:      &infrav1.DiskEncryptionSetParameters{ID: "x"},
			}
		}), "spec.osDisk.managedDisk.securityProfile.securityEncryptionType"},
		"vTPM without a type": {spec(func(s *infrav1.AzureMachineSpec) {
			s.SecurityProfile = &infrav1.SecurityProfile{UefiSettings: &infrav1.UefiSettings{VTpmEnabled: new(true)}}
		}), "spec.securityProfile.securityType"},
		"trusted launch": {spec(func(s *infrav1.AzureMachineSpec) {
			s.SecurityProfile = &infrav1.SecurityProfile{SecurityType: infrav1.SecurityTypesTrustedLaunch,
				UefiSettings: &infrav1.UefiSettings{VTpmEnabled: new(true)}}
		}), ""},
		"identities of none": {spec(func(s *infrav1.AzureMachineSpec) {
			s.UserAssignedIdentities = make([]infrav1.UserAssignedIdentity, 1)
		}), "spec.userAssignedIdentities"},
		"role of none": {spec(func(s *infrav1.AzureMachineSpec) {
			s.SystemAssignedIdentityRole = &infrav1.SystemAssignedIdentityRole{}
		}), "spec.systemAssignedIdentityRole"},
		"role name of none": {spec(func(s *infrav1.AzureMachineSpec) { s.RoleAssignmentName = "x" }), "spec.roleAssignmentName"},
		"system assigned":   {spec(func(s *infrav1.AzureMachineSpec) { s.Identity = infrav1.VMIdentitySystemAssigned }), ""},
		"role that is no GUID": {spec(func(s *infrav1.AzureMachineSpec) {
			s.Identity, s.RoleAssignmentName = infrav1.VMIdentitySystemAssigned, "x"
		}), "spec.systemAssignedIdentityRole.name"},
		"role named twice": {spec(func(s *infrav1.AzureMachineSpec) {
			s.Identity, s.RoleAssignmentName = infrav1.VMIdentitySystemAssigned, "x"
			s.SystemAssignedIdentityRole = &infrav1.SystemAssignedIdentityRole{Name: "b24988ac-6180-42a0-ab88-20f7382dd24c"}
		}), "spec.roleAssignmentName"},
		"two subnets": {spec(func(s *infrav1.AzureMachineSpec) {
			s.SubnetName, s.NetworkInterfaces = "a", []infrav1.NetworkInterface{{SubnetName: "b"}}
		}), "spec.subnetName"},
		"the same subnet": {spec(func(s *infrav1.AzureMachineSpec) {
			s.SubnetName, s.NetworkInterfaces = "a", []infrav1.NetworkInterface{{SubnetName: "a"}}
		}), ""},
		"negative addresses": {spec(func(s *infrav1.AzureMachineSpec) {
			s.NetworkInterfaces = []infrav1.NetworkInterface{{PrivateIPConfigs: -1}}
		}), "spec.networkInterfaces[0].privateIPConfigs"},
		"user managed without an account": {spec(func(s *infrav1.AzureMachineSpec) {
			s.Diagnostics = &infrav1.Diagnostics{Boot: &infrav1.BootDiagnostics{StorageAccountType: infrav1.UserManagedDiagnosticsStorage}}
		}), "spec.diagnostics.boot.userManaged"},
		"account of two": {spec(func(s *infrav1.AzureMachineSpec) {
			s.Diagnostics = &infrav1.Diagnostics{Boot: &infrav1.BootDiagnostics{
				StorageAccountType: infrav1.DisabledDiagnosticsStorage,
				UserManaged:        &infrav1.UserManagedBootDiagnostics{},
			}}
		}), "spec.diagnostics.boot.userManaged"},
		"free of charge": {spec(func(s *infrav1.AzureMachineSpec) {
			s.SpotVMOptions = &infrav1.SpotVMOptions{MaxPrice: new(resource.MustParse("0"))}
		}), "spec.spotVMOptions.maxPrice"},
		"price on demand": {spec(func(s *infrav1.AzureMachineSpec) {
			s.SpotVMOptions = &infrav1.SpotVMOptions{MaxPrice: new(resource.MustParse("-1"))}
		}), ""},
		"reservation": {spec(func(s *infrav1.AzureMachineSpec) { s.CapacityReservationGroupID = new("group") }),
			"spec.capacityReservationGroupID"},
		"disk SKU": {spec(func(s *infrav1.AzureMachineSpec) {
			s.OSDisk.ManagedDisk = &infrav1.ManagedDiskParameters{StorageAccountType: "Fast"}
		}), "spec.osDisk.managedDisk.storageAccountType"},
		"disk without a name": {
			spec(func(s *infrav1.AzureMachineSpec) { s.DataDisks = []infrav1.DataDisk{{DiskSizeGB: 4}} }),
			"spec.dataDisks[0].nameSuffix",
		},
		"cached ultra disk": {spec(func(s *infrav1.AzureMachineSpec) {
			s.DataDisks = []infrav1.DataDisk{{NameSuffix: "a", DiskSizeGB: 4, CachingType: "ReadOnly",
				ManagedDisk: &infrav1.ManagedDiskParameters{StorageAccountType: ultraSSD}}}
		}), "spec.dataDisks[0].cachingType"},
		"ephemeral and encrypted": {spec(func(s *infrav1.AzureMachineSpec) {
			s.OSDisk.DiffDiskSettings = &infrav1.DiffDiskSettings{Option: "Local"}
			s.OSDisk.ManagedDisk = &infrav1.ManagedDiskParameters{DiskEncryptionSet: &infrav1.DiskEncryptionSetParameters{ID: "x"}}
		}), "spec.osDisk.managedDisk.diskEncryptionSet"},
		"half a plan": {spec(func(s *infrav1.AzureMachineSpec) {
			s.Image = &infrav1.Image{SharedGallery: &infrav1.AzureSharedGalleryImage{Offer: new("o")}}
		}), "spec.image.sharedGallery"},
		"half a gallery": {spec(func(s *infrav1.AzureMachineSpec) {
			s.Image = &infrav1.Image{ComputeGallery: &infrav1.AzureComputeGalleryImage{ResourceGroup: new("g")}}
		}), "spec.image.computeGallery"},
		"empty image ID": {spec(func(s *infrav1.AzureMachineSpec) { s.Image = &infrav1.Image{ID: new("")} }), "spec.image.id"},
		"extension twice": {spec(func(s *infrav1.AzureMachineSpec) {
			s.VMExtensions = []infrav1.VMExtension{{Name: "e"}, {Name: "e"}}
		}), "spec.vmExtensions[1].name"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := validateMachine(nil, machine(t, tc.change))
			if tc.field != "" {
				about(t, errs, tc.field)
			} else if len(errs) > 0 {
				t.Errorf("refused: %v", errs)
			}
		})
	}
}

func TestMachineUpdates(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*infrav1.AzureMachineSpec)
		field  string // "" means allowed
		warn   string
	}{
		"image":    {func(s *infrav1.AzureMachineSpec) { s.Image = &infrav1.Image{ID: new("x")} }, "spec.image", ""},
		"identity": {func(s *infrav1.AzureMachineSpec) { s.Identity = infrav1.VMIdentityNone }, "spec.identity", ""},
		"role": {func(s *infrav1.AzureMachineSpec) { s.SystemAssignedIdentityRole.Scope = "/" },
			"spec.systemAssignedIdentityRole", ""},
		"OS disk":    {func(s *infrav1.AzureMachineSpec) { s.OSDisk.DiskSizeGB = new(int32(64)) }, "spec.osDisk", ""},
		"data disks": {func(s *infrav1.AzureMachineSpec) { s.DataDisks = make([]infrav1.DataDisk, 1) }, "spec.dataDisks", ""},
		"key":        {func(s *infrav1.AzureMachineSpec) { s.SSHPublicKey = "x" }, "spec.sshPublicKey", ""},
		"public IP":  {func(s *infrav1.AzureMachineSpec) { s.AllocatePublicIP = true }, "spec.allocatePublicIP", ""},
		"forwarding": {func(s *infrav1.AzureMachineSpec) { s.EnableIPForwarding = true }, "spec.enableIPForwarding", ""},
		"spot":       {func(s *infrav1.AzureMachineSpec) { s.SpotVMOptions = &infrav1.SpotVMOptions{} }, "spec.spotVMOptions", ""},
		"security": {func(s *infrav1.AzureMachineSpec) { s.SecurityProfile = &infrav1.SecurityProfile{} },
			"spec.securityProfile", ""},
		"diagnostics": {func(s *infrav1.AzureMachineSpec) { s.Diagnostics = nil }, "spec.diagnostics", ""},
		"reservation": {func(s *infrav1.AzureMachineSpec) { s.CapacityReservationGroupID = new("x") },
			"spec.capacityReservationGroupID", ""},
		"extensions off": {func(s *infrav1.AzureMachineSpec) { s.DisableExtensionOperations = new(true) },
			"spec.disableExtensionOperations", ""},
		"bootstrap check": {func(s *infrav1.AzureMachineSpec) { s.DisableVMBootstrapExtension = new(false) }, "", ""},
		"subnet filled":   {func(s *infrav1.AzureMachineSpec) { s.NetworkInterfaces[0].SubnetName = "nodes" }, "", ""},
		"interface added": {func(s *infrav1.AzureMachineSpec) {
			s.NetworkInterfaces = append(s.NetworkInterfaces, infrav1.NetworkInterface{})
		}, "spec.networkInterfaces", ""},
		"size": {func(s *infrav1.AzureMachineSpec) { s.VMSize = "Standard_D4s_v3" }, "", "spec.vmSize: "},
		"DNS":  {func(s *infrav1.AzureMachineSpec) { s.DNSServers = []string{"10.0.0.4"} }, "", "spec.dnsServers: "},
		"tags": {func(s *infrav1.AzureMachineSpec) { s.AdditionalTags = infrav1.Tags{"a": "b"} }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			old := machine(t, func(m *infrav1.AzureMachine) {
				m.Spec.Identity, m.Spec.ProviderID = infrav1.VMIdentitySystemAssigned, new("azure:///x")
			})
			m := old.DeepCopy()
			tc.change(&m.Spec)
			errs := validateMachine(old, m)
			if tc.field != "" {
				about(t, errs, tc.field)
			} else if len(errs) > 0 {
				t.Errorf("refused: %v", errs)
			}
			warnings := withoutEffect("AzureMachine", old, m)
			if len(warnings) != min(1, len(tc.warn)) || tc.warn != "" && !strings.HasPrefix(warnings[0], tc.warn) {
				t.Errorf("warnings %q, want one that starts with %q", warnings, tc.warn)
			}
		})
	}
}

// TestOldObjects: a field that admission itself moves or sets does not count as changed.
func TestOldObjects(t *testing.T) {
	old := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Name: "old"}}
	old.Spec.Identity, old.Spec.RoleAssignmentName = infrav1.VMIdentitySystemAssigned, "b24988ac-6180-42a0-ab88-20f7382dd24c"
	old.Spec.SubnetName, old.Spec.AcceleratedNetworking = "nodes", new(true)
	m := old.DeepCopy()
	inheritMachine(old, m)
	if err := defaultMachine(m); err != nil {
		t.Fatal(err)
	}
	if errs := validateMachine(old, m); len(errs) > 0 {
		t.Errorf("refused: %v", errs)
	}
	if m.Spec.SystemAssignedIdentityRole.Name != old.Spec.RoleAssignmentName || m.Spec.RoleAssignmentName != "" {
		t.Errorf("role %+v, name %q: the old name is not moved", m.Spec.SystemAssignedIdentityRole, m.Spec.RoleAssignmentName)
	}
}

func TestTemplateRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*infrav1.AzureMachineSpec)
		field  string
	}{
		"role name": {func(s *infrav1.AzureMachineSpec) {
			s.Identity, s.SystemAssignedIdentityRole = infrav1.VMIdentitySystemAssigned,
				&infrav1.SystemAssignedIdentityRole{Name: "b24988ac-6180-42a0-ab88-20f7382dd24c"}
		}, "spec.template.spec.systemAssignedIdentityRole.name"},
		"old role name": {func(s *infrav1.AzureMachineSpec) {
			s.Identity, s.RoleAssignmentName = infrav1.VMIdentitySystemAssigned, "x"
		}, "spec.template.spec.roleAssignmentName"},
	} {
		t.Run(name, func(t *testing.T) {
			template := &infrav1.AzureMachineTemplate{}
			template.Spec.Template.Spec.OSDisk.OSType = infrav1.LinuxOS
			tc.change(&template.Spec.Template.Spec)
			if err := defaultMachineTemplate(template); err != nil {
				t.Fatal(err)
			}
			about(t, validateMachineTemplate(nil, template), tc.field)
		})
	}
}

func privateFrontend(name, ip string) infrav1.FrontendIP {
	return infrav1.FrontendIP{Name: name, FrontendIPClass: infrav1.FrontendIPClass{PrivateIPAddress: ip}}
}

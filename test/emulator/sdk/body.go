package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// API versions for prerequisites, from the SDK's modules.
const (
	computeVersion = "2025-04-01"
	diskVersion    = "2025-01-02"
	galleryVersion = "2025-03-03"
	networkVersion = "2025-03-01"
)

// bodyFor returns the smallest body that Azure accepts for a resource; nil for a type that is not
// created. optional is set for a type that may not be emulated.
func bodyFor(r *resource) (version string, body map[string]any, optional bool, err error) {
	group := groupOf(r.id)
	beside := func(provider, typ, name string) string {
		return group + "/providers/Microsoft." + provider + "/" + typ + "/" + name
	}
	var text string
	version = networkVersion
	switch strings.TrimPrefix(r.typ, "microsoft.") {
	case "resources/resourcegroups":
		version, text = "2021-04-01", `{}`
	case "network/virtualnetworks":
		text = fmt.Sprintf(`{"properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/8","172.16.0.0/16"]},"subnets":%s}}`, subnets(r))
	case "network/networksecuritygroups":
		text = fmt.Sprintf(`{"properties":{"securityRules":%s}}`, children(r, "securityrules", `"protocol":"Tcp",`+
			`"access":"Allow","direction":"Inbound","priority":%[2]d,"sourceAddressPrefix":"*",`+
			`"sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"80"`))
	case "network/routetables":
		text = fmt.Sprintf(`{"properties":{"routes":%s}}`,
			children(r, "routes", `"addressPrefix":"10.%[2]d.0.0/16","nextHopType":"VirtualNetworkGateway"`))
	case "network/natgateways":
		text = `{"sku":{"name":"Standard"},"properties":{}}`
	case "network/publicipaddresses":
		text = `{"sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}`
	case "network/publicipprefixes":
		text = `{"sku":{"name":"Standard"},"properties":{"prefixLength":30}}`
	case "network/loadbalancers":
		text = balancer(r, beside("Network", "virtualNetworks", "prerequisite")+"/subnets/default")
	case "network/networkinterfaces":
		text = fmt.Sprintf(`{"properties":{"ipConfigurations":%s}}`, children(r, "ipconfigurations",
			`"subnet":{"id":"`+beside("Network", "virtualNetworks", "prerequisite")+`/subnets/default"},"primary":%[3]t`,
			"ipconfig"))
	case "network/bastionhosts":
		text = fmt.Sprintf(`{"sku":{"name":"Standard"},"properties":{"ipConfigurations":[{"name":"c",`+
			`"properties":{"subnet":{"id":%q},"publicIPAddress":{"id":%q}}}]}}`,
			beside("Network", "virtualNetworks", "prerequisite")+"/subnets/AzureBastionSubnet",
			beside("Network", "publicIPAddresses", "prerequisite"))
	case "network/privatednszones":
		version, text = "2024-06-01", `{"location":"global"}`
	case "network/privatednszones/virtualnetworklinks":
		version, text = "2024-06-01", fmt.Sprintf(`{"location":"global",`+
			`"properties":{"registrationEnabled":false,`+
			`"virtualNetwork":{"id":%q}}}`, beside("Network", "virtualNetworks", "prerequisite"))
	case "network/privatednszones/a":
		version, text = "2024-06-01", `{"location":"","properties":{"ttl":60,"aRecords":[{"ipv4Address":"10.0.0.4"}]}}`
	case "network/privatednszones/aaaa":
		version, text = "2024-06-01", `{"location":"","properties":{"ttl":60,"aaaaRecords":[{"ipv6Address":"::1"}]}}`
	case "network/privatednszones/cname":
		version, text = "2024-06-01", `{"location":"","properties":{"ttl":60,"cnameRecord":{"cname":"contoso.com"}}}`
	case "network/applicationsecuritygroups":
		text = `{"properties":{}}`
	case "compute/availabilitysets":
		version, text = computeVersion,
			`{"sku":{"name":"Aligned"},"properties":{"platformFaultDomainCount":2,"platformUpdateDomainCount":5}}`
	case "compute/proximityplacementgroups":
		version, text = computeVersion, `{"properties":{"proximityPlacementGroupType":"Standard"}}`
	case "compute/disks":
		version, text = diskVersion,
			`{"sku":{"name":"Premium_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":128}}`
	case "compute/snapshots":
		version, text = diskVersion, fmt.Sprintf(`{"properties":{"creationData":{"createOption":"Copy",`+
			`"sourceResourceId":%q}}}`, beside("Compute", "disks", "prerequisite"))
	case "compute/images":
		version, text = computeVersion, fmt.Sprintf(`{"properties":{"hyperVGeneration":"V2",`+
			`"storageProfile":{"osDisk":{"osType":"Linux","osState":"Generalized",`+
			`"managedDisk":{"id":%q}}}}}`, beside("Compute", "disks", "prerequisite"))
	case "compute/virtualmachines":
		version, text = computeVersion, machine(beside("Network", "networkInterfaces", nameOf(r.id)+"-nic"), nameOf(r.id))
	case "compute/virtualmachines/extensions":
		version, text = computeVersion, `{"properties":{"publisher":"Microsoft.Azure.Extensions",`+
			`"type":"CustomScript","typeHandlerVersion":"2.1","settings":{"commandToExecute":"true"}}}`
	case "compute/virtualmachines/runcommands":
		version, text = computeVersion, `{"properties":{"source":{"script":"hostname"}}}`
	case "compute/virtualmachinescalesets":
		version, text = computeVersion, scaleSet(beside("Network", "virtualNetworks", "prerequisite")+"/subnets/default")
	case "compute/virtualmachinescalesets/extensions":
		version, text = computeVersion, `{"properties":{"publisher":"Microsoft.Azure.Extensions",`+
			`"type":"CustomScript","typeHandlerVersion":"2.1","settings":{"commandToExecute":"true"}}}`
	case "compute/galleries":
		version, text = galleryVersion, `{"properties":{}}`
	case "compute/galleries/images":
		state := "Generalized"
		if r.bare {
			state = "Specialized"
		}
		version, text = galleryVersion, `{"properties":{"osType":"Linux","osState":"`+state+`",`+
			`"hyperVGeneration":"V1","identifier":{"publisher":"p","offer":"o","sku":"`+nameOf(r.id)+`"}}}`
	case "compute/galleries/images/versions":
		version, text = galleryVersion, fmt.Sprintf(`{"properties":{"storageProfile":{"source":{"id":%q}}}}`,
			beside("Compute", "images", "prerequisite"))
	case "managedidentity/userassignedidentities":
		version, text = "2024-11-30", `{}`
	case "managedidentity/userassignedidentities/federatedidentitycredentials":
		version, text = "2024-11-30", `{"properties":{"issuer":"https://issuer.example.com/",`+
			`"subject":"system:serviceaccount:ns:sa","audiences":["api://AzureADTokenExchange"]}}`
	case "authorization/roleassignments":
		version, text = "2022-04-01", `{"properties":{"roleDefinitionId":"/subscriptions/`+strings.Split(r.id, "/")[2]+`/`+
			`providers/Microsoft.Authorization/roleDefinitions/b24988ac-6180-42a0-ab88-20f7382dd24c",`+
			`"principalId":"00000000-0000-0000-0000-0000000000c9","principalType":"ServicePrincipal"}}`
	case "keyvault/vaults":
		version, text = "2023-07-01", `{"properties":{"tenantId":"11111111-2222-3333-4444-555555555555",`+
			`"sku":{"family":"A","name":"standard"},"accessPolicies":[]}}`
	case "compute/diskencryptionsets":
		version, text = diskVersion, `{"identity":{"type":"SystemAssigned"},`+
			`"properties":{"activeKey":{"keyUrl":"https://prerequisite.vault.azure.net/keys/key/1"}}}`
	case "compute/diskaccesses":
		version, text = diskVersion, `{"properties":{}}`
	case "compute/capacityreservationgroups", "compute/hostgroups", "compute/sshpublickeys",
		"compute/restorepointcollections", "compute/restorepointcollections/restorepoints":
		version, text = computeVersion, `{"properties":{}}`
	case "compute/capacityreservationgroups/capacityreservations":
		version, text = computeVersion, `{"sku":{"name":"Standard_D2s_v3","capacity":1}}`
	case "compute/hostgroups/hosts":
		version, text = computeVersion, `{"sku":{"name":"DSv3-Type1"},"properties":{}}`
	default:
		switch {
		case strings.HasPrefix(r.typ, "microsoft.network/"):
			text = `{"properties":{}}`
		case strings.HasPrefix(r.typ, "microsoft.compute/galleries/"):
			version, text = galleryVersion, `{"properties":{}}`
		default:
			return "", nil, false, nil
		}
		optional = true
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		return "", nil, false, fmt.Errorf("the body of a prerequisite %s: %w", r.typ, err)
	}
	if _, ok := body["location"]; !ok {
		body["location"] = r.location
	}
	return version, body, optional, nil
}

// children returns the children of one type; the arguments of form are the name, the index and
// whether the child is the first. If the resource has no children, it returns one for each default
// name.
func children(r *resource, typ, form string, defaults ...string) string {
	names := r.parts[typ]
	if len(names) == 0 {
		names = defaults
	}
	out := []string{}
	for i, name := range names {
		out = append(out, fmt.Sprintf(`{"name":%[1]q,"properties":{`+form+`}}`, name, 100+i, i == 0))
	}
	for i := range out {
		out[i], _, _ = strings.Cut(out[i], "%!(EXTRA")
	}
	return "[" + strings.Join(out, ",") + "]"
}

func subnets(r *resource) string {
	names := r.parts["subnets"]
	if len(names) == 0 {
		names = []string{"default"}
	}
	out := []string{}
	for i, name := range names {
		out = append(out, fmt.Sprintf(`{"name":%q,"properties":{"addressPrefix":"172.16.%d.0/24"}}`, name, i))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// balancer returns a load balancer with the parts to which others refer.
func balancer(r *resource, subnet string) string {
	front := children(r, "frontendipconfigurations", `"subnet":{"id":"`+subnet+`"}`, "frontend")
	name := "frontend"
	if names := r.parts["frontendipconfigurations"]; len(names) > 0 {
		name = names[0]
	}
	at := func(part, name string) string { return fmt.Sprintf(`{"id":"%s/%s/%s"}`, r.id, part, name) }
	pools := children(r, "backendaddresspools", ``, "pool")
	pool := "pool"
	if names := r.parts["backendaddresspools"]; len(names) > 0 {
		pool = names[0]
	}
	return fmt.Sprintf(`{"sku":{"name":"Standard"},"properties":{"frontendIPConfigurations":%s,`+
		`"backendAddressPools":%s,"probes":%s,"inboundNatRules":%s,"loadBalancingRules":%s,`+
		`"outboundRules":%s}}`,
		front, pools,
		children(r, "probes", `"protocol":"Tcp","port":%[2]d`),
		children(r, "inboundnatrules", `"frontendIPConfiguration":`+at("frontendIPConfigurations", name)+
			`,"protocol":"Tcp","frontendPort":3%[2]d,"backendPort":3389`),
		children(r, "loadbalancingrules", `"frontendIPConfiguration":`+at("frontendIPConfigurations", name)+
			`,"backendAddressPool":`+at("backendAddressPools", pool)+
			`,"protocol":"Tcp","frontendPort":%[2]d,"backendPort":80,"disableOutboundSnat":true`),
		children(r, "outboundrules", `"frontendIPConfigurations":[`+at("frontendIPConfigurations", name)+
			`],"backendAddressPool":`+at("backendAddressPools", pool)+`,"protocol":"All"`))
}

func machine(nic, name string) string {
	return fmt.Sprintf(`{"properties":{"hardwareProfile":{"vmSize":"Standard_D2s_v3"},
		"storageProfile":{"imageReference":{"publisher":"Canonical","offer":"0001-com-ubuntu-server-jammy",
			"sku":"22_04-lts-gen2","version":"latest"},"osDisk":{"createOption":"FromImage","name":%q}},
		"osProfile":{"computerName":"vm","adminUsername":"azureuser","adminPassword":"Correct-Horse-1"},
		"networkProfile":{"networkInterfaces":[{"id":%q,"properties":{"primary":true}}]}}}`, name+"-os", nic)
}

func scaleSet(subnet string) string {
	return fmt.Sprintf(
		`{"sku":{"name":"Standard_D2s_v3","capacity":3,"tier":"Standard"},"properties":{"overprovision":false,
			"upgradePolicy":{"mode":"Manual"},"virtualMachineProfile":{
		"storageProfile":{"imageReference":{"publisher":"Canonical","offer":"0001-com-ubuntu-server-jammy",
			"sku":"22_04-lts-gen2","version":"latest"},"osDisk":{"createOption":"FromImage"}},
		"osProfile":{"computerNamePrefix":"vm","adminUsername":"azureuser","adminPassword":"Correct-Horse-1"},
		"networkProfile":{"networkInterfaceConfigurations":[{"name":"nic","properties":{"primary":true,
			"ipConfigurations":[{"name":"ipconfig","properties":{"subnet":{"id":%q}}}]}}]}}}}`,
		subnet)
}

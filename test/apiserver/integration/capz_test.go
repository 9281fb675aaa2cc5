package integration

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// azureAsOfCAPZ creates the resources of a cluster and of a Windows machine as CAPZ v1.26 would: names, tags and bodies
// are copied from CAPZ's requests, not computed by casement's code. Other fields have Azure's defaults.
func (b *bed) azureAsOfCAPZ(vm string) {
	b.t.Helper()
	label := fnv.New32a()
	fmt.Fprintf(label, "%s/%s/%s", subscription, b.name, "pip-"+b.name+"-apiserver")
	for _, r := range []struct{ id, body string }{
		{b.group().ID(), `{"location": "LOCATION", "tags": {TAGS, "Name": "CLUSTER", ` +
			`"sigs.k8s.io_cluster-api-provider-azure_role": "common"}}`},
		{b.group().Network("networkSecurityGroups", b.name+"-controlplane-nsg"),
			`{"location": "LOCATION", "tags": {TAGS, "Name": "CLUSTER-controlplane-nsg"}, "properties": {"securityRules": [
			{"name": "allow_ssh", "properties": {"description": "Allow SSH", "protocol": "Tcp", "direction": "Inbound",
				"access": "Allow", "priority": 2200, "sourceAddressPrefix": "*", "sourcePortRange": "*",
				"destinationAddressPrefix": "*", "destinationPortRange": "22"}},
			{"name": "allow_apiserver", "properties": {"description": "Allow K8s API Server", "protocol": "Tcp",
				"direction": "Inbound", "access": "Allow", "priority": 2201, "sourceAddressPrefix": "*",
				"sourcePortRange": "*", "destinationAddressPrefix": "*", "destinationPortRange": "6443"}}]}}`},
		{b.group().Network("networkSecurityGroups", b.name+"-node-nsg"), `{"location": "LOCATION", "tags": ` +
			`{TAGS, "Name": "CLUSTER-node-nsg"}, "properties": {"securityRules": []}}`},
		{b.group().Network("routeTables", b.name+"-node-routetable"),
			`{"location": "LOCATION", "tags": {TAGS, "Name": "CLUSTER-node-routetable"}, "properties": {}}`},
		{b.group().Network("publicIPAddresses", "pip-"+b.name+"-node-natgw"), `{"location": "LOCATION", "sku": ` +
			`{"name": "Standard"}, "tags": {TAGS, "Name": "pip-CLUSTER-node-natgw"}, "properties": ` +
			`{"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4"}, "zones": ["1", "2", ` +
			`"3"]}`},
		{b.group().Network("natGateways", b.name+"-node-natgw"), `{"location": "LOCATION", "sku": {"name": ` +
			`"Standard"}, "tags": {TAGS, "Name": "CLUSTER-node-natgw"}, "properties": {"publicIpAddresses": ` +
			`[{"id": "NET/publicIPAddresses/pip-CLUSTER-node-natgw"}]}}`},
		{b.group().Network("virtualNetworks", b.name+"-vnet"),
			`{"location": "LOCATION", "tags": {TAGS, "Name": "CLUSTER-vnet",
				"sigs.k8s.io_cluster-api-provider-azure_role": "common"},
				"properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/8"]}, "subnets": [
			{"name": "CLUSTER-controlplane-subnet", "properties": {"addressPrefix": "10.0.0.0/16",
				"addressPrefixes": ["10.0.0.0/16"],
				"networkSecurityGroup": {"id": "NET/networkSecurityGroups/CLUSTER-controlplane-nsg"},
				"routeTable": {"id": "NET/routeTables/CLUSTER-node-routetable"}}},
			{"name": "CLUSTER-node-subnet", "properties": {"addressPrefix": "10.1.0.0/16",
				"addressPrefixes": ["10.1.0.0/16"], "natGateway": {"id": "NET/natGateways/CLUSTER-node-natgw"},
				"networkSecurityGroup": {"id": "NET/networkSecurityGroups/CLUSTER-node-nsg"},
				"routeTable": {"id": "NET/routeTables/CLUSTER-node-routetable"}}}]}}`},
		{b.group().Network("publicIPAddresses", "pip-"+b.name+"-apiserver"), `{"location": "LOCATION", "sku": ` +
			`{"name": "Standard"}, "tags": {TAGS, "Name": "pip-CLUSTER-apiserver"}, "properties": ` +
			`{"publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4", "dnsSettings": ` +
			`{"domainNameLabel": "LABEL", "fqdn": "LABEL.LOCATION.cloudapp.azure.com"}}, "zones": ["1", "2", ` +
			`"3"]}`},
		{b.group().Network("loadBalancers", b.name+"-public-lb"),
			`{"location": "LOCATION", "sku": {"name": "Standard"}, "tags": {TAGS,
				"sigs.k8s.io_cluster-api-provider-azure_role": "apiserver"}, "properties": {
			"frontendIPConfigurations": [{"name": "CLUSTER-public-lb-frontEnd",
				"properties": {"publicIPAddress": {"id": "NET/publicIPAddresses/pip-CLUSTER-apiserver"}}}],
			"backendAddressPools": [{"name": "CLUSTER-public-lb-backendPool"}],
			"probes": [{"name": "HTTPSProbe", "properties": {"protocol": "Https", "port": 6443, "requestPath": "/readyz",
				"intervalInSeconds": 15, "numberOfProbes": 4, "probeThreshold": 1}}],
			"loadBalancingRules": [{"name": "LBRuleHTTPS", "properties": {"protocol": "Tcp", "frontendPort": 6443,
				"backendPort": 6443, "disableOutboundSnat": true, "idleTimeoutInMinutes": 4, "enableFloatingIP": false,
				"loadDistribution": "Default",
				"frontendIPConfiguration": {"id": "NET/loadBalancers/CLUSTER-public-lb/frontendIPConfigurations/CLUSTER-public-lb-frontEnd"},
					"backendAddressPool": {"id": "NET/loadBalancers/CLUSTER-public-lb/backendAddressPools/CLUSTER-public-lb-backendPool"},
					"probe": {"id": "NET/loadBalancers/CLUSTER-public-lb/probes/HTTPSProbe"}}}],
			"outboundRules": [{"name": "OutboundNATAllProtocols", "properties": {"protocol": "All",
				"idleTimeoutInMinutes": 4,
				"frontendIPConfigurations": [{"id": "NET/loadBalancers/CLUSTER-public-lb/frontendIPConfigurations/CLUSTER-public-lb-frontEnd"}],
				"backendAddressPool": {"id": "NET/loadBalancers/CLUSTER-public-lb/backendAddressPools/CLUSTER-public-lb-backendPool"}}}]}}`},
		{b.group().Network("networkInterfaces", "VM-nic"), `{"location": "LOCATION", "tags": {TAGS, "Name": ` +
			`"VM-nic", "kubernetes.io_cluster_CLUSTER": "owned"}, "properties": ` +
			`{"enableAcceleratedNetworking": true, "enableIPForwarding": false, "ipConfigurations": [{"name": ` +
			`"pipConfig", "properties": {"primary": true, "privateIPAllocationMethod": "Dynamic", "subnet": ` +
			`{"id": "NET/virtualNetworks/CLUSTER-vnet/subnets/CLUSTER-node-subnet"}}}]}}`},
		{vm,
			`{"location": "LOCATION", "tags": {TAGS, "Name": "VM", "kubernetes.io_cluster_CLUSTER": "owned",
				"sigs.k8s.io_cluster-api-provider-azure_role": "node"}, "properties": {
			"hardwareProfile": {"vmSize": "Standard_D2s_v3"}, "diagnosticsProfile": {"bootDiagnostics": {"enabled": true}},
			"networkProfile": {"networkInterfaces": [{"id": "NET/networkInterfaces/VM-nic", "properties": {"primary": true}}]},
			"osProfile": {"computerName": "VM", "adminUsername": "capi", "adminPassword": "Not-a-real-one-1",
				"allowExtensionOperations": true, "windowsConfiguration": {"enableAutomaticUpdates": false}},
			"storageProfile": {"imageReference": {
				"communityGalleryImageId":
					"/CommunityGalleries/ClusterAPI-f72ceb4f-5159-4c26-a0fe-2ea738f0d019/Images/capi-win-2022-containerd/Versions/VERSION"},
				"osDisk": {"name": "VM_OSDisk", "createOption": "FromImage", "osType": "Windows", "diskSizeGB": 128,
					"caching": "None", "managedDisk": {"storageAccountType": "Premium_LRS"}}}}}`},
	} {
		fill := strings.NewReplacer(
			"TAGS", `"sigs.k8s.io_cluster-api-provider-azure_cluster_CLUSTER": "owned"`, "LOCATION", location,
			"VERSION", strings.TrimPrefix(version, "v"),
			"NET/", b.group().ID()+"/providers/Microsoft.Network/", "CLUSTER", b.name, "LABEL",
			fmt.Sprintf("%s-%x", b.name, label.Sum32()), "VM", vm[strings.LastIndex(vm, "/")+1:])
		b.put(fill.Replace(r.id), fill.Replace(fill.Replace(r.body)))
	}
}

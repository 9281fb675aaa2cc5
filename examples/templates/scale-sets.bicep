// A scale set of Windows VMs in each orchestration mode.
@secure()
param adminPassword string
@minValue(0)
@maxValue(10)
param count int = 2
param location string = resourceGroup().location

resource vnet 'Microsoft.Network/virtualNetworks@2023-09-01' = {
  name: 'pools-vnet'
  location: location
  properties: {
    addressSpace: { addressPrefixes: ['10.0.0.0/16'] }
    subnets: [{ name: 'default', properties: { addressPrefix: '10.0.0.0/24' } }]
  }
}

var os = { computerNamePrefix: 'pool', adminUsername: 'casement', adminPassword: adminPassword }
var storage = {
  imageReference: { publisher: 'MicrosoftWindowsServer', offer: 'WindowsServer', sku: '2022-datacenter-g2', version: 'latest' }
  osDisk: { createOption: 'FromImage' }
}
var nics = [
  {
    name: 'nic'
    properties: {
      primary: true
      ipConfigurations: [{ name: 'ip', properties: { subnet: { id: '${vnet.id}/subnets/default' } } }]
    }
  }
]

resource uniform 'Microsoft.Compute/virtualMachineScaleSets@2024-03-01' = {
  name: 'uniform'
  location: location
  sku: { name: 'Standard_D2s_v3', capacity: count }
  properties: {
    orchestrationMode: 'Uniform'
    upgradePolicy: { mode: 'Manual' }
    virtualMachineProfile: { osProfile: os, storageProfile: storage, networkProfile: { networkInterfaceConfigurations: nics } }
  }
}

resource flexible 'Microsoft.Compute/virtualMachineScaleSets@2024-03-01' = {
  name: 'flexible'
  location: location
  sku: { name: 'Standard_D2s_v3', capacity: count }
  properties: {
    orchestrationMode: 'Flexible'
    platformFaultDomainCount: 1
    virtualMachineProfile: {
      osProfile: os
      storageProfile: storage
      networkProfile: { networkApiVersion: '2022-11-01', networkInterfaceConfigurations: nics }
    }
  }
}

output sets array = [uniform.name, flexible.name]

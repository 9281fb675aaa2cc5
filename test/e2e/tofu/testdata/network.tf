resource "azurerm_virtual_network" "main" {
  name                = "vnet"
  resource_group_name = local.group
  location            = local.location
  address_space       = var.stage == 1 ? ["10.0.0.0/8"] : ["10.0.0.0/8", "172.16.0.0/16"]
  dns_servers         = ["168.63.129.16"]
  tags                = local.tags
}

resource "azurerm_virtual_network" "hub" {
  name                = "hub"
  resource_group_name = local.group
  location            = local.location
  address_space       = ["192.168.0.0/16"]

  subnet {
    name             = "inside"
    address_prefixes = ["192.168.1.0/24"]
  }
}

resource "azurerm_virtual_network_peering" "out" {
  name                      = "to-hub"
  resource_group_name       = local.group
  virtual_network_name      = azurerm_virtual_network.main.name
  remote_virtual_network_id = azurerm_virtual_network.hub.id
  allow_forwarded_traffic   = var.stage == 2
}

resource "azurerm_virtual_network_peering" "back" {
  name                      = "to-cluster"
  resource_group_name       = local.group
  virtual_network_name      = azurerm_virtual_network.hub.name
  remote_virtual_network_id = azurerm_virtual_network.main.id
}

resource "azurerm_subnet" "control" {
  name                 = "control-plane"
  resource_group_name  = local.group
  virtual_network_name = azurerm_virtual_network.main.name
  address_prefixes     = ["10.0.0.0/16"]
}

resource "azurerm_subnet" "node" {
  name                 = "node"
  resource_group_name  = local.group
  virtual_network_name = azurerm_virtual_network.main.name
  address_prefixes     = ["10.1.0.0/16"]

  service_endpoint {
    service = "Microsoft.Storage"
  }
}

resource "azurerm_subnet" "endpoint" {
  name                                          = "endpoint"
  resource_group_name                           = local.group
  virtual_network_name                          = azurerm_virtual_network.main.name
  address_prefixes                              = ["10.2.0.0/24"]
  private_endpoint_network_policies             = var.stage == 1 ? "Disabled" : "Enabled"
  private_link_service_network_policies_enabled = false
}

resource "azurerm_subnet" "delegated" {
  name                            = "delegated"
  resource_group_name             = local.group
  virtual_network_name            = azurerm_virtual_network.main.name
  address_prefixes                = ["10.3.0.0/24"]
  default_outbound_access_enabled = false

  delegation {
    name = "containers"

    service_delegation {
      name    = "Microsoft.ContainerInstance/containerGroups"
      actions = ["Microsoft.Network/virtualNetworks/subnets/action"]
    }
  }
}

resource "azurerm_subnet" "bastion" {
  name                 = "AzureBastionSubnet"
  resource_group_name  = local.group
  virtual_network_name = azurerm_virtual_network.main.name
  address_prefixes     = ["10.4.0.0/26"]
}

resource "azurerm_network_security_group" "control" {
  name                = "control-plane"
  resource_group_name = local.group
  location            = local.location
  tags                = local.tags
}

resource "azurerm_network_security_group" "node" {
  name                = "node"
  resource_group_name = local.group
  location            = local.location

  security_rule {
    name                       = "rdp"
    priority                   = 200 + var.stage
    direction                  = "Inbound"
    access                     = "Allow"
    protocol                   = "Tcp"
    source_port_range          = "*"
    destination_port_ranges    = ["3389", "5985-5986"]
    source_address_prefixes    = ["10.0.0.0/16", "192.168.0.0/16"]
    destination_address_prefix = "VirtualNetwork"
  }

  security_rule {
    name                       = "no-smb"
    priority                   = 300
    direction                  = "Outbound"
    access                     = "Deny"
    protocol                   = "*"
    source_port_range          = "*"
    destination_port_range     = "445"
    source_address_prefix      = "*"
    destination_address_prefix = "Internet"
  }
}

resource "azurerm_network_security_rule" "api" {
  name                        = "api"
  resource_group_name         = local.group
  network_security_group_name = azurerm_network_security_group.control.name
  priority                    = 100
  direction                   = "Inbound"
  access                      = "Allow"
  protocol                    = "Tcp"
  source_port_range           = "*"
  destination_port_range      = "6443"
  source_address_prefix       = "*"
  destination_address_prefix  = "*"
  description                 = "stage ${var.stage}"
}

resource "azurerm_network_security_rule" "ssh" {
  name                                       = "ssh"
  resource_group_name                        = local.group
  network_security_group_name                = azurerm_network_security_group.control.name
  priority                                   = 110
  direction                                  = "Inbound"
  access                                     = "Allow"
  protocol                                   = "Tcp"
  source_port_range                          = "*"
  destination_port_range                     = "22"
  source_address_prefix                      = "AzureLoadBalancer"
  destination_application_security_group_ids = [azurerm_application_security_group.node.id]
}

resource "azurerm_application_security_group" "node" {
  name                = "nodes"
  resource_group_name = local.group
  location            = local.location
  tags                = local.tags
}

resource "azurerm_subnet_network_security_group_association" "control" {
  subnet_id                 = azurerm_subnet.control.id
  network_security_group_id = azurerm_network_security_group.control.id
}

resource "azurerm_subnet_network_security_group_association" "node" {
  subnet_id                 = azurerm_subnet.node.id
  network_security_group_id = azurerm_network_security_group.node.id
}

resource "azurerm_route_table" "node" {
  name                          = "node"
  resource_group_name           = local.group
  location                      = local.location
  bgp_route_propagation_enabled = var.stage == 1
}

resource "azurerm_route" "pods" {
  name                   = "pods"
  resource_group_name    = local.group
  route_table_name       = azurerm_route_table.node.name
  address_prefix         = "10.244.${var.stage}.0/24"
  next_hop_type          = "VirtualAppliance"
  next_hop_in_ip_address = "10.1.0.4"
}

resource "azurerm_route" "internet" {
  name                = "internet"
  resource_group_name = local.group
  route_table_name    = azurerm_route_table.node.name
  address_prefix      = "0.0.0.0/0"
  next_hop_type       = "Internet"
}

resource "azurerm_subnet_route_table_association" "node" {
  subnet_id      = azurerm_subnet.node.id
  route_table_id = azurerm_route_table.node.id
}

resource "azurerm_public_ip" "api" {
  name                = "api"
  resource_group_name = local.group
  location            = local.location
  allocation_method   = "Static"
  sku                 = "Standard"
  zones               = ["1", "2", "3"]
  domain_name_label   = "tofu-api"
  tags                = local.tags
}

resource "azurerm_public_ip" "egress" {
  name                    = "egress"
  resource_group_name     = local.group
  location                = local.location
  allocation_method       = "Static"
  sku                     = "Standard"
  idle_timeout_in_minutes = 4 + var.stage
}

resource "azurerm_public_ip" "bastion" {
  name                = "bastion"
  resource_group_name = local.group
  location            = local.location
  allocation_method   = "Static"
  sku                 = "Standard"
}

resource "azurerm_public_ip" "nat" {
  name                = "nat"
  resource_group_name = local.group
  location            = local.location
  allocation_method   = "Static"
  sku                 = "Standard"
}

resource "azurerm_public_ip" "machine" {
  name                = "machine"
  resource_group_name = local.group
  location            = local.location
  allocation_method   = "Static"
  sku                 = "Standard"
  public_ip_prefix_id = azurerm_public_ip_prefix.machines.id
}

resource "azurerm_public_ip_prefix" "machines" {
  name                = "machines"
  resource_group_name = local.group
  location            = local.location
  prefix_length       = 30
  tags                = local.tags
}

resource "azurerm_public_ip_prefix" "nat" {
  name                = "nat"
  resource_group_name = local.group
  location            = local.location
  prefix_length       = 31
}

resource "azurerm_nat_gateway" "node" {
  name                    = "node"
  resource_group_name     = local.group
  location                = local.location
  sku_name                = "Standard"
  idle_timeout_in_minutes = 4 + var.stage
  tags                    = local.tags
}

resource "azurerm_nat_gateway_public_ip_association" "node" {
  nat_gateway_id       = azurerm_nat_gateway.node.id
  public_ip_address_id = azurerm_public_ip.nat.id
}

resource "azurerm_nat_gateway_public_ip_prefix_association" "node" {
  nat_gateway_id      = azurerm_nat_gateway.node.id
  public_ip_prefix_id = azurerm_public_ip_prefix.nat.id
}

resource "azurerm_subnet_nat_gateway_association" "node" {
  subnet_id      = azurerm_subnet.node.id
  nat_gateway_id = azurerm_nat_gateway.node.id
}

resource "azurerm_bastion_host" "main" {
  name                = "bastion"
  resource_group_name = local.group
  location            = local.location
  sku                 = "Standard"
  tunneling_enabled   = true

  ip_configuration {
    name                 = "main"
    subnet_id            = azurerm_subnet.bastion.id
    public_ip_address_id = azurerm_public_ip.bastion.id
  }
}

resource "azurerm_network_interface" "linux" {
  name                = "linux"
  resource_group_name = local.group
  location            = local.location
  tags                = local.tags

  ip_configuration {
    name                          = "main"
    subnet_id                     = azurerm_subnet.control.id
    private_ip_address_allocation = "Static"
    private_ip_address            = "10.0.0.10"
    public_ip_address_id          = azurerm_public_ip.machine.id
  }
}

resource "azurerm_network_interface" "windows" {
  name                           = "windows"
  resource_group_name            = local.group
  location                       = local.location
  ip_forwarding_enabled          = var.stage == 2
  accelerated_networking_enabled = true

  ip_configuration {
    name                          = "first"
    primary                       = true
    subnet_id                     = azurerm_subnet.node.id
    private_ip_address_allocation = "Dynamic"
  }

  ip_configuration {
    name                          = "pods"
    subnet_id                     = azurerm_subnet.node.id
    private_ip_address_allocation = "Dynamic"
  }
}

resource "azurerm_network_interface_security_group_association" "windows" {
  network_interface_id      = azurerm_network_interface.windows.id
  network_security_group_id = azurerm_network_security_group.node.id
}

resource "azurerm_network_interface_application_security_group_association" "linux" {
  network_interface_id          = azurerm_network_interface.linux.id
  application_security_group_id = azurerm_application_security_group.node.id
}

resource "azurerm_private_link_service" "api" {
  name                                        = "api"
  resource_group_name                         = local.group
  location                                    = local.location
  load_balancer_frontend_ip_configuration_ids = [azurerm_lb.internal.frontend_ip_configuration[0].id]
  tags                                        = local.tags

  nat_ip_configuration {
    name      = "main"
    primary   = true
    subnet_id = azurerm_subnet.endpoint.id
  }
}

resource "azurerm_private_endpoint" "api" {
  name                = "api"
  resource_group_name = local.group
  location            = local.location
  subnet_id           = azurerm_subnet.endpoint.id
  tags                = local.tags

  private_service_connection {
    name                           = "api"
    private_connection_resource_id = azurerm_private_link_service.api.id
    is_manual_connection           = false
  }

  private_dns_zone_group {
    name                 = "default"
    private_dns_zone_ids = [azurerm_private_dns_zone.main.id]
  }
}

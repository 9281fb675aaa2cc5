# A network of both families beside the cluster's, with its subnets inside of it and a peer in another region.

resource "azurerm_virtual_network" "dual" {
  name                    = "dual"
  resource_group_name     = local.group
  location                = local.location
  address_space           = ["192.0.0.0/20", "fd00:10::/48"]
  flow_timeout_in_minutes = 4 * var.stage

  subnet {
    name             = "both"
    address_prefixes = ["192.0.0.0/24", "fd00:10:0:1::/64"]
    security_group   = azurerm_network_security_group.dual.id
  }
}

resource "azurerm_network_security_group" "dual" {
  name                = "dual"
  resource_group_name = local.group
  location            = local.location

  security_rule {
    name                                       = "between"
    priority                                   = 4096
    direction                                  = "Inbound"
    access                                     = "Allow"
    protocol                                   = "Udp"
    source_port_range                          = "1024-65535"
    destination_port_range                     = var.stage == 1 ? "53" : "5353"
    source_application_security_group_ids      = [azurerm_application_security_group.node.id]
    destination_application_security_group_ids = [azurerm_application_security_group.node.id]
  }
}

resource "azurerm_virtual_network" "far" {
  name                = "far"
  resource_group_name = local.group
  location            = "northeurope"
  address_space       = ["192.0.16.0/20"]
}

resource "azurerm_virtual_network_peering" "far" {
  name                      = "to-far"
  resource_group_name       = local.group
  virtual_network_name      = azurerm_virtual_network.dual.name
  remote_virtual_network_id = azurerm_virtual_network.far.id
  allow_gateway_transit     = var.stage == 2
}

resource "azurerm_public_ip_prefix" "six" {
  name                = "six"
  resource_group_name = local.group
  location            = local.location
  ip_version          = "IPv6"
  prefix_length       = 124
  zones               = ["1", "2", "3"]
}

resource "azurerm_public_ip" "six" {
  name                = "six"
  resource_group_name = local.group
  location            = local.location
  allocation_method   = "Static"
  ip_version          = "IPv6"
  tags                = local.tags
}

resource "azurerm_network_interface" "dual" {
  name                    = "dual"
  resource_group_name     = local.group
  location                = local.location
  ip_forwarding_enabled   = true
  internal_dns_name_label = "dual${var.stage}"

  ip_configuration {
    name                          = "four"
    subnet_id                     = "${azurerm_virtual_network.dual.id}/subnets/both"
    private_ip_address_allocation = "Dynamic"
    primary                       = true
  }

  ip_configuration {
    name                          = "six"
    subnet_id                     = "${azurerm_virtual_network.dual.id}/subnets/both"
    private_ip_address_allocation = "Dynamic"
    private_ip_address_version    = "IPv6"
    public_ip_address_id          = azurerm_public_ip.six.id
  }
}

resource "azurerm_lb" "api" {
  name                = "api"
  resource_group_name = local.group
  location            = local.location
  sku                 = "Standard"
  tags                = local.tags

  frontend_ip_configuration {
    name                 = "api"
    public_ip_address_id = azurerm_public_ip.api.id
  }

  frontend_ip_configuration {
    name                 = "egress"
    public_ip_address_id = azurerm_public_ip.egress.id
  }
}

resource "azurerm_lb" "internal" {
  name                = "internal"
  resource_group_name = local.group
  location            = local.location
  sku                 = "Standard"

  frontend_ip_configuration {
    name                          = "internal"
    subnet_id                     = azurerm_subnet.control.id
    private_ip_address            = "10.0.0.100"
    private_ip_address_allocation = "Static"
    zones                         = ["1", "2", "3"]
  }
}

resource "azurerm_lb_backend_address_pool" "api" {
  name            = "control-plane"
  loadbalancer_id = azurerm_lb.api.id
}

resource "azurerm_lb_backend_address_pool" "nodes" {
  name            = "nodes"
  loadbalancer_id = azurerm_lb.api.id
}

resource "azurerm_lb_backend_address_pool" "internal" {
  name            = "control-plane"
  loadbalancer_id = azurerm_lb.internal.id
}

resource "azurerm_lb_backend_address_pool" "addresses" {
  name            = "addresses"
  loadbalancer_id = azurerm_lb.internal.id
}

resource "azurerm_lb_backend_address_pool_address" "one" {
  name                    = "one"
  backend_address_pool_id = azurerm_lb_backend_address_pool.addresses.id
  virtual_network_id      = azurerm_virtual_network.main.id
  ip_address              = "10.0.0.20${var.stage}"
}

resource "azurerm_lb_probe" "api" {
  name                = "api"
  loadbalancer_id     = azurerm_lb.api.id
  protocol            = "Https"
  port                = 6443
  request_path        = "/readyz"
  interval_in_seconds = 10 * var.stage
}

resource "azurerm_lb_probe" "node" {
  name            = "node"
  loadbalancer_id = azurerm_lb.api.id
  protocol        = "Tcp"
  port            = 10256
}

resource "azurerm_lb_probe" "internal" {
  name            = "api"
  loadbalancer_id = azurerm_lb.internal.id
  port            = 6443
}

resource "azurerm_lb_rule" "api" {
  name                           = "api"
  loadbalancer_id                = azurerm_lb.api.id
  protocol                       = "Tcp"
  frontend_port                  = 6443
  backend_port                   = 6443
  frontend_ip_configuration_name = "api"
  backend_address_pool_ids       = [azurerm_lb_backend_address_pool.api.id]
  probe_id                       = azurerm_lb_probe.api.id
  disable_outbound_snat          = true
  idle_timeout_in_minutes        = 4 * var.stage
}

resource "azurerm_lb_rule" "internal" {
  name                           = "api"
  loadbalancer_id                = azurerm_lb.internal.id
  protocol                       = "Tcp"
  frontend_port                  = 6443
  backend_port                   = 6443
  frontend_ip_configuration_name = "internal"
  backend_address_pool_ids       = [azurerm_lb_backend_address_pool.internal.id]
  probe_id                       = azurerm_lb_probe.internal.id
  load_distribution              = "SourceIP"
}

resource "azurerm_lb_outbound_rule" "nodes" {
  name                     = "nodes"
  loadbalancer_id          = azurerm_lb.api.id
  protocol                 = "All"
  backend_address_pool_id  = azurerm_lb_backend_address_pool.nodes.id
  allocated_outbound_ports = 1024 * var.stage

  frontend_ip_configuration {
    name = "egress"
  }
}

resource "azurerm_lb_nat_rule" "ssh" {
  name                           = "ssh"
  resource_group_name            = local.group
  loadbalancer_id                = azurerm_lb.api.id
  protocol                       = "Tcp"
  frontend_port                  = 2200 + var.stage
  backend_port                   = 22
  frontend_ip_configuration_name = "api"
}

resource "azurerm_lb_nat_rule" "rdp" {
  name                           = "rdp"
  resource_group_name            = local.group
  loadbalancer_id                = azurerm_lb.api.id
  protocol                       = "Tcp"
  frontend_port_start            = 50000
  frontend_port_end              = 50099
  backend_port                   = 3389
  backend_address_pool_id        = azurerm_lb_backend_address_pool.nodes.id
  frontend_ip_configuration_name = "egress"
}

resource "azurerm_network_interface_backend_address_pool_association" "linux" {
  network_interface_id    = azurerm_network_interface.linux.id
  ip_configuration_name   = "main"
  backend_address_pool_id = azurerm_lb_backend_address_pool.api.id
}

resource "azurerm_network_interface_backend_address_pool_association" "internal" {
  network_interface_id    = azurerm_network_interface.linux.id
  ip_configuration_name   = "main"
  backend_address_pool_id = azurerm_lb_backend_address_pool.internal.id
}

resource "azurerm_network_interface_nat_rule_association" "linux" {
  network_interface_id  = azurerm_network_interface.linux.id
  ip_configuration_name = "main"
  nat_rule_id           = azurerm_lb_nat_rule.ssh.id
}

resource "azurerm_linux_virtual_machine_scale_set" "uniform" {
  name                   = "uniform"
  resource_group_name    = local.group
  location               = local.location
  sku                    = "Standard_D2s_v3"
  instances              = 1 + var.stage
  admin_username         = "capi"
  upgrade_mode           = "Manual"
  overprovision          = false
  single_placement_group = false
  zones                  = ["1", "2"]
  zone_balance           = true
  tags                   = local.tags

  admin_ssh_key {
    username   = "capi"
    public_key = var.ssh_key
  }

  identity {
    type         = "UserAssigned"
    identity_ids = [azurerm_user_assigned_identity.node.id]
  }

  source_image_reference {
    publisher = local.ubuntu.publisher
    offer     = local.ubuntu.offer
    sku       = local.ubuntu.sku
    version   = local.ubuntu.version
  }

  os_disk {
    storage_account_type = "Premium_LRS"
    caching              = "ReadWrite"
  }

  data_disk {
    lun                  = 0
    caching              = "ReadOnly"
    disk_size_gb         = 16
    storage_account_type = "Premium_LRS"
  }

  network_interface {
    name    = "main"
    primary = true

    ip_configuration {
      name                                   = "main"
      primary                                = true
      subnet_id                              = azurerm_subnet.node.id
      load_balancer_backend_address_pool_ids = [azurerm_lb_backend_address_pool.nodes.id]
    }
  }
}

resource "azurerm_virtual_machine_scale_set_extension" "uniform" {
  name                         = "script"
  virtual_machine_scale_set_id = azurerm_linux_virtual_machine_scale_set.uniform.id
  publisher                    = "Microsoft.Azure.Extensions"
  type                         = "CustomScript"
  type_handler_version         = "2.1"
  settings                     = jsonencode({ commandToExecute = "echo ${var.stage}" })
}

resource "azurerm_windows_virtual_machine_scale_set" "uniform" {
  name                 = "winset"
  resource_group_name  = local.group
  location             = local.location
  sku                  = "Standard_D4s_v3"
  instances            = 1
  admin_username       = "capi"
  admin_password       = local.password
  computer_name_prefix = "win"
  upgrade_mode         = "Rolling"
  health_probe_id      = azurerm_lb_probe.node.id
  tags                 = local.tags

  rolling_upgrade_policy {
    max_batch_instance_percent              = 20 * var.stage
    max_unhealthy_instance_percent          = 40
    max_unhealthy_upgraded_instance_percent = 40
    pause_time_between_batches              = "PT0S"
  }

  source_image_reference {
    publisher = local.windows.publisher
    offer     = local.windows.offer
    sku       = local.windows.sku
    version   = local.windows.version
  }

  os_disk {
    storage_account_type = "Premium_LRS"
    caching              = "ReadWrite"
  }

  network_interface {
    name    = "main"
    primary = true

    ip_configuration {
      name                                   = "main"
      primary                                = true
      subnet_id                              = azurerm_subnet.node.id
      load_balancer_backend_address_pool_ids = [azurerm_lb_backend_address_pool.nodes.id]
    }
  }

  depends_on = [azurerm_lb_rule.nodes]

  lifecycle {
    ignore_changes = [admin_password]
  }
}

resource "azurerm_lb_rule" "nodes" {
  name                           = "nodes"
  loadbalancer_id                = azurerm_lb.api.id
  protocol                       = "Tcp"
  frontend_port                  = 80
  backend_port                   = 30080
  frontend_ip_configuration_name = "egress"
  backend_address_pool_ids       = [azurerm_lb_backend_address_pool.nodes.id]
  probe_id                       = azurerm_lb_probe.node.id
  disable_outbound_snat          = true
}

resource "azurerm_orchestrated_virtual_machine_scale_set" "flexible" {
  name                        = "flexible"
  resource_group_name         = local.group
  location                    = local.location
  platform_fault_domain_count = 1
  sku_name                    = "Standard_D2s_v3"
  instances                   = var.stage
  tags                        = local.tags

  os_profile {
    linux_configuration {
      computer_name_prefix = "flex"
      admin_username       = "capi"

      admin_ssh_key {
        username   = "capi"
        public_key = var.ssh_key
      }
    }
  }

  network_interface {
    name    = "main"
    primary = true

    ip_configuration {
      name      = "main"
      primary   = true
      subnet_id = azurerm_subnet.node.id
    }
  }

  os_disk {
    storage_account_type = "Premium_LRS"
    caching              = "ReadWrite"
  }

  source_image_reference {
    publisher = local.ubuntu.publisher
    offer     = local.ubuntu.offer
    sku       = local.ubuntu.sku
    version   = local.ubuntu.version
  }
}

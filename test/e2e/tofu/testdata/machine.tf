resource "azurerm_availability_set" "control" {
  name                         = "control-plane"
  resource_group_name          = local.group
  location                     = local.location
  platform_fault_domain_count  = 2
  platform_update_domain_count = 5
  proximity_placement_group_id = azurerm_proximity_placement_group.main.id
  tags                         = local.tags
}

resource "azurerm_proximity_placement_group" "main" {
  name                = "main"
  resource_group_name = local.group
  location            = local.location
}

resource "azurerm_ssh_public_key" "admin" {
  name                = "admin"
  resource_group_name = local.group
  location            = local.location
  public_key          = var.ssh_key
}

resource "azurerm_linux_virtual_machine" "control" {
  name                         = "control"
  resource_group_name          = local.group
  location                     = local.location
  size                         = var.stage == 1 ? "Standard_D2s_v3" : "Standard_D4s_v3"
  admin_username               = "capi"
  network_interface_ids        = [azurerm_network_interface.linux.id]
  availability_set_id          = azurerm_availability_set.control.id
  proximity_placement_group_id = azurerm_proximity_placement_group.main.id
  custom_data                  = base64encode("#cloud-config\nwrite_files:\n- path: /etc/motd\n  content: hello\n")
  tags                         = local.tags

  admin_ssh_key {
    username   = "capi"
    public_key = var.ssh_key
  }

  identity {
    type         = "UserAssigned"
    identity_ids = [azurerm_user_assigned_identity.node.id]
  }

  boot_diagnostics {}

  os_disk {
    name                 = "control-os"
    caching              = "ReadWrite"
    storage_account_type = "Premium_LRS"
    disk_size_gb         = 64 * var.stage
  }

  source_image_reference {
    publisher = local.ubuntu.publisher
    offer     = local.ubuntu.offer
    sku       = local.ubuntu.sku
    version   = local.ubuntu.version
  }

  lifecycle {
    ignore_changes = [custom_data] # which Azure does not show
  }
}

resource "azurerm_windows_virtual_machine" "node" {
  name                  = "win-node"
  resource_group_name   = local.group
  location              = local.location
  size                  = "Standard_D4s_v5"
  admin_username        = "capi"
  admin_password        = local.password
  network_interface_ids = [azurerm_network_interface.windows.id]
  zone                  = "1"
  secure_boot_enabled   = true
  vtpm_enabled          = true
  license_type          = var.stage == 1 ? "None" : "Windows_Server"
  tags                  = local.tags

  identity {
    type = "SystemAssigned"
  }

  os_disk {
    caching              = "ReadWrite"
    storage_account_type = "Premium_LRS"
  }

  source_image_reference {
    publisher = local.windows.publisher
    offer     = local.windows.offer
    sku       = local.windows.sku
    version   = local.windows.version
  }

  lifecycle {
    ignore_changes = [admin_password]
  }
}

resource "azurerm_managed_disk" "data" {
  name                 = "data"
  resource_group_name  = local.group
  location             = local.location
  storage_account_type = "Premium_LRS"
  create_option        = "Empty"
  disk_size_gb         = 32 * var.stage
  zone                 = "1"
  tags                 = local.tags
}

resource "azurerm_managed_disk" "copy" {
  name                 = "copy"
  resource_group_name  = local.group
  location             = local.location
  storage_account_type = "Standard_LRS"
  create_option        = "Copy"
  source_resource_id   = azurerm_snapshot.data.id
}

resource "azurerm_snapshot" "data" {
  name                = "data"
  resource_group_name = local.group
  location            = local.location
  create_option       = "Copy"
  source_uri          = azurerm_managed_disk.plain.id
  tags                = local.tags

  lifecycle {
    ignore_changes = [source_uri] # which the provider does not read
  }
}

resource "azurerm_managed_disk" "plain" {
  name                 = "plain"
  resource_group_name  = local.group
  location             = local.location
  storage_account_type = "Standard_LRS"
  create_option        = "Empty"
  disk_size_gb         = 16
}

resource "azurerm_disk_access" "main" {
  name                = "main"
  resource_group_name = local.group
  location            = local.location
}

resource "azurerm_virtual_machine_data_disk_attachment" "data" {
  managed_disk_id    = azurerm_managed_disk.data.id
  virtual_machine_id = azurerm_windows_virtual_machine.node.id
  lun                = 10
  caching            = "ReadOnly"
}

resource "azurerm_virtual_machine_extension" "linux" {
  name                 = "script"
  virtual_machine_id   = azurerm_linux_virtual_machine.control.id
  publisher            = "Microsoft.Azure.Extensions"
  type                 = "CustomScript"
  type_handler_version = "2.1"
  settings             = jsonencode({ commandToExecute = "echo ${var.stage}" })
  tags                 = local.tags
}

resource "azurerm_virtual_machine_extension" "windows" {
  name                       = "script"
  virtual_machine_id         = azurerm_windows_virtual_machine.node.id
  publisher                  = "Microsoft.Compute"
  type                       = "CustomScriptExtension"
  type_handler_version       = "1.10"
  auto_upgrade_minor_version = true
  settings                   = jsonencode({})
  protected_settings         = jsonencode({ commandToExecute = "powershell -Command Get-Date" })

  lifecycle {
    ignore_changes = [protected_settings]
  }
}

resource "azurerm_virtual_machine_run_command" "linux" {
  name               = "hello"
  location           = local.location
  virtual_machine_id = azurerm_linux_virtual_machine.control.id

  source {
    script = "echo hello ${var.stage}"
  }

  depends_on = [azurerm_virtual_machine_extension.linux]
}

resource "azurerm_capacity_reservation_group" "main" {
  name                = "reserved"
  resource_group_name = local.group
  location            = local.location
  zones               = ["1"]
}

resource "azurerm_capacity_reservation" "main" {
  name                          = "nodes"
  capacity_reservation_group_id = azurerm_capacity_reservation_group.main.id
  zone                          = "1"

  sku {
    name     = "Standard_D2s_v3"
    capacity = var.stage
  }
}

resource "azurerm_dedicated_host_group" "main" {
  name                        = "hosts"
  resource_group_name         = local.group
  location                    = local.location
  platform_fault_domain_count = 1
}

resource "azurerm_shared_image_gallery" "main" {
  name                = "tofu_gallery"
  resource_group_name = local.group
  location            = local.location
  description         = "stage ${var.stage}"
}

resource "azurerm_shared_image" "linux" {
  name                     = "linux"
  gallery_name             = azurerm_shared_image_gallery.main.name
  resource_group_name      = local.group
  location                 = local.location
  os_type                  = "Linux"
  hyper_v_generation       = "V2"
  trusted_launch_supported = true
  tags                     = local.tags

  identifier {
    publisher = "tofu"
    offer     = "nodes"
    sku       = "linux"
  }
}

resource "azurerm_shared_image" "windows" {
  name                = "windows"
  gallery_name        = azurerm_shared_image_gallery.main.name
  resource_group_name = local.group
  location            = local.location
  os_type             = "Windows"
  hyper_v_generation  = "V2"

  identifier {
    publisher = "tofu"
    offer     = "nodes"
    sku       = "windows"
  }
}

resource "azurerm_image" "main" {
  name                = "captured"
  resource_group_name = local.group
  location            = local.location
  hyper_v_generation  = "V2"

  os_disk {
    os_type         = "Windows"
    os_state        = "Generalized"
    managed_disk_id = azurerm_managed_disk.plain.id
    storage_type    = "Standard_LRS"
    caching         = "ReadWrite"
  }
}

resource "azurerm_shared_image_version" "windows" {
  name                = "1.0.0"
  gallery_name        = azurerm_shared_image_gallery.main.name
  image_name          = azurerm_shared_image.windows.name
  resource_group_name = local.group
  location            = local.location
  managed_image_id    = azurerm_image.main.id
  exclude_from_latest = var.stage == 2

  target_region {
    name                   = local.location
    regional_replica_count = var.stage
    storage_account_type   = "Standard_LRS"
  }
}

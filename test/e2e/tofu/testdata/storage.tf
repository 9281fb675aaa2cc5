resource "azurerm_storage_account" "main" {
  name                            = "tofustorage"
  resource_group_name             = local.group
  location                        = local.location
  account_tier                    = "Standard"
  account_replication_type        = var.stage == 1 ? "LRS" : "GRS"
  min_tls_version                 = "TLS1_2"
  allow_nested_items_to_be_public = false
  tags                            = local.tags
}

resource "azurerm_storage_container" "logs" {
  name                  = "logs"
  storage_account_id    = azurerm_storage_account.main.id
  container_access_type = "private"
}

resource "azurerm_storage_share" "files" {
  name               = "files"
  storage_account_id = azurerm_storage_account.main.id
  quota              = 10 * var.stage
}

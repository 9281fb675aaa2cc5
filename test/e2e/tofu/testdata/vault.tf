resource "azurerm_key_vault" "main" {
  name                       = "tofu-vault"
  resource_group_name        = local.group
  location                   = local.location
  tenant_id                  = data.azurerm_client_config.current.tenant_id
  sku_name                   = "standard"
  soft_delete_retention_days = 7
  rbac_authorization_enabled = false
  enabled_for_deployment     = var.stage == 2
  tags                       = local.tags
}

resource "azurerm_key_vault_access_policy" "me" {
  key_vault_id       = azurerm_key_vault.main.id
  tenant_id          = data.azurerm_client_config.current.tenant_id
  object_id          = data.azurerm_client_config.current.object_id
  secret_permissions = ["Get", "List", "Set", "Delete", "Purge", "Recover"]
  key_permissions    = ["Get", "List", "Create", "Delete", "Purge", "Recover", "GetRotationPolicy", "Update"]
}

resource "azurerm_key_vault_secret" "bootstrap" {
  name         = "bootstrap"
  value        = "secret of stage ${var.stage}"
  key_vault_id = azurerm_key_vault.main.id
  content_type = "text/plain"
  depends_on   = [azurerm_key_vault_access_policy.me]
}

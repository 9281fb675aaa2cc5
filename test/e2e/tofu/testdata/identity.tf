resource "azurerm_user_assigned_identity" "node" {
  name                = "node"
  resource_group_name = local.group
  location            = local.location
  tags                = local.tags
}

resource "azurerm_user_assigned_identity" "manager" {
  name                = "manager"
  resource_group_name = local.group
  location            = local.location
}

resource "azurerm_federated_identity_credential" "manager" {
  name                      = "manager"
  user_assigned_identity_id = azurerm_user_assigned_identity.manager.id
  audience                  = ["api://AzureADTokenExchange"]
  issuer                    = "https://issuer.example/"
  subject                   = "system:serviceaccount:casement-system:manager-${var.stage}"
}

resource "azurerm_role_definition" "reader" {
  name        = "tofu nodes reader"
  scope       = azurerm_resource_group.main.id
  description = "stage ${var.stage}"

  permissions {
    actions     = ["Microsoft.Compute/virtualMachines/read"]
    not_actions = []
  }

  assignable_scopes = [azurerm_resource_group.main.id]
}

resource "azurerm_role_assignment" "node" {
  scope              = azurerm_resource_group.main.id
  role_definition_id = azurerm_role_definition.reader.role_definition_resource_id
  principal_id       = azurerm_user_assigned_identity.node.principal_id
  principal_type     = "ServicePrincipal"
}

resource "azurerm_role_assignment" "manager" {
  scope                = "/subscriptions/${data.azurerm_client_config.current.subscription_id}"
  role_definition_name = "Contributor"
  principal_id         = azurerm_user_assigned_identity.manager.principal_id
  principal_type       = "ServicePrincipal"
  description          = "the cluster's manager"
}

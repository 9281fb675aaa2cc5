# What a cluster names in Azure, and what is around it, as others would declare it: each file one
# area. The variable stage is 1 at first and 2 for the change.

terraform {
  required_providers {
    azurerm = {
      source = "hashicorp/azurerm"
    }
  }
}

provider "azurerm" {
  features {
    key_vault {
      purge_soft_delete_on_destroy = true
    }
  }
}

variable "stage" {
  type    = number
  default = 1
}

variable "ssh_key" {
  type = string
}

locals {
  location = "westeurope"
  group    = azurerm_resource_group.main.name
  password = "Correct-Horse-1"
  tags = {
    stage = tostring(var.stage)
  }
  ubuntu = {
    publisher = "Canonical"
    offer     = "0001-com-ubuntu-server-jammy"
    sku       = "22_04-lts-gen2"
    version   = "latest"
  }
  windows = {
    publisher = "MicrosoftWindowsServer"
    offer     = "WindowsServer"
    sku       = "2022-datacenter-core-g2"
    version   = "latest"
  }
}

data "azurerm_client_config" "current" {}

resource "azurerm_resource_group" "main" {
  name     = "tofu"
  location = local.location
  tags     = local.tags
}

resource "azurerm_resource_group" "shared" {
  name     = "tofu-shared"
  location = "northeurope"
}

resource "azurerm_management_lock" "shared" {
  name       = "keep"
  scope      = azurerm_resource_group.shared.id
  lock_level = "CanNotDelete"
  notes      = "held while the rest is there"
}

resource "azurerm_resource_group_template_deployment" "table" {
  name                = "table"
  resource_group_name = local.group
  deployment_mode     = "Incremental"
  parameters_content  = jsonencode({ name = { value = "from-template" } })
  template_content = jsonencode({
    "$schema"      = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
    contentVersion = "1.0.0.0"
    parameters     = { name = { type = "string" } }
    resources = [{
      type       = "Microsoft.Network/routeTables"
      apiVersion = "2024-05-01"
      name       = "[parameters('name')]"
      location   = "[resourceGroup().location]"
      properties = {}
    }]
    outputs = { id = { type = "string", value = "[resourceId('Microsoft.Network/routeTables', parameters('name'))]" } }
  })
}

resource "azurerm_private_dns_zone" "main" {
  name                = "cluster.example"
  resource_group_name = local.group
  tags                = local.tags
}

resource "azurerm_private_dns_zone_virtual_network_link" "main" {
  name                 = "vnet"
  private_dns_zone_id  = azurerm_private_dns_zone.main.id
  virtual_network_id   = azurerm_virtual_network.main.id
  registration_enabled = true
  tags                 = local.tags
}

resource "azurerm_private_dns_a_record" "api" {
  name                = "apiserver"
  private_dns_zone_id = azurerm_private_dns_zone.main.id
  ttl                 = 60 * var.stage
  records             = ["10.0.0.100"]
}

resource "azurerm_private_dns_aaaa_record" "api" {
  name                = "apiserver"
  private_dns_zone_id = azurerm_private_dns_zone.main.id
  ttl                 = 60
  records             = ["fd00::100"]
}

resource "azurerm_private_dns_cname_record" "alias" {
  name                = "alias"
  private_dns_zone_id = azurerm_private_dns_zone.main.id
  ttl                 = 300
  record              = "apiserver.cluster.example"
}

resource "azurerm_private_dns_txt_record" "owner" {
  name                = "owner"
  private_dns_zone_id = azurerm_private_dns_zone.main.id
  ttl                 = 300

  record {
    value = "stage ${var.stage}"
  }
}

resource "azurerm_private_dns_srv_record" "etcd" {
  name                = "_etcd._tcp"
  private_dns_zone_id = azurerm_private_dns_zone.main.id
  ttl                 = 300

  record {
    priority = 1
    weight   = 5
    port     = 2380
    target   = "apiserver.cluster.example"
  }
}

resource "azurerm_private_dns_mx_record" "mail" {
  name                = "mail"
  private_dns_zone_id = azurerm_private_dns_zone.main.id
  ttl                 = 300

  record {
    preference = 10
    exchange   = "mx.cluster.example"
  }
}

resource "azurerm_private_dns_ptr_record" "api" {
  name                = "100"
  private_dns_zone_id = azurerm_private_dns_zone.main.id
  ttl                 = 300
  records             = ["apiserver.cluster.example"]
}

resource "azurerm_dns_zone" "public" {
  name                = "tofu.example"
  resource_group_name = local.group
}

resource "azurerm_dns_a_record" "public" {
  name                = "api"
  zone_name           = azurerm_dns_zone.public.name
  resource_group_name = local.group
  ttl                 = 300
  records             = [azurerm_public_ip.api.ip_address]
}

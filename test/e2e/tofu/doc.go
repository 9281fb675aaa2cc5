// Package tofu runs OpenTofu, or Terraform, with the provider azurerm and a local Azure: the
// resources of testdata are created, planned again without a difference, changed, imported and
// destroyed. The project wrote neither the program nor the provider, so they are independent
// judges.
//
// It contains only tests.
package tofu

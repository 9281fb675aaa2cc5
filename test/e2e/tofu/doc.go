// Package tofu runs OpenTofu, or Terraform, with its provider azurerm against a local Azure: the resources of testdata
// are made, planned again without a difference, changed, imported and destroyed. Neither the program nor the provider
// is this project's: what they take is a second opinion.
//
// It holds tests only.
package tofu

// Package catalogue contains Azure's offer as data: VM sizes with their capabilities and the images
// of the marketplace. Properties that follow from the names in Azure's naming conventions are
// derived from the names.
//
// It answers no request and keeps no state; only azuresim/internal/compute imports it.
package catalogue

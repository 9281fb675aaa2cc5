// Package catalogue is the offer of Azure, as data: VM sizes with their capabilities
// and the images of the marketplace. What Azure derives by rules is derived here from
// the names, as Azure's own naming conventions say.
//
// It answers no request and keeps no state; only azuresim/internal/compute imports it.
package catalogue

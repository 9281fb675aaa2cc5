//go:build !linux || client

package azure

import (
	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
)

func newAzureServe(*app.App) *cobra.Command {
	return app.LinuxOnly("serve", "Run the local Azure alone, in the foreground")
}

func newFaultsGuest(*app.App) *cobra.Command {
	return app.LinuxOnly("guest-faults", "List what a guest can be made to have")
}

// GuestFaultNames returns nil, because only the Linux program includes the local Azure, which defines the faults.
func GuestFaultNames() []string { return nil }

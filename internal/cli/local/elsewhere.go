//go:build !linux || client

package local

import (
	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
)

func NewUp(*app.App) *cobra.Command {
	return app.LinuxOnly("up", "Start the local plane and leave it in the background")
}

func NewDown(*app.App) *cobra.Command { return app.LinuxOnly("down", "End the local plane") }

func NewConduct(*app.App) *cobra.Command {
	c := app.LinuxOnly("supervise", "Run the local plane")
	c.Hidden = true
	return c
}

func NewKubectl(*app.App) *cobra.Command {
	return app.LinuxOnly("kubectl [ARGS]", "Run the upstream kubectl that is built in")
}

// ImagePolicies returns nil, because only the Linux program includes the local plane, which defines the policies.
func ImagePolicies() []string { return nil }

//go:build !linux || client

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// errLinuxOnly is the error of commands that need the processes of a local plane, in a program for an OS that cannot
// run one.
var errLinuxOnly = errors.New("the local plane runs on Linux only, and this casement is the client alone: run " +
	"casement_linux_ARCH of the release " +
	"on Linux, in WSL, in a virtual machine or in a container; every command that takes --kubeconfig works here " +
	"against any management cluster")

// linuxOnly returns a command that works on Linux only, so that other systems list it and explain the error.
func linuxOnly(use, short string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short + " (Linux only)", DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return errLinuxOnly }}
}

func newUp(*app) *cobra.Command {
	return linuxOnly("up", "Start the local plane and leave it in the background")
}

func newDown(*app) *cobra.Command { return linuxOnly("down", "End the local plane") }

func newConduct(*app) *cobra.Command {
	c := linuxOnly("supervise", "Run the local plane")
	c.Hidden = true
	return c
}

func newAzureServe(*app) *cobra.Command {
	return linuxOnly("serve", "Run the local Azure alone, in the foreground")
}

func newFaultsGuest(*app) *cobra.Command {
	return linuxOnly("guest-faults", "List what a guest can be made to have")
}

func newKubectl(*app) *cobra.Command {
	return linuxOnly("kubectl [ARGS]", "Run the upstream kubectl that is built in")
}

// guestFaultNames returns nothing: the local Azure, which defines the faults, is in the Linux program only.
func guestFaultNames() []string { return nil }

// imagePolicies returns nothing: the local plane, which defines the policies, is in the Linux program only.
func imagePolicies() []string { return nil }

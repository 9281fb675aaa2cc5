//go:build !linux || client

package app

import (
	"errors"

	"github.com/spf13/cobra"
)

// errLinuxOnly is the error of commands that need the processes of a local plane, in a program for another operating system.
var errLinuxOnly = errors.New("the local plane runs on Linux only, and this casement is the client alone: run " +
	"casement_linux_ARCH of the release " +
	"on Linux, in WSL, in a virtual machine or in a container; every command that takes --kubeconfig works here " +
	"against any management cluster")

// LinuxOnly returns a command that always fails, so that programs for systems other than Linux list the command and
// explain the error.
func LinuxOnly(use, short string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short + " (Linux only)", DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return errLinuxOnly }}
}

package cloudbase

import (
	"fmt"

	"casement.dev/casement/internal/sim/guest/machine"
)

// customDataFile is where Azure stores custom data on Windows; no part of Windows reads it. Source:
// https://learn.microsoft.com/azure/virtual-machines/custom-data.
const customDataFile = `C:\AzureData\CustomData.bin`

// Installed reports whether the agent's service exists on a machine and starts with it.
func Installed(m *machine.Machine) bool {
	row, ok := m.Services.Get(machine.CloudbaseInit)
	return ok && row.Start == machine.Automatic
}

// WithoutAgent boots Windows that has no cloudbase-init: Azure's own agent makes the administrator and writes the
// custom data to a file.
func WithoutAgent(m *machine.Machine) error {
	if name := m.AdminUsername; name != "" && !m.HasUser(name) {
		if _, err := m.AddUser(name, "", ""); err != nil {
			return err
		}
	}
	if len(m.CustomData) == 0 {
		return nil
	}
	if err := m.Root.MkdirAll(`C:\AzureData`); err != nil {
		return err
	}
	if err := m.Root.WriteFile(customDataFile, m.CustomData, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(m.Console, "guest: the image has no cloudbase-init service that starts with Windows: the custom "+
		"data is in %s, and nothing reads it\n", customDataFile)
	return nil
}

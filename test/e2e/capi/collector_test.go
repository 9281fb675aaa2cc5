//go:build e2e

package capi

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// collector saves the logs of machines for a spec: the output of `casement logs` for each machine.
type collector struct{ plane }

// CollectMachineLog writes the boot log of a machine to a file below dir.
func (c collector) CollectMachineLog(ctx context.Context, _ client.Client, m *clusterv1.Machine, dir string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.root, "bin/casement"), "logs", m.Name, "--namespace", m.Namespace, "--state", c.state)
	out, err := cmd.CombinedOutput()
	return errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "machine.log"), out, 0o644))
}

// CollectMachinePoolLog does nothing: instances have Machines, whose logs are collected.
func (c collector) CollectMachinePoolLog(context.Context, client.Client, *clusterv1.MachinePool, string) error {
	return nil
}

// CollectInfrastructureLogs does nothing: the local Azure has a single log, in the plane's state
// directory.
func (c collector) CollectInfrastructureLogs(context.Context, client.Client, *clusterv1.Cluster, string) error {
	return nil
}

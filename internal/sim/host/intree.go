package host

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"casement.dev/casement/internal/sim/staticpod"
	"casement.dev/casement/internal/sim/stub"
)

// cloudConfig returns the file from which a controller manager before Kubernetes 1.31 reads its
// cloud configuration, because those versions contain the cloud controllers (KEP-2395). inTree is
// false for any other command.
func cloudConfig(command []string) (file string, inTree bool) {
	if !strings.HasSuffix(command[0], "kube-controller-manager") || !slices.Contains(command, "--cloud-provider=azure") {
		return "", false
	}
	file = "/etc/kubernetes/azure.json"
	for _, arg := range command {
		if v, ok := strings.CutPrefix(arg, "--cloud-config="); ok {
			file = v
		}
	}
	return file, true
}

// inTreeRetry is the pause between starts of the cloud controllers. A real controller manager would
// exit and be restarted.
const inTreeRetry = 2 * time.Second

// runInTree runs the cloud controllers of this machine's controller manager while its process runs.
// It uses the admin's identity, because the embedded Kubernetes no longer grants the rights of the
// cloud controllers to the controller manager.
func (n *node) runInTree(process *staticProcess, command []string, file string) {
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	n.body.Machine().Wall.Go(nil, "kube-controller-manager", func() {
		select {
		case <-process.Done():
			cancel()
		case <-ctx.Done():
		}
	})
	said := ""
	for ctx.Err() == nil {
		err := n.cloudController(ctx, command, file)
		if err != nil && ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			fmt.Fprintf(n.console, "casement: the cloud controllers of kube-controller-manager (simulated): %v\n", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(inTreeRetry):
		}
	}
}

func (n *node) cloudController(ctx context.Context, command []string, file string) error {
	files := n.body.Machine().Root
	data, err := files.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--cloud-config names %s, which is not on the machine: write it with the bootstrap data", file)
	}
	azure, err := stub.ReadAzureConfig(data)
	if err != nil {
		return err
	}
	const admin = "/etc/kubernetes/admin.conf"
	theirs, err := files.ReadFile(admin)
	if err != nil {
		return err
	}
	ours, err := staticpod.Remake(theirs, filepath.Dir(admin), files.ReadFile)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", admin, err)
	}
	kubernetes, err := clientcmd.RESTConfigFromKubeConfig(ours)
	if err != nil {
		return err
	}
	kubernetes.Dial = n.dial // the guest wrote the file
	cluster := ""
	for _, arg := range command {
		if v, ok := strings.CutPrefix(arg, "--cluster-name="); ok {
			cluster = v
		}
	}
	return stub.CloudController{
		Kubernetes: kubernetes, Azure: n.cloud, Config: azure, Metadata: stub.Metadata(n.dial),
		ClusterName: cluster, Identity: strings.ToLower(n.vm.ComputerName), Out: n.console,
	}.Run(ctx)
}

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

// cloudConfig returns the file that a controller manager of old reads its cloud
// from: before Kubernetes 1.31 it held the cloud controllers itself (KEP-2395).
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

// inTreeRetry paces the start of the cloud controllers, which a real controller
// manager would end and be started again for.
const inTreeRetry = 2 * time.Second

// runInTree is the cloud part of this machine's controller manager, for as long as
// its process runs. It takes the admin's identity, as the embedded Kubernetes no
// longer gives the controller manager the rights of the cloud controllers.
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

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"casement.dev/casement/internal/freeport"
)

// The annotations that let the cluster-autoscaler size a group.
const (
	fewest = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	most   = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	labels = "capacity.cluster-autoscaler.kubernetes.io/labels"
)

// autoscale lets the cluster-autoscaler make the first Windows worker, for the pods that wait since there is none. Which build the
// workers' own image has is not known to casement, so that the group says it.
func (l *life) autoscale(ctx context.Context) error {
	ports, err := freeport.Choose("127.0.0.1", 1)
	if err != nil {
		return err
	}
	text, err := l.run(ctx, nil, "status", "-o", "kubeconfig")
	if err != nil {
		return err
	}
	management := strings.TrimSpace(text)
	if _, err := l.kubectl(ctx, "annotate", "--overwrite", l.workers(l.windows), fewest+"=0", most+"=1",
		labels+"=node.kubernetes.io/windows-build="+builds[l.release]); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(l.home, l.name+"-autoscaler.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	running, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(running, l.s.autoscaler, "--cloud-provider=clusterapi", "--kubeconfig="+l.kubeconfig(),
		"--cloud-config="+management, "--clusterapi-cloud-config-authoritative",
		"--node-group-auto-discovery=clusterapi:namespace=default,clusterName="+l.name, "--leader-elect=false",
		fmt.Sprintf("--address=127.0.0.1:%d", ports[0]), "--node-info-cache-expire-time=5s", "--max-node-provision-time=30m",
		"--scale-down-enabled=false")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		stop()
		return err
	}
	err = l.nodes(ctx, func(all []node) bool { return count(all, "windows", "") == 1 })
	stop()
	_ = cmd.Wait() // it ends by its signal
	if err != nil {
		data, _ := os.ReadFile(log.Name()) // the end of the log helps, and is no more
		lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
		return fmt.Errorf("%w\n%s", err, bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
	}
	_, err = l.kubectl(ctx, "annotate", l.workers(l.windows), fewest+"-", most+"-", labels+"-")
	return err
}

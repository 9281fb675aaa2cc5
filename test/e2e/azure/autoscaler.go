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

// Annotations with which the cluster-autoscaler scales a group.
const (
	fewest = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	most   = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	labels = "capacity.cluster-autoscaler.kubernetes.io/labels"
)

// autoscale lets the cluster-autoscaler create the first Windows worker for pods that wait for one.
// casement does not know the Windows build in the workers' own image, so an annotation of the group
// contains it.
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
	_ = cmd.Wait() // ends with the signal of stop
	if err != nil {
		data, _ := os.ReadFile(log.Name()) // the end of the log is only additional information
		lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
		return fmt.Errorf("%w\n%s", err, bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
	}
	_, err = l.kubectl(ctx, "annotate", l.workers(l.windows), fewest+"-", most+"-", labels+"-")
	return err
}

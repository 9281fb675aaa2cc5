package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/process"
)

// leaveOutKwok removes the kind kwok if its program is not built, and prints a message.
func (s *scale) leaveOutKwok(bin string) error {
	if !slices.Contains(s.kinds, kwok) {
		return nil
	}
	for _, file := range []string{kwok, kwokStages} {
		if _, err := os.Stat(filepath.Join(bin, file)); err != nil {
			fmt.Printf("kwok is left out: %v; 'make bin/%s bin/%s' builds it\n\n", err, kwok, kwokStages)
			s.kinds = slices.DeleteFunc(s.kinds, func(kind string) bool { return kind == kwok })
			break
		}
	}
	if len(s.kinds) == 0 {
		return errors.New("without kwok no kind is left to measure")
	}
	return nil
}

// kwokStages is the file with kwok's own stages, without which kwok does nothing.
const kwokStages = "kwok.yaml"

// bare measures nodes that kwok simulates. They have a separate API server with the flags of a
// management plane. The first node, which shows that kwok has started, does not count.
func (s scale) bare(ctx context.Context, bin, dir string, size int) (point, error) {
	at := point{kind: kwok, nodes: size}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Hour)
	defer cancel()
	cfg := kubeproc.Config{Dir: dir, Binary: filepath.Join(bin, kubeproc.Binary)}
	if s.requests {
		cfg.AuditOf = kubeproc.Everyone
	}
	server, err := kubeproc.Start(ctx, cfg)
	if err != nil {
		return at, err
	}
	defer server.Stop(context.WithoutCancel(ctx))
	if err := server.AwaitReady(ctx); err != nil {
		return at, err
	}
	program, err := startKwok(bin, dir)
	if err != nil {
		return at, err
	}
	defer program.Stop(context.WithoutCancel(ctx))
	reach := rest.CopyConfig(server.Config())
	reach.QPS = -1
	client, err := kubernetes.NewForConfig(reach)
	if err != nil {
		return at, err
	}
	nodes := &bareNodes{client: client, kwok: program, log: filepath.Join(dir, "kwok.log")}
	if err := nodes.create(ctx, 1); err != nil {
		return at, err
	}
	m := &meter{pids: pidsOf(append(server.Processes(), program)...), api: "API", audit: server.AuditLog(),
		metrics: func() ([]byte, error) {
			return client.Discovery().RESTClient().Get().AbsPath("/metrics").Do(ctx).Raw()
		}}
	if err := m.begin(); err != nil {
		return at, err
	}
	if err := nodes.create(ctx, size); err != nil {
		return at, err
	}
	if err := m.end(&at); err != nil {
		return at, err
	}
	at.rest = s.idle(m.pids...)
	return at, nil
}

// startKwok starts kwok as the administrator of the API server whose kubeconfig is in dir, for all
// nodes. Without a lease duration kwok would renew no leases; kwokctl and kwok's manifests set 40.
// KWOK_WORKDIR prevents it from reading the configuration in the user's home directory.
func startKwok(bin, dir string) (*process.Process, error) {
	return process.Start(process.Spec{
		Name: kwok, Path: filepath.Join(bin, kwok), Log: filepath.Join(dir, "kwok.log"), Env: []string{"KWOK_WORKDIR=" + dir},
		Argv: []string{kwok, "--kubeconfig=" + filepath.Join(dir, "kubeconfig"), "--config=" + filepath.Join(bin, kwokStages),
			"--manage-all-nodes", "--node-lease-duration-seconds=40"},
	})
}

func pidsOf(all ...*process.Process) []int {
	var out []int
	for _, p := range all {
		out = append(out, p.State().PID)
	}
	return out
}

// bareNodes creates Node objects for kwok.
type bareNodes struct {
	client kubernetes.Interface
	kwok   *process.Process
	log    string
	// made is the number of created nodes.
	made int
}

// create creates nodes and waits until all created nodes are ready.
func (b *bareNodes) create(ctx context.Context, size int) error {
	work, creating := errgroup.WithContext(ctx)
	work.SetLimit(copiers)
	for i := range size {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bare-%05d", b.made+i)}}
		work.Go(func() error {
			_, err := b.client.CoreV1().Nodes().Create(creating, node, metav1.CreateOptions{})
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return fmt.Errorf("create nodes for kwok: %w", err)
	}
	b.made += size
	return b.await(ctx)
}

// await waits until all created nodes are Ready. It watches them, because a watch costs the API
// server less than repeated lists.
func (b *bareNodes) await(ctx context.Context) error {
	w, err := b.client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("watch nodes of kwok: %w", err)
	}
	defer w.Stop()
	ready := map[string]bool{}
	for {
		select {
		case event, open := <-w.ResultChan():
			node, ok := event.Object.(*corev1.Node)
			if !open || !ok {
				return fmt.Errorf("the watch of kwok's nodes ended with %d of %d ready: %v", len(ready), b.made, event.Object)
			}
			if isReady(node) {
				ready[node.Name] = true
			}
			if len(ready) == b.made {
				return nil
			}
		case <-b.kwok.Done():
			text, _ := os.ReadFile(b.log) // the end is used
			text = text[max(0, len(text)-500):]
			return fmt.Errorf("kwok ended with %d of %d nodes ready: %s", len(ready), b.made, strings.TrimSpace(string(text)))
		case <-ctx.Done():
			return fmt.Errorf("wait for kwok's nodes, %d of %d ready: %w", len(ready), b.made, ctx.Err())
		}
	}
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

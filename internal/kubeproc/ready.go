package kubeproc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"casement.dev/casement/internal/process"
)

// Limits of a start. They count processor time and ended processes instead of seconds, because on a busy machine time
// passes while the start makes no progress. A cold start takes about four seconds of processor time and ends no
// process.
const (
	mostCPU    = 3 * time.Minute
	mostStarts = 8
)

// askTimeout is the timeout of one request to the API server.
const askTimeout = 10 * time.Second

// The hooks of an API server's start that write the default roles and priority classes. Each begins with a pause of a
// second, as of Kubernetes 1.36, and administrators need neither.
const (
	roleHook     = "poststarthook/rbac/bootstrap-roles"
	priorityHook = "poststarthook/scheduling/bootstrap-system-priority-classes"
)

// AwaitReady waits until the API server is ready for every user, within the limits of await.
func (p *Plane) AwaitReady(ctx context.Context) error { return p.await(ctx) }

// await waits until the API server passes all its checks except those in exclude. It gives up when a process has ended
// too often, when the API server has used far more processor time than a start needs, or when ctx ends.
func (p *Plane) await(ctx context.Context, exclude ...string) error {
	client, err := kubernetes.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	err = p.persist(ctx, 30*time.Millisecond, func() (bool, error) {
		ask, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		request := client.Discovery().RESTClient().Get().AbsPath("/readyz")
		for _, check := range exclude {
			request.Param("exclude", check)
		}
		return true, request.Do(ask).Error()
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the management API server is not ready: %w; its log is %s", err, p.log("kube-apiserver"))
	}
	return fmt.Errorf("the management API server is not ready: %w", err)
}

// persist calls try, with pauses between the calls, until it succeeds or reports that another call is useless. It gives
// up under the conditions of await, and reports the progress of the start.
func (p *Plane) persist(ctx context.Context, pause time.Duration, try func() (again bool, err error)) error {
	tick, report := time.NewTicker(pause), time.NewTicker(2*time.Second)
	defer tick.Stop()
	defer report.Stop()
	for {
		again, err := try()
		if err == nil || !again {
			return err
		}
		if stuck := p.stuck(); stuck != nil {
			return fmt.Errorf("%w (%v)", stuck, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%v)", ctx.Err(), err)
		case <-report.C:
			if p.cfg.OnWait != nil {
				p.cfg.OnWait(p.progress())
			}
		case <-tick.C:
		}
	}
}

func (p *Plane) log(name string) string { return p.path("log", name+".log") }

// stuck returns an error with the reason why the start makes no progress, or nil.
func (p *Plane) stuck() error {
	for _, c := range p.Processes() {
		s := c.State()
		used := process.CPU(s.PID)
		switch {
		case s.Restarts >= mostStarts && c.Name() == "etcd":
			return fmt.Errorf("etcd has ended %d times; its data in %s may be damaged, and 'casement down "+
				"--purge' deletes it with everything else: "+
				"%s", s.Restarts, p.path("etcd"), lastLine(p.log("etcd")))
		case s.Restarts >= mostStarts:
			return fmt.Errorf("%s has ended %d times: %s; its log is %s", c.Name(), s.Restarts, lastLine(p.log(c.Name())), p.log(c.Name()))
		case used > mostCPU:
			return fmt.Errorf("%s has used %s of the processor; its log is %s", c.Name(), used, p.log(c.Name()))
		}
	}
	return nil
}

// progress returns the number of parts of the control plane that have started, as a text.
func (p *Plane) progress() string {
	var parts []string
	for _, c := range p.Processes() {
		s := c.State()
		text := fmt.Sprintf("%s has used %.1f s of the processor", c.Name(), process.CPU(s.PID).Seconds())
		if s.Restarts > 0 {
			text += fmt.Sprintf(" and has started again %d times", s.Restarts)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// lastLine returns the last line of a log, shortened.
func lastLine(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	data = bytes.TrimSpace(data)
	data = data[bytes.LastIndexByte(data, '\n')+1:]
	return string(data[:min(len(data), 300)])
}

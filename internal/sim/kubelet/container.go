package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/logfile"
	"casement.dev/casement/internal/sim/stub"
)

// container is one container of a pod with its state.
type container struct {
	spec corev1.Container
	// image is the runtime's name of the image.
	image string
	// mounts are the mounts of the container's volumes, as its status shows them.
	mounts []corev1.VolumeMountStatus
	init   bool
	// sidecar is set for an init container that keeps running.
	sidecar bool
	// ephemeral is set for a container that a user added to a running pod; it runs once.
	ephemeral bool

	run    *execution
	probes probers // probes of the current run
	// vars is the environment of the most recent run. Commands in the container, which other
	// goroutines run, have the same environment.
	vars atomic.Pointer[map[string]string]
	// identity is the domain account that the container runs as, if any.
	identity atomic.Pointer[string]
	// current is the run in progress, for other goroutines.
	current atomic.Pointer[execution]
	// handlers maps a port (int32) to the handler (listening) that the container's program
	// registered for it.
	handlers  sync.Map
	last      *corev1.ContainerStateTerminated // result of the previous run
	ended     *corev1.ContainerStateTerminated // result of the most recent run, after its end
	waiting   corev1.ContainerStateWaiting
	lacks     imageUse // the image for which the container waits
	restarts  int32
	pause     time.Duration // before the next run
	next      time.Duration // the pause after that run; the first restart has none
	notBefore time.Time
}

// execution is a run of a container.
type execution struct {
	id      string
	started metav1.Time
	done    <-chan struct{}
	code    func() int
	stop    func(ctx context.Context)
	tail    func() string // returns the end of the run's output
}

// listening is the server of a container's port.
type listening struct {
	secure  *tls.Config
	handler http.Handler
}

func (c *container) environment() map[string]string {
	if vars := c.vars.Load(); vars != nil {
		return *vars
	}
	return nil
}

func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func (k *Kubelet) newContainers(pod *corev1.Pod) []*container {
	var out []*container
	for _, c := range pod.Spec.InitContainers {
		out = append(out, k.newContainer(c, initial, "PodInitializing"))
	}
	for _, c := range pod.Spec.Containers {
		reason := "ContainerCreating"
		if len(pod.Spec.InitContainers) > 0 {
			reason = "PodInitializing"
		}
		out = append(out, k.newContainer(c, regular, reason))
	}
	return out
}

// kind is the list of its pod that contains a container.
type kind int

const (
	regular kind = iota
	initial
	ephemeral
)

func (k *Kubelet) newContainer(spec corev1.Container, of kind, waits string) *container {
	c := &container{spec: spec, init: of == initial, sidecar: of == initial && sidecar(&spec), ephemeral: of == ephemeral,
		waiting: corev1.ContainerStateWaiting{Reason: waits}, mounts: k.mountStatuses(&spec), image: fullName(spec.Image)}
	return c
}

// mountStatuses returns the mounts of a container as its status shows them.
func (k *Kubelet) mountStatuses(c *corev1.Container) []corev1.VolumeMountStatus {
	var list []corev1.VolumeMountStatus
	for _, m := range c.VolumeMounts {
		s := corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			s.RecursiveReadOnly = new(corev1.RecursiveReadOnlyDisabled)
			if k.c.newRuntime() && m.RecursiveReadOnly != nil && *m.RecursiveReadOnly != corev1.RecursiveReadOnlyDisabled {
				s.RecursiveReadOnly = new(corev1.RecursiveReadOnlyEnabled)
			}
		}
		list = append(list, s)
	}
	return list
}

func (c *container) fieldPath() string {
	if c.init {
		return "spec.initContainers{" + c.spec.Name + "}"
	}
	if c.ephemeral {
		return "spec.ephemeralContainers{" + c.spec.Name + "}"
	}
	return "spec.containers{" + c.spec.Name + "}"
}

// killed is the exit code of a process that was ended by a signal of the real machine.
const killed = -1

// collect records the end of a run.
func (c *container) collect(now time.Time) {
	if c.run == nil {
		return
	}
	select {
	case <-c.run.done:
	default:
		return
	}
	code := int32(c.run.code())
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	ended := &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: c.run.started,
		FinishedAt: metav1.NewTime(now), ContainerID: c.run.id}
	if code != 0 && c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError && c.run.tail != nil {
		ended.Message = c.run.tail()
	}
	if now.Sub(c.run.started.Time) > 10*time.Minute {
		c.next = 0 // the kubelet resets the backoff after a good run
	}
	if code == killed {
		c.next = 0 // a cause outside of the machine ended the container, so the backoff is not increased
	}
	c.run = nil
	c.current.Store(nil)
	c.end(ended, now)
}

// end records the result of a run, or that it did not begin, and the earliest time of the next run.
func (c *container) end(how *corev1.ContainerStateTerminated, now time.Time) {
	c.ended = how
	c.pause, c.next = c.next, backoff(c.next)
	c.notBefore = now.Add(c.pause)
}

// backOff delays the next run, each time for longer.
func (c *container) backOff(now time.Time) {
	c.pause = backoff(c.pause)
	c.notBefore = now.Add(c.pause)
}

// done reports whether the container has ended and is not to run again.
func (c *container) done(pod *corev1.Pod) bool {
	if c.ended == nil || c.run != nil {
		return false
	}
	return c.ephemeral || c.init && !c.sidecar && c.ended.ExitCode == 0 || !restarts(&c.spec, &pod.Spec, c.ended.ExitCode)
}

// restarts reports whether a container that has ended runs again. The container's rules and policy
// have precedence over the pod's policy. Source: kubernetes pkg/api/v1/pod/util.go,
// ContainerShouldRestart.
func restarts(c *corev1.Container, pod *corev1.PodSpec, code int32) bool {
	policy := pod.RestartPolicy
	if c.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*c.RestartPolicy)
		for _, rule := range c.RestartPolicyRules {
			codes := rule.ExitCodes
			if codes != nil && slices.Contains(codes.Values, code) == (codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn) {
				return true
			}
		}
	}
	return policy != corev1.RestartPolicyNever && (policy != corev1.RestartPolicyOnFailure || code != 0)
}

// blocked reports whether an init container before this container must end or start first.
func (c *container) blocked(all []*container) bool {
	for _, before := range all {
		if before == c || c.ephemeral {
			return false
		}
		if !before.init {
			continue
		}
		if before.sidecar && (before.run == nil || !before.probes.startup.passed()) ||
			!before.sidecar && (before.ended == nil || before.ended.ExitCode != 0) {
			return true
		}
	}
	return false
}

func (c *container) showBackoff(pod *corev1.Pod) {
	if c.waiting.Reason == errImagePull {
		c.waiting = corev1.ContainerStateWaiting{Reason: "ImagePullBackOff",
			Message: fmt.Sprintf("Back-off pulling image %q: %s: %s", c.lacks.image, errImagePull, c.waiting.Message)}
	}
	if c.ended == nil {
		return // the container backs off from a pull, which has its own reason
	}
	c.waiting = corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %s "+
		"restarting failed container=%s "+
		"pod=%s_%s(%s)", c.pause, c.spec.Name, pod.Name, pod.Namespace, pod.UID)}
}

// view returns the container's status.
func (c *container) view() corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: c.spec.Name, Image: c.spec.Image, RestartCount: c.restarts,
		Started: new(c.run != nil && c.probes.startup.passed()), VolumeMounts: c.mounts}
	if c.run != nil || c.ended != nil {
		s.Image, s.ImageID = c.image, c.image
	}
	if c.ephemeral {
		s.Started = nil
	} else if c.run != nil || c.ended != nil {
		s.Resources, s.AllocatedResources = &c.spec.Resources, c.spec.Resources.Requests
	}
	if c.ended != nil {
		s.ContainerID = c.ended.ContainerID
	}
	if c.last != nil {
		s.LastTerminationState.Terminated = c.last
	}
	switch {
	case c.run != nil:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: c.run.started}
		s.ContainerID = c.run.id
		s.Ready = !c.ephemeral && *s.Started && c.probes.readiness.passed() && (!c.init || c.sidecar)
	case c.ended != nil && c.waiting.Reason != "" && !(c.init && c.ended.ExitCode == 0):
		s.State.Waiting = new(c.waiting)
		s.LastTerminationState.Terminated = c.ended
	case c.ended != nil:
		s.State.Terminated = c.ended
		s.Ready = c.init && !c.sidecar && c.ended.ExitCode == 0
	default:
		s.State.Waiting = new(c.waiting)
	}
	return s
}

// stop ends a run within the grace period.
func (c *container) stop(ctx context.Context, clock clock.Clock, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	c.run.stop(ctx)
	c.collect(clock.Now())
}

// start begins a run of a container, or records why it cannot start.
func (w *worker) start(ctx context.Context, pod *corev1.Pod, c *container) {
	now := w.k.c.Clock.Now()
	if c.ended != nil {
		c.last, c.ended = c.ended, nil
		c.restarts++
	}
	if lacks, why := w.pull(ctx, pod, c); why.reason != "" {
		c.lacks, c.waiting = lacks, corev1.ContainerStateWaiting{Reason: why.reason, Message: why.message}
		if why.reason == errImagePull {
			w.checkPullSecrets(ctx, pod)
		}
		c.backOff(now)
		return
	}
	vars, err := w.environment(ctx, &c.spec)
	if ctx.Err() != nil {
		return // the kubelet stops, and the next one starts the container immediately
	}
	if err != nil {
		c.waiting = corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: err.Error()}
		w.event(ctx, corev1.EventTypeWarning, "Failed", "Error: "+err.Error(), c.fieldPath())
		c.backOff(now)
		return
	}
	if err := breaksNonRoot(pod, &c.spec, w.k.c.OS); err != nil && !w.static {
		c.waiting = corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: err.Error()}
		w.event(ctx, corev1.EventTypeWarning, "Failed", "Error: "+err.Error(), c.fieldPath())
		c.backOff(now)
		return
	}
	if err := w.refuseUser(pod, &c.spec); err != nil {
		w.failStart(ctx, pod, c, err)
		return
	}
	c.vars.Store(&vars)
	run, err := w.identified(ctx, pod, c)
	if err != nil && ctx.Err() != nil {
		return
	}
	if err != nil {
		c.waiting = corev1.ContainerStateWaiting{Reason: "CreateContainerError", Message: err.Error()}
		w.event(ctx, corev1.EventTypeWarning, "Failed", "Error: "+err.Error(), c.fieldPath())
		c.backOff(now)
		return
	}
	run.started = metav1.NewTime(now)
	c.run = run
	c.current.Store(run)
	if !w.static {
		c.probes = newProbers(&c.spec, now)
	}
	c.waiting = corev1.ContainerStateWaiting{}
	w.started = append(w.started, c)
	w.follow(ctx, run)
	w.postStart(ctx, pod, c)
}

// failStart ends a run of a container that the runtime has created but cannot start. Source:
// containerd internal/cri/server/container_start.go; kubernetes
// pkg/kubelet/kuberuntime/kuberuntime_container.go.
func (w *worker) failStart(ctx context.Context, pod *corev1.Pod, c *container, err error) {
	now := metav1.NewTime(w.k.c.Clock.Now())
	c.waiting = corev1.ContainerStateWaiting{}
	if restarts(&c.spec, &pod.Spec, startError) {
		c.waiting = corev1.ContainerStateWaiting{Reason: "RunContainerError", Message: err.Error()}
	}
	w.event(ctx, corev1.EventTypeWarning, "Failed", "Error: "+err.Error(), c.fieldPath())
	c.end(&corev1.ContainerStateTerminated{ExitCode: startError, Reason: "StartError", Message: err.Error(), FinishedAt: now,
		ContainerID: w.runID(c)}, now.Time)
}

// startError is the exit code that containerd gives a container that it could not start.
const startError = 128

// manyNodes is the number of nodes above which a node writes one event for all containers that it
// starts, and none for their images: with many nodes, events would be most of the writes, and no
// image is really pulled.
const manyNodes = 100

// recordPulled writes the events for an image that exists.
func (w *worker) recordPulled(ctx context.Context, p imageUse) {
	image := p.image
	present := w.k.runtime.pulled(image)
	switch {
	case w.static || w.k.c.Nodes() > manyNodes:
	case present && p.policy != corev1.PullAlways:
		text := fmt.Sprintf("Container image %q already present on machine", image)
		if minorOf(w.k.c.Version) >= 35 {
			text += " and can be accessed by the pod"
		}
		w.event(ctx, corev1.EventTypeNormal, "Pulled", text, p.at)
	default:
		w.event(ctx, corev1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", image), p.at)
		w.event(ctx, corev1.EventTypeNormal, "Pulled", fmt.Sprintf("Successfully pulled image %q in 0s (0s including waiting). "+
			"Image size: 0 bytes.", image), p.at)
	}
}

// recordStarted writes the events of the containers that have started since the last call.
func (w *worker) recordStarted(ctx context.Context) {
	started := w.started
	w.started = nil
	if len(started) == 0 {
		return
	}
	if w.k.c.Nodes() <= manyNodes {
		for _, c := range started {
			created, begun := "Container created", "Container started"
			if minorOf(w.k.c.Version) < 35 {
				created, begun = "Created container: "+c.spec.Name, "Started container "+c.spec.Name
			}
			w.event(ctx, corev1.EventTypeNormal, "Created", created, c.fieldPath())
			w.event(ctx, corev1.EventTypeNormal, "Started", begun, c.fieldPath())
		}
		return
	}
	var names []string
	for _, c := range started {
		names = append(names, c.spec.Name)
	}
	message, at := "Started containers "+strings.Join(names, ", "), ""
	if len(started) == 1 {
		message, at = "Started container "+names[0], started[0].fieldPath()
	}
	w.event(ctx, corev1.EventTypeNormal, "Started", message, at)
}

// identified runs a container as the group managed service account of its credential spec,
// if it has one.
func (w *worker) identified(ctx context.Context, pod *corev1.Pod, c *container) (*execution, error) {
	spec := credentialSpec(pod, &c.spec)
	if spec == "" || w.k.c.OS != "windows" {
		return w.execute(ctx, pod, c)
	}
	if w.k.c.Identity == nil {
		return nil, fmt.Errorf("this node has no Container Credential Guard")
	}
	name, err := w.k.c.Identity(ctx, string(w.uid)+"-"+c.spec.Name, spec)
	if err != nil {
		return nil, err
	}
	c.identity.Store(&name)
	return w.execute(ctx, pod, c)
}

// credentialSpec returns the credential spec of the container, or else the pod's.
func credentialSpec(pod *corev1.Pod, c *corev1.Container) string {
	if s := c.SecurityContext; s != nil && s.WindowsOptions != nil && s.WindowsOptions.GMSACredentialSpec != nil {
		return *s.WindowsOptions.GMSACredentialSpec
	}
	if s := pod.Spec.SecurityContext; s != nil && s.WindowsOptions != nil && s.WindowsOptions.GMSACredentialSpec != nil {
		return *s.WindowsOptions.GMSACredentialSpec
	}
	return ""
}

// runID returns the runtime's ID of the most recent run of a container.
func (w *worker) runID(c *container) string {
	return fmt.Sprintf("%s://%s-%s-%d", w.k.runtimeName(), w.uid, c.spec.Name, c.restarts)
}

// completion is the duration of a run whose command the simulation cannot interpret and that is
// expected to end.
const completion = 100 * time.Millisecond

// execute starts a container: a static pod's as a process, one with a known image as its stub, and
// any other as a container that only answers on its ports.
func (w *worker) execute(ctx context.Context, pod *corev1.Pod, c *container) (*execution, error) {
	id := w.runID(c)
	if w.static {
		return w.executeProcess(ctx, pod, c, id)
	}
	var before int64
	if info, err := w.k.c.Files.Stat(w.logFile(c)); err == nil {
		before = info.Size()
	}
	out, err := logfile.Open(w.k.c.Files.Appender(w.logFile(c), 0o600))
	if err != nil {
		return nil, err
	}
	done, code := make(chan struct{}), 0
	runCtx, stop := context.WithCancel(w.k.runtime.ctx)
	e := &execution{id: id, done: done, code: func() int { return code }, stop: func(context.Context) { stop(); <-done },
		tail: func() string { return w.logTail(c, before) }}
	program, known := stub.Program(nil), false
	if w.k.c.Programs != nil {
		program, known = w.k.c.Programs(c.spec.Image)
	}
	w.k.c.Wall.Go(&w.k.runtime.work, "container "+c.spec.Image, func() {
		defer close(done)
		defer stop()
		defer out.Close()
		fmt.Fprint(out, w.page(c))
		logUnprobed(out, &c.spec)
		if err := stub.Refused(&c.spec); err != nil {
			fmt.Fprintln(out, err)
			code = 1
			return
		}
		if known {
			err := program.Run(runCtx, w.env(pod, c, out))
			if e, ok := errors.AsType[interface {
				error
				ExitCode() int
			}](err); ok {
				code = e.ExitCode()
			} else if err != nil && runCtx.Err() == nil {
				code = 1
			}
			if code != 0 {
				fmt.Fprintln(out, err)
			}
			return
		}
		if (c.init && !c.sidecar || expectedToEnd(pod)) && w.k.sleep(runCtx, completion) {
			return
		}
		<-runCtx.Done()
		code = int(endedExitCode(w.k.c.OS))
	})
	return e, nil
}

// expectedToEnd reports whether a pod's containers are meant to finish.
func expectedToEnd(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "Job" })
}

func (w *worker) executeProcess(ctx context.Context, pod *corev1.Pod, c *container, id string) (*execution, error) {
	if w.k.c.Processes == nil {
		return nil, fmt.Errorf("this machine runs no static pods")
	}
	if info, err := w.k.c.Files.Stat(w.logFile(c)); err == nil && info.Size() > maxLog {
		if err := w.k.c.Files.Rename(w.logFile(c), w.logFile(c)+".1"); err != nil {
			return nil, err
		}
	}
	output, err := w.k.c.Files.Appender(w.logFile(c), 0o600)()
	if err != nil {
		return nil, err
	}
	defer output.Close()
	p, err := w.k.c.Processes.StartProcess(ctx, ProcessSpec{
		ID: w.namespace + "/" + w.name + "/" + c.spec.Name, Hash: pod.Annotations[hashAnnotation], Pod: pod,
		Container: c.spec, Output: output, LastLine: func() string { return w.lastLine(c) }})
	if err != nil {
		return nil, err
	}
	return &execution{id: id, done: p.Done(), code: p.ExitCode, stop: func(ctx context.Context) { _ = p.Stop(ctx) }}, nil
}

func (k *Kubelet) runtimeName() string {
	name, _, _ := cutRuntime(k.c.RuntimeVersion)
	return name
}

// maxLog is the size in bytes above which the log of a static pod is renamed before a start.
const maxLog = 16 << 20

func (w *worker) logFolder() string {
	return podLogFolder + "/" + w.namespace + "_" + w.name + "_" + string(w.uid)
}

func (w *worker) logFile(c *container) string { return w.logFolder() + "/" + c.spec.Name + "/0.log" }

// lastLine returns the last line of a container's log that is not empty, or "" if it cannot be read.
func (w *worker) lastLine(c *container) string {
	text := strings.TrimSpace(w.logTail(c, 0))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// openLog opens the log of a container for reading.
func (w *worker) openLog(c *container) (*guestfs.File, error) {
	return w.k.c.Files.OpenFile(w.logFile(c), os.O_RDONLY, 0)
}

// messageLines and messageBytes limit the end of a log. It is the message of a container that ends
// with an error and writes no message. Source: kubernetes pkg/kubelet/container/runtime.go.
const messageLines, messageBytes = 80, 2048

// logTail returns the end of the text that was added to a container's log after the offset from.
func (w *worker) logTail(c *container, from int64) string {
	file, err := w.openLog(c)
	if err != nil {
		return ""
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	if size < from {
		from = 0 // the log was replaced
	}
	from = max(from, size-messageBytes)
	data, err := io.ReadAll(io.NewSectionReader(file, from, size-from))
	if err != nil {
		return ""
	}
	lines := strings.SplitAfter(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines[max(0, len(lines)-messageLines):], "")
}

func (k *Kubelet) removeFiles(w *worker) {
	for _, folder := range []string{w.logFolder(), w.podFolder()} {
		_ = k.c.Files.RemoveAll(folder) // a folder that remains is harmless
	}
}

func (w *worker) env(pod *corev1.Pod, c *container, out io.Writer) stub.Env {
	if w.account == nil {
		w.account = w.k.podConfig(pod)
	}
	mtu := 0
	if w.k.c.MTU != nil {
		mtu = w.k.c.MTU()
	}
	return stub.Env{
		MTU: mtu,
		Pod: pod, Container: &c.spec, Vars: c.environment(), NodeName: w.k.nodeName, OS: w.k.c.OS,
		InternalIP: w.k.c.InternalIP, Files: w.k.c.Files, DataDisks: w.k.c.DataDisks,
		Machine: w.k.runtime.ctx, Config: w.account, NodeConfig: w.k.nodeConfig, Dial: w.k.c.Dial, Touched: w.k.touched, Out: out,
		Handle: func(port int32, secure *tls.Config, handler http.Handler) {
			c.handlers.Store(port, listening{secure, handler})
		},
		Exec: func(ctx context.Context, argv []string, out io.Writer) (int, error) {
			if w.k.c.Exec == nil {
				return 0, errors.New("this machine runs no commands")
			}
			spec, err := w.execSpec(ctx, pod, c, argv)
			if err != nil {
				return 0, err
			}
			spec.Stdout, spec.Stderr = out, out
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			w.k.c.Wall.Go(nil, "volumes", func() { w.renewVolumes(ctx, pod, c) })
			return w.k.c.Exec(ctx, spec)
		},
	}
}

package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"casement.dev/casement/internal/guestfs"
)

// ExecSpec is a command in a running container.
type ExecSpec struct {
	Pod       *corev1.Pod
	Container *corev1.Container
	// Vars are the container's environment variables, resolved.
	Vars map[string]string
	IPs  []netip.Addr
	DNS  DNS
	// Folder contains the container's files; it is deleted with the pod.
	Folder guestfs.Folder
	// Mounts are the container's volumes.
	Mounts  []guestfs.Mount
	Command []string
	// Stdin may be nil. Stderr is nil with a TTY, whose output all goes to Stdout.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool
}

// running returns a running container and its worker.
func (k *Kubelet) running(namespace, pod, name string) (*worker, *container, error) {
	w := k.pods.find(namespace, pod)
	if w == nil {
		return nil, nil, fmt.Errorf("pod does not exist")
	}
	s := w.shown.Load()
	c := w.container(name)
	if s == nil || c == nil {
		return nil, nil, fmt.Errorf("container not found (%q)", name)
	}
	statuses := slices.Concat(s.status.InitContainerStatuses, s.status.ContainerStatuses, s.status.EphemeralContainerStatuses)
	if !slices.ContainsFunc(statuses, func(c corev1.ContainerStatus) bool { return c.Name == name && c.State.Running != nil }) {
		return nil, nil, fmt.Errorf("container %q is not running", name)
	}
	return w, c, nil
}

// container returns a container by name if the HTTPS API shows it; otherwise nil.
func (w *worker) container(name string) *container {
	s := w.shown.Load()
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.containers, func(c *container) bool { return c.spec.Name == name })
	if i < 0 {
		return nil
	}
	return s.containers[i]
}

func (k *Kubelet) serveExec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	worker, c, err := k.running(r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"))
	if err != nil {
		writeText(w, http.StatusNotFound, err.Error())
		return
	}
	command := r.URL.Query()["command"]
	if len(command) == 0 {
		http.Error(w, "the command is empty", http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, inside{k, worker, c}, worker.name, string(worker.uid), c.spec.Name, command, options,
		streamIdle, streamCreation, remotecommand.SupportedStreamingProtocols)
}

func (k *Kubelet) serveAttach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	worker, c, err := k.running(r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"))
	if err != nil {
		writeText(w, http.StatusNotFound, err.Error())
		return
	}
	remotecommand.ServeAttach(w, r, inside{k, worker, c}, worker.name, string(worker.uid), c.spec.Name, options,
		streamIdle, streamCreation, remotecommand.SupportedStreamingProtocols)
}

// inside gives the streaming protocols access to one container.
type inside struct {
	k *Kubelet
	w *worker
	c *container
}

// ExecInContainer implements remotecommand.Executor.
func (i inside) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader,
	out, errOut io.WriteCloser, tty bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	if i.k.c.Exec == nil || i.w.static {
		return fmt.Errorf("container %s cannot be entered: it is a process of this machine, not a container", i.c.spec.Name)
	}
	spec, err := i.w.execSpec(ctx, i.w.shown.Load().pod, i.c, command)
	if err != nil {
		return err
	}
	spec.Stdin, spec.Stdout, spec.Stderr, spec.TTY = in, out, nil, tty
	if errOut != nil {
		spec.Stderr = errOut
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	i.k.c.Wall.Go(nil, "volumes", func() { i.w.renewVolumes(ctx, i.w.shown.Load().pod, i.c) })
	code, err := i.k.c.Exec(ctx, spec)
	if err == nil && code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("exit code %d", code), Code: code}
	}
	return err
}

// renewVolumes keeps the volumes of a container up to date while a session in the container lasts.
func (w *worker) renewVolumes(ctx context.Context, pod *corev1.Pod, c *container) {
	for w.k.sleep(ctx, volumePeriod) {
		if s := w.shown.Load(); s != nil {
			pod = s.pod
		}
		w.volumes.renew(ctx, pod, &c.spec)
	}
}

// AttachContainer implements remotecommand.Attacher: it shows the output that a container writes to its
// log, and the container reads no input.
func (i inside) AttachContainer(ctx context.Context, _, _, _ string, _ io.Reader, out, _ io.WriteCloser, _ bool,
	_ <-chan remotecommand.TerminalSize) error {
	f, err := i.w.openLog(i.c)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	for {
		if _, err := io.Copy(out, f); err != nil || !i.k.sleep(ctx, logPeriod) {
			return nil // the client closed the connection
		}
		if _, _, err := i.k.running(i.w.namespace, i.w.name, i.c.spec.Name); err != nil {
			return nil
		}
	}
}

// volumePeriod is the interval at which the volumes of a container are updated during a session in
// it.
const volumePeriod = 5 * time.Second

// execSpec returns the description of a command in a container, without its streams.
func (w *worker) execSpec(ctx context.Context, pod *corev1.Pod, c *container, command []string) (ExecSpec, error) {
	dns, _ := w.k.dns(pod)
	spec := ExecSpec{Pod: pod, Container: &c.spec, Vars: c.environment(), Command: command,
		Folder: w.k.c.Files.Folder(w.podFolder() + "/containers/" + c.spec.Name),
		Stdout: io.Discard, Stderr: io.Discard, DNS: dns}
	if s := w.shown.Load(); s != nil {
		for _, ip := range s.status.PodIPs {
			if a, err := netip.ParseAddr(ip.IP); err == nil {
				spec.IPs = append(spec.IPs, a)
			}
		}
	}
	w.volumes.renew(ctx, pod, &c.spec)
	var err error
	spec.Mounts, err = w.volumes.mounts(pod, &c.spec, spec.Vars)
	return spec, err
}

func (w *worker) podFolder() string { return "/var/lib/kubelet/pods/" + string(w.uid) }

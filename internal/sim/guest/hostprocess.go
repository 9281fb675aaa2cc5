package guest

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/guest/shell"
)

// hostMount is the directory where a HostProcess container finds its own files. The variable
// CONTAINER_SANDBOX_MOUNT_POINT holds the path. Source:
// https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod, volume mounts.
const hostMount = `C:\hpc`

// HostProcess is a command of a HostProcess container, which runs on the machine itself.
type HostProcess struct {
	Command []string
	Env     map[string]string
	// Mounts are the container's volumes, which only this container sees.
	Mounts []guestfs.Mount
	// Web sends the HTTP requests of the command.
	Web            http.RoundTripper
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// HostProcess runs a command as HostProcess containers do: with the machine's services and files. An error
// means that the container runtime could not start the command.
func (g *Guest) HostProcess(ctx context.Context, p HostProcess) (code int, err error) {
	root, err := g.m.Folder.Root(g.m.IsWindows())
	if err != nil {
		return 0, err
	}
	defer root.Close()
	for _, m := range p.Mounts {
		m.Path = hostMount + m.Path
		if err := root.Mount(m); err != nil {
			return 0, err
		}
	}
	env := map[string]string{"CONTAINER_SANDBOX_MOUNT_POINT": hostMount}
	for k, v := range p.Env {
		env[k] = v
	}
	code, found := g.sh.On(g.m.View(root), p.Web).Exec(ctx, p.Command, shell.Session{
		Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr, Env: env, Dir: hostMount, User: `NT AUTHORITY\SYSTEM`})
	if !found {
		return 0, fmt.Errorf("failed to create containerd task: hcs::System::CreateProcess %s: The system cannot find the file specified.: "+
			"unknown (the node is simulated)", p.Command[0])
	}
	return code, nil
}

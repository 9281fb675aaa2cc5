package stub

import (
	"context"
	"fmt"
	"strings"

	"casement.dev/casement/internal/sim/expansion"
)

// hostImage is the image of HostProcess containers that use only programs of the node. Source:
// github.com/microsoft/windows-host-process-containers-base-image.
const hostImage = "oss/kubernetes/windows-host-process-containers-base-image"

// OnNode reports whether a HostProcess container of an image runs programs of the node; programs in
// an image are not simulated.
func OnNode(image string) bool {
	repo := repository(image)
	return strings.HasSuffix(repo, "/"+hostImage) || strings.HasSuffix(repo, "/node-problem-detector-windows")
}

// exitError is the exit code of a command that failed.
type exitError int

// Error implements error.
func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// ExitCode returns the exit code.
func (e exitError) ExitCode() int { return int(e) }

// hostProcess runs a container's command on its node.
func (c *Cluster) hostProcess(ctx context.Context, env Env) error {
	argv := env.args()
	if len(argv) == 0 || env.OS != "windows" {
		return fmt.Errorf("the image %s has no program, and is for Windows nodes: name a command", env.Container.Image)
	}
	for i := range argv {
		argv[i] = expansion.Expand(argv[i], env.Vars)
	}
	code, err := env.Exec(ctx, argv, env.Out)
	if err == nil && code != 0 && ctx.Err() == nil {
		return exitError(code)
	}
	return err
}

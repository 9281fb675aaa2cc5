package guest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"

	"k8s.io/utils/clock"

	"casement.dev/casement/internal/contain"
	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
	"casement.dev/casement/internal/windows"
)

// ContainerSpec describes a simulated container for commands that are executed in it.
type ContainerSpec struct {
	// Folder holds the container's files, in the directory of its machine.
	Folder guestfs.Folder
	// Mounts are the container's volumes.
	Mounts []guestfs.Mount
	// OS is Linux or Windows; Build is the Windows build of the image.
	OS, Build string
	// Image is the image reference of the pod.
	Image    string
	Hostname string
	// User is the user that the container's programs run as; empty means the default user of the OS.
	User string
	Env  map[string]string
	// Range is the address range that the container's own address belongs to; not valid if it is unknown.
	Range      netip.Prefix
	WorkingDir string // the working directory; empty means the default of the OS
	IPs        []netip.Addr
	// DNS are the DNS servers of the container, Search the suffixes that complete names, and Network the network that
	// the container can reach.
	DNS, Search []string
	Network     machine.Network
	// Dots is the option ndots of the container's resolver.
	Dots int
	// Web sends the HTTP requests of the container; nil refuses them.
	Web http.RoundTripper
	// Usage is the resource usage that the container shares with its machine; nil counts the container alone.
	Usage *limit.Guest
	// OnPanic is called for each panic of the simulation's own code in the container.
	OnPanic func(*contain.Panic)
}

// Container is a file tree and a shell that simulate the inside of a container. It runs no real program, and does not
// know the effects of the container's real processes.
type Container struct {
	spec ContainerSpec
	m    *machine.Machine
	sh   *shell.Shell
}

// NewContainer creates the file tree of a container, or keeps an existing one.
func NewContainer(spec ContainerSpec) (*Container, error) {
	m, err := machine.New(machine.Spec{
		ID: spec.Folder.Name(), Folder: spec.Folder, OS: spec.OS, ComputerName: spec.Hostname, IPs: spec.IPs, Range: spec.Range,
		OnPanic: spec.OnPanic, Usage: spec.Usage, DNS: spec.DNS, Search: spec.Search, Network: spec.Network,
		Image: machine.Image{Name: "container image " + spec.Image, Build: spec.Build, Container: true},
	}, io.Discard, clock.RealClock{}, func(string, machine.Action) {})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(resolvConf(m, spec.Dots), m.Root.Mount(spec.Mounts...)); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return &Container{spec: spec, m: m, sh: shell.New(m, nil, spec.Web)}, nil
}

// resolvConf writes /etc/resolv.conf as the kubelet does. Windows has the settings on its network adapter instead.
func resolvConf(m *machine.Machine, dots int) error {
	if m.IsWindows() {
		return nil
	}
	var text strings.Builder
	if len(m.Search) > 0 {
		fmt.Fprintf(&text, "search %s\n", strings.Join(m.Search, " "))
	}
	for _, s := range m.DNSServers() {
		fmt.Fprintf(&text, "nameserver %s\n", s)
	}
	if dots > 0 {
		fmt.Fprintf(&text, "options ndots:%d\n", dots)
	}
	return m.Root.WriteFile("/etc/resolv.conf", []byte(text.String()), 0o644)
}

// Close releases the container's file handles. Its directory stays.
func (c *Container) Close() error { return c.m.Close() }

// Exec runs a command as `kubectl exec` does and returns its exit code. An error means that the container
// runtime could not start the command.
func (c *Container) Exec(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer, isTTY bool) (int, error) {
	if stderr == nil {
		stderr = stdout
	}
	o := shell.Session{Stdin: stdin, Stdout: stdout, Stderr: stderr, Env: c.spec.Env, Dir: c.dir(), User: c.user()}
	if program, ok := c.sh.TakesLines(argv); ok && stdin != nil {
		lines := stream{stdin, stdout}
		var terminal *tty
		if isTTY {
			terminal = newTTY(lines, c.m.Wall)
		}
		code := contain.ExitCode
		c.m.Wall.Call(program, func() { code = interact(ctx, c.sh, program, o, lines, stderr, terminal, c.m.Image.Name) })
		return code, nil
	}
	code, found := c.sh.Exec(ctx, argv, o)
	if !found {
		return 0, c.notFound(argv[0])
	}
	return code, nil
}

func (c *Container) user() string {
	if c.m.IsWindows() && c.spec.User == "" {
		return `User Manager\` + windows.ImageUser(c.spec.Image)
	}
	return c.spec.User
}

// dir returns the directory in which programs start: on Windows the root of the drive by default, as in the base
// images.
func (c *Container) dir() string {
	if c.m.IsWindows() {
		return cmp.Or(c.spec.WorkingDir, `C:\`)
	}
	return c.spec.WorkingDir
}

// notFound returns containerd's error for a program that does not exist, with the texts of runc and hcsshim.
func (c *Container) notFound(program string) error {
	if c.m.IsWindows() {
		return fmt.Errorf("failed to exec in container: failed to start exec: hcs::System::CreateProcess %s: "+
			"The system cannot find the file specified.: unknown (the container is simulated and has a few "+
			"commands only)", program)
	}
	return fmt.Errorf("OCI runtime exec failed: exec failed: unable to start container process: exec: %q: "+
		"executable file not found in $PATH: unknown (the container is simulated and has a few commands "+
		"only)", program)
}

type stream struct {
	io.Reader
	io.Writer
}

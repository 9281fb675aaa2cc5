// Package staticpod translates the container of a kubeadm static pod to a command line that runs on
// this computer: the guest's paths become paths below its root, its addresses become its loopback
// address, and flags that only older Kubernetes releases have are omitted and listed.
//
// A closed table contains the four programs that may run and, for each flag that names a file, the
// translation of its value (see flags.go). A configuration file that could name other files, or a
// program to run, is rewritten from its known parts; any other part is an error that names it. The
// package reads the guest's files only through Mapping and runs nothing. The simulator
// (internal/sim, internal/controlplane, internal/plane) may import it; the provider may not.
package staticpod

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Names of the programs that kubeadm runs as static pods.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
)

// Files is the guest's file tree. Paths are guest paths; none leads out of the tree.
type Files interface {
	// Host returns the path of a guest's file on this computer. A link that leads out of the guest
	// is an error.
	Host(guest string) (string, error)
	// ReadFile returns the content of a guest's file.
	ReadFile(guest string) ([]byte, error)
}

// Mapping maps a guest's files and addresses to this computer.
type Mapping struct {
	// Files is the guest's file tree.
	Files Files
	// Private is a directory on this computer that the guest cannot access, for translated copies
	// of the guest's files.
	Private string
	// Addresses are the guest's addresses in its network, IPv4 and IPv6.
	Addresses []netip.Addr
	// Loopback is the address in 127.0.0.0/8 on which the guest's sockets are.
	Loopback string
	// Peer returns the loopback address of another machine by its address in the guest's network or
	// by its loopback address; nil means that there are no other machines.
	Peer func(address string) (loopback string, ok bool)
	// EgressConfig is the path, on this computer, of the API server's egress selector
	// configuration; empty means none.
	EgressConfig string
	// APIServer are additional flags of an API server, each as NAME=VALUE, for flags that the guest
	// does not set.
	APIServer []string
	// Version is the requested Kubernetes version ("v1.34.2"); empty means the embedded one.
	// Emulated returns the release that runs for it.
	Version string
	// Alone is set if no other instance of the program runs in the cluster; the program then takes
	// part in no leader election.
	Alone bool
}

// Command is the command of a static pod's container on this computer.
type Command struct {
	// Argv is the command line, program first.
	Argv []string
	// Dropped lists the flags and items that were omitted because the requested release has them
	// and the embedded Kubernetes does not, or because they have no meaning on this computer.
	Dropped []string
	// Dials are the addresses on this computer, as IP:PORT, to which the program itself connects.
	Dials []string
	// Made contains the files that must be written before the command runs, by path on this
	// computer. They contain keys and tokens.
	Made map[string][]byte
}

// Translate returns the command of a static pod's container. A flag that the program does not have
// and that names no file is kept, so that the program fails as in a real cluster. The error names a
// refused program or flag.
func Translate(command []string, m Mapping) (Command, error) {
	if len(command) == 0 {
		return Command{}, errors.New("the static pod's container has no command")
	}
	program := path.Base(command[0])
	if rules[program] == nil {
		return Command{}, fmt.Errorf("command %q of a static pod does not run here: only %s, %s, %s and %s do, "+
			"as processes of this machine",
			command[0], etcd, apiServer, controllerManager, scheduler)
	}
	if len(command) > 1 && !strings.HasPrefix(command[1], "-") { // etcd's image contains other programs too
		return Command{}, fmt.Errorf("%s of a static pod has the argument %q, and takes flags alone", program, command[1])
	}
	t := &translation{Mapping: m, program: program, command: Command{Argv: []string{program}, Made: map[string][]byte{}}}
	flags, err := t.parse(command[1:])
	if err != nil {
		return Command{}, err
	}
	has := map[string]bool{}
	for _, f := range flags {
		if err := t.add(f, has); err != nil {
			return Command{}, fmt.Errorf("%s of %s: %w", "--"+f.name, program, err)
		}
	}
	for _, f := range t.requiredFlags(has) {
		if !has[f.name] {
			t.command.Argv = append(t.command.Argv, f.String())
		}
	}
	return t.command, nil
}

// translation is one run of Translate.
type translation struct {
	Mapping
	program string
	command Command
}

// add translates one flag; has contains the names of the guest's flags.
func (t *translation) add(f flag, has map[string]bool) error {
	if f.name == "" { // an argument that is not a flag
		t.command.Argv = append(t.command.Argv, f.value)
		return nil
	}
	f, gone := t.withoutLost(f)
	if gone != "" {
		t.command.Dropped = append(t.command.Dropped, fmt.Sprintf("%s of %s, which the embedded Kubernetes no longer has", gone, t.program))
	}
	if f.name == "" || f.name == "leader-elect" && t.Alone {
		return nil
	}
	value, keep, err := t.value(f)
	if err != nil || !keep {
		return err
	}
	has[f.name] = true
	f.value = value
	t.command.Argv = append(t.command.Argv, f.String())
	return nil
}

// flag is one --name=value; bare means that it has no value, as --help.
type flag struct {
	name, value string
	bare        bool
}

// parse parses a command line. The value of a flag that names a file may be the next argument.
func (t *translation) parse(args []string) ([]flag, error) {
	var out []flag
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "-") || arg == "-" || arg == "--" {
			out = append(out, flag{value: arg})
			continue
		}
		name, value, found := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "--") && t.program != etcd {
			if name[:min(1, len(name))] != "v" || strings.ContainsAny(arg, "/.") { // klog's verbosity is the only short flag
				return nil, fmt.Errorf("%s of %s is no flag: flags begin with two dashes", arg, t.program)
			}
			out = append(out, flag{value: arg})
			continue
		}
		// Kubernetes accepts an underscore in place of a dash (component-base/cli/flag).
		f := flag{name: strings.ReplaceAll(name, "_", "-"), value: value, bare: !found}
		if f.bare && rules[t.program][f.name].how != plain && i+1 < len(args) {
			i++
			f.value, f.bare = args[i], false
		}
		out = append(out, f)
	}
	return out, nil
}

func (f flag) String() string {
	if f.bare {
		return "--" + f.name
	}
	return "--" + f.name + "=" + f.value
}

// dialled translates a URL of this guest to which the program itself connects.
func (t *translation) dialled(value string) (string, error) {
	made, err := t.self(value)
	if err == nil {
		t.note(made)
	}
	return made, err
}

// note adds the address of a translated URL to the command's Dials.
func (t *translation) note(made string) {
	u, err := url.Parse(made)
	if err != nil {
		return // unreachable: this package made the URL
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	t.command.Dials = append(t.command.Dials, net.JoinHostPort(u.Hostname(), port))
}

// urls translates a list of URLs of this guest and removes duplicates, because etcd refuses to
// listen twice on one address.
func (t *translation) urls(value string) (string, error) {
	translate := t.dialled
	if t.program == etcd {
		translate = t.self
	}
	var out []string
	for item := range strings.SplitSeq(value, ",") {
		item, err := translate(item)
		if err != nil {
			return "", err
		}
		if !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	return strings.Join(out, ","), nil
}

// overrides translates the URLs of --etcd-servers-overrides.
func (t *translation) overrides(value string) (string, error) {
	items := strings.Split(value, ",")
	for i, item := range items {
		resource, servers, ok := strings.Cut(item, "#")
		if !ok {
			return "", fmt.Errorf("%q is not GROUP/RESOURCE#SERVERS", item)
		}
		translated, err := t.urls(strings.ReplaceAll(servers, ";", ","))
		if err != nil {
			return "", err
		}
		items[i] = resource + "#" + strings.ReplaceAll(translated, ",", ";")
	}
	return strings.Join(items, ","), nil
}

// members translates the NAME=URL pairs of etcd's initial cluster, which are this guest and other
// machines of its network.
func (t *translation) members(value string) (string, error) {
	items := strings.Split(value, ",")
	for i, item := range items {
		name, peer, ok := strings.Cut(item, "=")
		if !ok {
			return "", fmt.Errorf("%q is not NAME=URL", item)
		}
		u, err := webURL(peer)
		if err != nil {
			return "", err
		}
		if at, known := t.peer(u.Hostname()); known {
			u.Host = hostPort(at, u.Port())
			items[i] = name + "=" + u.String()
			t.note(u.String())
			continue
		}
		if peer, err = t.dialled(peer); err != nil {
			return "", err
		}
		items[i] = name + "=" + peer
	}
	return strings.Join(items, ","), nil
}

func (m Mapping) peer(host string) (string, bool) {
	if m.Peer == nil {
		return "", false
	}
	return m.Peer(host)
}

// self translates a URL at which the program of this guest connects or listens. The loopback
// address, the unspecified address and the guest's own addresses mean the guest. Any other address
// would be one of this computer's network, and a socket path would be one of this computer's files,
// so both are refused.
func (m Mapping) self(value string) (string, error) {
	u, err := webURL(value)
	if err != nil {
		return "", err
	}
	if !m.isOwn(u.Hostname()) {
		return "", fmt.Errorf("%q is refused: a static pod reaches its own machine alone (%s and loopback), because it would "+
			"dial anything else on the network of the computer that simulates the machine", u.Redacted(),
			strings.Trim(fmt.Sprint(m.Addresses), "[]"))
	}
	u.Host = hostPort(m.Loopback, u.Port())
	return u.String(), nil
}

func (m Mapping) isOwn(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	ip = ip.Unmap().WithZone("")
	return ip.IsLoopback() || ip.IsUnspecified() || slices.Contains(m.Addresses, ip)
}

func hostPort(host, port string) string {
	if port == "" {
		return host
	}
	return net.JoinHostPort(host, port)
}

// web checks a URL that is dialled from inside the guest.
func web(value string) (string, error) {
	u, err := webURL(value)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

func webURL(value string) (*url.URL, error) {
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return nil, errors.New("it is no URL") // the error could quote a password
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.Opaque != "":
		return nil, fmt.Errorf("%q is refused: only http and https addresses are inside the guest", u.Redacted())
	}
	return u, nil
}

// etcdPages is the port of etcd's HTTP pages, such as /version. It is the port before the clients'
// port.
const etcdPages = "2378"

// leaseFlags returns flags for a longer lease, for computers that are busy with other work: a component
// ends if it cannot renew its lease in time. A single instance has no lease.
func (t *translation) leaseFlags() []flag {
	if t.Alone {
		return []flag{{name: "leader-elect", value: "false"}}
	}
	return []flag{
		{name: "leader-elect-lease-duration", value: "40s"}, {name: "leader-elect-renew-deadline", value: "30s"},
		{name: "leader-elect-retry-period", value: "4s"},
	}
}

// requiredFlags returns flags that a guest on this computer needs and does not set itself; has contains
// the names of the flags that it sets.
func (t *translation) requiredFlags(has map[string]bool) []flag {
	add := []flag{{name: "bind-address", value: t.Loopback}}
	switch t.program {
	case etcd:
		// The data need not survive a power failure. etcd commits to its database once a second
		// instead of ten times; its log contains the writes in between. etcd's default data
		// directory is derived from its name, which may be any path.
		add = []flag{{name: "enable-grpc-gateway", value: "false"}, {name: "unsafe-no-fsync", bare: true}, {name: "log-level", value: "warn"},
			{name: "backend-batch-interval", value: "1s"},
			{name: "data-dir", value: t.inside("/default.etcd")}}
		if has["cert-file"] && has["key-file"] {
			// With TLS, etcd serves gRPC through the HTTP server that also serves its few pages,
			// which needs a sixth more CPU than gRPC's own server, unless the pages have a separate
			// address.
			add = append(add, flag{name: "listen-client-http-urls", value: "https://" + net.JoinHostPort(t.Loopback, etcdPages)})
		}
		return add
	case apiServer:
		if release, _ := Emulated(t.Version); release != Embedded {
			add = append(add, flag{name: "emulated-version", value: release})
		}
		if t.EgressConfig != "" {
			add = append(add, flag{name: "egress-selector-config-file", value: t.EgressConfig})
		}
		for _, f := range t.APIServer {
			name, value, _ := strings.Cut(f, "=")
			add = append(add, flag{name: name, value: value})
		}
		return append(add, flag{name: "cert-dir", value: t.inside("/var/run/kubernetes")})
	case controllerManager, scheduler:
		add = append(add, t.leaseFlags()...)
	}
	if t.program == controllerManager {
		// The dozens of controllers start behind one rate limit, which is most of a cluster's start
		// time on a computer that also runs the API server.
		add = append(add, flag{name: "kube-api-qps", value: "200"}, flag{name: "kube-api-burst", value: "400"},
			// Each pass over a DaemonSet reads all nodes; with one worker a pass handles more
			// events.
			flag{name: "concurrent-daemonset-syncs", value: "1"},
			flag{name: "flex-volume-plugin-dir", value: t.noPlugins()})
	}
	if release, _ := Emulated(t.Version); release != Embedded {
		add = append(add, flag{name: "emulated-version", value: release})
	}
	return add
}

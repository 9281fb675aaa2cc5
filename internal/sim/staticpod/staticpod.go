// Package staticpod turns the container of a kubeadm static pod into a command line that runs on this
// machine: the guest's paths become paths below its root, its addresses become its loopback address, and
// flags that only older Kubernetes understood are left out and named.
//
// A closed table has the four programs that may run and, for each flag that names a file, how its value is
// translated (see flags.go). A configuration that could name further files, or a program to run, is read
// here and written again from the parts that are known; anything else is refused by name. The package reads
// the guest's files through Mapping alone and runs nothing. The simulator (internal/sim,
// internal/controlplane, internal/plane) may import it; the provider may not.
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

// Files is the guest's file tree. Paths are the guest's; none leads out of it.
type Files interface {
	// Host returns the path of a guest's file on this machine. A link that leads
	// out of the guest is an error.
	Host(guest string) (string, error)
	// ReadFile returns the content of a guest's file.
	ReadFile(guest string) ([]byte, error)
}

// Mapping says where a guest's files and addresses are on this machine.
type Mapping struct {
	// Files is the guest's file tree.
	Files Files
	// Private is a directory on this machine, outside of the guest's reach, for translated copies
	// of the guest's files.
	Private string
	// Addresses are the guest's in its network, of either family.
	Addresses []netip.Addr
	// Loopback is the address of 127.0.0.0/8 that its sockets are on.
	Loopback string
	// Peer returns the loopback address of another machine that the guest's network knows by an address of either kind;
	// nil knows none.
	Peer func(address string) (loopback string, ok bool)
	// EgressConfig is the path, on this machine, of the API server's egress
	// selector configuration; empty gives none.
	EgressConfig string
	// APIServer are further flags of an API server, each as NAME=VALUE, where the guest
	// does not have them itself.
	APIServer []string
	// Version is the requested Kubernetes version ("v1.34.2"); empty means the embedded one. Emulated says
	// which one runs.
	Version string
	// Alone is true if no other instance of the program runs in the cluster: it then takes
	// part in no leader election.
	Alone bool
}

// Command is a static pod's container as it runs on this machine.
type Command struct {
	// Argv is the command line, program first.
	Argv []string
	// Dropped lists the flags and items that were left out because the requested release had them and the
	// embedded Kubernetes does not, or because they have no meaning on this machine.
	Dropped []string
	// Dials are the addresses on this machine, as IP:PORT, that the program itself dials.
	Dials []string
	// Made are the files that the command line names and that have to be written
	// before it runs, by path on this machine. They hold keys and tokens.
	Made map[string][]byte
}

// Translate returns the command of a static pod's container. Any flag that the
// program does not know and that names no file stays, so that it fails as it would
// in a real cluster. An error names the program or the flag that is refused.
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
	if len(command) > 1 && !strings.HasPrefix(command[1], "-") { // etcd has other programs
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
	for _, f := range t.additions(has) {
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

// add translates one flag.
func (t *translation) add(f flag, has map[string]bool) error {
	if f.name == "" { // an argument that is no flag
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

// flag is one --name=value; bare has no value, as in --help.
type flag struct {
	name, value string
	bare        bool
}

// parse reads a command line. A flag that names a file may have its value in the
// next argument.
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
			if name[:min(1, len(name))] != "v" || strings.ContainsAny(arg, "/.") { // klog's verbosity is their only short flag
				return nil, fmt.Errorf("%s of %s is no flag: flags begin with two dashes", arg, t.program)
			}
			out = append(out, flag{value: arg})
			continue
		}
		// Kubernetes takes an underscore for a dash (component-base/cli/flag).
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

// dialled translates a URL of this guest that the program dials by itself.
func (t *translation) dialled(value string) (string, error) {
	made, err := t.self(value)
	if err == nil {
		t.note(made)
	}
	return made, err
}

// note adds the address of a URL to the command's Dials.
func (t *translation) note(made string) {
	u, err := url.Parse(made)
	if err != nil {
		return // it was made here
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	t.command.Dials = append(t.command.Dials, net.JoinHostPort(u.Hostname(), port))
}

// urls translates a list of URLs of this guest and removes duplicates: etcd
// refuses to listen twice on one socket.
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

// members translates the NAME=URL pairs of etcd's initial cluster: this guest and other machines of its network.
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

// self translates a URL of this guest, whose program dials it, or listens there, on this computer: loopback, the
// unspecified address and the guest's own address are the guest's. Any other one would be of this computer's
// network, as a socket in the file system would be of its files.
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

// etcdPages is the port of etcd's HTTP pages, such as /version. It is next to the port of its clients.
const etcdPages = "2378"

// lease returns the flags for a longer lease on a machine whose processor others use too: a
// component ends when it cannot renew its lease in time. A single instance has no lease.
func (t *translation) lease() []flag {
	if t.Alone {
		return []flag{{name: "leader-elect", value: "false"}}
	}
	return []flag{
		{name: "leader-elect-lease-duration", value: "40s"}, {name: "leader-elect-renew-deadline", value: "30s"},
		{name: "leader-elect-retry-period", value: "4s"},
	}
}

// additions are flags that a guest on this machine needs and does not set itself; has are the names of the
// flags that it sets.
func (t *translation) additions(has map[string]bool) []flag {
	add := []flag{{name: "bind-address", value: t.Loopback}}
	switch t.program {
	case etcd:
		// The data need not survive a power failure. etcd commits to its database once a second instead of
		// ten times; its log has the writes in between. etcd's default data directory is derived from its
		// name, which may be any path.
		add = []flag{{name: "enable-grpc-gateway", value: "false"}, {name: "unsafe-no-fsync", bare: true}, {name: "log-level", value: "warn"},
			{name: "backend-batch-interval", value: "1s"},
			{name: "data-dir", value: t.inside("/default.etcd")}}
		if has["cert-file"] && has["key-file"] {
			// With TLS, etcd serves gRPC by the HTTP server that also serves its few pages, at a
			// sixth more of a processor than by gRPC's own server, unless the pages have an address.
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
		add = append(add, t.lease()...)
	}
	if t.program == controllerManager {
		// Its dozens of controllers start behind one rate limit, which on a machine
		// that shares its disk with the API server is most of a cluster's start.
		add = append(add, flag{name: "kube-api-qps", value: "200"}, flag{name: "kube-api-burst", value: "400"},
			// Each pass over a DaemonSet looks at all nodes; with one worker a pass serves more events.
			flag{name: "concurrent-daemonset-syncs", value: "1"},
			flag{name: "flex-volume-plugin-dir", value: t.noPlugins()})
	}
	if release, _ := Emulated(t.Version); release != Embedded {
		add = append(add, flag{name: "emulated-version", value: release})
	}
	return add
}

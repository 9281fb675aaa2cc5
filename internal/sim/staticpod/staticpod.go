// Package staticpod turns the container of a kubeadm static pod into a command
// line that runs on this machine: the guest's paths become paths below its root,
// its addresses the loopback address that stands for it, and what only older
// Kubernetes understood is left out and named.
//
// It is pure and runs nothing. The simulator (internal/sim, internal/controlplane,
// internal/local) may import it; the provider may not.
package staticpod

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
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

// Mapping says where a guest's things are on this machine.
type Mapping struct {
	// Root is the directory that holds the guest's files.
	Root string
	// Address is the guest's address in its network, Loopback the one of
	// 127.0.0.0/8 that its sockets are on.
	Address, Loopback string
	// EgressConfig is the path, on this machine, of the API server's egress
	// selector configuration; empty gives none.
	EgressConfig string
	// Version is the Kubernetes version that was asked for ("v1.34.2"); empty
	// means the embedded one. See Emulated for what runs.
	Version string
}

// Translate returns the command line of a static pod's container, program first.
// dropped says what was left out because the embedded Kubernetes has lost it.
// Any other flag that the program does not know stays, so that it fails as it
// would in a real cluster.
func Translate(command []string, m Mapping) (argv, dropped []string, err error) {
	if len(command) == 0 {
		return nil, nil, errors.New("the static pod's container has no command")
	}
	program := path.Base(command[0])
	argv = []string{program}
	has := map[string]bool{}
	for _, arg := range command[1:] {
		f, isFlag := parseFlag(arg)
		if !isFlag {
			argv = append(argv, m.path(arg))
			continue
		}
		f, gone := withoutLost(program, f)
		if gone != "" {
			dropped = append(dropped, fmt.Sprintf("%s of %s", gone, program))
		}
		if f.name == "" {
			continue
		}
		has[f.name] = true
		f.value = m.value(program, f)
		argv = append(argv, f.String())
	}
	for _, f := range m.additions(program) {
		if !has[f.name] {
			argv = append(argv, f.String())
		}
	}
	return argv, dropped, nil
}

// flag is one --name=value; bare has no value, as in --help.
type flag struct {
	name, value string
	bare        bool
}

func parseFlag(arg string) (flag, bool) {
	rest, ok := strings.CutPrefix(arg, "--")
	if !ok || rest == "" {
		return flag{}, false
	}
	name, value, found := strings.Cut(rest, "=")
	// Kubernetes takes an underscore for a dash (component-base/cli/flag).
	return flag{name: strings.ReplaceAll(name, "_", "-"), value: value, bare: !found}, true
}

func (f flag) String() string {
	if f.bare {
		return "--" + f.name
	}
	return "--" + f.name + "=" + f.value
}

// value translates what a flag carries.
func (m Mapping) value(program string, f flag) string {
	switch {
	case f.name == "advertise-address":
		return f.value // objects carry the guest's address
	case f.name == "bind-address" && program != etcd:
		return m.Loopback
	case f.name == "egress-selector-config-file" && m.EgressConfig != "":
		return m.EgressConfig // a guest's own network would lead out of the simulation
	case f.name == "etcd-servers", program == etcd && strings.HasSuffix(f.name, "-urls"):
		return m.urls(f.value)
	case program == etcd && f.name == "initial-cluster":
		return m.members(f.value)
	case slices.Contains(strings.Fields(urlPathFlags), f.name):
		return f.value
	}
	return m.path(f.value)
}

// urlPathFlags are those whose value begins with a slash and is no file.
const urlPathFlags = "etcd-prefix cors-allowed-origins authorization-always-allow-paths service-account-issuer service-account-jwks-uri oidc-username-prefix oidc-groups-prefix"

// path moves an absolute path, or a list of them, below the root.
func (m Mapping) path(value string) string {
	if !strings.HasPrefix(value, "/") {
		return value
	}
	items := strings.Split(value, ",")
	for i, item := range items {
		if strings.HasPrefix(item, "/") {
			items[i] = filepath.Join(m.Root, path.Clean(item)) // Clean, so that dots do not lead out
		}
	}
	return strings.Join(items, ",")
}

// urls puts the loopback address into URLs and drops those that become equal:
// etcd refuses to listen twice on one socket.
func (m Mapping) urls(value string) string {
	var out []string
	for item := range strings.SplitSeq(value, ",") {
		if item = m.url(item); !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	return strings.Join(out, ",")
}

// members translates the NAME=URL pairs of etcd's initial cluster.
func (m Mapping) members(value string) string {
	items := strings.Split(value, ",")
	for i, item := range items {
		if name, peer, ok := strings.Cut(item, "="); ok {
			items[i] = name + "=" + m.url(peer)
		}
	}
	return strings.Join(items, ",")
}

// url replaces the host of a URL when it means this guest. All interfaces would
// be those of this machine, so they become the loopback address too.
func (m Mapping) url(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return m.path(value)
	}
	switch u.Hostname() {
	case m.Address, "127.0.0.1", "0.0.0.0", "::1", "::", "localhost":
		if u.Port() == "" {
			u.Host = m.Loopback
		} else {
			u.Host = net.JoinHostPort(m.Loopback, u.Port())
		}
	}
	return u.String()
}

// additions are flags that a guest on this machine needs.
func (m Mapping) additions(program string) []flag {
	bind := flag{name: "bind-address", value: m.Loopback}
	var emulate []flag
	if release, _ := Emulated(m.Version); release != Embedded {
		emulate = []flag{{name: "emulated-version", value: release}}
	}
	switch program {
	case etcd:
		// No disk that could lose power is behind it.
		return []flag{{name: "unsafe-no-fsync", bare: true}, {name: "log-level", value: "warn"}}
	case apiServer:
		add := append([]flag{bind}, emulate...)
		if m.EgressConfig != "" {
			add = append(add, flag{name: "egress-selector-config-file", value: m.EgressConfig})
		}
		return add
	case controllerManager:
		// Its dozens of controllers start behind one rate limit, which on a machine
		// that shares its disk with the API server is most of a cluster's start.
		return append([]flag{bind, {name: "kube-api-qps", value: "200"}, {name: "kube-api-burst", value: "400"}}, emulate...)
	case scheduler:
		return append([]flag{bind}, emulate...)
	}
	return nil
}

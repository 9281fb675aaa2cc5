package staticpod

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// how is the way in which the value of a flag is translated.
type how int

const (
	// plain is for values that contain no file name and remain unchanged.
	plain how = iota
	// file is for a file, or a list of files, that the program reads.
	file
	// output is for a file that the program writes; "-" is standard output.
	output
	// folder is for a directory to which the program writes.
	folder
	// kubeconfig is for the path of a kubeconfig file, of which a copy with only the known fields
	// is written.
	kubeconfig
	// document is for the path of a configuration file that a function in documents rewrites.
	document
	// sni is for CERT,KEY or CERT,KEY:DOMAINS.
	sni
	// addresses is for URLs of the guest itself, members for NAME=URL pairs of the guest and of
	// other machines, and overrides for GROUP/RESOURCE#URL;URL of the guest itself.
	addresses
	members
	overrides
	// lost is for a flag that is omitted with a warning.
	lost
	// ours is for a flag whose value this package sets, whatever the guest's value is.
	ours
	// logs is for the destination of etcd's logs.
	logs
	// token is for etcd's --auth-token.
	token
	// refused is for a flag with which the program does not run; the rule contains the reason.
	refused
)

// rule is the decision about one flag.
type rule struct {
	how how
	why string
}

// slashes are the flags whose value may begin with a slash although it names no file.
const slashes = "etcd-prefix cors-allowed-origins authorization-always-allow-paths service-account-issuer " +
	"service-account-jwks-uri pprof-path"

// Flags of several programs.
const (
	servingFiles  = "client-ca-file requestheader-client-ca-file tls-cert-file tls-private-key-file allow-metric-labels-manifest"
	componentUser = "kubeconfig authentication-kubeconfig authorization-kubeconfig"
)

// rules contains, for each program, the flags whose value is a file, a socket or a program. A test
// beside casement-kube fails if one of its flags is missing here.
var rules = map[string]map[string]rule{
	etcd: table(
		kind{file, "cert-file key-file client-cert-file client-key-file client-crl-file trusted-ca-file " +
			"peer-cert-file peer-key-file peer-client-cert-file peer-client-key-file " +
			"peer-crl-file peer-trusted-ca-file"},
		kind{folder, "data-dir wal-dir"},
		kind{addresses, "listen-client-urls listen-client-http-urls listen-peer-urls listen-metrics-urls " +
			"initial-advertise-peer-urls advertise-client-urls"},
		kind{ours, "enable-grpc-gateway"},
		kind{members, "initial-cluster"},
		kind{logs, "log-outputs"},
		kind{token, "auth-token"},
	).with("config-file", refused, "it could name any other flag: write the flags into the manifest").
		with("log-rotation-config-json", refused, "logs go to the container's log").
		all(refused, "it would ask on this computer's network, and not the guest's", "discovery discovery-cert discovery-key "+
			"discovery-cacert discovery-endpoints discovery-proxy discovery-srv discovery-srv-name discovery-token "+
			"discovery-user discovery-password").
		all(refused, "it would send traces from the real machine", "enable-distributed-tracing distributed-tracing-address "+
			"experimental-enable-distributed-tracing experimental-distributed-tracing-address"),
	apiServer: table(
		kind{file, servingFiles + " audit-policy-file authorization-policy-file " +
			"etcd-cafile etcd-certfile etcd-keyfile kubelet-certificate-authority " +
			"kubelet-client-certificate kubelet-client-key peer-ca-file proxy-client-cert-file " +
			"proxy-client-key-file service-account-key-file " +
			"service-account-signing-key-file token-auth-file"},
		kind{output, "audit-log-path"},
		kind{folder, "cert-dir"},
		kind{kubeconfig, "authentication-token-webhook-config-file authorization-webhook-config-file audit-webhook-config-file"},
		kind{document, "admission-control-config-file authentication-config authorization-config encryption-provider-config"},
		kind{sni, "tls-sni-cert-key"},
		kind{addresses, "etcd-servers"},
		kind{overrides, "etcd-servers-overrides"},
		kind{ours, "bind-address egress-selector-config-file"},
	).all(lost, "the issuer would be asked on this computer's network, and not the guest's: name it in an "+
		"AuthenticationConfiguration (--authentication-config)", "oidc-issuer-url oidc-ca-file oidc-client-id oidc-groups-claim "+
		"oidc-groups-prefix oidc-required-claim oidc-signing-algs oidc-username-claim oidc-username-prefix").
		with("tracing-config-file", refused, "it would send traces from the real machine").
		with("service-account-signing-endpoint", refused, "it names a socket of the real machine").
		with("debug-socket-path", refused, "it would open a socket on the real machine"),
	controllerManager: table(
		kind{file, servingFiles + " cloud-config cluster-signing-cert-file cluster-signing-key-file " +
			"cluster-signing-kube-apiserver-client-cert-file " +
			"cluster-signing-kube-apiserver-client-key-file cluster-signing-kubelet-client-cert-file " +
			"cluster-signing-kubelet-client-key-file " +
			"cluster-signing-kubelet-serving-cert-file cluster-signing-kubelet-serving-key-file cluster-signing-legacy-unknown-cert-file " +
			"cluster-signing-legacy-unknown-key-file leader-migration-config " +
			"pv-recycler-pod-template-filepath-hostpath pv-recycler-pod-template-filepath-nfs " +
			"root-ca-file " +
			"service-account-private-key-file"},
		kind{folder, "cert-dir"},
		kind{kubeconfig, componentUser},
		kind{addresses, "master"},
		kind{sni, "tls-sni-cert-key"},
		kind{ours, "bind-address flex-volume-plugin-dir"},
	).with("enable-hostpath-provisioner", refused, "it would make directories on the real machine").
		with("debug-socket-path", refused, "it would open a socket on the real machine"),
	scheduler: table(
		kind{file, servingFiles},
		kind{output, "write-config-to"},
		kind{folder, "cert-dir"},
		kind{kubeconfig, componentUser},
		kind{addresses, "master"},
		kind{document, "config"},
		kind{sni, "tls-sni-cert-key"},
		kind{ours, "bind-address"},
	).with("debug-socket-path", refused, "it would open a socket on the real machine"),
}

type kind struct {
	how   how
	flags string
}

type ruleTable map[string]rule

func table(kinds ...kind) ruleTable {
	t := ruleTable{}
	for _, k := range kinds {
		for name := range strings.FieldsSeq(k.flags) {
			t[name] = rule{how: k.how}
		}
	}
	return t
}

func (t ruleTable) with(name string, how how, why string) ruleTable {
	t[name] = rule{how, why}
	return t
}

// all adds the same rule for a list of flags.
func (t ruleTable) all(how how, why, flags string) ruleTable {
	for name := range strings.FieldsSeq(flags) {
		t[name] = rule{how, why}
	}
	return t
}

// Decided reports whether the table of a program has a rule for a flag. The value of any other
// flag must not look like a path.
func Decided(program, flag string) bool {
	_, known := rules[program][flag]
	return known
}

// value translates the value of a flag; keep is false for a flag that is omitted.
func (t *translation) value(f flag) (value string, keep bool, err error) {
	r := rules[t.program][f.name]
	if r.how == refused {
		if strings.Contains(f.name, "enable-") && f.value == "false" {
			return f.value, true, nil
		}
		return "", false, fmt.Errorf("it is refused here, because %s", r.why)
	}
	if r.how == lost {
		t.command.Dropped = append(t.command.Dropped, fmt.Sprintf("--%s of %s, because %s", f.name, t.program, r.why))
		return "", false, nil
	}
	if r.how != plain && r.how != ours && f.value == "" {
		return "", false, nil // as if the flag were not set
	}
	switch r.how {
	case file:
		value, err = t.files(f.value)
	case output:
		if value = f.value; value != "-" {
			value, err = t.path(f.value)
		}
	case folder:
		value, err = t.path(f.value)
	case kubeconfig:
		value, err = t.remakeKubeconfig(f.name, f.value)
	case document:
		value, err = t.remake(f.name, f.value)
	case sni:
		pair, domains, some := strings.Cut(f.value, ":")
		if value, err = t.files(pair); some {
			value += ":" + domains
		}
	case addresses:
		value, err = t.urls(f.value)
	case overrides:
		value, err = t.overrides(f.value)
	case members:
		value, err = t.members(f.value)
	case logs:
		value, err = logOutputs(f.value)
	case token:
		value, err = f.value, nil
		if f.value != "simple" {
			err = errors.New("only the value simple is known here: others name key files")
		}
	case ours:
		return t.own(f)
	default:
		value, err = t.plainValue(f)
	}
	return value, true, err
}

// own returns the value of a flag that this package sets.
func (t *translation) own(f flag) (value string, keep bool, err error) {
	switch f.name {
	case "flex-volume-plugin-dir":
		return t.noPlugins(), true, nil // a plug-in in the guest's folder would run on this computer
	case "egress-selector-config-file":
		return t.EgressConfig, t.EgressConfig != "", nil // a guest's own network configuration would bypass the simulation
	case "enable-grpc-gateway":
		return "false", true, nil // scripts can easily send JSON to the gateway, and could add members at any address of this computer's network
	}
	return t.Loopback, true, nil
}

// noPlugins returns an empty directory that the guest cannot write to.
func (t *translation) noPlugins() string { return filepath.Join(t.Private, "no-plugins") }

// plainValue returns an error if the value of a flag that is not known to name a file is a path.
func (t *translation) plainValue(f flag) (string, error) {
	v := f.value
	socket := strings.Contains(v, "unix:") || strings.Contains(v, "unixs:")
	isPath := strings.HasPrefix(v, "/") || strings.HasPrefix(v, "./") || strings.Contains(v, "../") || strings.HasPrefix(v, "file:")
	if socket || isPath && !slices.Contains(strings.Fields(slashes), f.name) {
		return "", errors.New("it names a file or a socket, and what the program would do with it is not known here")
	}
	return v, nil
}

// files translates a list of paths.
func (t *translation) files(value string) (string, error) {
	items := strings.Split(value, ",")
	for i, item := range items {
		var err error
		if items[i], err = t.path(item); err != nil {
			return "", err
		}
	}
	return strings.Join(items, ","), nil
}

// path maps a guest's path below the guest's root; a relative path is relative to the root, which
// is the program's working directory. The root itself is refused.
func (t *translation) path(guest string) (string, error) {
	guest = guestPath(guest)
	host, err := t.Files.Host(guest)
	if err != nil {
		return "", fmt.Errorf("%s is not inside the guest: %w", guest, err)
	}
	root, err := t.Files.Host("/")
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(root, host); err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("%s is not strictly inside the guest", guest)
	}
	return host, nil
}

// guestPath makes a path absolute; ".." elements cannot lead above the guest's root.
func guestPath(p string) string { return path.Clean("/" + p) }

// inside returns the path on this computer of a guest directory that this package chooses. If the
// directory leads out of the root, the program cannot start, because nothing can be created below
// it.
func (t *translation) inside(guest string) string {
	host, err := t.path(guest)
	if err != nil {
		return filepath.Join(t.Private, "refused")
	}
	return host
}

func logOutputs(value string) (string, error) {
	for item := range strings.SplitSeq(value, ",") {
		if !slices.Contains([]string{"default", "stdout", "stderr"}, item) {
			return "", fmt.Errorf("%q is refused: logs go to stdout, stderr or default", item)
		}
	}
	return value, nil
}

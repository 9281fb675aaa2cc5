package kubeadm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// JoinConfig is the part of kubeadm's JoinConfiguration (v1beta3 or v1beta4) that affects a join,
// with kubeadm's defaults filled in.
type JoinConfig struct {
	// APIVersion is the version of the configuration's format.
	APIVersion string
	// NodeName is the name to register, in lower case as in kubeadm.
	NodeName string
	// CRISocket is "" if the configuration leaves it to detection.
	CRISocket string
	// Taints are the registration taints; if the configuration has null, kubeadm's default for the
	// role.
	Taints []corev1.Taint
	// KubeletArgs are the extra arguments in order, as name and value.
	KubeletArgs []Arg
	// IgnorePreflight are the checks whose failure is only a warning.
	IgnorePreflight []string
	Discovery       Discovery
	// ControlPlane is set for a machine that joins the control plane.
	ControlPlane *ControlPlane
	// CACertPath is the guest path to which the cluster's CA is written.
	CACertPath string
	// Patches is the guest path of the directory with patches; empty for none.
	Patches  string
	Timeouts Timeouts
}

// Arg is one command line argument.
type Arg struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Discovery describes how to find and trust the cluster.
type Discovery struct {
	// Endpoint is host:port of the API server, for discovery by token.
	Endpoint string
	// Token signs the cluster information ("abcdef.0123456789abcdef").
	Token string
	// CACertHashes are the accepted public key pins, "sha256:<hex>".
	CACertHashes []string
	// SkipCAVerification allows discovery without pins.
	SkipCAVerification bool
	// File is a guest path to a kubeconfig, for discovery by file.
	File string
	// TLSBootstrapToken is the token for the kubelet's TLS bootstrap.
	TLSBootstrapToken string
}

// ControlPlane has the fields of a JoinConfiguration that apply only to a join as a control plane node.
type ControlPlane struct {
	AdvertiseAddress string
	BindPort         int32
}

// Timeouts are zero if kubeadm's defaults apply.
type Timeouts struct {
	Discovery, TLSBootstrap time.Duration
}

// wire is the YAML form of JoinConfiguration in both versions.
type wire struct {
	APIVersion       string `json:"apiVersion"`
	Kind             string `json:"kind"`
	CACertPath       string `json:"caCertPath"`
	NodeRegistration struct {
		Name                  string          `json:"name"`
		CRISocket             string          `json:"criSocket"`
		Taints                []corev1.Taint  `json:"taints"`
		KubeletExtraArgs      json.RawMessage `json:"kubeletExtraArgs"`
		IgnorePreflightErrors []string        `json:"ignorePreflightErrors"`
	} `json:"nodeRegistration"`
	Discovery struct {
		BootstrapToken *struct {
			Token                    string   `json:"token"`
			APIServerEndpoint        string   `json:"apiServerEndpoint"`
			CACertHashes             []string `json:"caCertHashes"`
			UnsafeSkipCAVerification bool     `json:"unsafeSkipCAVerification"`
		} `json:"bootstrapToken"`
		File *struct {
			KubeConfigPath string `json:"kubeConfigPath"`
		} `json:"file"`
		TLSBootstrapToken string `json:"tlsBootstrapToken"`
		Timeout           string `json:"timeout"`
	} `json:"discovery"`
	ControlPlane *struct {
		LocalAPIEndpoint struct {
			AdvertiseAddress string `json:"advertiseAddress"`
			BindPort         int32  `json:"bindPort"`
		} `json:"localAPIEndpoint"`
	} `json:"controlPlane"`
	SkipPhases []string `json:"skipPhases"`
	Patches    *struct {
		Directory string `json:"directory"`
	} `json:"patches"`
	Timeouts struct {
		Discovery    string `json:"discovery"`
		TLSBootstrap string `json:"tlsBootstrap"`
	} `json:"timeouts"`
}

const controlPlaneTaint = "node-role.kubernetes.io/control-plane"

// ParseJoin parses the first JoinConfiguration in a YAML stream. hostname is the default of the
// node's name. The second result lists fields that have no effect here. The error names the invalid
// field; it never contains a token.
func ParseJoin(data []byte, hostname string) (JoinConfig, []string, error) {
	w, notes, err := decode(data)
	if err != nil {
		return JoinConfig{}, notes, err
	}
	args, err := parseArgs(w.NodeRegistration.KubeletExtraArgs)
	if err != nil {
		return JoinConfig{}, notes, err
	}
	c := JoinConfig{
		APIVersion:      w.APIVersion,
		NodeName:        w.NodeRegistration.Name,
		CRISocket:       w.NodeRegistration.CRISocket,
		Taints:          w.NodeRegistration.Taints,
		KubeletArgs:     args,
		IgnorePreflight: w.NodeRegistration.IgnorePreflightErrors,
		CACertPath:      w.CACertPath,
	}
	if c.NodeName == "" {
		c.NodeName = hostname
	}
	c.NodeName = strings.ToLower(strings.TrimSpace(c.NodeName))
	if c.CACertPath == "" {
		c.CACertPath = caCert
	}
	if cp := w.ControlPlane; cp != nil {
		c.ControlPlane = &ControlPlane{AdvertiseAddress: cp.LocalAPIEndpoint.AdvertiseAddress, BindPort: cp.LocalAPIEndpoint.BindPort}
		if c.Taints == nil {
			c.Taints = []corev1.Taint{{Key: controlPlaneTaint, Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	if len(w.SkipPhases) > 0 {
		notes = append(notes, "skipPhases is read and not acted on: every phase runs")
	}
	if w.Patches != nil {
		c.Patches = w.Patches.Directory
		notes = append(notes, fmt.Sprintf("patches in %q are read and not applied", w.Patches.Directory))
	}
	if c.Timeouts.Discovery, err = duration("timeouts.discovery", w.Timeouts.Discovery, w.Discovery.Timeout); err != nil {
		return c, notes, err
	}
	if c.Timeouts.TLSBootstrap, err = duration("timeouts.tlsBootstrap", w.Timeouts.TLSBootstrap); err != nil {
		return c, notes, err
	}
	c.Discovery = w.discovery()
	return c, notes, errors.Join(c.validate()...)
}

func (w *wire) discovery() Discovery {
	d := Discovery{TLSBootstrapToken: w.Discovery.TLSBootstrapToken}
	if f := w.Discovery.File; f != nil {
		d.File = f.KubeConfigPath
	}
	if b := w.Discovery.BootstrapToken; b != nil {
		d.Endpoint, d.Token = b.APIServerEndpoint, b.Token
		d.CACertHashes, d.SkipCAVerification = b.CACertHashes, b.UnsafeSkipCAVerification
		if d.TLSBootstrapToken == "" {
			d.TLSBootstrapToken = b.Token
		}
	}
	return d
}

// documents returns the documents of a stream that are not empty.
func documents(data []byte) [][]byte {
	return slices.DeleteFunc(bytes.Split(append([]byte("\n"), data...), []byte("\n---")), func(doc []byte) bool {
		return len(bytes.TrimSpace(doc)) == 0
	})
}

// decode decodes the JoinConfiguration among the documents of the stream.
func decode(data []byte) (wire, []string, error) {
	var notes []string
	for _, doc := range documents(data) {
		var w wire
		if err := yaml.Unmarshal(doc, &w); err != nil {
			return w, notes, fmt.Errorf("error unmarshaling configuration: %w", plain(err))
		}
		if w.Kind != "JoinConfiguration" {
			notes = append(notes, fmt.Sprintf("ignored document of kind %q", w.Kind))
			continue
		}
		switch w.APIVersion {
		case "kubeadm.k8s.io/v1beta3", "kubeadm.k8s.io/v1beta4":
			return w, notes, nil
		case "kubeadm.k8s.io/v1beta2":
			notes = append(notes, "kubeadm.k8s.io/v1beta2 is read as v1beta3")
			return w, notes, nil
		}
		return w, notes, fmt.Errorf("your configuration file uses an API spec %q that this kubeadm does not "+
			"know: use kubeadm.k8s.io/v1beta3 or v1beta4", w.APIVersion)
	}
	return wire{}, notes, errors.New("no JoinConfiguration found in the configuration file")
}

// withoutV1beta3 is the first minor version whose kubeadm refuses version v1beta3 of its
// configuration, and older versions. Source: kubernetes v1.37
// cmd/kubeadm/app/util/config/common.go, whose message is used.
const withoutV1beta3 = 37

// readableBy returns an error if kubeadm of a release no longer supports the configuration's
// version; an unknown release supports all.
func (c JoinConfig) readableBy(release string) error {
	v, err := version.ParseGeneric(release)
	if err != nil || c.APIVersion == "kubeadm.k8s.io/v1beta4" || v.LessThan(version.MajorMinor(1, withoutV1beta3)) {
		return nil
	}
	return fmt.Errorf("your configuration file uses an old API spec: %q (kind: %q). Please use kubeadm v1.36 instead and run "+
		"'kubeadm config migrate --old-config old-config-file --new-config new-config-file', which will write the new, similar "+
		"spec using a newer API version", c.APIVersion, "JoinConfiguration")
}

// parseArgs parses kubeletExtraArgs, which is a map in v1beta3 and a list in v1beta4.
func parseArgs(raw json.RawMessage) ([]Arg, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var list []Arg
	if json.Unmarshal(raw, &list) == nil {
		for i, a := range list {
			if a.Name == "" {
				return nil, fmt.Errorf("nodeRegistration.kubeletExtraArgs[%d]: argument has no name", i)
			}
		}
		return list, nil
	}
	var byName map[string]string
	if err := json.Unmarshal(raw, &byName); err != nil {
		return nil, errors.New("nodeRegistration.kubeletExtraArgs: neither a map of strings (v1beta3) nor a " +
			"list of name and value (v1beta4)")
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, Arg{Name: name, Value: byName[name]})
	}
	return list, nil
}

var tokenPattern = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

// validate returns the errors that kubeadm reports before it starts.
func (c JoinConfig) validate() []error {
	var errs []error
	for _, msg := range validation.IsDNS1123Subdomain(c.NodeName) {
		errs = append(errs, fmt.Errorf("nodeRegistration.name: Invalid value: %q: %s", c.NodeName, msg))
	}
	d := c.Discovery
	switch {
	case d.File == "" && d.Token == "" && d.Endpoint == "":
		errs = append(errs, errors.New("discovery: Invalid value: \"\": bootstrapToken or file must be set"))
	case d.File != "" && d.Token != "":
		errs = append(errs, errors.New("discovery: Invalid value: \"\": bootstrapToken and file cannot both be set"))
	case d.File == "":
		if d.Endpoint == "" {
			errs = append(errs, errors.New("discovery.bootstrapToken.apiServerEndpoint: Required value: APIServerEndpoint is not set"))
		}
		if !tokenPattern.MatchString(d.Token) {
			errs = append(errs, errors.New("discovery.bootstrapToken.token: Invalid value: the bootstrap token "+
				"is not of the form [a-z0-9]{6}.[a-z0-9]{16}"))
		}
		if len(d.CACertHashes) == 0 && !d.SkipCAVerification {
			errs = append(errs, errors.New("discovery.bootstrapToken.caCertHashes: Invalid value: \"\": using "+
				"token-based discovery without caCertHashes can be unsafe. Set unsafeSkipCAVerification as "+
				"true in your kubeadm config file to continue"))
		}
	}
	if d.TLSBootstrapToken != "" && !tokenPattern.MatchString(d.TLSBootstrapToken) && d.TLSBootstrapToken != d.Token {
		errs = append(errs, errors.New("discovery.tlsBootstrapToken: Invalid value: not of the form [a-z0-9]{6}.[a-z0-9]{16}"))
	}
	return errs
}

// duration parses the first non-empty value.
func duration(field string, values ...string) (time.Duration, error) {
	for _, v := range values {
		if v == "" {
			continue
		}
		d, err := time.ParseDuration(v)
		if err != nil {
			return 0, fmt.Errorf("%s: Invalid value: %q: not a duration such as 5m0s", field, v)
		}
		return d, nil
	}
	return 0, nil
}

// plain returns the first line of a decoder's error, because the other lines may quote the
// document, including the token.
func plain(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if len(line) > 200 {
		line = line[:200]
	}
	return errors.New(tokenAnywhere.ReplaceAllString(line, "<token>"))
}

var tokenAnywhere = regexp.MustCompile(`[a-z0-9]{6}\.[a-z0-9]{16}`)

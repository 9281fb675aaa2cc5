package staticpod

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// documents maps each kind of configuration file to a function that rewrites the paths in the file
// in place.
var documents = map[string]func(t *translation, folder string, d map[string]any) error{
	"config":                        (*translation).schedulerConfig,
	"admission-control-config-file": (*translation).admission,
	"authorization-config":          (*translation).authorization,
	"encryption-provider-config":    (*translation).encryption,
	"authentication-config":         (*translation).authentication,
}

// remake parses a configuration file, writes a checked copy and returns the copy's path, so that
// the program reads only checked text.
func (t *translation) remake(flag, guest string) (string, error) {
	guest = guestPath(guest)
	data, err := t.Files.ReadFile(guest)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", guest, err)
	}
	d := map[string]any{}
	if err := yaml.Unmarshal(data, &d); err != nil {
		return "", fmt.Errorf("%s is not YAML", guest) // the error could quote a key
	}
	if err := checkCase(d); err != nil {
		return "", fmt.Errorf("%s: %w", guest, err)
	}
	if err := documents[flag](t, path.Dir(guest), d); err != nil {
		return "", fmt.Errorf("%s: %w", guest, err)
	}
	made, err := yaml.Marshal(d)
	if err != nil {
		return "", err
	}
	return t.keep(flag+".yaml", made), nil
}

// naming are the fields that this package checks. A program that accepts another spelling of such a
// field would use an unchecked value.
var naming = []string{"clientConnection", "kubeconfig", "extenders", "tlsConfig", "certFile", "keyFile", "caFile",
	"plugins", "name", "path", "urlPrefix", "jwt", "issuer", "egressSelectorType",
	"authorizers", "webhook", "connectionInfo", "kubeConfigFile", "resources", "providers", "kms"}

// checkCase returns an error if the name of a field differs from a name in naming only in case.
func checkCase(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			known := slices.Contains(naming, key)
			if !known && slices.ContainsFunc(naming, func(n string) bool { return strings.EqualFold(n, key) }) {
				return fmt.Errorf("field %q is not spelled as Kubernetes does", key)
			}
			if err := checkCase(value); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := checkCase(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep records a file that must be written and returns its path.
func (t *translation) keep(name string, data []byte) string {
	p := filepath.Join(t.Private, fmt.Sprintf("%d-%s", len(t.command.Made), name))
	t.command.Made[p] = data
	return p
}

// schedulerConfig rewrites the paths and addresses in a KubeSchedulerConfiguration.
func (t *translation) schedulerConfig(folder string, d map[string]any) error {
	connection := object(d, "clientConnection")
	if err := t.field(folder, connection, "kubeconfig"); err != nil {
		return fmt.Errorf("clientConnection.%w", err)
	}
	for i, e := range list(d, "extenders") {
		if prefix, some := e["urlPrefix"]; some {
			address, _ := prefix.(string)
			mine, err := t.dialled(address)
			if err != nil {
				return fmt.Errorf("extenders[%d].urlPrefix: %w", i, err)
			}
			e["urlPrefix"] = mine
		}
		for _, name := range []string{"certFile", "keyFile", "caFile"} {
			files := object(e, "tlsConfig")
			named := text(files, name)
			if named == "" {
				continue
			}
			host, err := t.path(against(folder, named))
			if err != nil {
				return fmt.Errorf("extenders[%d].tlsConfig.%s: %w", i, name, err)
			}
			files[name] = host
		}
	}
	return nil
}

// admissionPlugins are the plugins whose configuration contains no file names.
var admissionPlugins = []string{"EventRateLimit", "PodNodeSelector", "PodSecurity", "PodTolerationRestriction", "ResourceQuota"}

// admission rewrites an AdmissionConfiguration; it inlines the files of its plugins.
func (t *translation) admission(folder string, d map[string]any) error {
	for i, p := range list(d, "plugins") {
		if name := text(p, "name"); !slices.Contains(admissionPlugins, name) {
			return fmt.Errorf("plugins[%d].name: %q is refused here: its configuration could name files of the real machine", i, name)
		}
		named := text(p, "path")
		if named == "" {
			continue
		}
		data, err := t.Files.ReadFile(against(folder, named))
		if err != nil {
			return fmt.Errorf("plugins[%d].path: %w", i, err)
		}
		var inner any
		if err := yaml.Unmarshal(data, &inner); err != nil {
			return fmt.Errorf("plugins[%d].path: %s is not YAML", i, named)
		}
		delete(p, "path")
		p["configuration"] = inner
	}
	return nil
}

// authorization rewrites the paths in an AuthorizationConfiguration.
func (t *translation) authorization(folder string, d map[string]any) error {
	for i, a := range list(d, "authorizers") {
		if err := t.field(folder, object(object(a, "webhook"), "connectionInfo"), "kubeConfigFile"); err != nil {
			return fmt.Errorf("authorizers[%d].webhook.connectionInfo.%w", i, err)
		}
	}
	return nil
}

// authentication makes the API server contact the issuers of an AuthenticationConfiguration from
// inside the guest. Each emulated release supports that (feature gate
// StructuredAuthenticationConfigurationEgressSelector, on since 1.34).
func (t *translation) authentication(_ string, d map[string]any) error {
	for i, a := range list(d, "jwt") {
		if t.EgressConfig == "" {
			return fmt.Errorf("jwt[%d].issuer is refused: the API server would ask it on this computer's network, and not the guest's", i)
		}
		issuer, isObject := a["issuer"].(map[string]any)
		if !isObject {
			return fmt.Errorf("jwt[%d].issuer: an object is expected", i)
		}
		issuer["egressSelectorType"] = "controlplane"
	}
	return nil
}

// encryption checks an EncryptionConfiguration, which must not name a KMS socket.
func (t *translation) encryption(_ string, d map[string]any) error {
	for i, r := range list(d, "resources") {
		for j, p := range list(r, "providers") {
			if _, kms := p["kms"]; kms {
				return fmt.Errorf("resources[%d].providers[%d].kms is refused: it names a socket of the real machine", i, j)
			}
		}
	}
	return nil
}

// field replaces the path of a guest's kubeconfig in a document by the path of a checked copy.
func (t *translation) field(folder string, d map[string]any, name string) error {
	value, some := d[name]
	if !some || value == "" {
		return nil
	}
	named, isText := value.(string)
	if !isText {
		return fmt.Errorf("%s: %w", name, errors.New("a path is expected"))
	}
	made, err := t.remakeKubeconfig(name, against(folder, named))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	d[name] = made
	return nil
}

func against(folder, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return guestPath(path.Join(folder, p))
}

// object returns a field that is an object, or an empty object.
func object(d map[string]any, name string) map[string]any {
	o, _ := d[name].(map[string]any)
	return o
}

func list(d map[string]any, name string) []map[string]any {
	var out []map[string]any
	items, _ := d[name].([]any)
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			out = append(out, o)
		}
	}
	return out
}

func text(d map[string]any, name string) string {
	s, _ := d[name].(string)
	return s
}

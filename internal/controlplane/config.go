package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	kubeadmapi "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"sigs.k8s.io/yaml"
)

// documentEnd is the line between two YAML documents.
var documentEnd = regexp.MustCompile(`(?m)^---[ \t]*$`)

// versionLine matches the requested version in a ClusterConfiguration.
var versionLine = regexp.MustCompile(`(?m)^kubernetesVersion:[ \t]*"?([^\s"]+)"?[ \t]*$`)

// replaceVersion replaces the requested version by the embedded one, because kubeadm
// refuses versions more than one minor away. It returns the requested version.
func replaceVersion(data []byte, builtIn string) (asked string, out []byte) {
	builtIn = "v" + builtIn
	asked = builtIn
	if m := versionLine.FindSubmatch(data); m != nil {
		asked = string(m[1])
	}
	return asked, versionLine.ReplaceAll(data, []byte("kubernetesVersion: "+builtIn))
}

// edit rewrites each YAML document of a kubeadm configuration.
func edit(data []byte, change func(object map[string]any)) ([]byte, error) {
	var out [][]byte
	for _, doc := range documentEnd.Split(string(data), -1) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			return nil, fmt.Errorf("read the kubeadm configuration: %w", err)
		}
		if len(object) == 0 {
			continue
		}
		change(object)
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return bytes.Join(out, []byte("---\n")), nil
}

// setAdvertiseAddress sets localAPIEndpoint.advertiseAddress and the node's name in the InitConfiguration if they are
// empty; 0.0.0.0 and :: mean the machine's address of that family. kubeadm would read them from the host's interfaces,
// which are not the guest's.
func setAdvertiseAddress(data []byte, addresses []string, nodeName string) ([]byte, error) {
	found := false
	out, err := edit(data, func(object map[string]any) {
		if object["kind"] == "InitConfiguration" {
			found = true
			for _, a := range addresses {
				fill(object, "localAPIEndpoint", "advertiseAddress", a)
				section := object["localAPIEndpoint"].(map[string]any)
				have, _ := section["advertiseAddress"].(string)
				if asked, err := netip.ParseAddr(have); err == nil && asked.IsUnspecified() && asked.Is6() == strings.Contains(a, ":") {
					section["advertiseAddress"] = a
				}
			}
			fill(object, "nodeRegistration", "name", nodeName)
		}
	})
	if err == nil && !found {
		err = errors.New("read the kubeadm configuration: there is no InitConfiguration")
	}
	return out, err
}

// lostGates are kubeadm's feature gates that were removed before the embedded release because their behaviour had
// become unconditional. PublicKeysECDSA is in the list because v1beta4 has a field instead.
var lostGates = []string{"ControlPlaneKubeletLocalMode", "EtcdLearnerMode", "IPv6DualStack", "NodeLocalCRISocket", publicKeysECDSA,
	"UnversionedKubeletConfigMap", "UpgradeAddonsBeforeControlPlane", "WaitForAllControlPlaneComponents"}

const publicKeysECDSA = "PublicKeysECDSA"

// dropLostGates removes lostGates from a ClusterConfiguration of an older release and returns the removed names. Any
// other unknown gate is an error, as in a real cluster.
func dropLostGates(data []byte) (out []byte, dropped []string, err error) {
	out, err = edit(data, func(object map[string]any) {
		gates, ok := object["featureGates"].(map[string]any)
		if !ok || object["kind"] != "ClusterConfiguration" {
			return
		}
		for _, gate := range lostGates {
			on, ok := gates[gate]
			if !ok {
				continue
			}
			delete(gates, gate)
			dropped = append(dropped, gate)
			if gate == publicKeysECDSA && on == true {
				object["encryptionAlgorithm"] = string(kubeadmapi.EncryptionAlgorithmECDSAP256)
			}
		}
	})
	return out, dropped, err
}

const (
	v1beta3 = "kubeadm.k8s.io/v1beta3"
	v1beta4 = "kubeadm.k8s.io/v1beta4"
)

// withoutV1beta3 is the first minor whose kubeadm refuses v1beta3.
// Source: kubernetes v1.37 cmd/kubeadm/app/util/config/common.go.
const withoutV1beta3 = 37

// convert rewrites v1beta3 as v1beta4 for a release whose own kubeadm reads v1beta3. Cluster API writes v1beta3 for
// releases before 1.31. For a newer release it changes nothing, so that kubeadm refuses v1beta3. Source: kubernetes
// v1.36 cmd/kubeadm/app/apis/kubeadm/v1beta3/conversion.go.
func convert(data []byte, asked string) (out []byte, converted bool, err error) {
	if v, err := version.ParseGeneric(asked); err != nil || v.AtLeast(version.MajorMinor(1, withoutV1beta3)) {
		return data, false, nil
	}
	var limit any
	out, err = edit(data, func(object map[string]any) {
		if object["apiVersion"] != v1beta3 {
			return
		}
		object["apiVersion"], converted = v1beta4, true
		for _, at := range []struct{ parent, args string }{
			{"apiServer", "extraArgs"}, {"controllerManager", "extraArgs"}, {"scheduler", "extraArgs"},
			{"nodeRegistration", "kubeletExtraArgs"},
		} {
			listArgs(object, at.parent, at.args)
		}
		if etcd, ok := object["etcd"].(map[string]any); ok {
			listArgs(etcd, "local", "extraArgs")
		}
		if server, ok := object["apiServer"].(map[string]any); ok {
			limit = server["timeoutForControlPlane"]
			delete(server, "timeoutForControlPlane")
		}
	})
	if err != nil || limit == nil {
		return out, converted, err
	}
	out, err = edit(out, func(object map[string]any) {
		if object["kind"] == "InitConfiguration" {
			fill(object, "timeouts", "controlPlaneComponentHealthCheck", limit)
		}
	})
	return out, converted, err
}

// listArgs converts a map of arguments of v1beta3 to the list of v1beta4.
func listArgs(object map[string]any, parent, key string) {
	section, ok := object[parent].(map[string]any)
	if !ok {
		return
	}
	args, ok := section[key].(map[string]any)
	if !ok {
		return
	}
	list := make([]any, 0, len(args))
	for _, name := range slices.Sorted(maps.Keys(args)) {
		list = append(list, map[string]any{"name": name, "value": args[name]})
	}
	section[key] = list
}

func fill(object map[string]any, part, key string, value any) {
	section, ok := object[part].(map[string]any)
	if !ok {
		section = map[string]any{}
		object[part] = section
	}
	if s, ok := section[key].(string); !ok || s == "" {
		section[key] = value
	}
}

// initConfiguration returns an InitConfiguration with the machine's part of a JoinConfiguration.
func initConfiguration(join []byte) ([]byte, error) {
	for _, doc := range documentEnd.Split(string(join), -1) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			return nil, errors.New("read the JoinConfiguration: it is no YAML") // the error would quote the token
		}
		if object["kind"] != "JoinConfiguration" {
			continue
		}
		init := map[string]any{"apiVersion": object["apiVersion"], "kind": "InitConfiguration",
			"nodeRegistration": object["nodeRegistration"]}
		if part, ok := object["controlPlane"].(map[string]any); ok {
			init["localAPIEndpoint"] = part["localAPIEndpoint"]
		}
		for key, value := range init {
			if value == nil {
				delete(init, key)
			}
		}
		return yaml.Marshal(init)
	}
	return nil, errors.New("there is no JoinConfiguration in the file that --config names")
}

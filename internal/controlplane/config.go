package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"sigs.k8s.io/yaml"
)

// documentEnd is the line between two YAML documents.
var documentEnd = regexp.MustCompile(`(?m)^---[ \t]*$`)

// versionLine is the asked-for version in a ClusterConfiguration.
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

// setAdvertiseAddress fills localAPIEndpoint.advertiseAddress and the node's
// name in the InitConfiguration, where they are empty. kubeadm would look for
// them on the host's interfaces, which are not the guest's.
func setAdvertiseAddress(data []byte, address, nodeName string) ([]byte, error) {
	var out [][]byte
	found := false
	for _, doc := range documentEnd.Split(string(data), -1) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			return nil, fmt.Errorf("read the kubeadm configuration: %w", err)
		}
		if len(object) == 0 {
			continue
		}
		if object["kind"] == "InitConfiguration" {
			found = true
			fill(object, "localAPIEndpoint", "advertiseAddress", address)
			fill(object, "nodeRegistration", "name", nodeName)
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	if !found {
		return nil, fmt.Errorf("read the kubeadm configuration: there is no InitConfiguration")
	}
	return bytes.Join(out, []byte("---\n")), nil
}

// lostGates are kubeadm's feature gates that were removed before the embedded release, each after
// its behaviour had become unconditional.
var lostGates = []string{"ControlPlaneKubeletLocalMode", "EtcdLearnerMode", "IPv6DualStack",
	"UnversionedKubeletConfigMap", "UpgradeAddonsBeforeControlPlane", "WaitForAllControlPlaneComponents"}

// dropLostGates removes lostGates from a ClusterConfiguration of an older release and returns the
// names that it removed. Any other unknown gate fails, as it would in a real cluster.
func dropLostGates(data []byte) (out []byte, dropped []string, err error) {
	var docs [][]byte
	for _, doc := range documentEnd.Split(string(data), -1) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			return nil, nil, fmt.Errorf("read the kubeadm configuration: %w", err)
		}
		if gates, ok := object["featureGates"].(map[string]any); ok && object["kind"] == "ClusterConfiguration" {
			for _, gate := range lostGates {
				if _, ok := gates[gate]; ok {
					delete(gates, gate)
					dropped = append(dropped, gate)
				}
			}
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, nil, err
		}
		docs = append(docs, text)
	}
	return bytes.Join(docs, []byte("---\n")), dropped, nil
}

func fill(object map[string]any, part, key, value string) {
	section, ok := object[part].(map[string]any)
	if !ok {
		section = map[string]any{}
		object[part] = section
	}
	if s, ok := section[key].(string); !ok || s == "" {
		section[key] = value
	}
}

// initConfiguration makes an InitConfiguration of what a JoinConfiguration says of
// the machine.
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

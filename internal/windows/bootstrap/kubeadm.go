package bootstrap

import (
	"errors"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kubeadm checks the configuration for kubeadm.
func (c *checker) kubeadm(field string, content *yaml.Node, text string, commands []string) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			c.fail(field+".content", content.Line, "the kubeadm configuration is not valid YAML",
				"look at the KubeadmConfig's joinConfiguration")
			return
		}
		if len(document.Content) == 0 {
			continue
		}
		c.kubeadmDocument(field, content.Line, document.Content[0], commands)
	}
}

func (c *checker) kubeadmDocument(field string, line int, doc *yaml.Node, commands []string) {
	kind := value(doc, "kind")
	if kind == nil {
		return
	}
	if c.windows() && (kind.Value == "InitConfiguration" || kind.Value == "ClusterConfiguration" || present(value(doc, "controlPlane"))) {
		c.fail(field, line, "the data makes a control plane, which cannot run on Windows", "use a Linux image for control planes")
		return
	}
	registration := value(doc, "nodeRegistration")
	if registration == nil {
		return
	}
	c.criSocket(field, line, value(registration, "criSocket"))
	if c.windows() {
		c.kubeletArguments(field, line, value(registration, "kubeletExtraArgs"), commands)
	}
}

func present(n *yaml.Node) bool { return n != nil && n.Tag != "!!null" }

func (c *checker) criSocket(field string, line int, socket *yaml.Node) {
	if socket == nil || socket.Value == "" {
		return
	}
	pipe := strings.HasPrefix(socket.Value, "npipe:") || strings.HasPrefix(socket.Value, `\\.\pipe\`)
	docker := strings.Contains(socket.Value, "docker")
	switch {
	case c.windows() && !pipe && !docker:
		c.fail(field+" criSocket", line,
			"the container runtime's socket is not a Windows pipe, so kubeadm finds no runtime",
			"set nodeRegistration.criSocket to npipe:////./pipe/containerd-containerd")
	case !c.windows() && pipe:
		c.fail(field+" criSocket", line, "the container runtime's socket is a Windows pipe on a Linux machine",
			"set nodeRegistration.criSocket to unix:///var/run/containerd/containerd.sock")
	}
}

// kubeletArguments warns about extra arguments that images handle differently.
func (c *checker) kubeletArguments(field string, line int, node *yaml.Node, commands []string) {
	arguments := argumentsOf(node)
	if len(arguments) == 0 {
		return
	}
	mentions := func(word string) bool {
		return slices.ContainsFunc(commands, func(s string) bool { return strings.Contains(strings.ToLower(s), word) })
	}
	if !mentions("restartkubelet.ps1") && !mentions("nssm") {
		c.warn(field+" kubeletExtraArgs", line,
			"images whose kubelet is a Windows service of its own ignore these arguments at the first start",
			`run C:\k\RestartKubelet.ps1 in postKubeadmCommands where the image has it`)
	}
}

// argumentsOf returns the arguments from either form of kubeadm's API: a map, or a list of names and values.
func argumentsOf(n *yaml.Node) map[string]string {
	arguments := map[string]string{}
	if n == nil {
		return arguments
	}
	for k, v := range pairs(n) {
		arguments[k.Value] = v.Value
	}
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			name, v := value(item, "name"), value(item, "value")
			if name != nil && v != nil {
				arguments[name.Value] = v.Value
			}
		}
	}
	return arguments
}

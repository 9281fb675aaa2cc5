package bootstrap

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxPassword is the maximum length of a password that cloudbase-init sets; it skips a user with a longer one.
const maxPassword = 20

// cloudConfig checks the YAML document.
func (c *checker) cloudConfig(text string) {
	root, ok := c.parse(text)
	if !ok || root == nil {
		return
	}
	if root.Kind != yaml.MappingNode {
		c.fail("", root.Line, "the cloud-config is not a map of keys", "give it keys such as write_files and runcmd")
		return
	}
	commands := commandsOf(value(root, "runcmd"))
	for key, node := range pairs(root) {
		switch key.Value {
		case "write_files":
			c.files(node, text, commands)
		case "users":
			c.users(node)
		case "runcmd":
			c.runcmd(node)
		case "bootcmd", "disk_setup", "fs_setup", "mounts", "packages", "swap", "ssh_authorized_keys", "chpasswd", "power_state", "apt":
			if c.windows() {
				c.warn(key.Value, key.Line, "cloudbase-init does not know this key and skips it", "do it in preKubeadmCommands")
			}
		}
	}
}

// parse parses the document. It shortens a YAML error, so that the error quotes nothing of the document.
func (c *checker) parse(text string) (*yaml.Node, bool) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		line := 0
		if m := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(err.Error()); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				line = n
			}
		}
		c.fail("", line, "the cloud-config is not valid YAML, and the agent rejects all of it",
			"look at files whose content begins with a blank, and at unquoted colons in commands")
		return nil, false
	}
	if len(document.Content) == 0 {
		return nil, true
	}
	return document.Content[0], true
}

func (c *checker) files(node *yaml.Node, text string, commands []string) {
	lines := strings.Split(text, "\n")
	for i, item := range itemsOf(node) {
		field := fmt.Sprintf("write_files[%d]", i)
		path, content := value(item, "path"), value(item, "content")
		if path == nil || path.Value == "" || content == nil {
			c.fail(field, item.Line, "the file has no path or no content and is skipped", "give it both")
			continue
		}
		encoding := value(item, "encoding")
		body := content.Value
		if encoding != nil {
			body = c.decode(field, encoding, content)
		}
		c.indentation(field, content, lines)
		if strings.HasSuffix(path.Value, "kubeadm-join-config.yaml") ||
			strings.HasSuffix(path.Value, "kubeadm.yaml") || strings.HasSuffix(path.Value, "/kubeadm.yml") {
			c.kubeadm(field, content, body, commands)
		}
	}
}

// decode checks an encoding and decodes base64; it does not decompress content.
func (c *checker) decode(field string, encoding, content *yaml.Node) string {
	switch encoding.Value {
	case "", "text/plain", "gz", "gzip":
		return content.Value
	case "b64", "base64", "gz+base64", "gzip+base64", "gz+b64", "gzip+b64":
	default:
		c.warn(field+".encoding", encoding.Line, "the encoding is not known, and the content is written as it is",
			"use base64 or gzip+base64")
		return content.Value
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content.Value), ""))
	if err != nil {
		c.fail(field+".content", content.Line, "the content is not base64, and is written as it is", "encode it, or remove the encoding")
		return ""
	}
	if strings.HasPrefix(encoding.Value, "gz") {
		return ""
	}
	return string(data)
}

// indentation warns about a literal block whose first line begins with blanks: YAML interprets them as the block's
// indentation and drops them from every line.
func (c *checker) indentation(field string, content *yaml.Node, lines []string) {
	if content.Style != yaml.LiteralStyle || content.Line < 1 || content.Line >= len(lines) {
		return
	}
	header, first := lines[content.Line-1], lines[content.Line]
	indent := len(first) - len(strings.TrimLeft(first, " "))
	key := strings.Index(header, "content:")
	if key >= 0 && regexp.MustCompile(`content:\s*\|[-+]?\s*$`).MatchString(header) && indent > key+2 && strings.TrimSpace(first) != "" {
		c.warn(field+".content", content.Line+1,
			"the first line begins with blanks, which YAML drops from all lines",
			"begin the content in the first column, or encode it with base64")
	}
}

func (c *checker) users(node *yaml.Node) {
	if !c.windows() {
		return
	}
	for i, item := range itemsOf(node) {
		password := value(item, "passwd")
		if password != nil && len(password.Value) > maxPassword {
			c.fail(fmt.Sprintf("users[%d].passwd", i), password.Line,
				fmt.Sprintf("the password has more than %d characters, so cloudbase-init skips the user with "+
					"its SSH keys; it takes plain text, not a hash", maxPassword), "shorten or remove it")
		}
	}
}

func (c *checker) runcmd(node *yaml.Node) {
	for i, item := range itemsOf(node) {
		if item.Kind == yaml.MappingNode {
			c.fail(fmt.Sprintf("runcmd[%d]", i), item.Line, "the command is a map, and no command at all is run",
				"quote the command: it has a colon and a blank")
		}
		if c.windows() && item.Kind == yaml.ScalarNode && strings.ContainsAny(item.Value, "\n") {
			c.warn(fmt.Sprintf("runcmd[%d]", i), item.Line,
				"the command has several lines, which become lines of one batch file", "use one command per line")
		}
	}
}

// pairs returns an iterator over a map's keys and values.
func pairs(m *yaml.Node) func(func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if m == nil || m.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			if !yield(m.Content[i], m.Content[i+1]) {
				return
			}
		}
	}
}

// value returns the value of a key in a map, or nil.
func value(m *yaml.Node, name string) *yaml.Node {
	for k, v := range pairs(m) {
		if k.Value == name {
			return v
		}
	}
	return nil
}

// itemsOf returns the elements of a list. Like the agents, it treats a map as a list with the map as its only element.
func itemsOf(n *yaml.Node) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	case n.Kind == yaml.MappingNode:
		return []*yaml.Node{n}
	}
	return nil
}

// commandsOf returns the commands as text.
func commandsOf(n *yaml.Node) []string {
	var commands []string
	for _, item := range itemsOf(n) {
		text := item.Value
		for _, word := range item.Content {
			text += " " + word.Value
		}
		commands = append(commands, text)
	}
	return slices.Clip(commands)
}

package loader

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// file is a file that the script writes.
type file struct {
	path, owner, mode string
	content           []byte
	append, templated bool
}

// document is a parsed cloud-config.
type document struct {
	public   []byte // cloud-config that stays in the custom data
	files    []file
	commands string
}

// public has the keys that stay in the custom data, where the agent applies them; users only without a password.
var public = map[string]bool{
	"users": true, "groups": true, "ntp": true, "timezone": true, "disk_setup": true, "fs_setup": true,
	"mounts": true, "bootcmd": true, "hostname": true,
}

// maxFile is the maximum decompressed size of a file, in bytes.
const maxFile = 4 << 20

func split(data []byte, windows bool) (document, error) {
	text, err := render(data)
	if err != nil {
		return document{}, err
	}
	if !strings.HasPrefix(text, "#cloud-config") {
		return document{}, &Error{
			"the bootstrap data", "it is no cloud-config, which is all that can be kept in a vault",
			"keep this machine's bootstrap data in its custom data",
		}
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil || len(root.Content) != 1 || root.Content[0].Kind != yaml.MappingNode {
		return document{}, &Error{"the bootstrap data", "it is no map of cloud-config keys", "look at the KubeadmConfig"}
	}
	var d document
	rest := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(root.Content[0].Content); i += 2 {
		key, value := root.Content[0].Content[i], root.Content[0].Content[i+1]
		switch {
		case key.Value == "write_files":
			err = d.addFiles(value, windows)
		case key.Value == "runcmd":
			d.commands, err = commands(value, windows)
		case public[key.Value]:
			err = shown(key.Value, value)
			rest.Content = append(rest.Content, key, value)
		default:
			err = &Error{key.Value, "this key of cloud-config may hold secrets and cannot be kept in a vault",
				"do it in preKubeadmCommands, or keep this machine's bootstrap data in its custom data"}
		}
		if err != nil {
			return document{}, err
		}
	}
	if len(rest.Content) > 0 {
		if d.public, err = yaml.Marshal(rest); err != nil {
			return document{}, err
		}
	}
	return d, nil
}

// shown returns an error if a public value contains a secret, or a template that no agent evaluates.
func shown(key string, n *yaml.Node) error {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && (c.Value == "passwd" || c.Value == "plain_text_passwd" || c.Value == "hashed_passwd") {
			return &Error{key + " (" + c.Value + ")",
				"a password would be in custom data, where all on the machine may read it", "use SSH keys"}
		}
		if strings.Contains(c.Value, hostnameMark) {
			return &Error{key, "it has a template expression, and templates are rendered in files and commands only", "write the value out"}
		}
		if err := shown(key, c); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) addFiles(list *yaml.Node, windows bool) error {
	for i, item := range list.Content {
		var given struct {
			Path, Encoding, Owner, Content string
			Permissions                    yaml.Node
			Append                         bool
		}
		field := fmt.Sprintf("write_files[%d]", i)
		if err := item.Decode(&given); err != nil || given.Path == "" {
			return &Error{field, "it has no path, or no text as content", "look at the files of the KubeadmConfig"}
		}
		f := file{path: given.Path, owner: given.Owner, mode: "0644", append: given.Append}
		if given.Permissions.Value != "" {
			mode, err := strconv.ParseUint(given.Permissions.Value, 8, 12)
			if err != nil {
				return &Error{field + ".permissions", "it is no octal number", "write it as in 0640"}
			}
			f.mode = fmt.Sprintf("%04o", mode)
		}
		var err error
		if f.content, err = decode(given.Encoding, given.Content); err != nil {
			return &Error{field + ".content", err.Error(), "encode it as its encoding says"}
		}
		f.templated = bytes.Contains(f.content, []byte(hostnameMark))
		if windows {
			f.path = windowsPath(f.path)
		}
		if strings.ContainsAny(f.path+f.owner, "'\n") {
			return &Error{field + ".path", "it has a quote in it", "choose another name"}
		}
		d.files = append(d.files, f)
	}
	return nil
}

func decode(encoding, content string) ([]byte, error) {
	zipped := strings.HasPrefix(encoding, "gz")
	switch encoding {
	case "b64", "base64", "gz+base64", "gzip+base64", "gz+b64", "gzip+b64":
	case "", "text/plain":
		return []byte(content), nil
	default:
		return nil, fmt.Errorf("its encoding is not known")
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content), ""))
	if err != nil {
		return nil, fmt.Errorf("it is not base64")
	}
	if !zipped {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it is not gzip")
	}
	data, err = io.ReadAll(io.LimitReader(z, maxFile))
	if err != nil {
		return nil, fmt.Errorf("it is not gzip")
	}
	return data, nil
}

var drive = regexp.MustCompile(`^[A-Za-z]:`)

// windowsPath returns the absolute form of a Windows path: a path without a drive is on C:.
func windowsPath(p string) string {
	if !drive.MatchString(p) {
		p = "C:" + p
	}
	return strings.ReplaceAll(p, "/", `\`)
}

// commands returns the entries of runcmd as one script for the image's agent.
func commands(list *yaml.Node, windows bool) (string, error) {
	var lines []string
	for i, item := range list.Content {
		line := item.Value
		switch item.Kind {
		case yaml.ScalarNode:
		case yaml.SequenceNode:
			var words []string
			for _, w := range item.Content {
				if windows {
					words = append(words, w.Value)
				} else {
					words = append(words, "'"+strings.ReplaceAll(w.Value, "'", `'\''`)+"'")
				}
			}
			line = strings.Join(words, " ")
		default:
			return "", &Error{fmt.Sprintf("runcmd[%d]", i), "it is neither a string nor a list",
				"quote the command: it has a colon and a blank"}
		}
		lines = append(lines, line)
	}
	if windows {
		return "rem cmd\r\n" + strings.Join(lines, "\r\n") + "\r\n", nil
	}
	return "#!/bin/sh\n" + strings.Join(lines, "\n") + "\n", nil
}

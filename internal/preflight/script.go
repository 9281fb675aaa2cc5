package preflight

import (
	"encoding/base64"
	"path"
	"strings"

	"casement.dev/casement/internal/lint"
)

// scriptLines returns the check of the line ends of scripts for Linux machines.
func (c checker) scriptLines() []lint.Rule {
	return []lint.Rule{{
		ID: "PRE602", Severity: lint.Error, Title: "A script for Linux with line ends of Windows", Oracle: lint.Unit,
		Doc: "A carriage return before the end of a line belongs to the line on Linux: `#!/bin/sh\\r` names an interpreter that there " +
			"is not (\"bad interpreter: No such file or directory\"), and the last word of each command has a character more. It is in " +
			"YAML as \\r in double quotes, or inside of base64; a block of YAML has none, whatever the file's own line ends are. " +
			"Windows takes both.",
		Check: c.eachCluster(func(p *lint.Pass, cluster *Cluster) {
			seen := map[*lint.Object]bool{nil: true}
			for _, m := range cluster.Machines {
				if seen[m.Bootstrap] || m.Infra == nil || m.Windows() {
					continue
				}
				seen[m.Bootstrap] = true
				spec := kubeadm(m.Bootstrap)
				for _, list := range []string{"bootCommands", "preKubeadmCommands", "postKubeadmCommands"} {
					for _, command := range spec.At(list).Items() {
						if strings.Contains(command.Str(), "\r") {
							p.Report(m.Bootstrap, command, "a command for Linux has a carriage return", say("\\n alone at the end of lines"))
						}
					}
				}
				for _, file := range spec.At("files").Items() {
					if text := fileText(file); isScript(file.At("path").Str(), text) && strings.Contains(text, "\r\n") {
						p.Report(m.Bootstrap, file.At("content"), "a script for Linux has line ends of Windows (\\r\\n)",
							say("\\n alone at the end of lines, as dos2unix writes them"))
					}
				}
			}
		}),
	}}
}

// fileText returns the content of a file in bootstrap data, decoded if it is base64.
func fileText(file lint.Value) string {
	text := file.At("content").Str()
	switch file.At("encoding").Str() {
	case "base64", "b64":
		if data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err == nil {
			return string(data)
		}
	}
	return text
}

// isScript reports whether Linux executes a file, or reads it line by line like systemd.
func isScript(name, text string) bool {
	switch path.Ext(name) {
	case ".sh", ".bash", ".py", ".service", ".conf", ".timer":
		return true
	}
	return strings.HasPrefix(text, "#!")
}

package loader

import (
	"encoding/base64"
	"fmt"
	"path"
	"strings"
)

// The directories in which the scripts store the commands while they run.
const (
	linuxCommands   = "/run/casement/commands.sh"
	windowsCommands = `C:\run\casement\commands.cmd`
)

// all returns the files of the document, followed by a file with its commands.
func (d document) all(commands string) []file {
	return append(append([]file(nil), d.files...), file{
		path: commands, owner: "root:root", mode: "0700", content: []byte(d.commands),
		templated: strings.Contains(d.commands, hostnameMark),
	})
}

// sh returns the script for a Linux machine. The mode of a file is set before its content is written.
func (d document) sh() string {
	var b strings.Builder
	b.WriteString("host=$(hostname)\n")
	for _, f := range d.all(linuxCommands) {
		redirect := ">"
		fmt.Fprintf(&b, "mkdir -p '%s'\n", path.Dir(f.path))
		if f.append {
			redirect = ">>"
		} else {
			fmt.Fprintf(&b, "rm -f '%s'\n", f.path)
		}
		fmt.Fprintf(&b, ": >>'%s'\nchmod %s '%s'\n", f.path, f.mode, f.path)
		if f.owner != "" {
			fmt.Fprintf(&b, "chown '%s' '%s'\n", f.owner, f.path)
		}
		filter := ""
		if f.templated {
			filter = fmt.Sprintf(` | sed "s/%s/$host/g"`, hostnameMark)
		}
		fmt.Fprintf(&b, "base64 -d <<'END'%s %s'%s'\n%s\nEND\n", filter, redirect, f.path, base64.StdEncoding.EncodeToString(f.content))
	}
	fmt.Fprintf(&b, "sh %s\ncode=$?\nrm -f %s\nexit $code\n", linuxCommands, linuxCommands)
	return b.String()
}

// powershell returns the script for a Windows machine; the loader sets $name for it.
func (d document) powershell() string {
	var b strings.Builder
	for _, f := range d.all(windowsCommands) {
		dir := f.path[:max(strings.LastIndexByte(f.path, '\\'), 0)]
		if len(dir) > len("C:") {
			fmt.Fprintf(&b, "New-Item -ItemType Directory -Force -Path '%s' | Out-Null\n", dir)
		}
		content := fmt.Sprintf("[Convert]::FromBase64String('%s')", base64.StdEncoding.EncodeToString(f.content))
		method := "WriteAllBytes"
		if f.templated || f.append {
			content = fmt.Sprintf("[Text.Encoding]::UTF8.GetString(%s).Replace('%s', $name)", content, hostnameMark)
			method = "WriteAllText"
		}
		if f.append {
			method = "AppendAllText"
		}
		fmt.Fprintf(&b, "[IO.File]::%s('%s', %s)\n", method, f.path, content)
	}
	fmt.Fprintf(&b, "cmd.exe /c '%s'\n$code = $LASTEXITCODE\nRemove-Item -Force -Path '%s'\nexit $code\n", windowsCommands, windowsCommands)
	return b.String()
}

package rules

import (
	"path"
	"strings"

	"casement.dev/casement/internal/lint"
)

// builtins are commands that cmd.exe implements itself.
var builtins = strings.Fields("dir echo type copy del set if mkdir md cd move ver exit rem call ren rmdir rd start cls for")

// linuxTools are programs that Windows images do not have (they do have curl and tar).
var linuxTools = strings.Fields("sleep cat ls touch kill test true false wget nc env grep sed awk chmod chown ln rm cp mv head tail")

// commands returns the fields of a container that name a program.
func commands(c lint.Container) []lint.Value {
	out := []lint.Value{c.At("command")}
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		out = append(out, c.At(probe, "exec", "command"))
	}
	return append(out, c.At("lifecycle", "postStart", "exec", "command"), c.At("lifecycle", "preStop", "exec", "command"))
}

// program returns the first word of a command, and its name as Windows looks for it.
func program(v lint.Value) (first lint.Value, name string) {
	items := v.Items()
	if len(items) == 0 {
		return lint.Value{}, ""
	}
	base := path.Base(strings.ReplaceAll(items[0].Str(), `\`, "/"))
	return items[0], strings.TrimSuffix(strings.ToLower(base), ".exe")
}

func command(words string) string { return windowsPod + container + "    command: [" + words + "]\n" }

// eachProgram runs check for the program that a command starts.
func eachProgram(check func(p *lint.Pass, pod *lint.Pod, c lint.Container, command, first lint.Value,
	name string)) func(*lint.Pass, *lint.Pod) {
	return eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
		for _, v := range commands(c) {
			if first, name := program(v); name != "" {
				check(p, pod, c, v, first, name)
			}
		}
	})
}

package logs

import (
	"context"
	"fmt"
	"strings"
)

// agentLines is the approximate number of lines in the 4096 bytes that Run Command returns.
const agentLines = 30

// Agent reads the ends of logs with Azure's Run Command, which the VM's agent executes even if the machine has not
// become a node. It cannot follow logs.
type Agent struct {
	// Run runs a script, in PowerShell or sh.
	Run     func(ctx context.Context, script string) (stdout, stderr string, err error)
	Node    string
	Windows bool
}

// Via implements Reader.
func (r Agent) Via() string { return "Run Command" }

// Read implements Reader.
func (r Agent) Read(ctx context.Context, s Source, o Options, p *Printer) error {
	title := r.Node + " " + s.Name + ": the last lines, by Run Command"
	out, errOut, err := r.Run(ctx, script(s.at(r.Windows), r.Windows))
	if err != nil {
		return fmt.Errorf("%s: %w", r.Node+" "+s.Name, err)
	}
	if s.ControlPlane && strings.TrimSpace(out) == "" {
		return nil
	}
	log := p.Log(title, o)
	if _, err := log.Write([]byte(out)); err != nil {
		return err
	}
	if err := log.Close(); err != nil {
		return err
	}
	if text := strings.TrimSpace(errOut); text != "" && strings.TrimSpace(out) == "" {
		p.Note("%s: %s", title, text)
	}
	return nil
}

// script returns a script that prints the end of the log at a place.
func script(at Place, windows bool) string {
	switch {
	case at.Command != "":
		return at.Command
	case at.Unit != "":
		return fmt.Sprintf("journalctl --no-pager -o short-iso -n %d -u %s", agentLines, at.Unit)
	case !windows:
		return fmt.Sprintf("tail -n %d %s", agentLines, strings.Join(at.Files, " "))
	}
	var paths []string
	for _, f := range at.Files {
		paths = append(paths, "'"+strings.ReplaceAll(f, "/", `\`)+"'")
	}
	return fmt.Sprintf("Get-Content -Tail %d -ErrorAction SilentlyContinue -Path %s", agentLines, strings.Join(paths, ","))
}

package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"casement.dev/casement/internal/sim/guest/posh"
)

var assignsVariable = regexp.MustCompile(`(?m)^\s*\$[A-Za-z_]\w*\s*=`)

// program runs a script that is a program; ok is false for one that is none.
func (ps *powershell) program(ctx context.Context, script string) (code int, ok bool) {
	if !assignsVariable.MatchString(script) {
		return 0, false
	}
	host := &poshHost{ps: ps}
	program, err := posh.Parse(script, host.Known)
	if err != nil {
		return 0, false
	}
	code, err = program.Run(ctx, host)
	if err != nil {
		ps.shell.guest.Overrun(err.Error())
	}
	return code, true
}

// poshHost lets a program act on the guest.
type poshHost struct {
	ps *powershell
	// exit is the code of the last native command.
	exit int
}

// Known implements posh.Host.
func (h *poshHost) Known(name string) bool {
	switch name {
	case "invoke-restmethod", "irm", "start-sleep", "new-item", "remove-item", "test-path", "write-output", "write-host", "out-null", "invoke-expression", "iex", "cmd":
		return true
	}
	return false
}

// Command implements posh.Host.
func (h *poshHost) Command(ctx context.Context, name string, args []any, parameters map[string]any) (any, error) {
	switch name {
	case "invoke-restmethod", "irm":
		return h.restMethod(ctx, parameters)
	case "start-sleep":
		seconds, _ := parameters["seconds"].(int64)
		pause(ctx, &Process{Guest: h.ps.shell.guest}, time.Duration(seconds)*time.Second)
		return nil, nil
	case "new-item":
		return nil, h.ps.shell.guest.Root.MkdirAll(h.path(pathOf(args, parameters)))
	case "remove-item":
		return nil, h.ps.shell.guest.Root.RemoveAll(h.path(pathOf(args, parameters)))
	case "test-path":
		return h.ps.shell.guest.Root.Exists(h.path(pathOf(args, parameters))), nil
	}
	words := []string{name}
	for _, a := range args {
		words = append(words, fmt.Sprint(a))
	}
	o := h.ps.o
	h.exit, _ = h.ps.shell.Exec(ctx, words, o)
	return nil, nil
}

func pathOf(args []any, parameters map[string]any) string {
	if p, ok := parameters["path"]; ok {
		return fmt.Sprint(p)
	}
	if len(args) > 0 {
		return fmt.Sprint(args[0])
	}
	return ""
}

func (h *poshHost) path(name string) string { return h.ps.shell.guest.Root.Abs(h.ps.o.Dir, name) }

// Variable implements posh.Host.
func (h *poshHost) Variable(name string) any {
	if name == "lastexitcode" {
		return int64(h.exit)
	}
	if env, ok := strings.CutPrefix(name, "env:"); ok {
		return h.ps.expand("$env:" + env)
	}
	return nil
}

// WriteFile implements posh.Host.
func (h *poshHost) WriteFile(name string, data []byte, appending bool) error {
	if appending {
		return h.ps.shell.guest.Root.AppendFile(h.path(name), data, 0o644)
	}
	return h.ps.shell.guest.Root.WriteFile(h.path(name), data, 0o644)
}

// ReadFile implements posh.Host.
func (h *poshHost) ReadFile(name string) ([]byte, error) {
	return h.ps.shell.guest.Root.ReadFile(h.path(name))
}

// Print implements posh.Host.
func (h *poshHost) Print(text string) { fmt.Fprint(h.ps.o.Stdout, text) }

// restMethod is Invoke-RestMethod: JSON becomes an object, other text stays text,
// and an answer that is no success is an error.
func (h *poshHost) restMethod(ctx context.Context, parameters map[string]any) (any, error) {
	headers := map[string]string{}
	given, _ := parameters["headers"].(map[string]any)
	for k, v := range given {
		headers[k] = fmt.Sprint(v)
	}
	method, _ := parameters["method"].(string)
	resp, err := h.ps.shell.ask(ctx, method, fmt.Sprint(parameters["uri"]), headers)
	if err != nil {
		return nil, &posh.Thrown{Message: "Unable to connect to the remote server: " + err.Error()}
	}
	if resp.status/100 != 2 {
		return nil, &posh.Thrown{Message: fmt.Sprintf("The remote server returned an error: (%d) %s.", resp.status, http.StatusText(resp.status)), Details: string(resp.body)}
	}
	var v any
	if strings.Contains(resp.kind, "json") && json.Unmarshal(resp.body, &v) == nil {
		return v, nil
	}
	return string(resp.body), nil
}

// answer is what a server said to a program of the guest.
type answer struct {
	status int
	kind   string
	body   []byte
}

const (
	askTimeout = 30 * time.Second
	maxAnswer  = 1 << 20
)

// ask makes one HTTP request in the guest's network.
func (s *Shell) ask(ctx context.Context, method, url string, headers map[string]string) (answer, error) {
	if s.web == nil {
		return answer{}, fmt.Errorf("this guest is simulated and downloads nothing")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return answer{}, err
	}
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := s.web.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return answer{resp.StatusCode, resp.Header.Get("Content-Type"), body}, err
}

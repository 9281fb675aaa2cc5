package userdata

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/tokens"

	"casement.dev/casement/internal/sim/guest/apart"
)

// Missing is the text that both agents print before the name of a variable that is not in the instance data.
const Missing = "CI_MISSING_JINJA_VAR/"

// missingFilter is the name of the filter that prints Missing. No document can contain the name.
const missingFilter = "casement_missing"

// TemplateError gives the position of an error in a template. It contains no text of the template, which may have
// secrets.
type TemplateError struct {
	// Line counts from 1 after the marker line; 0 if it is unknown.
	Line   int
	Reason string
	// Syntax is set for an error of the template itself; otherwise the error comes from its data.
	Syntax bool
}

func (e *TemplateError) Error() string {
	kind := "jinja: "
	if e.Syntax {
		kind = "jinja syntax: "
	}
	if e.Line == 0 {
		return kind + e.Reason
	}
	return kind + e.Reason + " at line " + strconv.Itoa(e.Line)
}

var (
	marker   = regexp.MustCompile(`(?i)^##\s*template:(.*)$`)
	position = regexp.MustCompile(`(?:Line: |at line )(\d+)`)
	offset   = regexp.MustCompile(`Pos=(\d+)`)
)

// Marker splits off a first line of the form "## template: ENGINE"; ok is false if there is none.
func Marker(data []byte) (engine string, rest []byte, ok bool) {
	line, after, _ := strings.Cut(string(data), "\n")
	m := marker.FindStringSubmatch(strings.TrimRight(line, "\r"))
	if m == nil {
		return "", data, false
	}
	return strings.ToLower(strings.TrimSpace(m[1])), []byte(after), true
}

// Render renders a Jinja template, without its marker line, with the instance data vars. A missing variable at the
// end of a path prints Missing and its name; a missing parent is an error. Includes find nothing: a template sees
// only its data. The error is a *TemplateError, a *LimitError for a template that exceeds a limit, or ctx's.
func Render(ctx context.Context, source []byte, vars map[string]any) ([]byte, error) {
	if isPlain(string(source)) {
		return renderHere(source, vars)
	}
	return renderApart(ctx, source, vars)
}

// isPlain reports whether a template only prints variables, so that its size bounds its work.
func isPlain(source string) (only bool) {
	defer func() {
		if recover() != nil {
			only = false
		}
	}()
	if len(source) > maxPlain {
		return false
	}
	stream := tokens.LexAll(source, config.New())
	for !stream.End() {
		switch tok := stream.Next(); tok.Type {
		case tokens.Data, tokens.CommentBegin, tokens.Comment, tokens.CommentEnd, tokens.EOF:
		case tokens.VariableBegin:
			if name, end := readVariable(stream); name == "" || end == nil || end.Type != tokens.VariableEnd {
				return false
			}
		case tokens.VariableEnd:
		default:
			return false
		}
	}
	return true
}

// maxPlain is the size in bytes above which no template is plain; Azure's custom
// data is smaller.
const maxPlain = 1 << 20

// renderHere renders a template in this process.
func renderHere(source []byte, vars map[string]any) (out []byte, err error) {
	defer func() { // the engine panics on some malformed input
		if recover() != nil {
			out, err = nil, &TemplateError{Reason: "the template cannot be parsed", Syntax: true}
		}
	}()
	cfg := config.New()
	cfg.TrimBlocks = true
	text := addMissingFilter(string(source), cfg)
	loader, err := loaders.NewMemoryLoader(map[string]string{"/document": text})
	if err != nil {
		return nil, fmt.Errorf("jinja: %w", err)
	}
	env := &exec.Environment{
		Context:           exec.EmptyContext().Update(builtins.GlobalFunctions).Update(builtins.GlobalVariables),
		Filters:           exec.NewFilterSet(map[string]exec.FilterFunction{missingFilter: missing}).Update(builtins.Filters),
		Tests:             builtins.Tests,
		ControlStructures: builtins.ControlStructures,
		Methods:           builtins.Methods,
	}
	tpl, err := exec.NewTemplate("/document", cfg, loader, env)
	if err != nil {
		return nil, templateError(err, text, true)
	}
	rendered := &apart.Kept{Left: maxRendered, Refuses: true}
	err = tpl.Execute(rendered, exec.NewContext(maps.Clone(vars)))
	switch {
	case rendered.Over:
		return nil, &LimitError{fmt.Sprintf("renders to more than %d bytes", maxRendered)}
	case err != nil:
		return nil, templateError(err, text, false)
	}
	return rendered.Bytes(), nil
}

func missing(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if !in.IsNil() || len(params.Args) == 0 {
		return in
	}
	return exec.AsValue(Missing + params.Args[0].String())
}

// addMissingFilter adds the missing filter to each plain variable that is printed, because the engine prints nothing for a
// missing variable and the agents print Missing. A variable that is piped into default stays as it is.
func addMissingFilter(source string, cfg *config.Config) string {
	stream := tokens.LexAll(source, cfg)
	normal := tokens.NewLexer(source, cfg).Input // the positions of tokens refer to it
	var out strings.Builder
	from := 0
	for !stream.End() {
		if stream.Next().Type != tokens.VariableBegin {
			continue
		}
		name, end := readVariable(stream)
		if name == "" || end == nil || end.Pos > len(normal) {
			continue
		}
		out.WriteString(normal[from:end.Pos])
		fmt.Fprintf(&out, "|%s(%q) ", missingFilter, name)
		from = end.Pos
	}
	out.WriteString(normal[from:])
	if !cfg.KeepTrailingNewline {
		// The lexer removes one newline at the end, and rendering removes it again; so add it once.
		out.WriteString("\n")
	}
	return out.String()
}

// readVariable reads name(.name|["name"])* and returns the last name and the token after it; it returns "" and nil for any
// other expression.
func readVariable(s *tokens.Stream) (string, *tokens.Token) {
	last, ok := take(s, tokens.Name)
	switch last {
	case "true", "false", "none", "True", "False", "None", "not", "loop", "self":
		return "", nil
	}
	for ok && !s.End() {
		switch tok := s.Current(); tok.Type {
		case tokens.Dot:
			s.Next()
			last, ok = take(s, tokens.Name)
		case tokens.LeftBracket:
			s.Next()
			if last, ok = take(s, tokens.String); ok {
				_, ok = take(s, tokens.RightBracket)
			}
		case tokens.VariableEnd:
			return last, tok
		case tokens.Pipe:
			if next := s.Peek(); next != nil && (next.Val == "default" || next.Val == "d") {
				return "", nil
			}
			return last, tok
		default:
			return "", nil
		}
	}
	return "", nil
}

// take consumes a token of a type and returns its text; the second result is false if the next token has another
// type.
func take(s *tokens.Stream, t tokens.Type) (string, bool) {
	if s.End() || s.Current().Type != t {
		return "", false
	}
	return s.Next().Val, true
}

// templateError returns only the position and kind of the engine's error, because its text quotes the template.
func templateError(err error, text string, syntax bool) error {
	full := err.Error()
	// The engine's message begins with the whole template; the error comes last.
	tail := full
	if i := strings.LastIndex(full, text); i >= 0 {
		tail = full[i+len(text):]
	} else if len(tail) > 400 {
		tail = tail[len(tail)-400:]
	}
	e := &TemplateError{Syntax: syntax, Reason: reason(tail, syntax)}
	if m := position.FindStringSubmatch(tail); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
	}
	if m := offset.FindStringSubmatch(tail); m != nil && e.Line == 0 {
		if at, err := strconv.Atoi(m[1]); err == nil && at <= len(text) {
			e.Line = strings.Count(text[:at], "\n") + 1
		}
	}
	return e
}

func reason(tail string, syntax bool) string {
	switch {
	case strings.Contains(tail, "unclosed comment"):
		return "missing end of comment tag: {# opens a comment, which bash's ${#array[@]} does too"
	case strings.Contains(tail, "expected tag"):
		return "unexpected end of template: a block is not closed"
	case strings.Contains(tail, "ontrolStructure"):
		return "unknown tag behind {%"
	case strings.Contains(tail, "filter") && strings.Contains(tail, "not found"):
		return "unknown filter"
	case syntax:
		return "{{ or {% opens something that is no expression; embedded scripts and Go templates must be wrapped in {% raw %}"
	case strings.Contains(tail, "on None"):
		return "a parent of a variable is not in the instance data"
	}
	return "the template cannot be rendered with the instance data"
}

// IsTemplateError reports whether err is about the template or its data.
func IsTemplateError(err error) bool {
	_, ok := errors.AsType[*TemplateError](err)
	return ok
}

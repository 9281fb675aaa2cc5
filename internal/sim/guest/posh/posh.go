// Package posh runs PowerShell programs: variables, conditions, loops, try, strings,
// hashtables, members and a few .NET types, enough for a script that fetches
// something and writes files. It is parser and evaluator and does nothing by
// itself: commands, files and the network are its host's. What it does not know is
// an error when a script is parsed, not when it is half run. Only
// internal/sim/guest/shell imports it.
package posh

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Host is what a program acts on.
type Host interface {
	// Known says whether Command answers a name, which is in lower case.
	Known(name string) bool
	// Command runs a command. Parameters have their names in lower case, without
	// the dash; a switch is true. The error is what catch sees.
	Command(ctx context.Context, name string, args []any, parameters map[string]any) (any, error)
	// Variable is a variable of the session, such as env:temp, in lower case.
	Variable(name string) any
	// WriteFile and AppendFile change a file of the guest, ReadFile reads one.
	WriteFile(name string, data []byte, appending bool) error
	ReadFile(name string) ([]byte, error)
	// Print takes what nothing else takes.
	Print(text string)
}

// Program is a parsed script.
type Program struct{ body []node }

// maxProgram bounds a script, in bytes.
const maxProgram = 1 << 20

// Parse reads a script. The error says what of it is not known, without quoting it.
func Parse(script string, known func(command string) bool) (*Program, error) {
	if len(script) > maxProgram {
		return nil, fmt.Errorf("the script is longer than %d bytes", maxProgram)
	}
	p := &parser{text: strings.ReplaceAll(script, "\r\n", "\n"), known: known}
	body, err := p.statements(false)
	if err != nil {
		return nil, err
	}
	return &Program{body}, nil
}

// Run runs the program and returns its exit code: that of exit, or 1 where an error
// ended it, which is printed. The error is a *LimitError, of a program that a bound
// ended.
func (p *Program) Run(ctx context.Context, h Host) (int, error) {
	m := &run{host: h, vars: map[string]any{}, types: types()}
	err := m.block(ctx, p.body)
	if ended, ok := errors.AsType[exit](err); ok {
		return ended.code, nil
	}
	if err != nil && !errors.Is(err, errReturn) {
		h.Print(err.Error() + "\r\n")
		if limit, ok := errors.AsType[*LimitError](err); ok {
			return 1, limit
		}
		return 1, nil
	}
	return 0, nil
}

// Thrown is an error that catch sees as $_.
type Thrown struct {
	Message string
	// Details are the body of an answer that refuses.
	Details string
}

func (t *Thrown) Error() string { return t.Message }

type exit struct{ code int }

func (e exit) Error() string { return fmt.Sprintf("exit %d", e.code) }

var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
	errReturn   = errors.New("return")
)

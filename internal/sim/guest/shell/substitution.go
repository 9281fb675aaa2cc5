package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// sink is a program behind >( ).
type sink struct {
	w    *os.File
	done chan struct{}
}

// outPath is the path to which >( ) expands.
const outPath = noTemp + "/out/"

var substituted atomic.Int64

// substitution makes <( ) a file that is written before the command runs, and >( ) a
// name behind which its program reads.
func (d *dialect) substitution(p *syntax.ProcSubst) syntax.WordPart {
	number := substituted.Add(1)
	if p.Op == syntax.CmdOut {
		var b strings.Builder
		if err := syntax.NewPrinter().Print(&b, &syntax.File{Stmts: p.Stmts}); err != nil {
			return &syntax.SglQuoted{Value: noTemp}
		}
		return &syntax.SglQuoted{Value: outPath + d.run.sourced.keep(b.String())[len(noTemp)+1:]}
	}
	file := fmt.Sprintf("/dev/fd/%d", 1000+number)
	d.run.mu.Lock()
	d.run.files = append(d.run.files, file)
	d.run.mu.Unlock()
	write := &syntax.Stmt{Cmd: &syntax.Block{Stmts: p.Stmts}, Redirs: []*syntax.Redirect{{Op: syntax.RdrOut, Word: callOf(file).Args[0]}}}
	return &syntax.CmdSubst{Stmts: []*syntax.Stmt{{Cmd: callOf("mkdir", "-p", "/dev/fd")}, write, {Cmd: callOf(own+"print", file)}}}
}

// openSink starts the program in >( ), which reads what is written to the file.
func (s *Shell) openSink(ctx context.Context, run *scriptRun, name string) (io.ReadWriteCloser, error) {
	text, ok := run.sourced.lookup(noTemp + "/" + strings.TrimPrefix(name, outPath))
	r, w, err := os.Pipe()
	if err != nil || !ok {
		return nil, fmt.Errorf("%s: no such program", name)
	}
	h := interp.HandlerCtx(ctx)
	o := Session{Stdin: r, Stdout: h.Stdout, Stderr: h.Stderr, Env: exported(h.Env), Dir: h.Dir, Name: "bash"}
	one := &sink{w: w, done: make(chan struct{})}
	run.mu.Lock()
	run.sinks = append(run.sinks, one)
	run.mu.Unlock()
	s.guest.Wall.Go(nil, "a substitution", func() {
		defer close(one.done)
		defer r.Close()
		s.Bash(ctx, text, o)
		_, _ = io.Copy(io.Discard, r) // the writer must not wait for one that reads no more
	})
	return device{w}, nil
}

// end waits for the programs behind >( ) and removes the files of <( ).
func (run *scriptRun) end(s *Shell) {
	run.mu.Lock()
	sinks, files := run.sinks, run.files
	run.sinks, run.files = nil, nil
	run.mu.Unlock()
	for _, one := range sinks {
		one.w.Close()
		<-one.done
	}
	for _, f := range files {
		_ = s.guest.Root.Remove(f) // a branch that did not run made none
	}
}

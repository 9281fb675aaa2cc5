package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// sweepTimeout limits the deletion of the resource groups at the end. For a group with machines,
// Azure needs up to a quarter of an hour.
const sweepTimeout = 45 * time.Minute

// leftBehind begins the guard's message about a resource group that existed.
const leftBehind = "deleted what was left"

// watchman controls a run's guard: a separate process that ends the management cluster and deletes
// the resource groups when the run has ended, even if the run was killed.
type watchman struct {
	cmd *exec.Cmd
	// rope is the guard's standard input: the guard waits until it is closed, which the end of the
	// run does in any case.
	rope io.WriteCloser
}

func startGuard(s settings, o options, home string) (*watchman, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &watchman{cmd: exec.Command(self, "-guard", s.name, "-home", home, "-casement", o.casement, fmt.Sprintf("-own=%t", s.own))}
	w.cmd.Env = append(os.Environ(), s.env()...)
	// rope is the guard's only connection to the run: the guard outlives a terminal, and its output
	// goes to its log.
	log, err := os.Create(o.file + ".guard.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	w.cmd.Stdout, w.cmd.Stderr = log, log
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if w.rope, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return w, w.cmd.Start()
}

// finish ends the guard's wait, and returns the guard's output after its work.
func (w *watchman) finish() (string, error) {
	err := errors.Join(w.rope.Close(), w.cmd.Wait())
	log, _ := os.ReadFile(w.cmd.Stdout.(*os.File).Name()) // the exit status contains the result, too
	said := strings.TrimSpace(string(log))
	fmt.Println(said)
	if err != nil {
		return said, fmt.Errorf("the resource groups: %w: %s", err, said)
	}
	return said, nil
}

// guard waits until the run has ended, and then removes what it left.
func guard(_ context.Context, o options) error {
	_, _ = io.Copy(io.Discard, os.Stdin) // returns when the run ends
	s, err := fromEnvironment(os.Getenv, o.own)
	if err != nil {
		return err
	}
	s.name = o.guard
	admitted := true
	if o.own {
		if s, admitted, err = s.again(o.home); err != nil {
			return err
		}
	}
	ctx, end := context.WithTimeout(context.Background(), sweepTimeout)
	defer end()
	down := exec.CommandContext(ctx, o.casement, "--state", stateOf(o.home), "down", "--purge")
	out, downErr := down.CombinedOutput()
	if downErr != nil {
		downErr = fmt.Errorf("end the management cluster: %w: %s", downErr, out)
	}
	var found []string
	var swept error
	if admitted { // otherwise nothing was created
		g, err := openGroups(s)
		if err != nil {
			return errors.Join(downErr, err)
		}
		found, swept = g.delete(ctx)
	}
	if o.own {
		swept = errors.Join(swept, s.logout(ctx))
	}
	if err := errors.Join(downErr, swept, os.RemoveAll(o.home)); err != nil {
		return err
	}
	if len(found) > 0 {
		fmt.Printf("%s: %s\n", leftBehind, strings.Join(found, ", "))
	}
	fmt.Println("nothing is left: the resource groups", strings.Join(s.groups(), " and "), "are gone")
	return nil
}

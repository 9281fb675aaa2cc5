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

// sweepTimeout bounds the deletion of the resource groups in the end. Azure needs as much as
// a quarter of an hour for one with machines.
const sweepTimeout = 45 * time.Minute

// leftBehind is how the guard says that a resource group was there.
const leftBehind = "deleted what was left"

// watchman is a run's guard: a process of its own, which ends the management cluster and deletes the resource groups when the run
// has ended, be it killed.
type watchman struct {
	cmd *exec.Cmd
	// rope keeps the guard waiting: it ends with the run, however that ends.
	rope io.WriteCloser
}

func startGuard(s settings, o options, home string) (*watchman, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &watchman{cmd: exec.Command(self, "-guard", s.name, "-home", home, "-casement", o.casement, fmt.Sprintf("-own=%t", s.own))}
	w.cmd.Env = append(os.Environ(), s.env()...)
	// No pipe but the rope ties it to the run: it outlives a terminal, and what it says is in its log.
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

// finish lets the guard do its work, and returns what it said.
func (w *watchman) finish() (string, error) {
	err := errors.Join(w.rope.Close(), w.cmd.Wait())
	log, _ := os.ReadFile(w.cmd.Stdout.(*os.File).Name()) // what it says is in its status, too
	said := strings.TrimSpace(string(log))
	fmt.Println(said)
	if err != nil {
		return said, fmt.Errorf("the resource groups: %w: %s", err, said)
	}
	return said, nil
}

// guard waits until the run has ended, and cleans up after it.
func guard(_ context.Context, o options) error {
	_, _ = io.Copy(io.Discard, os.Stdin) // it ends when the run does
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
	if admitted { // else nothing was made
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

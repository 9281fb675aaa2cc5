package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// rehearse runs this program with a local Azure, to which the environment variables refer in place
// of a real one, and compares the recording twice: with the run's own answers, and by a replay to a
// local Azure.
func rehearse(ctx context.Context, o options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	behind := strings.TrimSuffix(o.file, ".yaml") + "-behind.yaml"
	azure, err := startStage(self, o.casement, behind)
	if err != nil {
		return err
	}
	run := exec.CommandContext(ctx, self, "-casement", o.casement, "-file", o.file, fmt.Sprintf("-short=%t", o.short))
	run.Env, run.Stdout, run.Stderr = azure.env, os.Stdout, os.Stderr
	run.Cancel, run.WaitDelay = func() error { return run.Process.Signal(os.Interrupt) }, sweepTimeout
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // its guard continues
	if err := errors.Join(run.Run(), azure.finish()); err != nil {
		return fmt.Errorf("the rehearsal: %w", err)
	}
	for _, recorded := range []string{o.file, behind} {
		at, err := filepath.Abs(recorded)
		if err != nil {
			return err
		}
		replay := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "./test/emulator/recordings", "-run",
			"TestRecordings", "-file", at, "-same")
		replay.Stdout, replay.Stderr = os.Stdout, os.Stderr
		if err := replay.Run(); err != nil {
			return fmt.Errorf("replay %s: %w", recorded, err)
		}
	}
	return nil
}

// staged is the process of a rehearsal's local Azure. It outlives the rehearsal, even one that is
// killed, because the guard of the run needs Azure for its work.
type staged struct {
	cmd *exec.Cmd
	// rope is its standard input, which keeps it waiting like a guard.
	rope io.WriteCloser
	// env is the environment that refers to the local Azure.
	env []string
}

func startStage(self, casement, file string) (*staged, error) {
	s := &staged{cmd: exec.Command(self, "-stage", "-casement", casement, "-file", file)}
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // only the run handles Ctrl-C
	var err error
	if s.rope, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	said, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := json.NewDecoder(said).Decode(&s.env); err != nil {
		return nil, errors.Join(errors.New("the local Azure of the rehearsal has not started"), s.finish())
	}
	return s, nil
}

// finish ends the local Azure after the guard of the run has finished.
func (s *staged) finish() error { return errors.Join(s.rope.Close(), s.cmd.Wait()) }

// stage serves a local Azure with a domain and a recorder in front of it, prints the environment
// that refers to them, and ends them after the rehearsal, however that ends, and its guard have
// ended.
func stage(ctx context.Context, o options) (err error) {
	home, err := os.MkdirTemp("", "cas")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	azure, env, err := serve(ctx, o.casement, home)
	if err != nil {
		return err
	}
	defer end(azure)
	s, err := fromEnvironment(lookup(env), false)
	if err != nil {
		return err
	}
	joining, err := simulatedDomain(ctx, o.casement, filepath.Join(home, "azure"), s)
	if err != nil {
		return err
	}
	r, err := record(s, o.file, home+"/ca.pem")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	runs := filepath.Join(home, "r")
	if err := os.Mkdir(runs, 0o700); err != nil {
		return err
	}
	env = append(append(env, joining...), "TMPDIR="+runs, "AZURE_RESOURCE_MANAGER_ENDPOINT=https://"+r.at,
		"AZURE_RESOURCE_MANAGER_AUDIENCE="+s.audience, "AZURE_CA_FILE="+home+"/ca.pem")
	if err := json.NewEncoder(os.Stdout).Encode(env); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // returns when the rehearsal ends
	return guarded(runs)
}

// guarded waits until the guard of a run has deleted the run's folder, which is the guard's last
// action. The guard outlives a killed run and needs Azure.
func guarded(runs string) error {
	for late := time.Now().Add(sweepTimeout); time.Now().Before(late); time.Sleep(time.Second) {
		if left, err := os.ReadDir(runs); err != nil || len(left) == 0 {
			return err
		}
	}
	return fmt.Errorf("the guard has not ended after %s", sweepTimeout)
}

// serve starts a local Azure and returns the environment that refers to it.
func serve(ctx context.Context, casement, home string) (*exec.Cmd, []string, error) {
	state := filepath.Join(home, "azure")
	azure := exec.Command(casement, "--state", state, "azure", "serve")
	var log bytes.Buffer
	azure.Stdout, azure.Stderr = &log, &log
	azure.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := azure.Start(); err != nil {
		return nil, nil, err
	}
	for range 120 {
		out, err := exec.CommandContext(ctx, casement, "--state", state, "status", "-o", "json").Output()
		var status struct {
			Phase string
			Azure struct{ Endpoint, CAFile, TenantID, SubscriptionID, ClientID, SecretFile string }
		}
		if err == nil && json.Unmarshal(out, &status) == nil && status.Phase == "ready" {
			at := status.Azure
			secret, err := os.ReadFile(at.SecretFile)
			if err != nil {
				end(azure)
				return nil, nil, err
			}
			return azure, append(os.Environ(), "AZURE_SUBSCRIPTION_ID="+at.SubscriptionID,
				"AZURE_TENANT_ID="+at.TenantID, "AZURE_CLIENT_ID="+at.ClientID,
				"AZURE_CLIENT_SECRET="+strings.TrimSpace(string(secret)), "AZURE_LOCATION=westeurope",
				"AZURE_RESOURCE_MANAGER_ENDPOINT="+at.Endpoint, "AZURE_RESOURCE_MANAGER_AUDIENCE="+at.Endpoint,
				"AZURE_AUTHORITY_HOST="+at.Endpoint+"/", "AZURE_CA_FILE="+at.CAFile, "CASEMENT_E2E_DOLLARS=100"), nil
		}
		select {
		case <-ctx.Done():
			end(azure)
			return nil, nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	end(azure)
	return nil, nil, fmt.Errorf("the local Azure does not start: %s", log.String())
}

// end ends the local Azure together with its guests.
func end(azure *exec.Cmd) {
	_ = azure.Process.Signal(syscall.SIGTERM) // the process may have ended already
	_ = azure.Wait()                          // ended by the signal
}

// lookup returns a function that returns variables of an environment; the last one with a name
// counts.
func lookup(env []string) func(string) string {
	values := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

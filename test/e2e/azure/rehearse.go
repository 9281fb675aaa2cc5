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

// rehearse runs this program against a local Azure, with the environment variables that
// otherwise name a real one, and compares the recording twice: with the run's own answers,
// and by a replay at the local Azure.
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
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // its guard goes on
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

// staged is the process with the local Azure of a rehearsal. It outlives the rehearsal, be that killed, as the guard of the run needs
// an Azure to clean up.
type staged struct {
	cmd *exec.Cmd
	// rope keeps it waiting, as a guard's does.
	rope io.WriteCloser
	// env is the environment that names the local Azure.
	env []string
}

func startStage(self, casement, file string) (*staged, error) {
	s := &staged{cmd: exec.Command(self, "-stage", "-casement", casement, "-file", file)}
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is the run's
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

// finish ends the local Azure once the guard of the run needs it no more.
func (s *staged) finish() error { return errors.Join(s.rope.Close(), s.cmd.Wait()) }

// stage serves a local Azure that has a domain, with a recorder before it, prints the environment that names them, and ends them
// after the rehearsal, however that ends, and its guard.
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
	_, _ = io.Copy(io.Discard, os.Stdin) // it ends when the rehearsal does
	return guarded(runs)
}

// guarded waits until the guard of a run has deleted the run's folder, its last act: it outlives a run that is killed, and needs Azure.
func guarded(runs string) error {
	for late := time.Now().Add(sweepTimeout); time.Now().Before(late); time.Sleep(time.Second) {
		if left, err := os.ReadDir(runs); err != nil || len(left) == 0 {
			return err
		}
	}
	return fmt.Errorf("the guard has not ended after %s", sweepTimeout)
}

// serve starts a local Azure and returns the environment that names it.
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

// end ends the local Azure, whose guests end with it.
func end(azure *exec.Cmd) {
	_ = azure.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = azure.Wait()                          // by the signal
}

// lookup finds variables in an environment; the last one of a name counts.
func lookup(env []string) func(string) string {
	values := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

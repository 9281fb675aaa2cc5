package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"casement.dev/casement/internal/recorder"
)

// live takes the cluster through its life, with a recorder between casement and Azure.
func live(ctx context.Context, s settings, casement, file string) (err error) {
	home, err := os.MkdirTemp("", "cas") // short, for unix sockets
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	l, err := record(s, file, home+"/ca.pem")
	if err != nil {
		return err
	}
	c := &client{s: s, recorder: l, program: casement, began: time.Now(), env: append(os.Environ(),
		"CASEMENT_HOME="+home+"/plane", "KUBECONFIG=", "AZURE_RESOURCE_MANAGER_ENDPOINT=https://"+l.at,
		"AZURE_RESOURCE_MANAGER_AUDIENCE="+s.audience, "AZURE_CA_FILE="+home+"/ca.pem")}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		_, down := c.run(end, nil, "down", "--purge")
		err = errors.Join(err, down, l.close())
	}()
	for _, step := range c.steps() {
		begun := time.Now()
		if err := step.do(ctx); err != nil {
			why, _ := c.run(ctx, nil, "why", s.name) // nothing more is known where it fails
			return fmt.Errorf("%s: %w\n%s", step.name, err, why)
		}
		calls, _ := l.Calls()
		fmt.Printf("%-52s %7.1f s %5d calls\n", step.name, time.Since(begun).Seconds(), calls)
	}
	return nil
}

// recording is a recorder that serves.
type recording struct {
	*recorder.Recorder
	at     string
	stop   context.CancelFunc
	served chan error
	out    *os.File
}

// record serves a recorder of the requests to Azure, and writes the CA certificate that its
// clients have to trust to the file trust.
func record(s settings, file, trust string) (*recording, error) {
	transport, err := s.transport()
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	r, err := recorder.New(s.endpoint, transport, out)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	var pair tls.Certificate
	pair, ca, err := recorder.Certificate("127.0.0.1")
	if err != nil {
		return nil, err
	}
	if s.ca != "" {
		more, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, err
		}
		ca = append(ca, more...)
	}
	if err := os.WriteFile(trust, ca, 0o600); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	running := &recording{Recorder: r, at: l.Addr().String(), stop: stop, served: make(chan error, 1), out: out}
	go func() { running.served <- r.Serve(ctx, l, pair) }()
	return running, nil
}

func (r *recording) close() error {
	r.stop()
	served := <-r.served
	_, wrote := r.Calls()
	return errors.Join(served, wrote, r.out.Close())
}

// client runs casement.
type client struct {
	s        settings
	recorder *recording
	program  string
	env      []string
	began    time.Time
}

func (c *client) run(ctx context.Context, stdin []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Env, cmd.Stdin = c.env, bytes.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("casement %s: %w: %s%s", strings.Join(args, " "), err, out.String(), errOut.String())
	}
	return out.String(), nil
}

// step is a part of the cluster's life.
type step struct {
	name string
	do   func(context.Context) error
}

// waits are how long Azure is given for a step; the budget of hours holds besides.
const waits = "90m"

func (c *client) steps() []step {
	name := c.s.name
	kubectl := func(ctx context.Context, args ...string) error {
		_, err := c.run(ctx, nil, append([]string{"kubectl"}, args...)...)
		return err
	}
	ready := func(ctx context.Context, set, path, value string) error {
		if err := kubectl(ctx, "wait", set, "--for=jsonpath="+path+"="+value, "--timeout="+waits); err != nil {
			return err
		}
		_, err := c.run(ctx, nil, "wait", name, "--timeout", waits)
		return err
	}
	scale := func(set string, to string) step {
		return step{"scale the Windows workers to " + to, func(ctx context.Context) error {
			if err := kubectl(ctx, "scale", set, "--replicas="+to); err != nil {
				return err
			}
			return ready(ctx, set, "{.status.readyReplicas}", to)
		}}
	}
	upgrade := func(set, path string) step {
		return step{"upgrade " + set + " to " + c.s.newer, func(ctx context.Context) error {
			if err := kubectl(ctx, "patch", set, "--type", "merge", "-p", fmt.Sprintf(path, c.s.newer)); err != nil {
				return err
			}
			return ready(ctx, set, `{.status.conditions[?(@.type=="RollingOut")].status}`, "False")
		}}
	}
	const control, worker = `{"spec":{"version":"%s"}}`, `{"spec":{"template":{"spec":{"version":"%s"}}}}`
	linux, windows := "machinedeployment/"+name+"-md-0", "machinedeployment/"+name+"-md-win"
	return []step{
		{"start the management cluster", func(ctx context.Context) error {
			_, err := c.run(ctx, nil, "up", "--azure", "env", "--timeout", "5m")
			return err
		}},
		{"create a control plane, a Linux and a Windows worker", c.create},
		scale(windows, "2"), scale(windows, "1"),
		upgrade("kubeadmcontrolplane/"+name+"-control-plane", control), upgrade(linux, worker), upgrade(windows, worker),
		{"delete", func(ctx context.Context) error {
			if err := kubectl(ctx, "delete", "cluster", name, "--wait=false"); err != nil {
				return err
			}
			_, err := c.run(ctx, nil, "wait", name, "--for", "deleted", "--timeout", waits)
			return err
		}},
	}
}

// create makes the cluster, whose resource group says until when it may be there.
func (c *client) create(ctx context.Context) error {
	manifest, err := c.run(ctx, nil, "generate", "cluster", c.s.name, "--flavor", "windows", "--kubernetes-version", c.s.older)
	if err != nil {
		return err
	}
	const before = "  resourceGroup: "
	until := c.began.Add(c.s.hours).UTC().Format(time.RFC3339)
	tagged := strings.Replace(manifest, "\n"+before, "\n  additionalTags:\n    casement-e2e-delete-after: \""+until+"\"\n"+before, 1)
	if tagged == manifest {
		return errors.New("the manifest has no AzureCluster with a resource group, so that it cannot be tagged")
	}
	if _, err := c.run(ctx, []byte(tagged), "kubectl", "apply", "-f", "-"); err != nil {
		return err
	}
	_, err = c.run(ctx, nil, "wait", c.s.name, "--timeout", waits)
	return err
}

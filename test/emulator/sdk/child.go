package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"casement.dev/casement/azuresim"
)

// patience is the longest duration of one example.
const patience = time.Minute

// child is a process with the compiled examples.
type child struct {
	binary string
	env    []string
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
}

// newChild returns a child with an environment that directs the examples to the proxy; they use
// public endpoints and the default credential.
func newChild(binary, proxy, ca, secret string) *child {
	return &child{binary: binary, env: append(os.Environ(), "HTTPS_PROXY="+proxy, "HTTP_PROXY="+proxy, "NO_PROXY=", "SSL_CERT_FILE="+ca,
		"AZURE_TENANT_ID="+azuresim.DefaultTenant, "AZURE_CLIENT_ID="+azuresim.DefaultClient, "AZURE_CLIENT_SECRET="+secret)}
}

func (c *child) start() error {
	c.cmd = exec.Command(c.binary)
	c.cmd.Env, c.cmd.Stdout = c.env, io.Discard // some examples print their results
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := c.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	lines := make(chan string)
	c.lines = lines
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return nil
}

// run runs one example and returns "ok" or the example's error.
func (c *child) run(name string) (string, error) {
	if c.cmd == nil {
		if err := c.start(); err != nil {
			return "", err
		}
	}
	if _, err := fmt.Fprintln(c.in, name); err != nil {
		return "", fmt.Errorf("run %s: %w", name, err)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.stop()
			return "the program ended", nil
		}
		return strconv.Unquote(line)
	case <-late.C:
		c.stop()
		return fmt.Sprintf("no end within %s", patience), nil
	}
}

func (c *child) stop() {
	if c.cmd == nil {
		return
	}
	_ = c.cmd.Process.Kill()
	for range c.lines {
	}
	_ = c.cmd.Wait()
	c.cmd = nil
}

package stub

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"time"
)

// kubeProxy runs the stub of kube-proxy, which opens the node ports of its node. On Windows it
// first waits for the pod network, as the scripts in the published images do.
func (c *Cluster) kubeProxy(ctx context.Context, env Env) error {
	if env.OS == "windows" {
		if err := proxyArguments(env); err != nil {
			return err
		}
	}
	for waiting := false; env.OS == "windows" && !networkReady(env); waiting = true {
		if !waiting {
			env.printf("Waiting for the HNS network of the CNI")
		}
		if !pause(ctx, 200*time.Millisecond) {
			return nil
		}
	}
	leave := c.watch.join(env.Config)
	defer leave()
	machine := env.Machine
	if machine == nil {
		machine = ctx
	}
	proxy := c.net.StartProxy(machine, env.NodeName, c.origin(env))
	defer proxy.Stop()
	env.printf("node %s: node ports are open on %s", env.NodeName, env.InternalIP)
	<-ctx.Done()
	return nil
}

// proxyArguments returns an error for arguments with which kube-proxy fails on Windows: without a
// node name, it would take local endpoints for remote ones; and a cached source VIP must be
// readable.
func proxyArguments(env Env) error {
	if env.Vars["NODE_NAME"] == "" && env.Vars["NODENAME"] == "" && env.flag("hostname-override") == "" {
		return errors.New("invalid configuration: --hostname-override= is empty: the environment has no NODE_NAME")
	}
	if data, err := env.Files.ReadFile("/sourcevip/sourceVip.json"); err == nil && !json.Valid(data) {
		return errors.New("unable to create proxier: source-vip flag not set")
	}
	return nil
}

// confDir is the folder of a node's CNI configuration, on C: on Windows.
const confDir = "/etc/cni/net.d"

// networkReady reports whether the node has a CNI configuration.
func networkReady(env Env) bool {
	entries, err := env.Files.ReadDir(confDir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".conflist" || ext == ".conf" || ext == ".json" {
			return true
		}
	}
	return false
}

// coreDNS resolves names of services for all connections in the cluster while one of its containers
// runs.
func (c *Cluster) coreDNS(ctx context.Context, env Env) error {
	leave := c.watch.join(env.Config)
	defer leave()
	c.mu.Lock()
	c.dns++
	c.net.SetResolver(c.watch.resolve)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.dns--; c.dns == 0 {
			c.net.SetResolver(nil)
		}
	}()
	<-ctx.Done()
	return nil
}

// Resolve resolves a name inside the cluster; namespace completes short names. It fails while no
// CoreDNS runs.
func (c *Cluster) Resolve(namespace, name string) (netip.Addr, bool) {
	c.mu.Lock()
	running := c.dns > 0
	c.mu.Unlock()
	if !running {
		return netip.Addr{}, false
	}
	for _, full := range []string{strings.ToLower(name), strings.ToLower(name) + "." + namespace} {
		if a, ok := c.watch.resolve(full); ok && len(a.IPs) > 0 {
			return a.IPs[0], true
		}
	}
	return netip.Addr{}, false
}

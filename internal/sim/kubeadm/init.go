package kubeadm

import (
	"context"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"
)

// initConfig contains the fields of the configuration of `kubeadm init` that are used here; build
// reads the others.
type initConfig struct {
	Kind             string `json:"kind"`
	NodeRegistration struct {
		CRISocket             string   `json:"criSocket"`
		IgnorePreflightErrors []string `json:"ignorePreflightErrors"`
	} `json:"nodeRegistration"`
	LocalAPIEndpoint struct {
		BindPort int `json:"bindPort"`
	} `json:"localAPIEndpoint"`
	Patches *struct {
		Directory string `json:"directory"`
	} `json:"patches"`
}

// Init runs the preflight checks of `kubeadm init` and then builds the control plane by calling
// build. A run that was interrupted because the simulator ended may be repeated. After a failed
// run, the next run finds the first run's files and fails, as kubeadm does.
func Init(ctx context.Context, o Options, build func() error) error {
	if o.Out == nil {
		o.Out = io.Discard
	}
	j := &join{Options: o}
	j.resume = o.Resume || j.exists(initMarker)
	cfg := readInit(o.Config)
	j.say("[preflight] Running pre-flight checks")
	checks := append(j.controlPlaneChecks(cfg.LocalAPIEndpoint.BindPort), j.nodeChecks(cfg.NodeRegistration.CRISocket)...)
	if err := j.preflight(checks, cfg.NodeRegistration.IgnorePreflightErrors); err != nil {
		return err
	}
	if cfg.Patches != nil {
		if err := j.checkPatches("control-plane", cfg.Patches.Directory); err != nil {
			return err
		}
		j.say("[config] patches in %q are read and not applied", cfg.Patches.Directory)
	}
	if err := j.write(initMarker, nil, 0o600); err != nil {
		return err
	}
	err := build()
	if ctx.Err() == nil {
		j.remove(initMarker)
	}
	return err
}

// readInit returns the InitConfiguration in a stream. If it cannot be parsed, it returns the zero
// value, because build reports the error.
func readInit(data []byte) (c initConfig) {
	for _, doc := range documents(data) {
		var one initConfig
		if yaml.Unmarshal(doc, &one) == nil && one.Kind == "InitConfiguration" {
			c = one
		}
	}
	if c.LocalAPIEndpoint.BindPort == 0 {
		c.LocalAPIEndpoint.BindPort = apiServerPort
	}
	return c
}

// checkPatches returns the error of a phase whose directory of patches does not exist. Source:
// kubernetes cmd/kubeadm/app/util/patches/patches.go.
func (j *join) checkPatches(phase, directory string) error {
	if directory == "" {
		return nil
	}
	reason := ""
	switch info, err := j.Files.Stat(directory); {
	case err != nil:
		reason = fmt.Sprintf("lstat %s: no such file or directory", directory)
	case !info.IsDir():
		reason = fmt.Sprintf("getPatchSetsFromPath %s: not a directory", directory)
	default:
		j.say("[patches] Reading patches from path %q", directory)
		return nil
	}
	return fmt.Errorf("error execution phase %s: could not list patch files for path %q: %s", phase, directory, reason)
}

package kubelet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkNetwork looks for a CNI configuration, as containerd does, and reports whether the
// verdict has changed. Waiting pods are woken when it has.
func (k *Kubelet) checkNetwork() bool {
	problem := networkNotReady
	if k.cniConfigured() {
		problem = ""
	}
	k.node.mu.Lock()
	changed := k.node.network != problem
	k.node.network = problem
	k.node.mu.Unlock()
	if changed {
		k.log.Info("Container runtime network", "ready", problem == "")
		k.pods.wakeAll()
	}
	return changed
}

// cniFile is a CNI configuration as it was found.
type cniFile struct {
	path string
	info os.FileInfo
}

// unchanged reports whether the file is as it was.
func (c cniFile) unchanged() bool {
	if c.info == nil {
		return false
	}
	now, err := os.Stat(c.path)
	return err == nil && os.SameFile(now, c.info) && now.ModTime().Equal(c.info.ModTime()) && now.Size() == c.info.Size()
}

// cniConfigured reports whether /etc/cni/net.d has a valid configuration. Docker with
// kubenet or its own NAT would not need one, but every template with Docker installs a CNI.
// A configuration that was found is read again when its file changes: every node looks each statusPeriod.
func (k *Kubelet) cniConfigured() bool {
	if k.cni.unchanged() {
		return true
	}
	k.cni = cniFile{}
	dir, err := k.c.Path(cniFolder)
	if err != nil {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if err != nil {
			return false
		}
		data, err := os.ReadFile(path)
		if err != nil || !validCNI(e.Name(), data) {
			return false
		}
		k.cni = cniFile{path, info}
		return true
	})
}

// validCNI reports whether a file is a CNI network configuration or a list of them.
func validCNI(name string, data []byte) bool {
	var conf struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Plugins []struct {
			Type string `json:"type"`
		} `json:"plugins"`
	}
	if json.Unmarshal(data, &conf) != nil || conf.Name == "" {
		return false
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".conflist":
		return len(conf.Plugins) > 0 && conf.Plugins[0].Type != ""
	case ".conf", ".json":
		return conf.Type != ""
	}
	return false
}

// sandboxProblem returns the runtime's error for a new sandbox, or nothing.
func (k *Kubelet) sandboxProblem() string {
	h := k.c.Health()
	switch {
	case h.RuntimeDown:
		return "rpc error: code = Unavailable desc = connection error: the container runtime is down"
	case h.Sandbox != "":
		return h.Sandbox
	case k.usesFlannel() && !k.guestFile(subnetEnv):
		return `rpc error: code = Unknown desc = failed to setup network for sandbox: plugin type="flannel" ` +
			`failed (add): loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: no such file or ` +
			`directory`
	}
	return ""
}

// subnetEnv is the file that flanneld writes and its CNI plugin reads.
const subnetEnv = "/run/flannel/subnet.env"

func (k *Kubelet) guestFile(guest string) bool {
	path, err := k.c.Path(guest)
	if err != nil {
		return false
	}
	_, err = os.Stat(path)
	return err == nil
}

// usesFlannel reports whether the configuration that containerd uses, the first by name, is
// one of Flannel.
func (k *Kubelet) usesFlannel() bool {
	dir, err := k.c.Path(cniFolder)
	if err != nil {
		return false
	}
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return false
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil && validCNI(e.Name(), data) {
			return strings.Contains(string(data), `"flannel"`)
		}
	}
	return false
}

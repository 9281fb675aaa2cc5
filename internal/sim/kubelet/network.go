package kubelet

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"casement.dev/casement/internal/guestfs"
)

// checkNetwork looks for a CNI configuration, as containerd does, and reports whether the result
// has changed. A change wakes waiting pods.
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

// cniFile is the state of a CNI configuration file when it was read.
type cniFile struct {
	path string
	info fs.FileInfo
}

// unchanged reports whether the file has not changed since it was read.
func (c cniFile) unchanged(files *guestfs.Root) bool {
	if c.info == nil {
		return false
	}
	now, err := files.Stat(c.path)
	return err == nil && os.SameFile(now, c.info) && now.ModTime().Equal(c.info.ModTime()) && now.Size() == c.info.Size()
}

// cniConfigured reports whether /etc/cni/net.d has a valid configuration. Docker with kubenet or
// its own NAT would not need one, but every template with Docker installs a CNI. A valid
// configuration is read again only after its file changes, because every node checks it each
// statusPeriod.
func (k *Kubelet) cniConfigured() bool {
	if k.cni.unchanged(k.c.Files) {
		return true
	}
	k.cni = cniFile{}
	entries, err := k.c.Files.ReadDir(cniFolder)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		file := path.Join(cniFolder, e.Name())
		info, err := k.c.Files.Stat(file)
		if err != nil {
			return false
		}
		data, err := k.c.Files.ReadAtMost(file, maxManifest)
		if err != nil || !validCNI(e.Name(), data) {
			return false
		}
		k.cni = cniFile{file, info}
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
	switch strings.ToLower(path.Ext(name)) {
	case ".conflist":
		return len(conf.Plugins) > 0 && conf.Plugins[0].Type != ""
	case ".conf", ".json":
		return conf.Type != ""
	}
	return false
}

// sandboxProblem returns the runtime's error for a new sandbox, "" for none.
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

// subnetEnv is the file that flanneld writes and Flannel's CNI plugin reads.
const subnetEnv = "/run/flannel/subnet.env"

func (k *Kubelet) guestFile(guest string) bool {
	return k.c.Files.Exists(guest)
}

// usesFlannel reports whether containerd's CNI configuration, which is the first by name, is
// Flannel's.
func (k *Kubelet) usesFlannel() bool {
	entries, err := k.c.Files.ReadDir(cniFolder) // sorted by name
	if err != nil {
		return false
	}
	for _, e := range entries {
		data, err := k.c.Files.ReadAtMost(path.Join(cniFolder, e.Name()), maxManifest)
		if err == nil && validCNI(e.Name(), data) {
			return strings.Contains(string(data), `"flannel"`)
		}
	}
	return false
}

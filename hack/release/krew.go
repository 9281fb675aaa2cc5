package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// plugin is a manifest with which krew installs a kubectl plugin.
// Source: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec pluginSpec `json:"spec"`
}

type pluginSpec struct {
	Version          string     `json:"version"`
	Homepage         string     `json:"homepage"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description"`
	Caveats          string     `json:"caveats"`
	Platforms        []platform `json:"platforms"`
}

type platform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string      `json:"uri"`
	SHA256 string      `json:"sha256"`
	Files  []krewMoved `json:"files"`
	Bin    string      `json:"bin"`
}

type krewMoved struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// printKrew prints the krew manifest for the archives kubectl-casement_OS_ARCH.tar.gz in dir.
func printKrew(out io.Writer, dir, version, downloads string) error {
	if dir == "" || version == "" || downloads == "" {
		return errors.New("--dir, --version and --downloads are needed")
	}
	p := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Spec: pluginSpec{
		Version: version, Homepage: repository, ShortDescription: "Windows nodes of Cluster API on Azure",
		Description: "Reports what Windows nodes refuse or ignore in manifests (lint), what Azure will refuse\n" +
			"(preflight), and why a machine of Cluster API does not become a node (tree, why, doctor,\n" +
			"timeline, logs); opens ssh and Remote Desktop sessions to nodes.\n",
		Caveats: "The plugin is the client alone. The local plane (up, azure serve) is in casement_linux_ARCH\n" +
			"of the release, for Linux.\n",
	}}
	p.Metadata.Name = "casement"
	archives, err := filepath.Glob(filepath.Join(dir, "kubectl-casement_*.tar.gz"))
	if err != nil {
		return err
	}
	if len(archives) == 0 {
		return fmt.Errorf("%s has no archive kubectl-casement_OS_ARCH.tar.gz", dir)
	}
	for _, archive := range archives {
		data, err := os.ReadFile(archive)
		if err != nil {
			return err
		}
		name := filepath.Base(archive)
		system, arch, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(name, "kubectl-casement_"), ".tar.gz"), "_")
		one := platform{URI: strings.TrimSuffix(downloads, "/") + "/" + version + "/" + name, SHA256: digest(data), Bin: "casement"}
		if system == "windows" {
			one.Bin += ".exe"
		}
		one.Selector.MatchLabels = map[string]string{"os": system, "arch": arch}
		one.Files = []krewMoved{{From: one.Bin, To: "."}, {From: "LICENSE", To: "."}}
		p.Spec.Platforms = append(p.Spec.Platforms, one)
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

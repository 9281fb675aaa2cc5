package image

import (
	"cmp"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/kuberelease"
)

// APIVersion and Kind are the type of a build file.
const (
	APIVersion = "image.casement.dev/v1alpha1"
	Kind       = "ImageBuild"
)

// ImageBuild is a node image to build.
type ImageBuild struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata contains the name of a build.
type Metadata struct {
	// Name is the name of the build: lower case letters, digits and dashes, at most 40. The build's resource group is
	// casement-image-NAME.
	Name string `json:"name"`
}

// Spec describes the content of the image and the place where it is published.
type Spec struct {
	// Location is the Azure region in which the image is built.
	Location string `json:"location"`
	Source   Source `json:"source"`
	Target   Target `json:"target"`
	// KubernetesVersion is the version of kubelet, kubeadm and kubectl, such as v1.36.3.
	KubernetesVersion string `json:"kubernetesVersion"`
	// ContainerdVersion, CNIPluginsVersion, CloudbaseInitVersion (Windows) and RuncVersion (Linux)
	// have defaults.
	ContainerdVersion    string `json:"containerdVersion,omitempty"`
	RuncVersion          string `json:"runcVersion,omitempty"`
	CNIPluginsVersion    string `json:"cniPluginsVersion,omitempty"`
	CloudbaseInitVersion string `json:"cloudbaseInitVersion,omitempty"`
	// KubeletService is the way in which kubelet runs on Windows: sc (the default) is a native Windows service that
	// ignores kubeadm-flags.env until RestartKubelet.ps1 has run; nssm is a wrapper.
	KubeletService string `json:"kubeletService,omitempty"`
	// Components replace the standard downloads of the same name, or add downloads.
	Components []Component `json:"components,omitempty"`
	// Mirror is a URL; each download is below it, at the path of its original host and path.
	Mirror string `json:"mirror,omitempty"`
	// Images are container images to pull in advance.
	Images []string `json:"images,omitempty"`
	// Updates are the system updates to install: none (the default), security or all.
	Updates string  `json:"updates,omitempty"`
	Scripts Scripts `json:"scripts,omitzero"`
	// Features are the Windows features to install, by the names of Get-WindowsFeature.
	Features []string `json:"features,omitempty"`
	// Services set the start types of Windows services or systemd units.
	Services []Service `json:"services,omitempty"`
	// Firewall are the ports that the Windows firewall opens, in addition to the ports of kubelet and SSH.
	Firewall []FirewallRule `json:"firewall,omitempty"`
	// Hardening are the hardening options of Windows to apply: no-smb1, no-old-tls, no-llmnr, strong-crypto.
	Hardening []string `json:"hardening,omitempty"`
	// CACertificates are certificates in PEM that the machine trusts.
	CACertificates []string `json:"caCertificates,omitempty"`
	Proxy          Proxy    `json:"proxy,omitzero"`
	Builder        Builder  `json:"builder,omitzero"`
	Timeouts       Timeouts `json:"timeouts,omitzero"`
}

// Service sets the start type of a service.
type Service struct {
	Name string `json:"name"`
	// Start is Automatic, Disabled or, on Windows, Manual.
	Start string `json:"start"`
}

// FirewallRule opens a port.
type FirewallRule struct {
	Name string `json:"name"`
	// Protocol is TCP (the default) or UDP.
	Protocol string `json:"protocol,omitempty"`
	Port     int    `json:"port"`
}

// Source is the marketplace image from which the build starts.
type Source struct {
	// Release is the Windows Server release, such as 2022, or the Ubuntu release, such as ubuntu-24.04.
	Release string `json:"release"`
	// SKU replaces the marketplace SKU of the release, and Version its version (default latest).
	SKU     string `json:"sku,omitempty"`
	Version string `json:"version,omitempty"`
}

// Target is the image version to create. The gallery has to exist; the image definition is created if it is missing.
type Target struct {
	ResourceGroup string `json:"resourceGroup"`
	Gallery       string `json:"gallery"`
	Definition    string `json:"definition"`
	// Version has the form major.minor.patch. The patch "date" is the day of the build, such as 20261208 (UTC), for builds on a
	// schedule.
	Version string `json:"version"`
	// Regions get a replica of the version, in addition to the location of the build.
	Regions []string `json:"regions,omitempty"`
	// Replicas is the number of replicas in each region; 1 by default.
	Replicas int `json:"replicas,omitempty"`
	// ExcludeFromLatest excludes the version for machines that request the latest one.
	ExcludeFromLatest bool `json:"excludeFromLatest,omitempty"`
}

// Component is one download.
type Component struct {
	// Name is kubelet, kubeadm, kubectl, kube-log-runner, containerd, cni-plugins, cloudbase-init, nssm, csi-proxy,
	// runc, or the name of a custom component.
	Name string `json:"name"`
	URL  string `json:"url,omitempty"`
	// SHA256 is the checksum of the file, in hex.
	SHA256 string `json:"sha256,omitempty"`
	// Path is the file's path on the machine, for a custom component.
	Path string `json:"path,omitempty"`
	// Signer is the subject that the file's Authenticode signature must have.
	Signer string `json:"signer,omitempty"`
	// License is the SPDX identifier of its licence, for the bill of materials.
	License string `json:"license,omitempty"`
}

// Scripts are custom scripts, in PowerShell or, for Linux, in sh. Each may run twice. Exit code 3010, on Linux 194,
// restarts the machine and runs the script again; any other code except 0 fails the build.
type Scripts struct {
	// Before runs before anything is installed, and After when everything is.
	Before []Script `json:"before,omitempty"`
	After  []Script `json:"after,omitempty"`
}

// Script is one script: its text, or the file with the text.
type Script struct {
	Name   string `json:"name"`
	Script string `json:"script,omitempty"`
	// File is a path relative to the build file.
	File string `json:"file,omitempty"`
}

// Proxy sets the HTTP proxy through which the machine downloads.
type Proxy struct {
	HTTP    string   `json:"http,omitempty"`
	HTTPS   string   `json:"https,omitempty"`
	NoProxy []string `json:"noProxy,omitempty"`
}

// Builder is the virtual machine on which the image is prepared.
type Builder struct {
	// Size is the VM size; Standard_D4s_v3 by default.
	Size string `json:"size,omitempty"`
	// SubnetID is an existing subnet; without it the build creates a network.
	SubnetID string `json:"subnetID,omitempty"`
	// Identities are the resource IDs of user-assigned identities.
	Identities []string `json:"identities,omitempty"`
	// DiskGiB is the size of the OS disk; the default is the size of the source image.
	DiskGiB int `json:"diskGiB,omitempty"`
}

// Timeouts are the limits for a script, for the updates step, and for the join of a machine.
type Timeouts struct {
	Script  metav1.Duration `json:"script,omitzero"`
	Updates metav1.Duration `json:"updates,omitzero"`
	Join    metav1.Duration `json:"join,omitzero"`
}

// Defaults of a build.
const (
	defaultSize       = "Standard_D4s_v3"
	defaultContainerd = "2.1.4"
	defaultRunc       = "1.3.0"
	defaultCNI        = "1.7.1"
	defaultCloudbase  = "1.1.6"
	defaultScript     = 30 * time.Minute
	defaultUpdates    = 90 * time.Minute
	defaultJoin       = 45 * time.Minute
)

// withDefaults returns a spec with its default values.
func (s Spec) withDefaults() Spec {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&s.ContainerdVersion, defaultContainerd)
	set(&s.CNIPluginsVersion, defaultCNI)
	if s.os() == osLinux {
		set(&s.RuncVersion, defaultRunc)
	} else {
		set(&s.CloudbaseInitVersion, defaultCloudbase)
		set(&s.KubeletService, "sc")
	}
	set(&s.Updates, "none")
	set(&s.Builder.Size, defaultSize)
	set(&s.Source.Version, "latest")
	s.KubernetesVersion = "v" + strings.TrimPrefix(s.KubernetesVersion, "v")
	s.ContainerdVersion = strings.TrimPrefix(s.ContainerdVersion, "v")
	if s.Timeouts.Script.Duration == 0 {
		s.Timeouts.Script.Duration = defaultScript
	}
	if s.Timeouts.Updates.Duration == 0 {
		s.Timeouts.Updates.Duration = defaultUpdates
	}
	if s.Timeouts.Join.Duration == 0 {
		s.Timeouts.Join.Duration = defaultJoin
	}
	s.Target.Replicas = max(1, s.Target.Replicas)
	if !slices.Contains(s.Target.Regions, s.Location) {
		s.Target.Regions = append([]string{s.Location}, s.Target.Regions...)
	}
	return s
}

// Read reads a build file. Unknown fields are errors. Script files are read relative to the build file.
func Read(file string) (*ImageBuild, error) {
	data, err := input.File(file, input.Small)
	if err != nil {
		return nil, err
	}
	b, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, list := range [][]Script{b.Spec.Scripts.Before, b.Spec.Scripts.After} {
		for i := range list {
			if list[i].File == "" {
				continue
			}
			text, err := input.File(filepath.Join(filepath.Dir(file), list[i].File), input.Small)
			if err != nil {
				return nil, fmt.Errorf("%s: script %s: %w", file, list[i].Name, err)
			}
			if list[i].Script != "" {
				return nil, fmt.Errorf("%s: script %s has both script and file: give one of them", file, list[i].Name)
			}
			list[i].Script, list[i].File = string(text), ""
		}
	}
	return b, b.Validate()
}

// Parse parses a build file without validation.
func Parse(data []byte) (*ImageBuild, error) {
	b := &ImageBuild{}
	if err := yaml.UnmarshalStrict(data, b); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: "))
	}
	return b, nil
}

var (
	buildName   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)
	versionForm = regexp.MustCompile(`^\d{1,9}\.\d{1,9}\.(\d{1,9}|date)$`)
	kubernetes  = regexp.MustCompile(`^v?1\.\d{1,3}\.\d{1,3}$`)
	sumForm     = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// featureForm matches the name of a Windows feature.
var featureForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

// hardening are the options that the scripts' Set-Hardening function accepts.
var hardening = []string{"no-smb1", "no-old-tls", "no-llmnr", "strong-crypto"}

// Validate returns all errors in a build, by field.
func (b *ImageBuild) Validate() error {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf(field+": "+format, args...))
	}
	s := b.Spec
	if b.APIVersion != APIVersion || b.Kind != Kind {
		bad("apiVersion, kind", "they are %q and %q, want %s and %s", b.APIVersion, b.Kind, APIVersion, Kind)
	}
	if !buildName.MatchString(b.Metadata.Name) {
		bad("metadata.name", "%q is not 1 to 40 lower case letters, digits and dashes", b.Metadata.Name)
	}
	for field, value := range map[string]string{
		"spec.location": s.Location, "spec.target.resourceGroup": s.Target.ResourceGroup,
		"spec.target.gallery": s.Target.Gallery, "spec.target.definition": s.Target.Definition,
	} {
		if value == "" {
			bad(field, "is missing")
		}
	}
	if _, ok := releaseNamed(s.Source.Release); !ok {
		bad("spec.source.release", "%q is not one of %s", s.Source.Release, strings.Join(releaseNames(), ", "))
	}
	if !versionForm.MatchString(s.Target.Version) {
		bad("spec.target.version", "%q has not the form major.minor.patch or major.minor.date", s.Target.Version)
	}
	if !kubernetes.MatchString(s.KubernetesVersion) {
		bad("spec.kubernetesVersion", "%q is no version such as %s", s.KubernetesVersion, kuberelease.Default)
	}
	oneOf := func(field, value string, of ...string) {
		if value != "" && !slices.Contains(of, value) {
			bad(field, "%q is not one of %s", value, strings.Join(of, ", "))
		}
	}
	oneOf("spec.kubeletService", s.KubeletService, "sc", "nssm")
	oneOf("spec.updates", s.Updates, "none", "security", "all")
	for i, name := range s.Features {
		if !featureForm.MatchString(name) {
			bad(fmt.Sprintf("spec.features[%d]", i), "%q is no name of a feature such as Telnet-Client", name)
		}
	}
	for i, svc := range s.Services {
		field := fmt.Sprintf("spec.services[%d]", i)
		if svc.Name == "" {
			bad(field+".name", "is missing")
		}
		oneOf(field+".start", cmp.Or(svc.Start, "none"), "Automatic", "Manual", "Disabled")
	}
	for i, rule := range s.Firewall {
		field := fmt.Sprintf("spec.firewall[%d]", i)
		if rule.Name == "" || rule.Port < 1 || rule.Port > 65535 {
			bad(field, "it needs a name and a port from 1 to 65535")
		}
		oneOf(field+".protocol", rule.Protocol, "TCP", "UDP")
	}
	for i, name := range s.Hardening {
		oneOf(fmt.Sprintf("spec.hardening[%d]", i), cmp.Or(name, "none"), hardening...)
	}
	if err := address(s.Mirror); err != nil {
		bad("spec.mirror", "%v", err)
	}
	for i, pemText := range s.CACertificates {
		if block, _ := pem.Decode([]byte(pemText)); block == nil || block.Type != "CERTIFICATE" {
			bad(fmt.Sprintf("spec.caCertificates[%d]", i), "it is no certificate in PEM")
		}
	}
	errs = append(errs, s.validateSystem()...)
	errs = append(errs, s.validateComponents()...)
	errs = append(errs, s.validateScripts()...)
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// validateSystem returns errors for fields that the image's operating system does not support.
func (s Spec) validateSystem() (errs []error) {
	bad := func(field string) { errs = append(errs, fmt.Errorf("%s: %s has none", field, s.Source.Release)) }
	switch s.os() {
	case osWindows:
		if s.RuncVersion != "" {
			bad("spec.runcVersion")
		}
	case osLinux:
		for field, set := range map[string]bool{
			"spec.kubeletService": s.KubeletService != "", "spec.cloudbaseInitVersion": s.CloudbaseInitVersion != "",
			"spec.features": len(s.Features) > 0, "spec.firewall": len(s.Firewall) > 0, "spec.hardening": len(s.Hardening) > 0,
		} {
			if set {
				bad(field)
			}
		}
		for i, one := range s.Services {
			if one.Start == "Manual" {
				errs = append(errs, fmt.Errorf("spec.services[%d].start: a unit of systemd is Automatic or Disabled", i))
			}
		}
		for i, c := range s.Components {
			if c.Signer != "" {
				errs = append(errs, fmt.Errorf("spec.components[%d].signer: signatures by Authenticode are of Windows", i))
			}
		}
	}
	return errs
}

func (s Spec) validateComponents() (errs []error) {
	seen := map[string]bool{}
	for i, c := range s.Components {
		field := fmt.Sprintf("spec.components[%d]", i)
		known := slices.ContainsFunc(s.withDefaults().standard(), func(k download) bool { return k.Name == c.Name }) ||
			ownPrograms[c.Name] != "" && s.os() == osWindows
		switch {
		case c.Name == "" || seen[c.Name]:
			errs = append(errs, fmt.Errorf("%s.name: %q is empty or there twice", field, c.Name))
		case !known && (c.URL == "" || c.Path == ""):
			errs = append(errs, fmt.Errorf("%s: %q is no component of every image, so it needs url and path", field, c.Name))
		case known && c.Path != "":
			errs = append(errs, fmt.Errorf("%s.path: where %s goes is fixed", field, c.Name))
		case c.SHA256 != "" && !sumForm.MatchString(c.SHA256):
			errs = append(errs, fmt.Errorf("%s.sha256: it is not 64 lower case hex digits", field))
		}
		if err := address(c.URL); err != nil {
			errs = append(errs, fmt.Errorf("%s.url: %w", field, err))
		}
		seen[c.Name] = true
	}
	if s.KubeletService == "nssm" && !seen["nssm"] {
		errs = append(errs, errors.New("spec.components: kubeletService nssm needs a component nssm with url "+
			"and sha256: there is no official download of nssm.exe that stays"))
	}
	if s.os() == osWindows && kubernetes.MatchString(s.KubernetesVersion) &&
		minorOf(s.KubernetesVersion) <= lastProxied && !seen[csiProxy] {
		errs = append(errs, fmt.Errorf("spec.components: Kubernetes 1.%d and older runs no HostProcess containers, so CSI "+
			"drivers need a component csi-proxy with url and sha256", lastProxied))
	}
	for i, c := range s.Components {
		if ownPrograms[c.Name] != "" && s.os() == osWindows && c.URL == "" {
			errs = append(errs, fmt.Errorf("spec.components[%d].url: %s has no address of its own, so it needs one", i, c.Name))
		}
	}
	return errs
}

func (s Spec) validateScripts() (errs []error) {
	seen := map[string]bool{}
	for when, list := range map[string][]Script{"before": s.Scripts.Before, "after": s.Scripts.After} {
		for i, c := range list {
			field := fmt.Sprintf("spec.scripts.%s[%d]", when, i)
			if !buildName.MatchString(c.Name) || seen[c.Name] {
				errs = append(errs, fmt.Errorf("%s.name: %q is not 1 to 40 lower case letters, digits and "+
					"dashes, or there twice", field, c.Name))
			}
			if c.Script == "" && c.File == "" {
				errs = append(errs, fmt.Errorf("%s: give script or file", field))
			}
			seen[c.Name] = true
		}
	}
	return errs
}

// address checks an http or https URL, which may be empty. It refuses credentials in it, because Azure stores the
// script that contains the URL.
func address(raw string) error {
	if raw == "" {
		return nil
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("it is no http or https address")
	case u.User != nil || u.RawQuery != "":
		return errors.New("it has credentials or a query, which would be seen in the script that Azure keeps: " +
			"give the builder an identity or a mirror instead")
	}
	return nil
}

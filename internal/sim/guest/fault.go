package guest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/userdata"
)

// Fault is a failure that can be injected into a guest. A fault of the first boot corrupts the custom data that the
// guest receives. Any other fault changes the services, files or vitals of a running machine, so that everything that
// reads them shows the symptom. Commands that repair a real machine also repair the guest.
type Fault struct {
	Name string
	// Does describes the fault in a few words.
	Does string
	// OS is Windows for faults that Linux guests cannot have.
	OS string

	corrupt func(customData string) string
	// fetched is set if corrupt also works on bootstrap data that a machine fetches from a key
	// vault.
	fetched bool
	inject  func(*machine.Machine) error
	heal    func(*machine.Machine) error
}

// Boot reports whether the fault affects the first boot: such a fault applies to machines that have not booted yet,
// and Heal does not undo it.
func (a Fault) Boot() bool { return a.corrupt != nil }

// Corrupt returns custom data as a fault of the first boot corrupts it.
func (a Fault) Corrupt(data []byte) []byte {
	if a.corrupt == nil {
		return data
	}
	return []byte(a.corrupt(string(data)))
}

var base64Text = regexp.MustCompile(`[A-Za-z0-9+/]{24,}={0,2}`)

// CorruptSecret changes a bootstrap secret, a compressed script with files in base64, as Corrupt changes
// custom data. Any other value is returned unchanged.
func (a Fault) CorruptSecret(value string) string {
	if a.corrupt == nil || !a.fetched {
		return value
	}
	packed, err := base64.URLEncoding.DecodeString(value)
	if err != nil {
		return value
	}
	script, err := userdata.Gunzip(packed)
	if err != nil {
		return value
	}
	corrupted := base64Text.ReplaceAllStringFunc(string(script), func(text string) string {
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return text
		}
		return base64.StdEncoding.EncodeToString(a.Corrupt(plain))
	})
	return base64.URLEncoding.EncodeToString([]byte(compress(corrupted)))
}

// Inject applies a fault to the guest. It does nothing for a fault of the first boot.
func (g *Guest) Inject(a Fault) error { return apply(g.m, a, a.inject) }

// Heal undoes Inject. It does nothing for a fault of the first boot.
func (g *Guest) Heal(a Fault) error { return apply(g.m, a, a.heal) }

func apply(m *machine.Machine, a Fault, do func(*machine.Machine) error) error {
	if do == nil || a.OS != "" && a.OS != m.OS {
		return nil
	}
	if err := do(m); err != nil {
		return fmt.Errorf("%s of guest %s: %w", a.Name, m.ComputerName, err)
	}
	return nil
}

// FindFault returns the guest fault of that name.
func FindFault(name string) (Fault, bool) {
	for _, a := range Faults() {
		if a.Name == name {
			return a, true
		}
	}
	return Fault{}, false
}

var (
	tokenText  = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)
	pinText    = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	socketText = regexp.MustCompile(`(npipe:////|unix://)[^\s"']*containerd[^\s"']*`)
	cloudFlag  = regexp.MustCompile(`(?m)^( *)- name: cloud-provider$`)
	nameValue  = regexp.MustCompile(`ds\.meta_data(\["local_hostname"\]|\.local_hostname)`)
)

// Faults returns all faults: first those that affect the first boot, then those of a running machine.
func Faults() []Fault {
	vital := func(name, does, os string, sick func(*machine.Vitals)) Fault {
		return Fault{Name: name, Does: does, OS: os,
			inject: func(m *machine.Machine) error { return m.Pulse.Edit(sick) },
			heal: func(m *machine.Machine) error {
				return m.Pulse.Edit(func(v *machine.Vitals) { *v = machine.Healthy() })
			}}
	}
	return []Fault{
		{Name: "bad-token", fetched: true, Does: "the bootstrap token is not one of the cluster's",
			corrupt: func(s string) string { return tokenText.ReplaceAllString(s, "zzzzzz.0000000000000000") }},
		{Name: "wrong-ca", fetched: true, Does: "the pinned key is not that of the cluster's CA",
			corrupt: func(s string) string { return pinText.ReplaceAllString(s, "sha256:"+strings.Repeat("0", 64)) }},
		{Name: "wrong-cri-socket", fetched: true, Does: "kubeadm is given a socket that is not there",
			corrupt: func(s string) string { return socketText.ReplaceAllString(s, "${1}./pipe/dockershim") }},
		{Name: "taints-twice", fetched: true, Does: "the kubelet is given a taint twice",
			corrupt: func(s string) string {
				return cloudFlag.ReplaceAllString(s, "${1}- name: register-with-taints\n"+
					"${1}  value: os=windows:NoSchedule,os=windows:NoSchedule\n$0")
			}},
		{Name: "jinja-variable", Does: "the node is named by metadata that the agent does not have",
			corrupt: func(s string) string { return nameValue.ReplaceAllString(s, `ds.meta_data["vm_id"]`) }},
		{Name: "jinja-syntax", Does: "the custom data is no valid Jinja template",
			corrupt: func(s string) string { return s + "\n# {% if %}\n" }},
		{Name: "compressed", Does: "the custom data is compressed with gzip", OS: Windows, corrupt: compress},
		vital("no-route", "nothing outside of the machine answers", "", func(v *machine.Vitals) { v.Network = false }),
		service("kubelet-stopped", "the kubelet has stopped", "kubelet"),
		service("runtime-down", "the container runtime has stopped", "containerd"),
		{Name: "kubelet-manual", Does: "the kubelet does not start with the machine", OS: Windows,
			inject: startType("kubelet", machine.Manual), heal: startType("kubelet", machine.Automatic)},
		vital("disk-full", "the OS disk is full", "", func(v *machine.Vitals) { v.Free = 0.003 }),
		vital("images-unused", "images that nothing uses fill the OS disk", Windows,
			func(v *machine.Vitals) { v.Free, v.UnusedImages = 0.003, 0.4 }),
		vital("shim-hangs", "the shim of a pod that ends hangs, and the pod stays", Windows, func(v *machine.Vitals) { v.HungShim = true }),
		service("hns-stopped", "the Host Networking Service has stopped", "hns"),
		vital("memory-committed", "containers without a limit have committed the node's memory", Windows,
			func(v *machine.Vitals) { v.Committed = true }),
		vital("hns-leak", "crashed pods have left their HNS endpoints", Windows, func(v *machine.Vitals) { v.StaleEndpoints = 4000 }),
		vital("pause-image", "the sandbox image is not made for the host's build", Windows,
			func(v *machine.Vitals) { v.PauseImage = false }),
		vital("mtu", "the adapter's MTU leaves no room for the overlay", Windows, func(v *machine.Vitals) { v.MTU = 1300 }),
		vital("port-exhaustion", "outbound connections have used up the ports", Windows,
			func(v *machine.Vitals) { v.Connections = v.DynamicPorts - 20 }),
		vital("metadata-blocked", "the metadata service does not answer", Windows, func(v *machine.Vitals) { v.Metadata = false }),
		vital("mac-spoofing", "pods run, and what they send does not leave the machine", Windows,
			func(v *machine.Vitals) { v.PodNetwork = false }),
		vital("no-management-ip", "the switch was made while the adapter had no address", Windows,
			func(v *machine.Vitals) { v.ManagementIP = false }),
		vital("own-node-port", "a program waits for a node port of its own node", Windows,
			func(v *machine.Vitals) { v.Waiting = []string{"127.0.0.1:30080"} }),
		vital("service-from-node", "a program of the node waits for a service's address", Windows,
			func(v *machine.Vitals) { v.Waiting = []string{"10.96.0.10:53"} }),
		cniFault("cni-exceptions", "the CNI leaves all addresses out of translation", `"policies": [{"name": `+
			`"EndpointPolicy", "value": {"Type": "OutBoundNAT", "ExceptionList": ["10.96.0.0/12", `+
			`"0.0.0.0/0"]}}],`),
		{Name: "cni-dns", Does: "the CNI gives pods a DNS server that is not the cluster's", OS: Windows,
			inject: editCNI(func(conf string) string {
				if strings.Contains(conf, azureDNS) {
					return conf
				}
				if own := nameservers.ReplaceAllString(conf, azureDNS+`, "own $1":`); own != conf {
					return own
				}
				return strings.Replace(conf, "{", azureDNSAlone, 1)
			}),
			heal: editCNI(func(conf string) string {
				return strings.Replace(ownNameservers.ReplaceAllString(conf, `"$1":`), azureDNSAlone, "{", 1)
			})},
		{Name: "source-vip-stale", Does: "the cached source VIP is of a subnet that the node had before", OS: Windows,
			inject: func(m *machine.Machine) error {
				return errors.Join(m.Root.MkdirAll(sourceVIPFolder),
					m.Root.WriteFile(sourceVIP, []byte(`{"cniVersion":"0.2.0","ip4":{"ip":"172.30.7.2/24"}}`), 0o644))
			},
			heal: func(m *machine.Machine) error { return ignoreMissing(m.Root.RemoveAll(sourceVIP)) }},
		{Name: "subnet-env", Does: "a CNI configuration of Flannel is left, and no subnet.env", OS: Windows,
			inject: func(m *machine.Machine) error {
				return errors.Join(ignoreMissing(m.Root.RemoveAll(subnetEnv)), m.Root.WriteFile(leftFlannel, []byte(flannelConfig), 0o644))
			},
			heal: func(m *machine.Machine) error { return ignoreMissing(m.Root.RemoveAll(leftFlannel)) }},
		{Name: "cni-removed", Does: "the CNI configuration is gone", inject: removeCNI},
		{Name: "source-vip", Does: "the cached source VIP of kube-proxy is corrupt", OS: Windows,
			inject: func(m *machine.Machine) error {
				return errors.Join(m.Root.MkdirAll(sourceVIPFolder), m.Root.WriteFile(sourceVIP, []byte("{"), 0o644))
			},
			heal: func(m *machine.Machine) error { return ignoreMissing(m.Root.RemoveAll(sourceVIP)) }},
	}
}

// The guest paths that faults change.
const (
	subnetEnv   = `C:\run\flannel\subnet.env`
	leftFlannel = `C:\etc\cni\net.d\00-flannel.conf`
	cniFolder   = "/etc/cni/net.d"

	sourceVIPFolder = `C:\sourcevip`
	sourceVIP       = sourceVIPFolder + `\sourceVip.json`

	flannelConfig = `{"name": "flannel.4096", "cniVersion": "0.3.0", "type": "flannel", "delegate": {"type": "win-overlay"}}` + "\n"
)

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func compress(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s)) // a Buffer accepts every write
	_ = z.Close()
	return b.String()
}

func service(name, does, which string) Fault {
	os := ""
	if which == "hns" {
		os = Windows
	}
	return Fault{Name: name, Does: does, OS: os,
		inject: func(m *machine.Machine) error { return m.Services.Stop(runtimeOf(m, which)) },
		heal:   func(m *machine.Machine) error { return m.Services.Start(runtimeOf(m, which)) }}
}

// runtimeOf returns the name of a service on a machine: docker for containerd if docker is the machine's container
// runtime.
func runtimeOf(m *machine.Machine, service string) string {
	if service == "containerd" && strings.HasPrefix(m.Image.Runtime, "docker") && m.OS == Windows {
		return "docker"
	}
	return service
}

func startType(service, start string) func(*machine.Machine) error {
	return func(m *machine.Machine) error {
		return m.Services.Edit(service, func(s *machine.Service) { s.Start = start })
	}
}

func removeCNI(m *machine.Machine) error {
	entries, err := m.Root.ReadDir(cniFolder)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, e := range entries {
		if err := m.Root.RemoveAll(cniFolder + "/" + e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// cniFault returns a fault that inserts text into the CNI configurations of a Windows machine, after their first brace.
// Heal removes the text.
func cniFault(name, does, text string) Fault {
	return Fault{Name: name, Does: does, OS: Windows,
		inject: editCNI(func(conf string) string {
			if strings.HasPrefix(conf, "{"+text) {
				return conf
			}
			return strings.Replace(conf, "{", "{"+text, 1)
		}),
		heal: editCNI(func(conf string) string { return strings.Replace(conf, "{"+text, "{", 1) })}
}

// The DNS server that the fault cni-dns sets: azureDNS replaces the nameservers of a configuration; azureDNSAlone is
// for a configuration without any.
const (
	azureDNS      = `"nameservers": ["168.63.129.16"]`
	azureDNSAlone = `{"dns": {` + azureDNS + `},`
)

var (
	nameservers    = regexp.MustCompile(`(?i)"(nameservers)":`)
	ownNameservers = regexp.MustCompile(`(?i)` + regexp.QuoteMeta(azureDNS) + `, "own (nameservers)":`)
)

// editCNI returns a function that changes the CNI configurations of a machine.
func editCNI(change func(conf string) string) func(*machine.Machine) error {
	return func(m *machine.Machine) error {
		entries, err := m.Root.ReadDir(cniFolder)
		if err != nil {
			return ignoreMissing(err)
		}
		for _, e := range entries {
			file := cniFolder + "/" + e.Name()
			if !strings.Contains(e.Name(), ".conf") {
				continue
			}
			data, err := m.Root.ReadFile(file)
			if err != nil {
				return err
			}
			if changed := change(string(data)); changed != string(data) {
				if err := m.Root.WriteFile(file, []byte(changed), 0o644); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

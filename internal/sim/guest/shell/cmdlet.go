package shell

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// cmdlet gives objects to a pipeline.
type cmdlet func(ps *powershell, args []string) ([]object, error)

// cmdlets finds one by name in lower case, aliases too; nil for none.
func cmdlets(name string) cmdlet {
	switch name {
	case "get-service", "gsv":
		return serviceObjects
	case "get-process", "gps", "tasklist":
		return processObjects
	case "get-childitem", "gci", "dir", "ls", "get-item", "gi":
		return fileObjects
	case "get-content", "gc", "cat", "type":
		return lineObjects
	case "get-hnsnetwork":
		return networkObjects
	case "get-hnsendpoint":
		return endpointObjects
	case "get-nettcpconnection":
		return connectionObjects
	case "get-hnspolicylist":
		return func(*powershell, []string) ([]object, error) { return nil, nil }
	case "get-netadapter":
		return adapterObjects
	case "get-netipaddress":
		return addressObjects
	case "get-volume":
		return volumeObjects
	case "get-computerinfo":
		return computerObjects
	}
	return nil
}

// alone are the cmdlets that the table of commands lacks.
func alone(name string) bool {
	switch name {
	case "get-volume", "get-computerinfo", "get-netipaddress", "get-hnsendpoint", "get-hnspolicylist", "get-nettcpconnection", "get-item", "gi", "gsv", "gps", "get-netadapter":
		return true
	}
	return false
}

// wanted are the names that a cmdlet is asked for: its first operand, split at
// commas, or nothing for all.
func wanted(args []string) []string {
	ops := operand(args[1:])
	if len(ops) == 0 {
		return nil
	}
	var out []string
	for n := range strings.SplitSeq(ops[0], ",") {
		out = append(out, strings.Trim(strings.TrimSpace(n), `"'`))
	}
	return out
}

func among(name string, patterns []string) bool {
	for _, p := range patterns {
		if like(name, p) {
			return true
		}
	}
	return len(patterns) == 0
}

func serviceObjects(ps *powershell, args []string) ([]object, error) {
	names := wanted(args)
	for _, n := range names {
		if _, ok := ps.shell.guest.Services.Get(n); !ok && !strings.ContainsAny(n, "*?") {
			return nil, refused("Cannot find any service with service name '%s'.", n)
		}
	}
	var out []object
	for _, s := range ps.shell.guest.Services.List() {
		if among(s.Name, names) {
			out = append(out, object{kind: "service", fields: []property{{"Name", s.Name}, {"Status", windowsState(s)}, {"DisplayName", s.Display}, {"StartType", s.Start}, {"BinaryPathName", s.Path}}})
		}
	}
	return out, nil
}

func processObjects(ps *powershell, args []string) ([]object, error) {
	var out []object
	id := 1000
	for _, s := range ps.shell.guest.Services.List() {
		if !s.Running {
			continue
		}
		if among(s.Name, wanted(args)) {
			out = append(out, object{kind: "process", fields: []property{{"Id", id}, {"ProcessName", s.Name}, {"Path", s.Path}}})
		}
		id += 4
	}
	return out, nil
}

func fileObjects(ps *powershell, args []string) ([]object, error) {
	p := &Process{Dir: ps.o.Dir, Guest: ps.shell.guest}
	names := wanted(args)
	if len(names) == 0 {
		names = []string{"."}
	}
	itself := strings.Contains(args[0], "item") && !strings.Contains(args[0], "child")
	var out []object
	for _, n := range names {
		for _, at := range globWindows(p, n) {
			at = p.Abs(at)
			info, err := p.Guest.Root.Stat(at)
			if err != nil {
				return out, refused("Cannot find path '%s' because it does not exist.", at)
			}
			if !info.IsDir() || itself {
				out = append(out, fileObject(at, info))
				continue
			}
			entries, err := p.Guest.Root.ReadDir(at)
			if err != nil {
				return out, err
			}
			for _, e := range entries {
				if i, err := e.Info(); err == nil {
					out = append(out, fileObject(p.Guest.Root.Abs(at, e.Name()), i))
				}
			}
		}
	}
	return out, nil
}

func fileObject(at string, i fs.FileInfo) object {
	mode, length := "-a----", any(i.Size())
	if i.IsDir() {
		mode, length = "d-----", nil
	}
	return object{kind: "file", fields: []property{{"Mode", mode}, {"LastWriteTime", i.ModTime().UTC().Format("1/2/2006 3:04:05 PM")}, {"Length", length}, {"Name", i.Name()}, {"FullName", at}}}
}

func lineObjects(ps *powershell, args []string) ([]object, error) {
	var out, errOut strings.Builder
	p := &Process{Args: args, Stdout: &out, Stderr: &errOut, Dir: ps.o.Dir, Guest: ps.shell.guest, shell: ps.shell}
	for i, a := range args { // nothing waits in a pipeline
		if strings.EqualFold(a, "-Wait") {
			p.Args = append(append([]string{}, args[:i]...), args[i+1:]...)
		}
	}
	if getContent(context.Background(), p) != 0 { // without -Wait there is nothing to end
		return nil, refused("%s", strings.TrimPrefix(strings.TrimSpace(errOut.String()), "Get-Content : "))
	}
	return texts(out.String()), nil
}

func networkObjects(ps *powershell, args []string) ([]object, error) {
	var out []object
	p := &Process{Dir: ps.o.Dir, Guest: ps.shell.guest}
	address := ""
	if p.Guest.Pulse.Get().ManagementIP {
		address = p.Guest.IP().String()
	}
	for _, n := range hnsNetworks(p) {
		kind := "Overlay"
		if n == "External" {
			kind = "External"
		}
		if among(n, wanted(args)) {
			out = append(out, object{kind: "hnsnetwork", fields: []property{{"Name", n}, {"Type", kind}, {"ManagementIP", address}, {"State", 1}}})
		}
	}
	return out, nil
}

func mac(m *machine.Machine) string { return strings.ToUpper(strings.ReplaceAll(m.MAC(), ":", "-")) }

func adapterObjects(ps *powershell, args []string) ([]object, error) {
	m := ps.shell.guest
	out := []object{{kind: "adapter", fields: []property{{"Name", "Ethernet"}, {"InterfaceDescription", "Microsoft Hyper-V Network Adapter"}, {"ifIndex", 4}, {"Status", "Up"}, {"MacAddress", mac(m)}, {"LinkSpeed", "50 Gbps"}}}}
	if len(hnsNetworks(&Process{Guest: m})) > 0 {
		out = append(out, object{kind: "adapter", fields: []property{{"Name", "vEthernet (Ethernet)"}, {"InterfaceDescription", "Hyper-V Virtual Ethernet Adapter"}, {"ifIndex", 9}, {"Status", "Up"}, {"MacAddress", mac(m)}, {"LinkSpeed", "50 Gbps"}}})
	}
	names := wanted(args)
	var chosen []object
	for _, o := range out {
		if among(o.String(), names) {
			chosen = append(chosen, o)
		}
	}
	return chosen, nil
}

func addressObjects(ps *powershell, _ []string) ([]object, error) {
	adapter := "Ethernet"
	if len(hnsNetworks(&Process{Guest: ps.shell.guest})) > 0 {
		adapter = "vEthernet (Ethernet)"
	}
	var out []object
	for _, ip := range ps.shell.guest.IPs {
		family, bits := "IPv4", 16
		if ip.Is6() {
			family, bits = "IPv6", 64
		}
		out = append(out, object{kind: "ip", fields: []property{{"IPAddress", ip.String()}, {"InterfaceAlias", adapter}, {"PrefixLength", bits}, {"AddressFamily", family}}})
	}
	return append(out, object{kind: "ip", fields: []property{{"IPAddress", "127.0.0.1"}, {"InterfaceAlias", "Loopback Pseudo-Interface 1"}, {"PrefixLength", 8}, {"AddressFamily", "IPv4"}}}), nil
}

func volumeObjects(ps *powershell, args []string) ([]object, error) {
	const gib = 1 << 30
	if names := wanted(args); len(names) > 0 && !among("C", names) {
		return nil, refused("No MSFT_Volume objects found with property 'DriveLetter' equal to '%s'.", names[0])
	}
	return []object{{kind: "volume", fields: []property{{"DriveLetter", "C"}, {"FileSystemType", "NTFS"}, {"HealthStatus", "Healthy"}, {"SizeRemaining", int(math.Round(127 * gib * ps.shell.guest.Pulse.Get().Free))}, {"Size", 127 * gib}}}}, nil
}

func computerObjects(ps *powershell, _ []string) ([]object, error) {
	m := ps.shell.guest
	return []object{{kind: "computer", fields: []property{{"CsName", strings.ToUpper(m.ComputerName)}, {"WindowsProductName", m.Image.Name}, {"OsVersion", m.Image.Build}, {"OsBuildNumber", buildNumber(m.Image.Build)}, {"CsModel", "Virtual Machine (simulated by casement)"}}}}, nil
}

// buildNumber is the third part of a version.
func buildNumber(build string) string {
	if parts := strings.Split(build, "."); len(parts) > 2 {
		return parts[2]
	}
	return build
}

// refusal is an error in PowerShell's own words.
type refusal string

func (r refusal) Error() string { return string(r) }

func refused(format string, a ...any) error { return refusal(fmt.Sprintf(format, a...)) }

package walk

import (
	"cmp"
	"strings"
	"testing"

	"casement.dev/casement/internal/diagnose/facts"
)

// well is the output of the probes on a healthy node.
var well = facts.Inside{
	"ServiceStopped": "Status   Name               DisplayName\n------   ----               -----------\n" +
		"Running  containerd         containerd\nRunning  kubelet            kubelet\n",
	"ServiceNotAutomatic": "SERVICE_NAME: kubelet\n        START_TYPE         : 2   AUTO_START\n",
	"SourceVIPMissing":    "",
	"HNSLeak":             "3\n",
	"MTUTooSmall": "10      vEthernet (Ethernet)            IPv4                  1500              15 Enabled\n" +
		"12      vEthernet (d4f1)                IPv4                  1350              15 Enabled\n" +
		"1       Loopback Pseudo-Interface 1     IPv4            4294967295              75 Disabled\n",
	"PortsExhausted":  "Protocol tcp Dynamic Port Range\nStart Port      : 49152\nNumber of Ports : 16384\n120\n",
	"MetadataBlocked": "TcpTestSucceeded : True\n",
	"ManagementIPMissing": `[{"Name":"Calico","Type":"Overlay","ManagementIP":"10.1.0.4"},{"Name":"nat",` +
		`"Type":"nat","ManagementIP":null}]` + "\n",
	"ExceptionListTooWide": `{"dns": {"Nameservers": ["10.96.0.10"]}, "policies": [{"Value": {"ExceptionList": ` +
		`["10.96.0.0/12", "172.16.0.0/12", "168.63.129.16/32", "100.64.0.0/10"]}}]}` + "\n",
	"OwnNodePort": `{"LocalAddress":"10.1.0.4","RemoteAddress":"20.1.2.3","RemotePort":31000}` + "\n",
}

func TestInside(t *testing.T) {
	for cause, out := range map[string]string{
		"":                     "",
		"ServiceStopped":       "Stopped  kubelet            kubelet\n",
		"ServiceNotAutomatic":  "        START_TYPE         : 3   DEMAND_START\n",
		"SourceVIPMissing":     "{",
		"HNSLeak":              "4003\n",
		"MTUTooSmall":          "10      vEthernet (Ethernet)            IPv4                  1300              15 Enabled\n",
		"PortsExhausted":       "Number of Ports : 16384\n16000\n",
		"MetadataBlocked":      "TcpTestSucceeded : False\n",
		"SourceVIPStale":       `{"ip4":{"ip":"172.30.7.2/24"}}`,
		"ManagementIPMissing":  `{"Name":"External","Type":"External","ManagementIP":""}`,
		"ExceptionListTooWide": `{"policies": [{"Value": {"ExceptionList": ["10.96.0.0/12","20.0.0.0/8"]}}]}`,
		"ClusterDNSMissing":    `{"dns": {"Nameservers": ["168.63.129.16"]}}`,
		"OwnNodePort": `[{"LocalAddress":"10.1.0.4","RemoteAddress":"20.1.2.3","RemotePort":443},` +
			`{"LocalAddress":"10.1.0.4","RemoteAddress":"10.1.0.4","RemotePort":31000}]`,
		"ServiceFromNode": `[{"LocalAddress":"10.1.0.4","RemoteAddress":"10.96.0.10","RemotePort":443}]`,
	} {
		t.Run("one wrong: "+cause, func(t *testing.T) {
			f := healthy()
			seen := facts.Inside{}
			for name, text := range well {
				seen[name] = text
			}
			for _, p := range Probes() {
				if p.Name == cause {
					seen[cmp.Or(p.reads, p.Name)] = out
				}
			}
			f.Inside = map[string]facts.Inside{"n": seen}
			a := Cluster(f)
			if a.Name() != cause {
				t.Errorf("got %q, want %q", a.Name(), cause)
			}
			if cause != "" && (a.Means.Fix == "" || len(a.Lines()) == 0 || a.At != "Node/n") {
				t.Errorf("incomplete: %+v", a)
			}
		})
	}
}

func TestScriptIsReadBack(t *testing.T) {
	printed := "noise\n"
	for _, p := range Probes() {
		if !strings.Contains(Script(), p.Command) {
			t.Errorf("%s is not in the script", p.Name)
		}
		if p.reads != "" {
			continue
		}
		printed += mark + p.Name + "\r\n" + well[p.Name]
	}
	in := ParseInside(printed)
	for _, p := range Probes() {
		if in[p.Name] != well[p.Name] {
			t.Errorf("%s: got %q, want %q", p.Name, in[p.Name], well[p.Name])
		}
	}
}

func FuzzParseInside(f *testing.F) {
	f.Add(mark + "HNSLeak\n12\n")
	f.Fuzz(func(t *testing.T, out string) {
		f := healthy()
		f.Inside = map[string]facts.Inside{"n": ParseInside(out)}
		Cluster(f)
	})
}

package why

import (
	"strings"
	"testing"
)

// well is what the probes print on a healthy node.
var well = Inside{
	"ServiceStopped":      "Status   Name               DisplayName\n------   ----               -----------\nRunning  containerd         containerd\nRunning  kubelet            kubelet\n",
	"ServiceNotAutomatic": "SERVICE_NAME: kubelet\n        START_TYPE         : 2   AUTO_START\n",
	"SourceVIPMissing":    "",
	"HNSLeak":             "3\n",
	"MTUTooSmall":         "10      vEthernet (Ethernet)            IPv4                  1500              15 Enabled\n12      vEthernet (d4f1)                IPv4                  1350              15 Enabled\n1       Loopback Pseudo-Interface 1     IPv4            4294967295              75 Disabled\n",
	"PortsExhausted":      "Protocol tcp Dynamic Port Range\nStart Port      : 49152\nNumber of Ports : 16384\n120\n",
	"MetadataBlocked":     "TcpTestSucceeded : True\n",
}

func TestInside(t *testing.T) {
	for cause, out := range map[string]string{
		"":                    "",
		"ServiceStopped":      "Stopped  kubelet            kubelet\n",
		"ServiceNotAutomatic": "        START_TYPE         : 3   DEMAND_START\n",
		"SourceVIPMissing":    "{",
		"HNSLeak":             "4003\n",
		"MTUTooSmall":         "10      vEthernet (Ethernet)            IPv4                  1300              15 Enabled\n",
		"PortsExhausted":      "Number of Ports : 16384\n16000\n",
		"MetadataBlocked":     "TcpTestSucceeded : False\n",
	} {
		t.Run("one wrong: "+cause, func(t *testing.T) {
			f := healthy()
			seen := Inside{}
			for name, text := range well {
				seen[name] = text
			}
			if cause != "" {
				seen[cause] = out
			}
			f.Inside = map[string]Inside{"n": seen}
			a := f.ForCluster()
			if a.Cause != cause {
				t.Errorf("got %q, want %q", a.Cause, cause)
			}
			if cause != "" && (a.Fix == "" || len(a.Evidence) == 0 || a.At != "Node/n") {
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
		facts := healthy()
		facts.Inside = map[string]Inside{"n": ParseInside(out)}
		facts.ForCluster()
	})
}

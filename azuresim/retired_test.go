package azuresim

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"casement.dev/casement/azuresim/internal/value"
)

// shifted is the real clock with an offset.
type shifted struct {
	clock.RealClock
	by time.Duration
}

func (s shifted) Now() time.Time                  { return time.Now().Add(s.by) }
func (s shifted) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// TestRetired: retired features are refused with Azure's errors since the day of their retirement,
// and accepted before.
func TestRetired(t *testing.T) {
	account := func(rest string) string {
		return `{"location":"westeurope","sku":{"name":"Standard_LRS"},` + rest + `}`
	}
	machine := func(size, disk string) string {
		return `{"location":"westeurope","properties":{"hardwareProfile":{"vmSize":"` + size + `"},"storageProfile":{"imageReference":` +
			`{"publisher":"Canonical","offer":"0001-com-ubuntu-server-jammy","sku":"22_04-lts-gen2","version":"latest"},"osDisk":{` +
			`"createOption":"FromImage"` + disk + `}},"osProfile":{"computerName":"m","adminUsername":"u","adminPassword":"Correct-Horse-1"},` +
			`"networkProfile":{"networkInterfaces":[{"id":"` + idOf(networkPath("networkInterfaces/n")) + `"}]}}}`
	}
	const storage, compute = "resourceGroups/g/providers/Microsoft.Storage/", "resourceGroups/g/providers/Microsoft.Compute/"
	for _, test := range []struct{ name, path, body, day, code, says string }{
		{"a Basic address", networkPath("publicIPAddresses/p"), `{"location":"westeurope","sku":{"name":"Basic"}}`, "2025-09-30",
			"IPv4BasicSkuPublicIpCountLimitReached", "more than 0"},
		{"a Basic load balancer", networkPath("loadBalancers/l"), `{"location":"westeurope","sku":{"name":"Basic"}}`, "2025-09-30",
			"OperationNotAllowed", "September 30, 2025"},
		{"an unmanaged disk", compute + "virtualMachines/m",
			machine("Standard_D2s_v3", `,"name":"d","vhd":{"uri":"https://x.blob.core.windows.net/v/d.vhd"}`), "2026-03-31",
			"BadRequest", "Unmanaged disks have been retired"},
		{"a size", compute + "virtualMachines/m", machine("Standard_NV12s_v3", ""), "2026-09-30", "SkuNotAvailable", "NV12s_v3"},
		{"a size of confidential machines", compute + "virtualMachines/m", machine("Standard_DC2s_v2", ""), "2026-06-30", "SkuNotAvailable",
			"DC2s_v2"},
		{"a first account", storage + "storageAccounts/a123", account(`"kind":"Storage"`), "2026-10-13", "OperationNotAllowed",
			"October 13, 2026"},
		{"an old TLS", storage + "storageAccounts/a123", account(`"kind":"StorageV2","properties":{"minimumTlsVersion":"TLS1_0"}`),
			"2026-02-03", "InvalidRequestPropertyValue", "February 3, 2026"},
		{"a flow log of a security group", networkPath("networkWatchers/w/flowLogs/f"), `{"location":"westeurope","properties":{` +
			`"targetResourceId":"` + idOf(networkPath("networkSecurityGroups/n")) + `","storageId":"` + idOf(storage+"storageAccounts/b123") + `"}}`,
			"2025-06-30", "NsgFlowLogCreationBlocked", "September 30, 2027"},
	} {
		t.Run(test.name, func(t *testing.T) {
			day, err := time.Parse(time.DateOnly, test.day)
			if err != nil {
				t.Fatal(err)
			}
			for _, retired := range []bool{false, true} {
				now := day
				if !retired {
					now = day.Add(-time.Hour)
				}
				a := start(t, Config{Clock: shifted{by: time.Until(now)}})
				a.group()
				a.carried("PUT", vnetPath("v"), strings.Replace(vnetBody, `"addressSpace"`,
					`"subnets": [{"name": "s", "properties": {"addressPrefix": "10.0.0.0/24"}}], "addressSpace"`, 1))
				a.carried("PUT", networkPath("networkInterfaces/n"), `{"location":"westeurope","properties":{"ipConfigurations":[{"name":"c",`+
					`"properties":{"subnet":{"id":"`+idOf(vnetPath("v"))+`/subnets/s"}}}]}}`)
				a.carried("PUT", networkPath("networkSecurityGroups/n"), `{"location":"westeurope"}`)
				a.carried("PUT", networkPath("networkWatchers/w"), `{"location":"westeurope"}`)
				a.carried("PUT", storage+"storageAccounts/b123", account(`"kind":"StorageV2"`))
				status, answer, _ := a.speak("PUT", test.path, test.body)
				code, message := value.Str(answer, "error", "code"), value.Str(answer, "error", "message")
				if retired && (code != test.code || !strings.Contains(message, test.says)) || !retired && status >= 300 {
					t.Errorf("on %s: %d %v", now, status, answer)
				}
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

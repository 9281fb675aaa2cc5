package azuresim

import (
	"strings"
	"testing"

	"casement.dev/casement/azuresim/internal/value"
)

// TestETagsOfCompute: machines, scale sets and instances count their writes, a write with an older
// count changes nothing, and older API versions have no ETag.
func TestETagsOfCompute(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	a.network()
	a.putSet(windowsSet(1))
	set := "resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/win"
	etag := func(path string) string {
		t.Helper()
		_, body, _ := a.speak("GET", path, "")
		return value.Str(body, "etag")
	}
	const now, then = "?api-version=2026-04-01", "?api-version=2023-09-01"
	if got := etag(set + now); got != `"1"` {
		t.Errorf("a new set has the ETag %s", got)
	}
	_, nic, _ := a.speak("GET", set+"/virtualMachines/0/networkInterfaces/win-nic-0?api-version=2018-10-01", "")
	for name := range value.Props(nic) {
		if name == "deleteOption" || name == "disableTcpStateTracking" {
			t.Errorf("an interface of 2018-10-01 has %s", name)
		}
	}
	if len(value.Items(nic, "properties", "ipConfigurations")) == 0 {
		t.Errorf("no interface: %v", nic)
	}
	if got := etag(set + "/virtualMachines/0" + now); got != `"1"` {
		t.Errorf("a new instance has the ETag %s", got)
	}
	for _, path := range []string{set, set + "/virtualMachines/0"} {
		if got := etag(path + then); got != "" {
			t.Errorf("in an older version %s has the ETag %s", path, got)
		}
	}
	status, answer, _ := a.speak("PATCH", set+now, `{"tags":{"a":"b"}}`, "If-Match", `"1"`)
	if status != 200 || value.Str(answer, "etag") != `"2"` {
		t.Errorf("a write with the right ETag: %d %v", status, answer)
	}
	status, answer, _ = a.speak("PATCH", set+now, `{"tags":{"a":"c"}}`, "If-Match", `"1"`)
	if message := value.Str(answer, "error", "message"); status != 412 || value.Str(answer, "error", "code") != "PreconditionFailed" ||
		!strings.Contains(message, `"1" does not match etag "2"`) {
		t.Errorf("a write with an older ETag: %d %v", status, answer)
	}
	a.settle()
	one, err := a.instanceClient().BeginDelete(t.Context(), "g", "win", "0", nil)
	must(t, one, err)
	if got := etag(set + now); got != `"3"` {
		t.Errorf("after a change of the capacity the ETag is %s", got)
	}
}

package cloud

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestView(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want View
		spot bool
		off  string
	}{
		"runs": {`{"statuses":[{"code":"ProvisioningState/succeeded"},{"code":"PowerState/running"}]}`,
			View{Power: "running"}, false, ""},
		"starts": {`{"statuses":[{"code":"ProvisioningState/creating"}]}`, View{}, false, ""},
		"stopped": {`{"statuses":[{"code":"PowerState/stopped"}]}`, View{Power: "stopped"}, false,
			"instance 3 is stopped in Azure, and not by casement; start it"},
		"deallocated": {`{"statuses":[{"code":"PowerState/deallocated"}]}`, View{Power: "deallocated"}, false, "start it"},
		"evicted": {`{"statuses":[{"code":"PowerState/deallocated"}]}`, View{Power: "deallocated"},
			true, "when Azure evicts them; delete the Machine"},
		"failed": {
			`{"statuses":[{"code":"ProvisioningState/failed/OSProvisioningTimedOut","message":"it took too long"}]}`,
			View{Failure: "OSProvisioningTimedOut: it took too long"}, false, "",
		},
		"failed, no more known": {`{"statuses":[{"code":"ProvisioningState/failed"}]}`, View{}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var i instanceView
			if err := json.Unmarshal([]byte(test.body), &i); err != nil {
				t.Fatal(err)
			}
			got := i.view()
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if off := got.Off("instance 3", test.spot); (off == "") != (test.off == "") || !strings.Contains(off, test.off) {
				t.Errorf("it is said to be off so: %q, want %q", off, test.off)
			}
		})
	}
}

package host

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"casement.dev/casement/azuresim/host"
)

// TestVolumesAreThoseOfTheMachine: a cluster whose volume names a disk or share of another cluster
// gets no contents.
func TestVolumesAreThoseOfTheMachine(t *testing.T) {
	const (
		group   = "/subscriptions/00000000-0000-0000-0000-0000000000a1/resourceGroups/g"
		machine = group + "/providers/Microsoft.Compute/virtualMachines/vm"
		disk    = group + "/providers/Microsoft.Compute/disks/"
		account = group + "/providers/Microsoft.Storage/storageAccounts/acc"
		share   = account + "/fileServices/default/shares/data"
	)
	resources := map[string]string{
		disk + "own":     `{"managedBy": "` + strings.ToUpper(machine) + `"}`,
		disk + "foreign": `{"managedBy": "` + machine + `2"}`,
		disk + "free":    `{}`,
		share:            `{}`,
	}
	var said bytes.Buffer
	h := New(Config{Dir: t.TempDir(), Log: funcr.New(func(_, args string) { said.WriteString(args) }, funcr.Options{})})
	h.Discard(disk + "own") // on a plane without volumes
	if said.Len() > 0 {
		t.Errorf("the log says %s", said.String())
	}
	h.azure.Resource = func(id string) (json.RawMessage, bool) {
		for key, doc := range resources {
			if strings.EqualFold(key, id) {
				return json.RawMessage(doc), true
			}
		}
		return nil, false
	}
	h.azure.TakesKey = func(id, key string) bool { return strings.EqualFold(id, account) && key == "right" }
	for name, test := range map[string]struct{ handle, key, want string }{
		"its disk":          {disk + "own", "", ""},
		"another machine's": {disk + "foreign", "", "not attached to machine vm"},
		"a free disk":       {disk + "free", "", "not attached to machine vm"},
		"no disk":           {disk + "none", "", "not attached to machine vm"},
		"a share":           {"g#acc#data##default", "right", ""},
		"a wrong key":       {"g#acc#data##default", "wrong", "Permission denied"},
		"no key":            {"g#acc#data##default", "", "Permission denied"},
		"no share":          {"g#acc#none##default", "right", "No such file or directory"},
		"a share elsewhere": {"h#acc#data##default", "right", "Permission denied"},
		"a way out":         {"../../etc#acc#data##default", "right", "Permission denied"},
		"nothing":           {"", "", "not attached to machine vm"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, err := h.volume(host.VM{ID: machine, Name: "vm"}, test.handle, test.key)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("folder %v, error %v, want %q", folder, err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := folder.WriteFile("f", []byte("kept")); err != nil {
				t.Fatal(err)
			}
		})
	}
	for id, handle := range map[string]string{share: "g#acc#data##default", disk + "own": disk + "own"} {
		h.Discard(strings.ToLower(id))
		key := map[bool]string{true: "right"}[id == share]
		folder, err := h.volume(host.VM{ID: machine, Name: "vm"}, handle, key)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := folder.ReadFile("f"); err == nil {
			t.Errorf("%s was deleted, and has %q still", id, data)
		}
	}
}

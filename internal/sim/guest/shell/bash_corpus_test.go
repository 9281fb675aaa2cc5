package shell_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// TestBashCorpus compares a guest's bash and tools with the output of bash 5.2.15, coreutils 9.1, mawk and jq 1.6 of
// Debian 12. Each script runs in an empty folder.
func TestBashCorpus(t *testing.T) {
	data, err := os.ReadFile("testdata/bash.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct {
		Script, Stdout string
		Code           int
	}
	if err := json.Unmarshal(data, &corpus); err != nil {
		t.Fatal(err)
	}
	const work, file = "/root/judge/work", "/root/judge/script.sh"
	for _, c := range corpus {
		m := newMachine(t, machine.Linux, "")
		if err := m.Root.MkdirAll(work); err != nil {
			t.Fatal(err)
		}
		if err := m.Root.WriteFile(file, []byte(c.Script), 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		code, _ := shell.New(m, shell.Table{}, nil).Exec(t.Context(), []string{"bash", "--norc", file}, shell.Session{Stdout: &out, Dir: work,
			Env: map[string]string{"LC_ALL": "C", "TZ": "UTC", "HOME": work}})
		if out.String() != c.Stdout || code != c.Code {
			t.Errorf("%s\nprinted %q and ended with %d, want %q and %d", c.Script, out.String(), code, c.Stdout, c.Code)
		}
	}
}

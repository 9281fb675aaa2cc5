package machine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedJournal checks that an unreadable journal is renamed, and that the guest
// continues only if its disk shows that its bootstrap had succeeded.
func TestDamagedJournal(t *testing.T) {
	for name, c := range map[string]struct {
		journal   string
		succeeded bool
		damaged   bool
	}{
		"truncated":                {`{"instance":"vm","done":{"a`, false, true},
		"empty":                    {"", false, true},
		"garbled":                  {"\x00\xff{}", false, true},
		"another document":         {"{}", false, true},
		"truncated, had succeeded": {`{"instance":"vm","done":{"a`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m := open(t, dir, Linux, nil)
			if err := m.Root.MkdirAll("/run/cluster-api"); err != nil {
				t.Fatal(err)
			}
			if err := m.Journal.Finish("ready", 0, ""); err != nil {
				t.Fatal(err)
			}
			if c.succeeded {
				if err := m.Root.WriteFile(Sentinel, []byte("success"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Root.WriteFile("/data", []byte("of the guest"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "journal.json"), []byte(c.journal), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the result is the same at the next start
				m = open(t, dir, Linux, nil)
				if damage := m.Journal.Damage(); (damage != "") != c.damaged ||
					c.damaged && !strings.Contains(damage, "journal.json.damaged") {
					t.Errorf("the damage is %q", damage)
				}
				if provisioned, _, _, finished := m.Journal.Finished(); !finished || (provisioned == "ready") == c.damaged {
					t.Errorf("finished is %v, provisioned %q", finished, provisioned)
				}
				if !m.Journal.Done("runcmd") {
					t.Error("a step would be done again")
				}
				if !m.Root.Exists("/data") {
					t.Error("the guest's disk was emptied")
				}
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if kept, err := os.ReadFile(filepath.Join(dir, "journal.json.damaged")); err != nil || string(kept) != c.journal {
				t.Errorf("kept aside is %q, %v", kept, err)
			}
		})
	}
}

// TestTornJournalOfABoot checks that a guest boots again from the start if a loss of power cuts off the first boot
// and leaves a part of the journal, as after any other end of the process.
func TestTornJournalOfABoot(t *testing.T) {
	for name, journal := range map[string]string{"a part": `{"instance":"vm","done":{"a`, "empty": "", "zeros": "\x00\x00\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m := open(t, dir, Linux, nil)
			if err := m.Root.WriteFile("/half", []byte("of the boot"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(m.Journal.Begin(), m.Journal.Mark("runcmd"), m.Close()); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "journal.json"), []byte(journal), 0o600); err != nil {
				t.Fatal(err)
			}
			m = open(t, dir, Linux, nil)
			defer m.Close()
			if damage := m.Journal.Damage(); damage != "" || m.Journal.Done("runcmd") || m.Root.Exists("/half") {
				t.Errorf("it does not boot from the start: %q", damage)
			}
		})
	}
}

package main

import (
	"strings"
	"testing"
)

func TestPoolsFor(t *testing.T) {
	for name, c := range map[string]struct {
		machines, want int
		err            string
	}{
		"none":                  {0, 1, ""},
		"a small pool":          {50, 1, ""},
		"as many as a pool has": {1000, 1, ""},
		"five":                  {5000, 5, ""},
		"two that differ":       {1001, 0, "1001 machines make no 2 pools of the same size"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := poolsFor(c.machines)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("%d and error %v, want %d and %q", got, err, c.want, c.err)
			}
		})
	}
}

func TestRepeatPool(t *testing.T) {
	linux, pool := "kind: MachinePool\nmetadata:\n  name: a-mp-0", "kind: MachinePool\nmetadata:\n  name: a-mp-win\nspec:\n  ref: a-mp-win"
	got, err := repeatPool([]byte(linux+"\n---\n"+pool), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{linux, pool, strings.ReplaceAll(pool, "-win", "-win-2")}, "\n---\n")
	if string(got) != want {
		t.Errorf("the manifest is\n%s\nand should be\n%s", got, want)
	}
}

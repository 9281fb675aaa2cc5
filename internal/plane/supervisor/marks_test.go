package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"casement.dev/casement/internal/plane"
)

// write writes files into a state directory.
func write(t *testing.T, dir plane.Dir, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := dir.Path(name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedPort: the error names a file without a valid port, and the file is not replaced by a port that clusters do not know.
func TestDamagedPort(t *testing.T) {
	for _, text := range []string{"", "70000", "0", "29x"} {
		dir := plane.Dir(t.TempDir())
		write(t, dir, map[string]string{"azure.port": text})
		if _, err := keptPort(dir.Path("azure.port")); err == nil || !strings.Contains(err.Error(), dir.Path("azure.port")+" is damaged") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestDamagedBareMark(t *testing.T) {
	dir := plane.Dir(t.TempDir())
	write(t, dir, map[string]string{plane.BareMark: "\x00\x01"})
	if err := (&Options{Dir: dir}).settleKind(); err == nil || !strings.Contains(err.Error(), dir.Path(plane.BareMark)+" is damaged") {
		t.Error(err)
	}
}

// TestOutsideMark: a plane whose clusters are in one Azure refuses to start with another one.
func TestOutsideMark(t *testing.T) {
	for _, test := range []struct {
		name    string
		before  map[string]string
		outside *Outside
		want    string
	}{
		{name: "a local plane"},
		{name: "a new plane outside", outside: &Outside{SubscriptionID: "s"}},
		{"the same again", map[string]string{plane.OutsideMark: "s"}, &Outside{SubscriptionID: "s"}, ""},
		{"another subscription", map[string]string{plane.OutsideMark: "s"}, &Outside{SubscriptionID: "other"}, "not in other"},
		{"outside, started as local", map[string]string{plane.OutsideMark: "s"}, nil, "--azure env"},
		{"local, started as outside", map[string]string{"management/x": ""}, &Outside{SubscriptionID: "s"},
			"holds a plane with a local Azure"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := plane.Dir(t.TempDir())
			write(t, dir, test.before)
			err := (&Options{Dir: dir, Outside: test.outside}).settleOutside()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

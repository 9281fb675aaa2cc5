//go:build unix

package private

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stranger is a user who owns nothing.
const stranger = 65534

// open returns a directory that other users can enter, like /tmp.
func open(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "private") // other users cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fill creates directories ("a/"), files ("a/b") and links ("a>b") below dir, each with a mode; the stranger owns those
// whose mode ends in "!".
func fill(t *testing.T, dir string, entries map[string]string) {
	t.Helper()
	for _, name := range sorted(entries) {
		mode, foreign := strings.CutSuffix(entries[name], "!")
		path, target, link := strings.Cut(filepath.Join(dir, name), ">")
		var err error
		switch {
		case link:
			err = os.Symlink(filepath.Join(dir, target), path)
		case strings.HasSuffix(name, "/"):
			err = os.Mkdir(path, 0o700)
		case mode == "fifo":
			err = syscall.Mkfifo(path, 0o600)
		default:
			err = os.WriteFile(path, []byte("content"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if foreign {
			if os.Getuid() != 0 {
				t.Skip("only root can give files to another user")
			}
			if err := os.Lchown(path, stranger, stranger); err != nil {
				t.Fatal(err)
			}
		}
		if m, ok := modes[mode]; ok {
			if err := os.Chmod(path, m); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var modes = map[string]os.FileMode{"0700": 0o700, "0755": 0o755, "0777": 0o777, "0770": 0o770, "1777": 0o777 | os.ModeSticky,
	"0600": 0o600, "0644": 0o644}

func TestDir(t *testing.T) {
	for name, tc := range map[string]struct {
		have map[string]string
		dir  string
		// want is a part of the error, with DIR for the directory that contains everything; "" for none.
		want string
	}{
		"new":                            {nil, "s", ""},
		"new, with parents":              {nil, "a/b/s", ""},
		"empty, own":                     {map[string]string{"s/": "0755"}, "s", ""},
		"empty, own, open to all":        {map[string]string{"s/": "0777"}, "s", ""},
		"empty, of another":              {map[string]string{"s/": "0777!"}, "s", "DIR/s belongs to user"},
		"empty, of another, closed":      {map[string]string{"s/": "0700!"}, "s", "DIR/s belongs to user"},
		"with content, closed":           {map[string]string{"s/": "0700", "s/f": "0600"}, "s", ""},
		"with content, others read":      {map[string]string{"s/": "0755", "s/f": "0600"}, "s", "chmod 700 DIR/s"},
		"with content, the group writes": {map[string]string{"s/": "0770", "s/f": "0600"}, "s", "chmod 700 DIR/s"},
		"with content of another":        {map[string]string{"s/": "0700", "s/f": "0600!"}, "s", "DIR/s/f belongs to user"},
		"with a link of another": {map[string]string{"o": "0600",
			"s/": "0700", "s/casement.log>o": "!"}, "s", "casement.log belongs"},
		"parent of another":                  {map[string]string{"p/": "0755!"}, "p/s", "DIR/p belongs to user"},
		"parent's parent of another":         {map[string]string{"p/": "0755!", "p/q/": "0755"}, "p/q/s", "DIR/p belongs to user"},
		"parent that others write":           {map[string]string{"p/": "0777"}, "p/s", "chmod go-w DIR/p"},
		"parent that others write, existing": {map[string]string{"p/": "0777", "p/s/": "0700"}, "p/s", "chmod go-w DIR/p"},
		"sticky parent":                      {map[string]string{"p/": "1777"}, "p/s", ""},
		"sticky parent, of another":          {map[string]string{"p/": "1777!"}, "p/s", "DIR/p belongs to user"},
		"below a closed directory":           {map[string]string{"p/": "0700", "p/s/": "0777", "p/s/f": "0600"}, "p/s", ""},
		"a link of the user":                 {map[string]string{"r/": "0755", "l>r": ""}, "l", ""},
		"a link of another":                  {map[string]string{"r/": "0755", "l>r": "!"}, "l", "DIR/l belongs to user"},
		"a link to a directory of another":   {map[string]string{"r/": "0755!", "l>r": ""}, "l", "DIR/r belongs to user"},
		"a link in the middle, of another":   {map[string]string{"r/": "0755", "l>r": "!"}, "l/s", "DIR/l belongs to user"},
		"a link in a circle":                 {map[string]string{"l>l": ""}, "l", "too many links"},
		"a file":                             {map[string]string{"s": "0600"}, "s", "DIR/s is not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			base := open(t, 0o755)
			fill(t, base, tc.have)
			before := tree(t, base)
			err := Dir(filepath.Join(base, tc.dir))
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(tc.want, "DIR", base)) {
					t.Errorf("error %v, want %s", err, tc.want)
				}
				if after := tree(t, base); after != before {
					t.Errorf("a refused directory was changed from\n%s to\n%s", before, after)
				}
				err := Existing(filepath.Join(base, tc.dir))
				if err == nil && exists(base, tc.dir) && !strings.Contains(name, "with") {
					t.Error("Existing takes what Dir refuses")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := Existing(filepath.Join(base, tc.dir)); err != nil {
				t.Error(err)
			}
			info, err := os.Stat(filepath.Join(base, tc.dir))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o700 && !strings.Contains(name, "below a closed") {
				t.Errorf("mode %v, want 0700", info.Mode())
			}
		})
	}
}

// TestOthersAreKeptOut: another user tries to replace a directory that Dir has accepted.
func TestOthersAreKeptOut(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may become another user")
	}
	base := open(t, 0o777|os.ModeSticky)
	dir := filepath.Join(base, "s")
	fill(t, base, map[string]string{"s/": "0777"})
	if err := Dir(dir); err != nil {
		t.Fatal(err)
	}
	for _, try := range []string{
		"mv " + dir + " " + base + "/x", "rmdir " + dir, "touch " + dir + "/f", "ln -s /etc/passwd " + dir + "/casement.log",
	} {
		if out, err := as(stranger, try); err == nil {
			t.Errorf("another user may: %s: %s", try, out)
		}
	}
}

func TestFile(t *testing.T) {
	for name, tc := range map[string]struct {
		have map[string]string
		want string
	}{
		"own":                     {map[string]string{"f": "0600"}, ""},
		"absent":                  {nil, "no such file"},
		"of another":              {map[string]string{"f": "0644!"}, "belongs to user"},
		"a link":                  {map[string]string{"g": "0600", "f>g": ""}, "is a link"},
		"a link to nothing":       {map[string]string{"f>g": ""}, "is a link"},
		"a FIFO without a writer": {map[string]string{"f": "fifo"}, "not a regular file"},
		"a directory":             {map[string]string{"f/": "0700"}, "directory"},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			fill(t, base, tc.have)
			data, err := ReadFile(filepath.Join(base, "f"))
			if tc.want == "" {
				if err != nil || string(data) != "content" {
					t.Errorf("%q, %v", data, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
			if f, err := OpenFile(filepath.Join(base, "f"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err == nil {
				f.Close()
				if name != "absent" {
					t.Error("it is opened for writing")
				}
			}
		})
	}
}

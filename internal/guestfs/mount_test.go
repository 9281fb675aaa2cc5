package guestfs

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMounts(t *testing.T) {
	for name, test := range map[string]struct {
		windows          bool
		at, file, link   string
		other, otherCase string
	}{
		"Linux":   {false, "/data", "/data/a.txt", "/x", "/data/sub/b.txt", "/data/a.txt"},
		"Windows": {true, `C:\Data`, `C:\data\a.txt`, `C:\x`, `c:/DATA/Sub/b.txt`, `C:\DATA\A.TXT`},
	} {
		t.Run(name, func(t *testing.T) {
			node, err := At(t.TempDir()).Root(test.windows)
			must(t, err)
			defer node.Close()
			volume := "/pods/volume"
			must(t, node.MkdirAll(volume+"/sub"))
			must(t, node.WriteFile(volume+"/a.txt", []byte("one"), 0o644))
			open := func(container string, fixed bool) *Root {
				r, err := node.Folder("/pods/" + container).Root(test.windows)
				if err != nil {
					must(t, node.MkdirAll("/pods/"+container))
					r, err = node.Folder("/pods/" + container).Root(test.windows)
				}
				must(t, err)
				t.Cleanup(func() { r.Close() })
				must(t, r.Mount(Mount{Path: test.at, Folder: node.Folder(volume), ReadOnly: fixed},
					Mount{Path: test.at + "file", Folder: node.Folder(volume), Sub: "a.txt"}))
				return r
			}
			a, b := open("a", false), open("b", true)
			must(t, a.WriteFile(test.other, []byte("two"), 0o644))
			for _, p := range []string{test.file, test.otherCase, test.at + "file"} {
				if data, err := b.ReadFile(p); err != nil || string(data) != "one" {
					t.Errorf("%s is %q, %v", p, data, err)
				}
			}
			if data, err := b.ReadFile(test.other); err != nil || string(data) != "two" {
				t.Errorf("what a wrote is %q in b, %v", data, err)
			}
			must(t, b.Symlink(strings.ReplaceAll(strings.TrimPrefix(test.at, "C:"), `\`, "/"), test.link))
			if data, err := b.ReadFile(test.link + "/a.txt"); err != nil || string(data) != "one" {
				t.Errorf("by a link %q, %v", data, err)
			}
			if !b.IsDir(test.link) {
				t.Error("a link to a mount is no directory")
			}
			var names []string
			entries, err := b.ReadDir(test.at)
			for _, e := range entries {
				names = append(names, e.Name())
			}
			if !slices.Contains(names, "a.txt") || err != nil {
				t.Errorf("the volume has %v, %v", names, err)
			}
			for what, err := range map[string]error{
				"write": b.WriteFile(test.file, nil, 0o644), "remove": b.Remove(test.file), "chmod": b.Chmod(test.file, 0o600),
				"mkdir": b.MkdirAll(test.at + "/new"), "link": b.Symlink("a.txt", test.at+"/l"), "rename": b.Rename(test.file, test.file+"2"),
			} {
				if !errors.Is(err, syscall.EROFS) {
					t.Errorf("%s in a volume that is mounted read only: %v", what, err)
				}
			}
			if _, err := a.OpenFile(test.at+"/../../../../etc/passwd", os.O_RDONLY, 0); err == nil {
				t.Error("a path leads out of the volume")
			}
		})
	}
}

func TestMountOfALinkOutOfTheVolume(t *testing.T) {
	node, err := At(t.TempDir()).Root(false)
	must(t, err)
	defer node.Close()
	must(t, node.MkdirAll("/pods/c"))
	must(t, node.MkdirAll("/pods/v"))
	must(t, node.WriteFile("/secret", []byte("x"), 0o600))
	must(t, node.Symlink("/secret", "/pods/v/out"))
	c, err := node.Folder("/pods/c").Root(false)
	must(t, err)
	defer c.Close()
	must(t, c.Mount(Mount{Path: "/v", Folder: node.Folder("/pods/v")}))
	if data, err := c.ReadFile("/v/out"); err == nil {
		t.Errorf("a link led out of the volume: %q", data)
	}
}

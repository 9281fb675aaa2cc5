package casement_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// fileUsers are the files of the simulator that open files of this computer themselves, with what these are. A path that
// a guest has a say in is opened by internal/guestfs alone.
var fileUsers = map[string]string{
	"azuresim/internal/engine/damage.go":       "the store of the local Azure",
	"azuresim/internal/engine/keep.go":         "the state directory",
	"azuresim/internal/engine/serve.go":        "the authority of the local Azure",
	"internal/sim/domain/domain.go":            "the directory service of the plane",
	"internal/sim/fabric/address.go":           "the addresses of the plane",
	"internal/sim/fabric/egress.go":            "a socket in the state directory",
	"internal/sim/fabric/fabric.go":            "the state directory",
	"internal/sim/fabric/foreign.go":           "tables of the kernel",
	"internal/sim/guest/apart/apart.go":        "streams and the file of this program",
	"internal/sim/guest/shell/substitution.go": "a pipe",
	"internal/sim/guest/ssh.go":                "a host key, beside a VM's tree",
	"internal/sim/host/host.go":                "the folder and the console log of a VM, beside its tree",
	"internal/sim/host/kubeadm.go":             "the log of kubeadm, beside a VM's tree",
	"internal/sim/host/machine.go":             "the folder of a VM",
	"internal/sim/host/node.go":                "the egress socket and its configuration, beside a VM's tree",
	"internal/sim/host/quarantine.go":          "marks beside a VM's tree",
	"internal/sim/host/staticprocess.go":       "copies for static pods, beside a VM's tree",
	"internal/sim/kubelet/folders.go":          "watches of the kernel, which say that something changed and not what",
	"internal/sim/logfile/logfile.go":          "the console log of a VM, beside its tree",
	"internal/sim/podrun/egress.go":            "a socket in the state directory",
	"internal/sim/podrun/logs.go":              "logs of the management plane's pods, which are programs of the user",
	"internal/sim/podrun/program.go":           "programs that the user gave the management plane",
	"internal/sim/podrun/volume.go":            "volumes of the management plane's pods, which are programs of the user",
	"internal/sim/podrun/worker.go":            "folders of the management plane's pods, which are programs of the user",
}

// fileless are names of package os that open, make, list or remove nothing.
var fileless = map[string]bool{"ErrNotExist": true, "ErrExist": true, "ErrPermission": true, "ErrClosed": true, "ErrDeadlineExceeded": true,
	"File": true, "FileMode": true, "FileInfo": true, "DirEntry": true, "PathError": true, "LinkError": true, "ModePerm": true, "Signal": true,
	"O_RDONLY": true, "O_WRONLY": true, "O_RDWR": true, "O_CREATE": true, "O_TRUNC": true, "O_APPEND": true, "O_EXCL": true, "SameFile": true,
	"Getpid": true, "Getuid": true, "Environ": true, "Getenv": true, "Getpagesize": true, "IsNotExist": true, "IsExist": true,
	"IsPermission": true,
	"Exit":         true, "NewFile": true, "Interrupt": true, "Kill": true, "Hostname": true}

// opening are functions beside those of package os that open files by a path.
var opening = map[string]bool{"filepath.EvalSymlinks": true, "filepath.Walk": true, "filepath.WalkDir": true, "filepath.Glob": true,
	"os.DirFS": true, "os.OpenRoot": true, "syscall.Open": true, "unix.Open": true, "unix.Openat": true, "unix.Openat2": true,
	"ioutil.ReadFile": true, "ioutil.WriteFile": true, "tls.LoadX509KeyPair": true, "clientcmd.LoadFromFile": true,
	"clientcmd.WriteToFile": true, "http.ServeFile": true, "http.Dir": true, "net.FileListener": true}

// TestGuestFilesHaveOneDoor holds that in the simulator only the files of fileUsers use functions that open files by
// a path of this computer.
func TestGuestFilesHaveOneDoor(t *testing.T) {
	used := map[string]bool{}
	for _, root := range []string{"azuresim", "internal/sim"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			for _, call := range opensFiles(t, name) {
				if fileUsers[filepath.ToSlash(name)] == "" {
					t.Errorf("%s: files of a guest are opened by internal/guestfs; if these are others, fileUsers says which", call)
				}
				used[filepath.ToSlash(name)] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range fileUsers {
		if !used[name] {
			t.Errorf("fileUsers has %s, which opens no file", name)
		}
	}
}

// opensFiles returns where a source file uses a function that opens files.
func opensFiles(t *testing.T, name string) (out []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{} // by the name that the file has for it
	for _, spec := range file.Imports {
		full := strings.Trim(spec.Path.Value, `"`)
		last := full[strings.LastIndexByte(full, '/')+1:]
		as := last
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if as == "." && last == "os" {
			out = append(out, set.Position(spec.Pos()).String())
		}
		packages[as] = last
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				of, name := packages[x.Name], s.Sel.Name
				if of == "os" && !fileless[name] || opening[of+"."+name] {
					out = append(out, set.Position(s.Pos()).String())
				}
			}
		}
		return true
	})
	return out
}

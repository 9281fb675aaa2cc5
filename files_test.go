package casement_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fileUsers maps the files of the simulator that open files of this computer directly to a
// description of the opened files. Only internal/guestfs opens a path that a guest can influence.
var fileUsers = map[string]string{
	"azuresim/internal/engine/damage.go": "the store of the local Azure",
	"azuresim/internal/engine/keep.go":   "the state directory",
	"azuresim/internal/engine/serve.go":  "the authority of the local Azure",
	"internal/sim/domain/domain.go":      "the directory service of the plane",
	"internal/sim/fabric/address.go":     "the addresses of the plane",
	"internal/sim/fabric/egress.go":      "a socket in the state directory",
	"internal/sim/fabric/fabric.go":      "the state directory",
	"internal/sim/fabric/foreign.go":     "tables of the kernel",
	"internal/sim/guest/apart/apart.go":  "streams and the file of this program",
	"internal/sim/guest/ssh.go":          "a host key, beside a VM's tree",
	"internal/sim/host/host.go":          "the folder and the console log of a VM, beside its tree",
	"internal/sim/host/keep.go":          "the folders of VMs",
	"internal/sim/host/kubeadm.go":       "the log of kubeadm, beside a VM's tree",
	"internal/sim/host/machine.go":       "the folder of a VM",
	"internal/sim/host/node.go":          "the egress socket and its configuration, beside a VM's tree",
	"internal/sim/host/quarantine.go":    "marks beside a VM's tree",
	"internal/sim/host/staticprocess.go": "copies for static pods, beside a VM's tree",
	"internal/sim/kubelet/folders.go":    "watches of the kernel, which say that something changed and not what",
	"internal/sim/logfile/logfile.go":    "the console log of a VM, beside its tree",
	"internal/sim/podrun/egress.go":      "a socket in the state directory",
	"internal/sim/podrun/logs.go":        "logs of the management plane's pods, which are programs of the user",
	"internal/sim/podrun/program.go":     "programs that the user gave the management plane",
	"internal/sim/podrun/volume.go":      "volumes of the management plane's pods, which are programs of the user",
	"internal/sim/podrun/worker.go":      "folders of the management plane's pods, which are programs of the user",
}

// fileless are names in package os that do not open, create, list or remove files.
var fileless = map[string]bool{"ErrNotExist": true, "ErrExist": true, "ErrPermission": true, "ErrClosed": true, "ErrDeadlineExceeded": true,
	"File": true, "FileMode": true, "FileInfo": true, "DirEntry": true, "PathError": true, "LinkError": true, "ModePerm": true, "Signal": true,
	"O_RDONLY": true, "O_WRONLY": true, "O_RDWR": true, "O_CREATE": true, "O_TRUNC": true, "O_APPEND": true, "O_EXCL": true, "SameFile": true,
	"Getpid": true, "Getuid": true, "Environ": true, "Getenv": true, "Getpagesize": true, "IsNotExist": true, "IsExist": true,
	"IsPermission": true,
	"Exit":         true, "NewFile": true, "Interrupt": true, "Kill": true, "Hostname": true}

// opening are functions outside of package os that open files by path.
var opening = map[string]bool{"filepath.EvalSymlinks": true, "filepath.Walk": true, "filepath.WalkDir": true, "filepath.Glob": true,
	"os.DirFS": true, "os.OpenRoot": true, "syscall.Open": true, "unix.Open": true, "unix.Openat": true, "unix.Openat2": true,
	"ioutil.ReadFile": true, "ioutil.WriteFile": true, "tls.LoadX509KeyPair": true, "clientcmd.LoadFromFile": true,
	"clientcmd.WriteToFile": true, "http.ServeFile": true, "http.Dir": true, "net.FileListener": true}

// TestGuestFilesHaveOneDoor: in the simulator, only the files in fileUsers call functions that open
// files of this computer by path.
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

// opensFiles returns the places at which a source file uses a function that opens files.
func opensFiles(t *testing.T, name string) []string {
	t.Helper()
	return usesOf(t, name, func(of, f string) bool { return of == "os" && !fileless[f] || opening[of+"."+f] })
}

// usesOf returns the places where a source file uses a name of a package that sought selects.
func usesOf(t *testing.T, name string, sought func(of, name string) bool) (out []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]string{} // by the name under which the file imports it
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
				if of := packages[x.Name]; of != "" && sought(of, s.Sel.Name) {
					out = append(out, set.Position(s.Pos()).String())
				}
			}
		}
		return true
	})
	return out
}

// readers maps the files of the other packages that read files of this computer directly to a
// description of the read files. internal/input reads files that a user or an object of the API
// names, because such a file may be a device, a FIFO or endless.
var readers = map[string]string{
	"internal/allowance/allowance.go":         "a file of the kernel",
	"internal/capi/generate/main.go":          "a source file, for a generator",
	"internal/cli/app/client.go":              "kubeconfigs, after internal/input has seen them, and the plane's own",
	"internal/cli/check/memory_linux.go":      "a file of the kernel",
	"internal/cli/machine/vm.go":              "the certificate of the local Azure",
	"internal/controlplane/boot.go":           "files that kubeadm made, in a confined process",
	"internal/helm/main.go":                   "a kubeconfig of the plane, in a process of its own",
	"internal/inotify/inotify.go":             "files of the kernel",
	"internal/kubeproc/kubeproc.go":           "the state directory",
	"internal/kubeproc/pki.go":                "the state directory",
	"internal/kubeproc/ready.go":              "the state directory",
	"internal/kubeproc/seed.go":               "the state directory",
	"internal/manager/manager.go":             "the namespace of the manager's own pod",
	"internal/plane/armclient.go":             "the state directory",
	"internal/plane/lock_linux.go":            "the state directory",
	"internal/plane/snapshot.go":              "the state directory",
	"internal/plane/supervisor/bare.go":       "the state directory",
	"internal/plane/supervisor/federation.go": "the state directory",
	"internal/plane/supervisor/management.go": "the state directory",
	"internal/plane/supervisor/outside.go":    "the state directory",
	"internal/process/identity.go":            "files of the kernel",
	"internal/process/records.go":             "the state directory",
	"internal/sshroute/copy.go":               "a file to copy, after internal/input has seen it",
	"internal/sshroute/hostkey.go":            "known host keys, after internal/input has seen them",
}

// reading are functions that read files by path without a limit.
var reading = map[string]bool{"os.Open": true, "os.ReadFile": true, "os.DirFS": true, "ioutil.ReadFile": true,
	"tls.LoadX509KeyPair": true, "knownhosts.New": true, "clientcmd.LoadFromFile": true, "clientcmd.BuildConfigFromFlags": true,
	"clientcmd.NewDefaultClientConfigLoadingRules": true, "cert.NewPool": true, "cert.CertsFromFile": true}

// TestNamedFilesAreBounded: internal/input reads all files that a user names.
func TestNamedFilesAreBounded(t *testing.T) {
	used := map[string]bool{}
	for _, root := range []string{"internal", "cmd", "config", "api"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			at := filepath.ToSlash(name)
			if err == nil && d.IsDir() && slices.Contains([]string{"internal/sim", "internal/testing", "internal/guestfs", "internal/input"}, at) {
				return fs.SkipDir // TestGuestFilesHaveOneDoor checks the first; the others implement the rules, or are tests
			}
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			for _, use := range usesOf(t, name, func(of, f string) bool { return reading[of+"."+f] }) {
				if readers[at] == "" {
					t.Errorf("%s: files that a user names are read by internal/input; if these are others, readers says which", use)
				}
				used[at] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range readers {
		if !used[name] {
			t.Errorf("readers has %s, which reads no file", name)
		}
	}
}

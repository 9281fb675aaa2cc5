package machine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"casement.dev/casement/internal/sim/artifact"
)

// maxCaptured bounds a captured disk, in bytes after compression: it is kept with the image and
// with each machine of it.
const maxCaptured = 256 << 10

// maxUnpacked bounds the files of a captured disk, in bytes.
const maxUnpacked = 64 << 20

// servicesFile keeps the service table beside a guest's file tree.
const servicesFile = "services.json"

// leftOut are the folders of a disk whose contents an image does not keep: logs, and what
// belongs to one run of a machine.
var leftOut = []string{"C/Windows/Temp", "C/var/log", "C/Program Files/Cloudbase Solutions/Cloudbase-Init/log",
	"C/Windows/System32/Sysprep/Panther", "rootfs/tmp", "rootfs/run", "rootfs/mnt", "rootfs/var/tmp", "rootfs/var/log",
	"rootfs/var/lib/cloud"}

// Capture reads the disk of a guest that is off from its directory: drive C of Windows or the file
// tree of Linux, and its service table.
func Capture(dir string) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("capture the guest's disk: %w", err)
	}
	defer root.Close()
	disk := "C"
	if _, err := root.Stat("rootfs"); err == nil {
		disk = "rootfs"
	}
	err = fs.WalkDir(root.FS(), disk, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := pack(w, root, name, d); err != nil {
			return err
		}
		if d.IsDir() && isLeftOut(name) {
			return fs.SkipDir
		}
		return nil
	})
	if err == nil {
		if info, statErr := fs.Stat(root.FS(), servicesFile); statErr == nil {
			err = pack(w, root, servicesFile, fs.FileInfoToDirEntry(info))
		}
	}
	if err = errors.Join(err, w.Close(), z.Close()); err != nil {
		return nil, fmt.Errorf("capture the guest's disk: %w", err)
	}
	if b.Len() > maxCaptured {
		return nil, fmt.Errorf("capture the guest's disk: it has %d bytes, and a simulated image holds at most %d", b.Len(), maxCaptured)
	}
	return b.Bytes(), nil
}

func isLeftOut(name string) bool {
	for _, folder := range leftOut {
		if strings.EqualFold(name, folder) {
			return true
		}
	}
	return false
}

// pack adds a folder, a file or a link to the archive and skips all other kinds of files.
func pack(w *tar.Writer, root *os.Root, name string, d fs.DirEntry) error {
	if d.IsDir() {
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755})
	}
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := root.Readlink(name)
		if err != nil {
			return err
		}
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777})
	}
	if !d.Type().IsRegular() {
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: int64(info.Mode().Perm()), Size: int64(len(data))}); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// unpack lays a captured disk into a guest's directory that has none yet, and reports
// whether it did.
func (r *Root) unpack(dir string, captured []byte) (fresh bool, err error) {
	laid := "/etc/passwd"
	if r.windows {
		laid = `C:\Windows`
	}
	if len(captured) == 0 || r.Exists(laid) {
		return false, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, err
	}
	defer root.Close()
	z, err := gzip.NewReader(bytes.NewReader(captured))
	if err != nil {
		return false, err
	}
	return true, extract(root, z)
}

func extract(root *os.Root, z io.Reader) error {
	files := tar.NewReader(io.LimitReader(z, maxUnpacked))
	for {
		h, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		name := filepath.FromSlash(path.Clean(h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, name)
		default:
			var data []byte
			if data, err = io.ReadAll(files); err == nil {
				err = root.WriteFile(name, data, fs.FileMode(h.Mode).Perm()|0o600)
			}
		}
		if err != nil {
			return err
		}
	}
}

// specialize gives the system of a captured disk the name of its machine, as the first boot after
// sysprep does.
func (m *Machine) specialize() error {
	if m.OS == Linux { // cloud-init names it
		return m.Root.RemoveAll("/etc/hostname")
	}
	for _, at := range [][2]string{
		{`HKLM\SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName`, "ComputerName"},
		{`HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters`, "Hostname"},
	} {
		if err := m.Registry().Set(at[0], at[1], Value{Kind: "String", Text: m.ComputerName}); err != nil {
			return fmt.Errorf("name a machine of an image: %w", err)
		}
	}
	return nil
}

// Deprovision removes what identifies a Linux machine: host keys, its name, and with user
// the account that it was created with.
func (m *Machine) Deprovision(user bool) error {
	own := []string{"/etc/hostname", "/var/lib/waagent", "/root/.bash_history"}
	entries, err := m.Root.ReadDir("/etc/ssh")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "ssh_host_") {
			own = append(own, "/etc/ssh/"+e.Name())
		}
	}
	if user && m.AdminUsername != "" {
		own = append(own, m.Home(m.AdminUsername))
		for _, file := range []string{"/etc/passwd", "/etc/group", "/etc/shadow"} {
			if err := m.dropLine(file, m.AdminUsername+":"); err != nil {
				return err
			}
		}
	}
	for _, file := range own {
		if err := m.Root.RemoveAll(file); err != nil {
			return err
		}
	}
	return nil
}

// dropLine takes the lines of a file that begin with a text.
func (m *Machine) dropLine(file, prefix string) error {
	data, err := m.Root.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, prefix) {
			kept.WriteString(line)
		}
	}
	return m.Root.WriteFile(file, []byte(kept.String()), 0o644)
}

// CloudbaseInit is the service that reads custom data on Windows.
const CloudbaseInit = "cloudbase-init"

// OpenSSH returns the service of the OpenSSH server.
func OpenSSH() Service {
	return Service{Name: "sshd", Display: "OpenSSH SSH Server", Start: Automatic, Path: `C:\Windows\System32\OpenSSH\sshd.exe`}
}

// AddOpenSSH installs the OpenSSH server, whose service then starts on demand.
func (m *Machine) AddOpenSSH() error {
	row := OpenSSH()
	if _, there := m.Services.Get(row.Name); there {
		return nil
	}
	row.Start = Manual
	return m.Services.Create(row)
}

// Where a Windows node has its programs.
const (
	kubeFolder       = `C:\k`
	containerdFolder = `C:\Program Files\containerd`
)

// Where a Linux node has its programs, as image builds put them.
const (
	linuxKubelet    = "/usr/bin/kubelet"
	linuxContainerd = "/usr/local/bin/containerd"
)

// inspect takes from the disk of a machine what its programs are. What the files do not say stays
// as the image has it.
func (m *Machine) inspect() {
	if m.Image.Container {
		return
	}
	if m.OS == Linux {
		if p, ok := m.Program(linuxKubelet); ok && m.Image.Plain {
			m.Image.KubernetesVersion = p.Version
		}
		if p, ok := m.Program(linuxContainerd); ok && m.Image.Plain {
			m.Image.Runtime, m.Image.RuntimeVersion = "containerd", strings.TrimPrefix(p.Version, "v")
		}
		return
	}
	if p, ok := m.Program(kubeFolder + `\kubelet.exe`); ok {
		m.Image.KubernetesVersion = p.Version
	}
	if p, ok := m.Program(containerdFolder + `\containerd.exe`); ok && m.Image.Plain {
		m.Image.Runtime, m.Image.RuntimeVersion = "containerd", strings.TrimPrefix(p.Version, "v")
	}
	if m.Image.Plain && !m.Root.Exists(kubeFolder+`\nssm.exe`) {
		m.Image.ServiceManager = WindowsService
	}
}

// Program returns the program that a file is a simulation of; ok is false if there is none.
func (m *Machine) Program(file string) (p artifact.Program, ok bool) {
	data, err := m.Root.ReadFile(file)
	if err != nil {
		return p, false
	}
	return artifact.Read(data)
}

// imagePath returns the search path of programs that a Windows image has.
func imagePath(s Spec) string {
	const system = `C:\Windows\system32;C:\Windows`
	if s.Image.Plain {
		return system
	}
	return system + `;` + kubeFolder + `;` + containerdFolder
}

// environmentKey has the machine's variables.
const environmentKey = `HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment`

// SearchPath returns the directories in which a Windows machine looks for programs.
func (m *Machine) SearchPath() string {
	v, _ := m.Registry().Value(environmentKey, "Path")
	return v.Text
}

// packagesKey has the applications that are installed for one user.
const packagesKey = `HKLM\SOFTWARE\Microsoft\casement\UserPackages`

// UserPackages returns the applications that are installed for one user alone, sorted.
func (m *Machine) UserPackages() []string {
	k, _ := m.Registry().Key(packagesKey)
	return slices.Sorted(maps.Keys(k.Values))
}

// AddUserPackage installs an application for one user.
func (m *Machine) AddUserPackage(name string) error {
	return m.Registry().Set(packagesKey, name, Value{Kind: "String", Text: "Installed"})
}

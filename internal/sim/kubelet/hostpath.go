package kubelet

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// imageFolders are folders of a machine's image or kernel that the guest's files do not contain. A
// path in them is assumed to have the type in the pod's spec.
func imageFolders() []string {
	return []string{"/boot", "/dev", "/lib", "/lib64", "/opt/cni", "/proc", "/run", "/sys", "/usr", "/var/run", "/Windows", "/Program Files"}
}

// commonFolders are the folders that every machine has.
func commonFolders() []string {
	return []string{"/", "/etc", "/home", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var", "/var/lib", "/var/log", "/ProgramData", "/Users"}
}

// checkHostPath checks the type of a path of the machine, and creates the path if its type says so.
// Source: kubernetes pkg/volume/hostpath, checkType.
func (k *Kubelet) checkHostPath(v *corev1.HostPathVolumeSource) error {
	kind := corev1.HostPathUnset
	if v.Type != nil {
		kind = *v.Type
	}
	at := path.Clean("/" + noDrive(v.Path))
	if kind == corev1.HostPathUnset || strings.HasPrefix(v.Path, `\\.\`) || slices.ContainsFunc(imageFolders(), func(folder string) bool {
		return at == folder || strings.HasPrefix(at, folder+"/")
	}) {
		return nil
	}
	var mode fs.FileMode
	info, err := k.c.Files.Stat(at)
	switch {
	case err == nil:
		mode = info.Mode()
	case slices.Contains(commonFolders(), at):
		mode, err = fs.ModeDir, nil
	case kind == corev1.HostPathDirectoryOrCreate:
		return k.c.Files.MkdirAll(at)
	case kind == corev1.HostPathFileOrCreate:
		return k.c.Files.Replace(at, nil, 0o644)
	}
	is, what := false, ""
	switch kind {
	case corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate:
		is, what = mode.IsDir(), "directory"
	case corev1.HostPathFile, corev1.HostPathFileOrCreate:
		is, what = mode.IsRegular(), "file"
	case corev1.HostPathSocket:
		is, what = mode&fs.ModeSocket != 0, "socket file"
	case corev1.HostPathCharDev:
		is, what = mode&fs.ModeCharDevice != 0, "character device"
	case corev1.HostPathBlockDev:
		is, what = mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0, "block device"
	default:
		return fmt.Errorf("%s is an invalid volume type", kind)
	}
	switch {
	case err != nil:
		return fmt.Errorf("hostPath type check failed, %s is not a %s, unable to determine its type: path %q does not exist",
			v.Path, what, v.Path)
	case !is:
		return fmt.Errorf("hostPath type check failed: %s is not a %s, it's a %s", v.Path, what, typeOf(mode))
	}
	return nil
}

// typeOf returns the kubelet's name of a file's type.
func typeOf(mode fs.FileMode) corev1.HostPathType {
	switch {
	case mode.IsDir():
		return corev1.HostPathDirectory
	case mode&fs.ModeSocket != 0:
		return corev1.HostPathSocket
	case mode&fs.ModeCharDevice != 0:
		return corev1.HostPathCharDev
	case mode&fs.ModeDevice != 0:
		return corev1.HostPathBlockDev
	}
	return corev1.HostPathFile
}

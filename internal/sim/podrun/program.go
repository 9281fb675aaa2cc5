package podrun

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"casement.dev/casement/internal/sim/expansion"
)

// certMount is the folder in which controller-runtime's webhook servers expect their certificate,
// and where manifests mount it.
const certMount = "/tmp/k8s-webhook-server/serving-certs"

// program is the program on this computer that replaces an image.
type program struct {
	// ports maps a container port to the function that returns the flags for another port.
	ports map[int32]func(port uint16) []string
	// certDir is the flag with the folder of the webhooks' certificate.
	certDir string
	// elsewhere returns flags that a process outside of a cluster needs.
	elsewhere func(namespace string) []string
}

func flag(format string) func(uint16) []string {
	return func(port uint16) []string { return []string{fmt.Sprintf(format, port)} }
}

// clusterAPI returns the program of the managers of Cluster API v1.14. They have no flag for the
// namespace of their lease, which must be set outside of a cluster, and none for the address of
// their webhooks, which listen on every interface.
func clusterAPI() program {
	return program{
		ports: map[int32]func(uint16) []string{
			9443: flag("--webhook-port=%d"), 9440: flag("--health-addr=127.0.0.1:%d"), 8443: flag("--diagnostics-address=127.0.0.1:%d"),
		},
		certDir:   "--webhook-cert-dir=",
		elsewhere: func(string) []string { return []string{"--leader-elect=false"} },
	}
}

// known returns the programs by the last element of their image's name. The entries of CAPZ and
// Azure Service Operator are for CAPZ v1.26 and v2.18; casement builds neither.
func known() map[string]program {
	return map[string]program{
		"cluster-api-azure-controller": clusterAPI(),
		"azureserviceoperator": {
			ports: map[int32]func(uint16) []string{
				9443: flag("--webhook-port=%d"), 8081: flag("--health-addr=127.0.0.1:%d"), 8443: flag("--metrics-addr=127.0.0.1:%d"),
			},
			certDir:   "--webhook-cert-dir=",
			elsewhere: func(string) []string { return []string{"--enable-leader-election=false"} },
		},
		"cluster-api-controller":           clusterAPI(),
		"kubeadm-bootstrap-controller":     clusterAPI(),
		"kubeadm-control-plane-controller": clusterAPI(),
		"casement-manager": {
			ports: map[int32]func(uint16) []string{
				9443: func(port uint16) []string {
					return []string{"--webhook-host=127.0.0.1", fmt.Sprintf("--webhook-port=%d", port)}
				},
				9440: flag("--health-addr=127.0.0.1:%d"), 8443: flag("--metrics-bind-address=127.0.0.1:%d"),
			},
			certDir:   "--webhook-cert-dir=",
			elsewhere: func(namespace string) []string { return []string{"--leader-elect-namespace=" + namespace} },
		},
	}
}

// find returns the program that replaces an image, and its file.
func find(image string, dirs []string) (program, string, error) {
	name, tag := splitImage(image)
	p, ok := known()[name]
	if !ok {
		return program{}, "", fmt.Errorf("no program runs for image %s: this node knows %s", image,
			strings.Join(slices.Sorted(maps.Keys(known())), ", "))
	}
	for _, dir := range dirs {
		for _, file := range []string{name + "_" + tag, name} {
			path := filepath.Join(dir, file)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return p, path, nil
			}
		}
	}
	return program{}, "", fmt.Errorf("image %s: there is neither %s_%s nor %s in %s; build them with 'make programs'",
		image, name, tag, name, strings.Join(dirs, ", "))
}

// filesSuffix is the suffix of the directory with the other files of a program's image.
const filesSuffix = ".files"

// linkFiles creates links to the files of an image in the directory in which the image's process
// runs.
func (w *worker) linkFiles(dir string) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		err := os.Symlink(filepath.Join(dir, f.Name()), filepath.Join(w.dir, f.Name()))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// splitImage returns the last element of an image's name and its tag.
func splitImage(image string) (name, tag string) {
	image, _, _ = strings.Cut(image, "@")
	name = image[strings.LastIndex(image, "/")+1:]
	name, tag, _ = strings.Cut(name, ":")
	return name, tag
}

// command returns the command line of a container: the pod's own arguments, then the flags that adapt it to
// this machine. If a flag occurs twice, the last one counts.
func (p program) command(file string, pod *corev1.Pod, c corev1.Container, env map[string]string,
	mounts map[string]string, ports map[int32]uint16) []string {
	argv := []string{file}
	if len(c.Command) > 1 {
		argv = append(argv, c.Command[1:]...)
	}
	argv = append(argv, c.Args...)
	for i := 1; i < len(argv); i++ {
		argv[i] = moveMounts(expansion.Expand(argv[i], env), mounts)
	}
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		if move := p.ports[port]; move != nil {
			argv = append(argv, move(ports[port])...)
		}
	}
	if dir, ok := mounts[certMount]; ok {
		argv = append(argv, p.certDir+dir)
	}
	return append(argv, p.elsewhere(pod.Namespace)...)
}

// moveMounts replaces mount paths in a text by the mounts' directories.
func moveMounts(s string, mounts map[string]string) string {
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(mounts))) {
		s = strings.ReplaceAll(s, path, mounts[path])
	}
	return s
}

package kubelet

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/expansion"
)

// volumes are the volumes of a pod. Their files are in the kubelet's folders, below
// /var/lib/kubelet/pods. They are written when the pod starts and when a command enters a
// container, not each minute: no program of a simulated container reads them by itself, and a node
// with hundreds of pods saves the reads.
type volumes struct {
	w  *worker
	mu sync.Mutex
	// tokens are the tokens of projected volumes, by audience and path, with the time of their
	// renewal.
	tokens map[string]volumeToken
	// claims are the folders of claims, by the volume's name in the pod.
	claims map[string]guestfs.Folder
	// taken are the subpaths of volumes that the kubelet fills; they are not updated after a
	// container first mounted them.
	taken map[string]bool
}

type volumeToken struct {
	data  []byte
	renew time.Time
}

// volumeKind returns the name of the folder, below a pod's volumes, of a volume's plug-in; "" for
// other volumes.
func volumeKind(v *corev1.Volume) string {
	switch {
	case v.Secret != nil:
		return "kubernetes.io~secret"
	case v.ConfigMap != nil:
		return "kubernetes.io~configmap"
	case v.Projected != nil:
		return "kubernetes.io~projected"
	case v.DownwardAPI != nil:
		return "kubernetes.io~downward-api"
	case v.EmptyDir != nil:
		return "kubernetes.io~empty-dir"
	}
	return ""
}

func (w *worker) volumeFolder(v *corev1.Volume) string {
	return w.podFolder() + "/volumes/" + volumeKind(v) + "/" + v.Name
}

// mount creates the pod's volumes before its containers start. Its errors are a kubelet's.
func (v *volumes) mount(ctx context.Context, pod *corev1.Pod) (problems []error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if !mounted(pod, volume.Name) {
			continue // a kubelet mounts only volumes that a container uses
		}
		if claimOf(pod, volume) != "" {
			folder, err := v.w.claim(ctx, pod, volume)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			v.claims[volume.Name] = folder
			continue
		}
		var err error
		switch {
		case volume.HostPath != nil:
			err = v.w.k.checkHostPath(volume.HostPath)
		case volume.CSI != nil:
			err = v.w.k.checkDriver(ctx, volume.CSI.Driver)
		case volumeKind(volume) != "":
			err = v.fill(ctx, pod, volume, false)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", volume.Name, err))
		}
	}
	return problems
}

// renew updates the volumes that a container mounts. A volume whose source cannot be read stays as it was,
// as with a kubelet.
func (v *volumes) renew(ctx context.Context, pod *corev1.Pod, c *corev1.Container) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if !mounts(c, volume.Name) {
			continue
		}
		var err error
		switch _, kept := v.claims[volume.Name]; {
		case claimOf(pod, volume) != "" && !kept: // an earlier kubelet had mounted it
			var folder guestfs.Folder
			if folder, err = v.w.claim(ctx, pod, volume); err == nil {
				v.claims[volume.Name] = folder
			}
		case volumeKind(volume) != "":
			err = v.fill(ctx, pod, volume, true)
		}
		if err != nil && ctx.Err() == nil {
			v.w.k.log.Error("Unable to update volume", "pod", v.w.namespace+"/"+v.w.name, "volume", volume.Name, "err", err)
		}
	}
}

// fill writes one volume. It requests service account tokens only if tokens is set, because most
// pods have a token that nothing reads.
func (v *volumes) fill(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume, tokens bool) error {
	dir := v.w.volumeFolder(volume)
	if volume.EmptyDir != nil {
		if err := checkPages(volume.EmptyDir.Medium, pod); err != nil {
			return err
		}
		return v.w.k.c.Files.MkdirAll(dir)
	}
	files, err := v.payload(ctx, pod, volume, tokens)
	if err != nil {
		return err
	}
	if files == nil {
		return nil
	}
	return files.write(v.w.k.c.Files, dir, v.w.k.c.Clock.Now())
}

// payload returns the content of a volume; nil if there is nothing to write yet.
func (v *volumes) payload(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume, tokens bool) (payload, error) {
	out := payload{}
	switch {
	case volume.Secret != nil:
		s := volume.Secret
		return out, v.secret(ctx, out, s.SecretName, s.Items, s.DefaultMode, s.Optional)
	case volume.ConfigMap != nil:
		s := volume.ConfigMap
		return out, v.configMap(ctx, out, s.Name, s.Items, s.DefaultMode, s.Optional)
	case volume.DownwardAPI != nil:
		return out, v.downward(out, pod, volume.DownwardAPI.Items, volume.DownwardAPI.DefaultMode)
	}
	if !tokens && slices.ContainsFunc(volume.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil }) {
		return nil, nil
	}
	mode := volume.Projected.DefaultMode
	for _, source := range volume.Projected.Sources {
		var err error
		switch {
		case source.Secret != nil:
			err = v.secret(ctx, out, source.Secret.Name, source.Secret.Items, mode, source.Secret.Optional)
		case source.ConfigMap != nil:
			err = v.configMap(ctx, out, source.ConfigMap.Name, source.ConfigMap.Items, mode, source.ConfigMap.Optional)
		case source.DownwardAPI != nil:
			err = v.downward(out, pod, source.DownwardAPI.Items, mode)
		case source.ServiceAccountToken != nil:
			err = v.token(ctx, out, pod, source.ServiceAccountToken, mode)
		case source.ClusterTrustBundle != nil:
			err = v.trustBundle(ctx, out, source.ClusterTrustBundle, mode)
		default:
			err = errors.New("the simulated kubelet does not project certificates of pods")
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// defaultMode is the file mode that the API server sets for volumes without one.
const defaultMode = 0o644

func modeOf(own, all *int32) fs.FileMode {
	if own == nil {
		own = all
	}
	return fs.FileMode(ptr.Deref(own, defaultMode)) & fs.ModePerm
}

// choose adds the items of an object's data to the payload, or all data if there are no items.
func (p payload) choose(data map[string][]byte, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	for key, content := range data {
		if len(items) == 0 {
			p[key] = payloadFile{content, modeOf(nil, mode)}
		}
	}
	for _, i := range items {
		content, ok := data[i.Key]
		if !ok && ptr.Deref(optional, false) {
			continue
		}
		if !ok {
			return fmt.Errorf("references non-existent secret key: %s", i.Key)
		}
		p[path.Clean(i.Path)] = payloadFile{content, modeOf(i.Mode, mode)}
	}
	return nil
}

func (v *volumes) secret(ctx context.Context, out payload, name string, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	o, err := readPermitted(ctx, v.w.k, v.w.k.api.Load().core.Secrets(v.w.namespace).Get, name)
	if err != nil {
		return missing(err, "secret", name, optional)
	}
	return out.choose(o.Data, items, mode, optional)
}

func (v *volumes) configMap(ctx context.Context, out payload, name string, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	o, err := readPermitted(ctx, v.w.k, v.w.k.api.Load().core.ConfigMaps(v.w.namespace).Get, name)
	if err != nil {
		return missing(err, "configmap", name, optional)
	}
	data := maps.Clone(o.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for key, text := range o.Data {
		data[key] = []byte(text)
	}
	err = out.choose(data, items, mode, optional)
	if err != nil {
		return errors.New("configmap " + strings.Replace(err.Error(), "secret key", "config key", 1))
	}
	return nil
}

// missing returns the error for an object of a volume; nil for an optional object that does not
// exist.
func missing(err error, kind, name string, optional *bool) error {
	if apierrors.IsNotFound(err) {
		return absent(err, kind, name, optional)
	}
	return err
}

// mounts reports whether a container mounts a volume.
func mounts(c *corev1.Container, name string) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name })
}

// mounted reports whether any container of a pod uses a volume.
func mounted(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return mounts(&c, name) ||
			slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == name })
	})
}

func (v *volumes) downward(out payload, pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, mode *int32) error {
	for _, i := range items {
		var text string
		var err error
		if i.FieldRef != nil {
			text, err = v.w.downward(pod, i.FieldRef.FieldPath)
		} else if i.ResourceFieldRef != nil {
			text, err = v.w.downwardResource(pod, "", i.ResourceFieldRef)
		}
		if err != nil {
			return err
		}
		out[path.Clean(i.Path)] = payloadFile{[]byte(text), modeOf(i.Mode, mode)}
	}
	return nil
}

// checkPages refuses an emptyDir of huge pages in a pod that requests none, or several sizes.
// Source: kubernetes pkg/volume/emptydir/empty_dir.go, getPageSizeMountOption.
func checkPages(medium corev1.StorageMedium, pod *corev1.Pod) error {
	size, huge := strings.CutPrefix(string(medium), string(corev1.StorageMediumHugePages))
	if !huge {
		return nil
	}
	asked := map[string]bool{}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for name := range c.Resources.Requests {
			if pages, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix); ok {
				asked[pages] = true
			}
		}
	}
	switch {
	case size == "" && len(asked) > 1:
		return fmt.Errorf("medium: %s can't be used if container requests multiple huge page sizes", medium)
	case size == "" && len(asked) == 0, size != "" && !asked[size[1:]]:
		return fmt.Errorf("medium %s: hugePages storage requested, but there is no resource request for huge pages", medium)
	}
	return nil
}

// trustBundle adds the certificates of ClusterTrustBundles, each once. Source: kubernetes
// pkg/kubelet/clustertrustbundle/clustertrustbundle_manager.go.
func (v *volumes) trustBundle(ctx context.Context, out payload, p *corev1.ClusterTrustBundleProjection, mode *int32) error {
	api := v.w.k.api.Load().certs.ClusterTrustBundles()
	var found []certificatesv1.ClusterTrustBundle
	if p.Name != nil {
		b, err := read(ctx, api.Get, *p.Name)
		switch {
		case err == nil:
			found = append(found, *b)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("while getting ClusterTrustBundle: %w", err)
		case !ptr.Deref(p.Optional, false):
			return fmt.Errorf("while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io %q not found", *p.Name)
		}
	} else {
		selector, err := metav1.LabelSelectorAsSelector(p.LabelSelector)
		if err != nil {
			return fmt.Errorf("while parsing label selector: %w", err)
		}
		list, err := api.List(ctx, metav1.ListOptions{LabelSelector: selector.String(),
			FieldSelector: "spec.signerName=" + ptr.Deref(p.SignerName, "")})
		if err != nil {
			return fmt.Errorf("while listing ClusterTrustBundles matching label selector %v: %w", p.LabelSelector, err)
		}
		if found = list.Items; len(found) == 0 && !ptr.Deref(p.Optional, false) {
			return errors.New("combination of signerName and labelSelector matched zero ClusterTrustBundles")
		}
	}
	var anchors []byte
	seen := map[string]bool{}
	for i := range found {
		for rest := []byte(found[i].Spec.TrustBundle); ; {
			var b *pem.Block
			if b, rest = pem.Decode(rest); b == nil {
				break
			}
			if !seen[string(b.Bytes)] {
				seen[string(b.Bytes)] = true
				anchors = append(anchors, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Bytes})...)
			}
		}
	}
	out[path.Clean(p.Path)] = payloadFile{anchors, modeOf(nil, mode)}
	return nil
}

// token adds a service account token. It requests a new token after four fifths of the lifetime, as
// kubelets do.
func (v *volumes) token(ctx context.Context, out payload, pod *corev1.Pod, p *corev1.ServiceAccountTokenProjection, mode *int32) error {
	now, key := v.w.k.c.Clock.Now(), p.Audience+" "+p.Path
	kept := v.tokens[key]
	if !now.Before(kept.renew) {
		account := pod.Spec.ServiceAccountName
		if account == "" {
			account = "default"
		}
		request := authenticationv1.TokenRequestSpec{ExpirationSeconds: new(ptr.Deref(p.ExpirationSeconds, tokenLife)),
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}}
		if p.Audience != "" {
			request.Audiences = []string{p.Audience}
		}
		got, err := v.w.k.api.Load().core.ServiceAccounts(pod.Namespace).CreateToken(ctx, account,
			&authenticationv1.TokenRequest{Spec: request}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("failed to fetch token: %w", err)
		}
		kept = volumeToken{[]byte(got.Status.Token), now.Add(got.Status.ExpirationTimestamp.Sub(now) * 4 / 5)}
		v.tokens[key] = kept
	}
	out[path.Clean(p.Path)] = payloadFile{kept.data, modeOf(nil, mode)}
	return nil
}

// mounts returns the pod's volumes that a container mounts, except hostPath volumes and kinds that
// this kubelet does not have.
func (v *volumes) mounts(pod *corev1.Pod, c *corev1.Container, vars map[string]string) ([]guestfs.Mount, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []guestfs.Mount
	for i, m := range c.VolumeMounts {
		at := slices.IndexFunc(pod.Spec.Volumes, func(o corev1.Volume) bool { return o.Name == m.Name })
		if at < 0 {
			continue
		}
		volume := &pod.Spec.Volumes[at]
		folder, isClaim := v.claims[m.Name]
		filled := !isClaim && volume.EmptyDir == nil
		if !isClaim {
			if volumeKind(volume) == "" {
				continue
			}
			folder = v.w.k.c.Files.Folder(v.w.volumeFolder(volume))
		}
		mount := guestfs.Mount{Path: m.MountPath, Folder: folder, ReadOnly: m.ReadOnly || filled}
		sub := m.SubPath
		if m.SubPathExpr != "" {
			sub = expansion.Expand(m.SubPathExpr, vars)
		}
		if sub = path.Clean("/" + sub)[1:]; sub != "" && filled {
			mount.Folder, mount.Sub = v.w.k.c.Files.Folder(v.subFolder(c, i)), path.Base(sub)
			if err := v.take(volume, sub, v.subFolder(c, i)); err != nil {
				return nil, fmt.Errorf("failed to prepare subPath for volumeMount %q of container %q: %w", m.Name, c.Name, err)
			}
		} else if sub != "" {
			mount.Sub = sub
			if err := folder.MakeAll(sub); err != nil {
				return nil, fmt.Errorf("failed to create subPath directory for volumeMount %q of container %q: %w", m.Name, c.Name, err)
			}
		}
		out = append(out, mount)
	}
	return out, nil
}

func (v *volumes) subFolder(c *corev1.Container, mount int) string {
	return fmt.Sprintf("%s/volume-subpaths/%s/%s/%d", v.w.podFolder(), c.VolumeMounts[mount].Name, c.Name, mount)
}

// take copies a part of a volume that the kubelet fills, because a bind mount of it does not change
// when the volume changes.
func (v *volumes) take(volume *corev1.Volume, sub, to string) error {
	if v.taken[to] {
		return nil
	}
	files := v.w.k.c.Files
	from := path.Join(v.w.volumeFolder(volume), sub)
	at := path.Join(to, path.Base(sub))
	info, err := files.Stat(from)
	if err == nil && !info.IsDir() {
		err = copyFile(files, from, at, info.Mode())
	} else if err == nil {
		err = v.takeTree(from, at)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = files.MkdirAll(at) // as for a path that does not exist
	}
	v.taken[to] = err == nil
	return err
}

func (v *volumes) takeTree(from, to string) error {
	files := v.w.k.c.Files
	tree, err := files.Tree(from)
	if err != nil {
		return err
	}
	defer tree.Close()
	return fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return copyFile(files, path.Join(from, name), path.Join(to, name), info.Mode())
	})
}

func copyFile(files *guestfs.Root, from, to string, mode fs.FileMode) error {
	data, err := files.ReadFile(from)
	if err != nil {
		return err
	}
	return files.Replace(to, data, mode.Perm())
}

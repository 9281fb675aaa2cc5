package kubelet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/guestfs"
)

// manifestPeriod is the interval at which the folder of static pods is read if nothing notifies of
// a change (fileCheckFrequency of the KubeletConfiguration's defaults).
const manifestPeriod = 20 * time.Second

// runStaticPods starts a worker for each manifest and ends it when the file is deleted.
func (k *Kubelet) runStaticPods(ctx context.Context) error {
	k.pods.mu.Lock()
	if k.pods.ctx == nil {
		k.pods.ctx = ctx
	}
	k.pods.mu.Unlock()
	seen := map[string]*worker{}
	for {
		changed, leave := k.watchManifests()
		found, err := k.manifests()
		if err != nil {
			k.log.Error("Could not read the static pods, which stay as they are", "err", err)
		}
		for key, pod := range found {
			if seen[key] != nil {
				continue
			}
			w := newWorker(k, pod)
			w.static = true
			seen[key] = w
			k.pods.mu.Lock()
			k.pods.static[pod.Namespace+"/"+pod.Name] = w
			k.pods.start(w)
			k.pods.mu.Unlock()
		}
		for key, w := range seen {
			if err == nil && found[key] == nil {
				w.remove()
				delete(seen, key)
			}
		}
		period := k.c.Clock.NewTimer(manifestPeriod)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-period.C():
		}
		period.Stop()
		leave()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// watchManifests returns a channel that is notified of changes in the folder of static pods until
// leave is called; nil if the folder cannot be watched.
func (k *Kubelet) watchManifests() (changed <-chan struct{}, leave func()) {
	dir, err := k.c.Files.Host(k.settings.StaticPodPath) // the kernel reports that something changed in the folder, but not the file
	if err != nil || k.settings.StaticPodPath == "" {
		return nil, func() {}
	}
	return k.folders.watch(dir)
}

// manifests returns the static pods, by name and content hash. If it returns an error, there may be
// more manifests.
func (k *Kubelet) manifests() (map[string]*corev1.Pod, error) {
	found := map[string]*corev1.Pod{}
	dir := k.settings.StaticPodPath
	entries, err := k.c.Files.ReadDir(dir)
	if err != nil {
		return found, ignoreMissing(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".yaml") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		data, err := k.c.Files.ReadAtMost(path.Join(dir, e.Name()), maxManifest)
		switch {
		case ignoreMissing(err) == nil && err != nil:
			continue
		case damaged(err):
			k.refuse(e.Name(), err)
			continue
		case err != nil:
			return found, err
		}
		pod := &corev1.Pod{}
		if err := yaml.Unmarshal(data, pod); err != nil || pod.Name == "" {
			continue // half-written: the next call reads it whole
		}
		if err := checkNames(pod); err != nil {
			k.refuse(e.Name(), err)
			continue
		}
		sum := sha256.Sum256(data)
		hash := hex.EncodeToString(sum[:16])
		k.completeStatic(pod, hash)
		found[pod.Namespace+"/"+pod.Name+"/"+hash] = pod
	}
	return found, nil
}

// maxManifest is the number of bytes that the real kubelet reads of a manifest (maxConfigLength in
// k8s.io/kubernetes/pkg/kubelet/config/common.go).
const maxManifest = 10 << 20

// damaged reports whether an error concerns a file that the guest wrote, and not this computer,
// which may be able to read the file later.
func damaged(err error) bool {
	return errors.Is(err, guestfs.ErrKind) || errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.ELOOP) ||
		errors.Is(err, syscall.EISDIR) || guestfs.Escapes(err)
}

// refuse logs once why a manifest is not run.
func (k *Kubelet) refuse(name string, err error) {
	if k.refused[name] != err.Error() {
		k.refused[name] = err.Error()
		k.log.Error("Could not process manifest file", "path", name, "err", err)
	}
}

// ignoreMissing returns err, or nil if it means that the file does not exist.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// checkNames refuses names that the API server would refuse: no API server has checked the
// manifest, and the names become names of files.
func checkNames(pod *corev1.Pod) error {
	problems := validation.IsDNS1123Subdomain(pod.Name)
	if pod.Namespace != "" {
		problems = append(problems, validation.IsDNS1123Label(pod.Namespace)...)
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		problems = append(problems, validation.IsDNS1123Label(c.Name)...)
	}
	if len(problems) > 0 {
		return errors.New(problems[0])
	}
	return nil
}

// completeStatic adds the kubelet's own fields to a static pod: the node in its name, a UID from its
// content, and the annotations of a static pod.
func (k *Kubelet) completeStatic(pod *corev1.Pod, hash string) {
	pod.Name += "-" + k.nodeName
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	pod.UID = types.UID(hash)
	pod.Spec.NodeName = k.nodeName
	if pod.Spec.RestartPolicy == "" {
		pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[hashAnnotation] = hash
	pod.Annotations[sourceAnnotation] = "file"
	pod.Annotations[seenAnnotation] = k.c.Clock.Now().Format(time.RFC3339Nano)
	pod.Spec.Tolerations = append(pod.Spec.Tolerations,
		corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
}

// ensureMirror creates the API object of a static pod, if necessary, and returns it; nil while
// there is none.
func (w *worker) ensureMirror(ctx context.Context, pod *corev1.Pod) *corev1.Pod {
	api := w.k.api.Load()
	node := w.k.node.get()
	if api == nil || node == nil {
		w.signalLater(ctx)
		return nil
	}
	w.k.pods.mu.Lock()
	have := w.k.pods.mirrors[w.namespace+"/"+w.name]
	w.k.pods.mu.Unlock()
	if have != nil && have.Annotations[mirrorAnnotation] == pod.Annotations[hashAnnotation] {
		return have
	}
	mirror := pod.DeepCopy()
	mirror.UID, mirror.Status = "", corev1.PodStatus{}
	mirror.Annotations[mirrorAnnotation] = pod.Annotations[hashAnnotation]
	mirror.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: new(true)},
	}
	made, err := api.core.Pods(w.namespace).Create(ctx, mirror, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = api.core.Pods(w.namespace).Get(ctx, w.name, metav1.GetOptions{})
		if err == nil && made.Annotations[mirrorAnnotation] != pod.Annotations[hashAnnotation] {
			err = api.core.Pods(w.namespace).Delete(ctx, w.name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
			made = nil
		}
	}
	if err != nil || made == nil {
		if err != nil && ctx.Err() == nil {
			w.k.log.Error("Failed creating a mirror pod", "pod", w.name, "err", err)
		}
		w.signalLater(ctx)
		return nil
	}
	w.k.pods.mu.Lock()
	w.k.pods.mirrors[w.namespace+"/"+w.name] = made
	w.k.pods.mu.Unlock()
	return made
}

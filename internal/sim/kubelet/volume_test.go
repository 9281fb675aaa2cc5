package kubelet

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"casement.dev/casement/internal/guestfs"
)

// objects is an API server with ConfigMaps and Secrets by path.
type objects map[string]any

func (o objects) RoundTrip(r *http.Request) (*http.Response, error) {
	code, body := http.StatusNotFound, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound",`+
		`"message":"not found","code":404}`)
	if object, ok := o[r.URL.Path]; ok {
		code = http.StatusOK
		body, _ = json.Marshal(object)
	}
	return &http.Response{StatusCode: code, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(body)))}, nil
}

func configMap(data map[string]string) any {
	return map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "data": data}
}

const settingsPath = "/api/v1/namespaces/default/configmaps/settings"

// volumeBench returns a worker for a pod with volumes, and a function that enters its container.
func volumeBench(t *testing.T, server objects, pod *corev1.Pod) (*worker, func() *guestfs.Root) {
	t.Helper()
	core, err := corev1client.NewForConfig(&rest.Config{Host: "https://api", QPS: -1, Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.api = &client{core: core}
	k := b.kubelet(t)
	w := newWorker(k, pod)
	w.shown.Store(&snapshot{pod: pod})
	return w, func() *guestfs.Root {
		t.Helper()
		spec, err := w.execSpec(t.Context(), pod, w.containers[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := spec.Folder.Make(); err != nil {
			t.Fatal(err)
		}
		root, err := spec.Folder.Root(k.c.OS == "windows")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { root.Close() })
		if err := root.Mount(spec.Mounts...); err != nil {
			t.Fatal(err)
		}
		return root
	}
}

func volumePod(source corev1.VolumeSource, mount corev1.VolumeMount) *corev1.Pod {
	pod := webPod(0)
	pod.Labels = map[string]string{"app": "web", "tier": "front"}
	mount.Name = "v"
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{mount}
	return pod
}

func configVolume(items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Items: items, DefaultMode: new(int32(0o640))}}
}

func TestVolumes(t *testing.T) {
	secret := objects{"/api/v1/namespaces/default/secrets/settings": map[string]any{
		"kind": "Secret", "apiVersion": "v1", "data": map[string][]byte{"word": []byte("open")}},
		settingsPath: configMap(map[string]string{"mode": "fast", "size": "9"})}
	for name, test := range map[string]struct {
		source corev1.VolumeSource
		mount  corev1.VolumeMount
		want   map[string]string
		lacks  string
	}{
		"a secret": {corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "settings"}},
			corev1.VolumeMount{MountPath: "/v"}, map[string]string{"/v/word": "open", "/v/..data/word": "open"}, "/v/mode"},
		"a ConfigMap": {configVolume(), corev1.VolumeMount{MountPath: "/v"}, map[string]string{"/v/mode": "fast", "/v/size": "9"}, "/v/word"},
		"items": {configVolume(corev1.KeyToPath{Key: "mode", Path: "a/b"}), corev1.VolumeMount{MountPath: "/v"},
			map[string]string{"/v/a/b": "fast"}, "/v/size"},
		"a subPath": {configVolume(), corev1.VolumeMount{MountPath: "/etc/app/m.conf", SubPath: "mode"},
			map[string]string{"/etc/app/m.conf": "fast"}, "/etc/app/size"},
		"downward": {corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
			{Path: "tier", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"}}}}},
			corev1.VolumeMount{MountPath: "/v"}, map[string]string{"/v/labels": "app=\"web\"\ntier=\"front\"", "/v/tier": "front"}, ""},
		"projected": {corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}}},
			corev1.VolumeMount{MountPath: "/v"}, map[string]string{"/v/mode": "fast", "/v/word": "open"}, ""},
		"optional": {corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "none", Optional: new(true)}},
			corev1.VolumeMount{MountPath: "/v"}, nil, "/v/word"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := volumePod(test.source, test.mount)
			w, enter := volumeBench(t, secret, pod)
			if err := errors.Join(w.volumes.mount(t.Context(), pod)...); err != nil {
				t.Fatal(err)
			}
			root := enter()
			for file, want := range test.want {
				if data, err := root.ReadFile(file); err != nil || string(data) != want {
					t.Errorf("%s is %q, %v", file, data, err)
				}
			}
			if test.lacks != "" && root.Exists(test.lacks) {
				t.Errorf("%s exists", test.lacks)
			}
		})
	}
}

func TestVolumeThatCannotBeMounted(t *testing.T) {
	for name, source := range map[string]corev1.VolumeSource{
		"no object": {Secret: &corev1.SecretVolumeSource{SecretName: "none"}},
		"no key":    configVolume(corev1.KeyToPath{Key: "none", Path: "a"}),
	} {
		t.Run(name, func(t *testing.T) {
			pod := volumePod(source, corev1.VolumeMount{MountPath: "/v"})
			w, _ := volumeBench(t, objects{settingsPath: configMap(nil)}, pod)
			err := errors.Join(w.volumes.mount(t.Context(), pod)...)
			if err == nil || !strings.HasPrefix(err.Error(), `MountVolume.SetUp failed for volume "v" : `) {
				t.Errorf("mount: %v", err)
			}
		})
	}
}

func TestVolumeFollowsItsObject(t *testing.T) {
	server := objects{settingsPath: configMap(map[string]string{"mode": "fast", "old": "1"})}
	pod := volumePod(configVolume(), corev1.VolumeMount{MountPath: "/v"})
	pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts,
		corev1.VolumeMount{Name: "v", MountPath: "/one", SubPath: "mode"})
	w, enter := volumeBench(t, server, pod)
	if err := errors.Join(w.volumes.mount(t.Context(), pod)...); err != nil {
		t.Fatal(err)
	}
	before := enter()
	first, err := before.Readlink("/v/..data")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := enter().Readlink("/v/..data"); again != first {
		t.Errorf("..data went from %s to %s without a change", first, again)
	}
	if info, err := before.Stat("/v/mode"); err != nil || info.Mode().Perm() != fs.FileMode(0o640) {
		t.Errorf("mode %v, %v", info, err)
	}
	server[settingsPath] = configMap(map[string]string{"mode": "slow"})
	after := enter()
	if data, _ := after.ReadFile("/v/mode"); string(data) != "slow" {
		t.Errorf("after the change mode is %q", data)
	}
	if data, _ := before.ReadFile("/v/mode"); string(data) != "slow" {
		t.Errorf("in a session that was open mode is %q", data)
	}
	if after.Exists("/v/old") || after.Exists("/v/"+first) {
		t.Error("what the object has no more is still there")
	}
	if data, _ := after.ReadFile("/one"); string(data) != "fast" {
		t.Errorf("a subPath was updated: %q", data)
	}
}

func TestEmptyDirIsShared(t *testing.T) {
	pod := volumePod(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, corev1.VolumeMount{MountPath: "/a", SubPath: "x/y"})
	pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "v", MountPath: "/all"})
	w, enter := volumeBench(t, objects{}, pod)
	if err := errors.Join(w.volumes.mount(t.Context(), pod)...); err != nil {
		t.Fatal(err)
	}
	if err := enter().WriteFile("/a/f", []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if data, err := enter().ReadFile("/all/x/y/f"); err != nil || string(data) != "1" {
		t.Errorf("%q, %v", data, err)
	}
}
